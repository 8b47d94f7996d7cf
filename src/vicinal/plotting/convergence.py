"""How a fit has climbed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vicinal.plotting._display import PALETTE, Display, learned_part

if TYPE_CHECKING:
    from vicinal._typing import FloatArray

__all__ = ["ConvergenceDisplay"]


class ConvergenceDisplay(Display):
    """The objective, iteration by iteration.

    Parameters
    ----------
    curve : ndarray of shape (n_iterations,)
        Values of the objective.
    name : str, optional
        What to write into the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        What the axes are part of.
    line_ : matplotlib Line2D
        The curve.

    See Also
    --------
    vicinal.NCA : Has an `objective_curve_`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal import NCA
    >>> from vicinal.plotting import ConvergenceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> nca = NCA(2, max_iter=200).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(nca)
    >>> len(display.line_.get_ydata()) == len(nca.objective_curve_)
    True
    """

    line_: Any

    def __init__(self, curve: FloatArray, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, name: str | None = None, **options: Any
    ) -> Self:
        """Draw the `objective_curve_` of an estimator.

        Parameters
        ----------
        estimator : object
            Fitted, with an `objective_curve_`; or a pipeline that ends in one.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default. Several fits can share axes.
        name : str, optional
            What to write into the legend; the class's name by default.
        **options
            For matplotlib's `plot`.
        """
        last = learned_part(estimator, "objective_curve_")
        curve = np.asarray(last.objective_curve_)
        return cls(curve, name or type(last).__name__).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **options
            For matplotlib's `plot`.

        Returns
        -------
        self
        """
        # On axes that hold a curve already, matplotlib's next colour.
        fresh = {"color": PALETTE[0]} if ax is None else {}
        ax = self._axes(ax)
        look = {**fresh, "label": self.name, **options}
        (self.line_,) = ax.plot(np.arange(self.curve.size), self.curve, **look)
        ax.set(xlabel="iteration", ylabel="objective")
        if self.name:
            ax.legend(frameon=False)
        return self
