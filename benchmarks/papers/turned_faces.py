"""Faces rotated and scaled at random, in pairs that agree in both (NCA, section 5).

The network of NCA's figure 3 is not here; see `benchmarks.papers.nca_figure_3`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from benchmarks.papers.splits import classes_of
from vicinal._typing import FloatArray, IntArray

SIDE = 35
"""Of a picture, in pixels."""
LARGEST_ANGLE = 45.0
HEIGHTS = (25.0, 35.0)
# Of the noise that sets the two faces of a pair apart: degrees and pixels.
NOISE = np.array([1.22, 1.5])
# An upright head is about so much narrower than it is high.
_WIDTH = 0.8


@dataclass(frozen=True, eq=False)
class Faces:
    """Upright square pictures, and whose they are.

    Attributes
    ----------
    pictures : ndarray of shape (n, side, side)
        Without what lies outside of an oval, of mean 0 and deviation 1 inside it.
    persons : ndarray of int of shape (n,)
        Who is shown.
    """

    pictures: NDArray[np.float32]
    persons: IntArray

    def __getitem__(self, chosen: Any) -> "Faces":
        return Faces(self.pictures[chosen], self.persons[chosen])


def upright(name: str) -> Faces:
    """Return Olivetti's faces at 32 × 32 pixels; any other data set's as they are."""
    X, persons = classes_of(name)
    side = round(X.shape[1] ** 0.5)
    pictures = X.reshape(-1, side, side)
    if name == "olivetti":
        pictures = pictures.reshape(-1, 32, 2, 32, 2).mean(axis=(2, 4))
        side = 32
    place = (np.arange(side) + 0.5) * 2 / side - 1
    inside = (place / _WIDTH) ** 2 + place[:, None] ** 2 <= 1
    values = pictures[:, inside]
    middle, unit = values.mean(axis=1), values.std(axis=1)
    oval = inside * (pictures - middle[:, None, None]) / unit[:, None, None]
    return Faces(oval.astype(np.float32), persons)


def poses(n: int, rng: np.random.Generator) -> FloatArray:
    """Return angles in degrees and heights in pixels, each evenly spread."""
    angle = rng.uniform(-LARGEST_ANGLE, LARGEST_ANGLE, n)
    return np.column_stack([angle, rng.uniform(*HEIGHTS, n)])


def posed(pictures: NDArray[np.float32], pose: FloatArray) -> NDArray[np.float32]:
    """Return pictures rotated and scaled, as rows of SIDE² pixels.

    Parameters
    ----------
    pictures : ndarray of shape (n, side, side)
        Upright ones.
    pose : ndarray of shape (n, 2)
        Degrees, counted against the clock, and the height in pixels.
    """
    side = pictures.shape[1]
    place = np.arange(SIDE) - (SIDE - 1) / 2
    down, right = place[None, :, None], place[None, None, :]
    angle = np.deg2rad(pose[:, 0])[:, None, None]
    scale = (side / pose[:, 1])[:, None, None]
    # Where in the upright picture a pixel of the new one comes from.
    rows = scale * (np.cos(angle) * down + np.sin(angle) * right) + (side - 1) / 2
    columns = scale * (np.cos(angle) * right - np.sin(angle) * down) + (side - 1) / 2
    which = np.broadcast_to(np.arange(len(pictures))[:, None, None], rows.shape)
    found = map_coordinates(pictures, [which, rows, columns], order=1)
    return found.reshape(len(pictures), SIDE**2)


def pairs_of(
    faces: Faces, n: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], FloatArray, NDArray[np.float32]]:
    """Return pairs of different persons in nearly the same pose.

    Parameters
    ----------
    faces : Faces
        To choose from; at least two persons.
    n : int
        Pairs.
    rng : Generator
        For all choices.

    Returns
    -------
    X : ndarray of shape (2 n, SIDE²)
        The first faces of all pairs, then the second ones, which agree but for noise.
    pose : ndarray of shape (2 n, 2)
        Their poses, which no method gets to know.
    weights : ndarray of shape (n,)
        The density of each pair's noise, over the largest possible.
    """
    one, other = rng.integers(len(faces.persons), size=(2, n))
    while (same := faces.persons[one] == faces.persons[other]).any():
        other[same] = rng.integers(len(faces.persons), size=same.sum())
    pose = poses(n, rng)
    off = rng.normal(size=(n, 2))
    weights = np.exp(-0.5 * (off**2).sum(axis=1)).astype(np.float32)
    both = np.concatenate([pose, pose + NOISE * off])
    return posed(faces.pictures[np.r_[one, other]], both), both, weights
