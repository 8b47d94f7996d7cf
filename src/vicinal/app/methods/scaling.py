"""Standardised features, or all in one unit: whichever makes better neighbours.

Standardising suits a table of different measurements. It does not suit pixels: scaling
each by itself would amplify those at the border, which hardly vary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from vicinal.app.methods.baselines import CategoryScaler
from vicinal.base.selection import majority, nearest_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vicinal._typing import FloatArray

__all__ = ["AutoScaler", "leave_one_out"]

# Rows whose neighbours are looked at: enough to tell one percent from another.
_MOST_QUERIES = 2_000


class AutoScaler(TransformerMixin, BaseEstimator):
    """Scale features by their own standard deviations, or all of them by one.

    Both are tried: the one under which the k nearest other training rows predict a row
    better is taken, and the features' own standard deviations where they are equal.
    The features of a category share theirs: see `vicinal.app.methods.baselines`.

    Parameters
    ----------
    task : {"classification", "regression"}
        What the target is.
    n_neighbors : int, default=3
        How many neighbours are asked.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (n_features,)
        A row x becomes ``(x - mean_) / scale_``.
    standardized_ : bool
        Whether the features' own standard deviations were better.
    """

    def __init__(self, task: str, n_neighbors: int = 3) -> None:
        self.task = task
        self.n_neighbors = n_neighbors

    def fit(self, X: FloatArray, y: NDArray[Any]) -> Self:
        """Learn the means, both scales, and which to use."""
        scaler = CategoryScaler().fit(X)
        self.mean_, own = scaler.mean_, scaler.scale_
        # Their root mean square: distances of the same size as with the others.
        size = float(np.sqrt(np.mean(scaler.var_)))
        one = np.full_like(own, size or 1.0)
        alone, together = (
            leave_one_out((X - self.mean_) / scale, y, self.task, self.n_neighbors)
            for scale in (own, one)
        )
        self.standardized_ = bool(alone >= together)
        self.scale_ = own if self.standardized_ else one
        return self

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the rows, scaled; float32 if they are."""
        return ((X - self.mean_) / self.scale_).astype(X.dtype, copy=False)


def leave_one_out(
    Z: FloatArray, y: NDArray[Any], task: str, n_neighbors: int = 3
) -> float:
    """Return how well k-NN predicts each row's label from the other rows.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_components)
        Mapped rows.
    y : ndarray of shape (n_rows,)
        Their labels.
    task : {"classification", "regression"}
        What they are.
    n_neighbors : int, default=3
        How many are asked.

    Returns
    -------
    float
        The part of rows whose class most neighbours have, the nearest ones first
        where they disagree; or R² of the neighbours' mean. Of at most 2,000 rows.
    """
    n = len(Z)
    rows = np.arange(n)
    if n > _MOST_QUERIES:
        rows = np.sort(np.random.default_rng(0).choice(n, _MOST_QUERIES, False))
    k = min(n_neighbors, n - 1)
    others = y[nearest_points(Z[rows], Z, k, own=rows)[0]]
    if task == "regression":
        error = np.square(others.mean(axis=1) - y[rows]).sum()
        return float(1 - error / np.square(y[rows] - y[rows].mean()).sum())
    return float((majority(others) == y[rows]).mean())
