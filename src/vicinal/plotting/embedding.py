"""Rows under a learned metric, in the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from vicinal.app.comparison.data import are_numbers
from vicinal.plotting._display import PALETTE, Display, plane

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from vicinal._typing import FloatArray

__all__ = ["EmbeddingDisplay"]

_MARKERS = "o^sD"


class EmbeddingDisplay(Display):
    """Rows where a metric puts them, coloured by their target.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        The rows in the plane.
    y : ndarray of shape (n_samples,), optional
        Classes or numbers.
    axis_names : tuple of two str
        What to write at the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        What the axes are part of.

    See Also
    --------
    vicinal.plotting.NeighborsDisplay : Looks at one row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal import NCA
    >>> from vicinal.plotting import EmbeddingDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> nca = NCA(2, max_iter=200).fit(X, y)
    >>> display = EmbeddingDisplay.from_estimator(nca, X, y)
    >>> display.ax_.get_xlabel()
    'first dimension'
    """

    def __init__(
        self,
        points: FloatArray,
        y: NDArray[Any] | None = None,
        axis_names: tuple[str, str] = ("", ""),
    ) -> None:
        self.points = points
        self.y = y
        self.axis_names = axis_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the rows as an estimator transforms them.

        Parameters
        ----------
        estimator : object
            Fitted, with a `transform`. Of more than two dimensions, the first two
            principal components are drawn.
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), optional
            Classes or numbers to colour them by.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **options
            For matplotlib's `scatter`.
        """
        check_is_fitted(estimator)
        labels = None if y is None else column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        points, names = plane(np.asarray(estimator.transform(X)))
        return cls(points, labels, names).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **options
            For matplotlib's `scatter`.

        Returns
        -------
        self
        """
        ax = self._axes(ax)
        options = {"s": 14, "linewidths": 0, "alpha": 0.85, **options}
        x, height = self.points.T
        if self.y is None:
            ax.scatter(x, height, **{"color": PALETTE[0], **options})
        elif are_numbers(self.y):
            drawn = ax.scatter(x, height, c=self.y, **{"cmap": "cividis", **options})
            self.figure_.colorbar(drawn, ax=ax)
        else:
            names, drawn = np.unique(self.y), []
            for i, name in enumerate(names):
                own = self.y == name
                look = {
                    "color": PALETTE[i % len(PALETTE)],
                    "marker": _MARKERS[i // len(PALETTE) % len(_MARKERS)],
                }
                look |= {"label": str(name), **options}
                drawn.append(ax.scatter(x[own], height[own], **look))
            # As they are: matplotlib drops names with a leading underscore, and reads
            # formulas between dollars.
            outside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
            legend = ax.legend(drawn, ["class"] * len(drawn), frameon=False, **outside)
            for text, name in zip(legend.get_texts(), names, strict=True):
                text.set(text=str(name), parse_math=False)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        return self
