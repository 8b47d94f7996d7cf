"""Tuples of points, as rows and indices: read, checked, and taken differences of.

The rows of a tuple are never copied: a pair is two numbers of rows, whether it was
given so or as two vectors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.differences import Differences

__all__ = [
    "NAMES",
    "Preprocessor",
    "Tuples",
    "are_tuples",
    "check_distinct",
    "check_tuples",
]

Preprocessor: TypeAlias = ArrayLike | Callable[[NDArray[Any]], ArrayLike]
"""The points, of which tuples hold the numbers; or what returns them for indices."""

NAMES = {2: "pairs", 3: "triplets", 4: "quadruplets"}


@dataclass(frozen=True, eq=False)
class Tuples:
    """Tuples of rows.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features)
        Rows, float32 or float64.
    indices : ndarray of shape (n_tuples, size)
        Which rows each tuple has.
    """

    points: FloatArray
    indices: IntArray

    def __len__(self) -> int:
        return len(self.indices)

    def subset(self, chosen: Any) -> "Tuples":
        """Return some of the tuples, of the same points."""
        return Tuples(self.points, self.indices[chosen])

    def used(self) -> "Tuples":
        """Return the same tuples without the points that are in none of them."""
        rows, places = np.unique(self.indices, return_inverse=True)
        if len(rows) == len(self.points):
            return self
        return Tuples(self.points[rows], places.reshape(self.indices.shape))

    def differences(self, a: int, b: int, n_threads: int = 1) -> Differences:
        """Return the points in place a minus those in place b."""
        i = self.indices
        return Differences(self.points, i[:, a], i[:, b], n_threads)

    def lengths(self, components: FloatArray, a: int, b: int) -> FloatArray:
        """Return ‖A x_i − A x_j‖ of the points in places a and b."""
        needed = Tuples(self.points, self.indices[:, [a, b]]).used()
        dtype = needed.points.dtype
        Z = needed.differences(0, 1).project(components.astype(dtype, copy=False))
        return np.sqrt(np.einsum("ij,ij->i", Z, Z))


def are_tuples(X: Any, preprocessor: Preprocessor | None) -> bool:
    """Return whether X is read as tuples: by its three dimensions, or a preprocessor.

    A table of points has two dimensions; so have tuples of indices, which are nothing
    without a preprocessor.
    """
    if preprocessor is not None:
        return True
    n_dimensions = getattr(X, "ndim", None)
    return (np.asarray(X).ndim if n_dimensions is None else n_dimensions) == 3


def check_tuples(
    X: ArrayLike,
    size: int,
    preprocessor: Preprocessor | None,
    n_features: int | None = None,
) -> Tuples:
    """Return tuples of points, from vectors or from indices.

    Parameters
    ----------
    X : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)
        The points of each tuple, or what the preprocessor knows them by.
    size : int
        How many points a tuple has.
    preprocessor : array-like, callable or None
        All points, or a function from an array of indices to points.
    n_features : int or None, default=None
        How many features the points must have; None is any number.

    Raises
    ------
    ValueError
        When X is something else; it says what was expected.
    """
    given = np.asarray(X)
    name = NAMES[size]
    expected = f"(n_{name}, {size}, n_features)"
    if preprocessor is not None:
        expected = f"(n_{name}, {size}) of indices, or {expected} of points"
    wrong = f"Expected {name}, an array of shape {expected}; got shape {given.shape}."
    if given.ndim == 3:
        if given.shape[1] != size:
            raise ValueError(
                f"{wrong} Each of the {name} has {size} points, not {given.shape[1]}."
            )
        found = _from_vectors(given, name)
    elif given.ndim == 2 and preprocessor is not None:
        if given.shape[1] != size:
            labels = " Points with labels go to fit(X, y) without a preprocessor."
            raise ValueError(wrong + (labels if given.dtype.kind == "f" else ""))
        found = _from_indices(given, preprocessor, name)
    else:
        advice = "" if given.ndim != 2 else (
            f" For {name} of indices, give the estimator preprocessor=X, the points."
        )  # fmt: skip
        raise ValueError(f"{wrong}{advice}")
    width = found.points.shape[1]
    if n_features is not None and width != n_features:
        source = "the preprocessor returns" if given.ndim == 2 else f"{name} hold"
        raise ValueError(
            f"Expected points of {n_features} features, as in fit, but {source} points "
            f"of {width} features."
        )
    return found


def check_distinct(
    tuples: Tuples, columns: list[tuple[int, int]], among: Any = True
) -> None:
    """Raise ValueError where a tuple has one point in two of the given places.

    Parameters
    ----------
    tuples : Tuples
        What to look at.
    columns : list of pairs of int
        The places.
    among : ndarray of bool of shape (n_tuples,), default=True
        Which of the tuples must have different points.
    """
    name = NAMES[tuples.indices.shape[1]]
    for a, b in columns:
        (same,) = np.nonzero(among & (tuples.indices[:, a] == tuples.indices[:, b]))
        if len(same):
            raise ValueError(
                f"Expected {name} of different points, but number {same[0]} of the "
                f"{name} (from 0) has one point twice, in its places {a} and {b}. "
                f"Leave out all like that; their number is {len(same)}."
            )


def _from_vectors(given: NDArray[Any], name: str) -> Tuples:
    checked = check_array(given, dtype=FLOATS, allow_nd=True, input_name=name)
    n, size, n_features = checked.shape
    if not n_features:
        raise ValueError(f"Found array with 0 feature(s): {name} without features.")
    rows = np.ascontiguousarray(checked.reshape(n * size, n_features) + 0.0)
    # Equal rows are one point. Compared as bytes, where -0.0 would differ from 0.0.
    as_bytes = rows.view(np.dtype((np.void, rows.itemsize * n_features))).ravel()
    _, first, places = np.unique(as_bytes, return_index=True, return_inverse=True)
    return Tuples(rows[first], places.reshape(n, size))


def _from_indices(given: NDArray[Any], preprocessor: Preprocessor, name: str) -> Tuples:
    if callable(preprocessor):
        wanted, places = np.unique(given, return_inverse=True)
        returned = np.asarray(preprocessor(wanted))
        if returned.ndim != 2 or len(returned) != len(wanted):
            raise ValueError(
                f"Expected the preprocessor to return {len(wanted)} points for as many "
                f"indices, an array of shape ({len(wanted)}, n_features); it returned "
                f"one of shape {returned.shape}."
            )
        points = check_array(returned, dtype=FLOATS, input_name="preprocessor")
        return Tuples(points, places.reshape(given.shape))
    points = check_array(preprocessor, dtype=FLOATS, input_name="preprocessor")
    if given.dtype.kind not in "iu":
        whole = given.dtype.kind == "f" and bool((given == np.floor(given)).all())
        if not whole:
            raise ValueError(
                f"Expected {name} of whole numbers, the rows of preprocessor; got "
                f"{given.dtype}. Points with labels go to fit(X, y) without one."
            )
    indices = given.astype(np.intp)
    low, high = indices.min(initial=0), indices.max(initial=0)
    if low < 0 or high >= len(points):
        wrong = low if low < 0 else high
        raise ValueError(
            f"Expected indices from 0 to {len(points) - 1}, the rows of preprocessor; "
            f"{name} hold {wrong}."
        )
    if not len(indices):
        raise ValueError(f"Found array with 0 sample(s): there are no {name}.")
    return Tuples(points, indices)
