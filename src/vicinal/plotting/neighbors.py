"""The nearest rows of one row, before and after a metric was learned."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import (
    check_array,
    check_consistent_length,
    check_scalar,
    column_or_1d,
)
from sklearn.utils.validation import check_is_fitted

from vicinal.plotting._display import PALETTE, Display

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from vicinal._typing import FloatArray, IntArray

__all__ = ["NeighborsDisplay"]

_SIDES = ("before", "after")


class NeighborsDisplay(Display):
    """A row's nearest rows under the Euclidean metric and under a learned one.

    Parameters
    ----------
    query : int
        The row.
    neighbors : ndarray of int of shape (2, k)
        Its nearest rows before and after, nearest first.
    distances : ndarray of shape (2, k)
        How far they are, each in its own metric.
    images : ndarray of shape (n_samples, height, width), optional
        The rows as pictures.
    y : ndarray of shape (n_samples,), optional
        Their classes or numbers.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        What the axes are part of.

    See Also
    --------
    vicinal.plotting.EmbeddingDisplay : Draws all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal import NCA
    >>> from vicinal.plotting import NeighborsDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> nca = NCA(2, max_iter=200).fit(X, y)
    >>> display = NeighborsDisplay.from_estimator(nca, X, query=70, k=4, y=y)
    >>> display.neighbors.shape
    (2, 4)
    """

    def __init__(
        self,
        query: int,
        neighbors: IntArray,
        distances: FloatArray,
        images: FloatArray | None = None,
        y: NDArray[Any] | None = None,
    ) -> None:
        self.query = query
        self.neighbors = neighbors
        self.distances = distances
        self.images = images
        self.y = y

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        query: int,
        k: int = 8,
        *,
        image_shape: tuple[int, int] | None = None,
        y: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Find the nearest rows, and draw them.

        Parameters
        ----------
        estimator : object
            Fitted, with a `transform`.
        X : array-like of shape (n_samples, n_features)
            The rows to search.
        query : int
            Which of them to search the neighbours of.
        k : int, default=8
            How many.
        image_shape : tuple of two int, optional
            Height and width, where rows are pictures.
        y : array-like of shape (n_samples,), optional
            Their classes; others than the query's are marked.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        """
        check_is_fitted(estimator)
        rows: FloatArray = check_array(X, dtype=[np.float64, np.float32])
        labels = None if y is None else column_or_1d(y, warn=True)
        check_consistent_length(rows, labels)
        check_scalar(query, "query", Integral)
        check_scalar(k, "k", Integral)
        if not -len(rows) <= query < len(rows):
            raise ValueError(f"query={query} is none of the {len(rows)} rows.")
        if not 1 <= k < len(rows):
            raise ValueError(f"k={k} must be between 1 and {len(rows) - 1}.")
        if image_shape is not None and np.prod(image_shape) != rows.shape[1]:
            raise ValueError(
                f"image_shape {image_shape} does not fit {rows.shape[1]} features."
            )
        query %= len(rows)
        found = [
            _nearest(np.asarray(points), query, k)
            for points in (rows, estimator.transform(X))
        ]
        distances, neighbors = (np.array(part) for part in zip(*found, strict=True))
        images = None if image_shape is None else rows.reshape(-1, *image_shape)
        return cls(query, neighbors, distances, images, labels).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it: as pictures if there are any, else as points in two lines.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        self
        """
        ax = self._axes(ax)
        if self.images is None:
            self._draw_lines(ax)
        else:
            self._draw_pictures(ax, self.images)
        return self

    def _draw_lines(self, ax: Any) -> None:
        ranks = np.arange(1, self.neighbors.shape[1] + 1)
        for height, near in zip((2, 1), self.neighbors, strict=True):
            colors = [self._color(j) for j in near]
            ax.scatter(ranks, [height] * ranks.size, c=colors, s=60)
            for rank, j in zip(ranks, near, strict=True):
                ax.annotate(
                    self._label(j).replace(": ", "\n"),
                    (rank, height),
                    (0, -9),
                    textcoords="offset points",
                    ha="center",
                    va="top",
                    fontsize="small",
                    parse_math=False,
                )
        ax.set(
            xlim=(0.4, ranks.size + 0.6),
            ylim=(0.4, 2.6),
            xlabel="nearest first",
        )
        ax.set_title(f"nearest rows of {self._label(self.query)}", parse_math=False)
        ax.set_xticks(ranks)
        ax.set_yticks([2, 1], _SIDES)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)

    def _draw_pictures(self, ax: Any, images: FloatArray) -> None:
        ax.set_axis_off()
        columns = self.neighbors.shape[1] + 1
        for side, name in enumerate(_SIDES):
            for index, j in enumerate([self.query, *self.neighbors[side]]):
                box = (index / columns, (1 - side) / 2, 0.92 / columns, 0.4)
                tile = ax.inset_axes(box)
                tile.imshow(images[j], cmap="gray")
                tile.set(xticks=[], yticks=[])
                title = self._label(j) if index else name
                tile.set_title(title, fontsize="small", parse_math=False)
                edge = self._color(j) if index else "0.5"
                tile.spines[:].set(color=edge, linewidth=2)

    def _label(self, row: int) -> str:
        return f"{row}" if self.y is None else f"{row}: {str(self.y[row])[:20]}"

    def _color(self, row: int) -> str:
        same = self.y is None or self.y[row] == self.y[self.query]
        return PALETTE[0] if same else PALETTE[5]


def _nearest(points: FloatArray, query: int, k: int) -> tuple[FloatArray, IntArray]:
    """Return distances and numbers of the k rows nearest to one of them."""
    others = np.delete(np.arange(len(points)), query)
    search = NearestNeighbors(n_neighbors=k).fit(points[others])
    distances, found = search.kneighbors(points[query : query + 1])
    return distances[0], others[found[0]]
