"""What the displays share: axes, colours, and the learned part of an estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from vicinal._typing import FloatArray

__all__ = ["PALETTE", "Display", "learned_part", "plane"]

# Okabe and Ito's colours, which also look different to the colour-blind.
PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#2b2f33",
    "#d3c31f",
)


class Display:
    """A picture: what to draw, and once drawn, `ax_` and `figure_`."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any) -> Any:
        """Return the axes to draw on, new ones unless given, and note them."""
        try:
            from matplotlib import pyplot as plt
        except ImportError as error:
            raise ImportError(
                f"{type(self).__name__} needs matplotlib: pip install 'vicinal[plot]'."
            ) from error
        # Names beside the axes are as long as they are: the axes make room for them.
        self.ax_ = plt.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


def learned_part(estimator: Any, attribute: str) -> Any:
    """Return an estimator, or a pipeline's last step, that has an attribute.

    Raises
    ------
    ValueError
        When it is fitted and has no such attribute.
    """
    check_is_fitted(estimator)
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(last, attribute):
        raise ValueError(f"{type(last).__name__} has no {attribute} to draw.")
    return last


def plane(points: FloatArray) -> tuple[FloatArray, tuple[str, str]]:
    """Return points in two dimensions, and what the axes are called."""
    if points.shape[1] == 1:
        return np.column_stack([points[:, 0], np.zeros(len(points))]), (
            "first dimension",
            "",
        )
    if points.shape[1] == 2:
        return points, ("first dimension", "second dimension")
    names = ("first principal component", "second principal component")
    return PCA(2, svd_solver="full").fit_transform(points), names
