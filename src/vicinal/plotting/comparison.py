"""The scores of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vicinal.plotting._display import PALETTE, Display

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal._typing import FloatArray
    from vicinal.app.comparison import Comparison

__all__ = ["ComparisonDisplay"]


class ComparisonDisplay(Display):
    """Mean scores with their 95 % intervals, method by method.

    Parameters
    ----------
    names : sequence of str
        The methods.
    means : ndarray of shape (n_methods,)
        Their mean scores.
    intervals : ndarray of shape (n_methods, 2)
        The ends of their intervals; NaN where there is none.
    measure : str
        What the scores are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        What the axes are part of.

    See Also
    --------
    vicinal.compare : Makes what is drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal import compare
    >>> from vicinal.plotting import ComparisonDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare(X, y, methods=["euclidean", "lda"], n_splits=3)
    >>> display = ComparisonDisplay.from_comparison(result)
    >>> display.ax_.get_xlabel()
    'accuracy (%)'
    """

    def __init__(
        self,
        names: Sequence[str],
        means: FloatArray,
        intervals: FloatArray,
        measure: str = "score",
    ) -> None:
        self.names = names
        self.means = means
        self.intervals = intervals
        self.measure = measure

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw what `vicinal.compare` returned.

        Parameters
        ----------
        comparison : Comparison
            Whose scores.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **options
            For matplotlib's `errorbar`.
        """
        # Accuracies are shown in percent.
        factor = 100.0 if comparison.setting.task == "classification" else 1.0
        names = [result.name for result in comparison.results]
        means = np.array([result.mean for result in comparison.results])
        intervals = np.array([comparison.interval(name) for name in names])
        display = cls(names, factor * means, factor * intervals, comparison.measure)
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **options
            For matplotlib's `errorbar`.

        Returns
        -------
        self
        """
        ax = self._axes(ax)
        # The first method at the top, as in the table.
        heights = np.arange(len(self.names))[::-1]
        reach = np.nan_to_num(np.abs(self.intervals.T - self.means))
        look = {"fmt": "o", "color": "0.45", **options}
        ax.errorbar(self.means, heights, xerr=reach, **look)
        if np.isfinite(self.means).any():
            best = int(np.nanargmax(self.means))
            ax.plot(self.means[best], heights[best], "o", color=PALETTE[0], zorder=3)
        ax.set_yticks(heights, self.names)
        ax.set(xlabel=self.measure)
        ax.grid(axis="x", color="0.9")
        ax.set_axisbelow(True)
        return self
