"""Which rows the page shows, what they are called and coloured by, their pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.comparison import Setting

__all__ = ["DisplayedRows", "Pixels", "select_rows"]

# Pixels on a side of a thumbnail: finer ones make the page heavy, not clearer.
_LARGEST_SIDE = 32


@dataclass(frozen=True, eq=False)
class Pixels:
    """Rows as pictures.

    Attributes
    ----------
    thumbnails : ndarray of uint8 of shape (n_shown, height, width)
        Black is the least value of all, white the largest.
    shape : tuple of int
        Height and width of the pictures as they were given.
    of_features : ndarray of int of shape (n_features,) or None
        Which pixel each feature is, where features are pixels.
    """

    thumbnails: NDArray[np.uint8]
    shape: tuple[int, int]
    of_features: IntArray | None


@dataclass(frozen=True, eq=False)
class DisplayedRows:
    """The rows of the page.

    Attributes
    ----------
    X : ndarray of shape (n_shown, n_features)
        NaN where a value is missing.
    target : ndarray of shape (n_shown,) or None
        Classes as integers from 0, numbers as float64.
    classes : list of str
        Names of the classes.
    numbers : ndarray of int of shape (n_shown,)
        Where the rows were among those given to the comparison.
    pixels : Pixels or None
        Where rows are pictures.
    of_all : int
        How many rows took part in the comparison.
    positions : ndarray of int of shape (n_shown,)
        Where the rows are among these.
    """

    X: FloatArray
    target: IntArray | FloatArray | None
    classes: list[str]
    numbers: IntArray
    pixels: Pixels | None
    of_all: int
    positions: IntArray

    @property
    def has_all_classes(self) -> bool:
        """Whether there are classes, and a row of each is shown."""
        known = set() if self.target is None else set(self.target.tolist())
        return bool(self.classes) and len(known) == len(self.classes)


def select_rows(
    setting: Setting,
    max_points: int,
    image_shape: tuple[int, int] | None,
    images: ArrayLike | None,
) -> DisplayedRows:
    """Choose the rows for the page: all, or a random part with all classes in it.

    Parameters
    ----------
    setting : Setting
        Of the comparison.
    max_points : int
        At most how many rows; two of each class are shown all the same.
    image_shape : tuple of two int or None
        Height and width, where rows are pictures.
    images : array-like of shape (n_samples, height * width) or None
        Their pixels; by default the features are.

    Raises
    ------
    ValueError
        When pixels and shape do not fit each other.
    """
    n = len(setting.X)
    # Numbered anew, to find the pixels of the rows that are left.
    shown = replace(setting, rows=np.arange(n))
    if n > max_points:
        shown = shown.part(max_points)
    kept = shown.rows
    pixels = _pixels(setting, image_shape, images)
    return DisplayedRows(
        X=shown.X,
        target=shown.target,
        classes=list(setting.classes),
        numbers=setting.rows[kept],
        pixels=None if pixels is None else _drawn(pixels[kept], shown.X),
        of_all=n,
        positions=kept,
    )


def _pixels(
    setting: Setting, image_shape: tuple[int, int] | None, images: ArrayLike | None
) -> FloatArray | None:
    """Return all rows as pictures, of shape (n_samples, height, width)."""
    if image_shape is None:
        if images is not None:
            raise ValueError("images need an image_shape: their height and width.")
        return None
    height, width = image_shape
    pixels = setting.X if images is None else np.asarray(images, dtype=np.float64)
    wanted = (len(setting.X), height * width)
    if min(height, width) < 1 or pixels.shape != wanted:
        what = "X" if images is None else "images"
        raise ValueError(
            f"image_shape {height}x{width} needs {what} of shape {wanted}, "
            f"got {pixels.shape}."
        )
    return pixels.reshape(-1, height, width)


def _drawn(pictures: FloatArray, X: FloatArray) -> Pixels:
    n, height, width = pictures.shape
    values = np.nan_to_num(pictures.astype(np.float64))
    low, high = values.min(), values.max()
    # Every few pixels become one: a picture of 100 × 60 becomes one of 25 × 15.
    step = -(-max(height, width) // _LARGEST_SIDE)
    rows, columns = np.arange(0, height, step), np.arange(0, width, step)
    sums = np.add.reduceat(np.add.reduceat(values, rows, axis=1), columns, axis=2)
    counts = np.outer(np.diff([*rows, height]), np.diff([*columns, width]))
    gray = 255 * (sums / counts - low) / ((high - low) or 1)
    return Pixels(
        thumbnails=gray.round().clip(0, 255).astype(np.uint8),
        shape=(height, width),
        of_features=_pixel_of_features(pictures.reshape(n, -1), X),
    )


def _pixel_of_features(pixels: FloatArray, X: FloatArray) -> IntArray | None:
    """Return which pixel each feature is; some may have been left out before."""
    indexes: dict[bytes, list[int]] = {}
    for index, column in enumerate(pixels.astype(X.dtype).T):
        indexes.setdefault(column.tobytes(), []).append(index)
    found = [indexes.get(np.ascontiguousarray(column).tobytes()) for column in X.T]
    # Equal columns one after the other: each is taken once.
    taken = [own.pop(0) if own else None for own in found]
    return None if None in taken else np.array(taken, dtype=np.intp)
