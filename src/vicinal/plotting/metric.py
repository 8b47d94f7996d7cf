"""How much each feature contributes to a learned metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.pipeline import Pipeline

from vicinal.app.methods.linear_map import feature_shares
from vicinal.plotting._display import PALETTE, Display, learned_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal._typing import FloatArray

__all__ = ["MetricDisplay"]


class MetricDisplay(Display):
    """Each feature's share of a map: ‖A e_j‖² / ‖A‖².

    Features must have comparable units for shares to mean something: learn the
    metric behind a `StandardScaler`.

    Parameters
    ----------
    shares : ndarray of shape (n_features,)
        They sum to one.
    feature_names : sequence of str
        One for each feature.
    image_shape : tuple of two int, optional
        Height and width, where features are pixels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        What the axes are part of.

    See Also
    --------
    vicinal.plotting.EmbeddingDisplay : Draws the rows instead.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal import LDG
    >>> from vicinal.plotting import MetricDisplay
    >>> wine = load_wine()
    >>> model = make_pipeline(StandardScaler(), LDG(2)).fit(wine.data, wine.target)
    >>> display = MetricDisplay.from_estimator(model, feature_names=wine.feature_names)
    >>> round(float(display.shares.sum()), 6)
    1.0
    """

    def __init__(
        self,
        shares: FloatArray,
        feature_names: Sequence[str],
        image_shape: tuple[int, int] | None = None,
    ) -> None:
        self.shares = shares
        self.feature_names = feature_names
        self.image_shape = image_shape

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Sequence[str] | None = None,
        image_shape: tuple[int, int] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the shares of the features in the `components_` of an estimator.

        Parameters
        ----------
        estimator : object
            Fitted, with `components_`; or a pipeline that ends in one.
        feature_names : sequence of str, optional
            One for each feature; by default those seen in fit or given by the steps of
            the pipeline before, or x0, x1, ...
        image_shape : tuple of two int, optional
            Height and width, to draw a picture where features are pixels.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **options
            For `plot`.
        """
        last = learned_part(estimator, "components_")
        found = feature_shares(np.asarray(last.components_))
        names = feature_names
        if names is None:
            names = _names(estimator, last)
        if names is None:
            names = [f"x{j}" for j in range(found.size)]
        if len(names) != found.size:
            raise ValueError(
                f"There are {len(names)} feature_names for {found.size} features."
            )
        if image_shape is not None and np.prod(image_shape) != found.size:
            raise ValueError(
                f"image_shape {image_shape} does not fit {found.size} features."
            )
        return cls(found, list(names), image_shape).plot(ax, **options)

    def plot(self, ax: Any = None, *, max_features: int = 15, **options: Any) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        max_features : int, default=15
            At most how many bars; the largest.
        **options
            For matplotlib's `barh`, or its `imshow` where features are pixels.

        Returns
        -------
        self
        """
        ax = self._axes(ax)
        if self.image_shape is not None:
            options = {"cmap": "cividis", **options}
            drawn = ax.imshow(self.shares.reshape(self.image_shape), **options)
            self.figure_.colorbar(drawn, ax=ax, label="share of the metric")
            ax.set(xticks=[], yticks=[])
            return self
        order = np.argsort(-self.shares, kind="stable")[:max_features][::-1]
        names = [str(self.feature_names[j])[:40] for j in order]
        heights = np.arange(order.size)
        ax.barh(heights, self.shares[order], **{"color": PALETTE[0], **options})
        # Names are no formulas, whatever dollars are in them.
        ax.set_yticks(heights, names, parse_math=False)
        ax.set(xlabel="share of the metric")
        return self


def _names(estimator: Any, last: Any) -> Sequence[str] | None:
    """Return what the features of the last step are called, where that is known."""
    seen: Sequence[str] | None = getattr(last, "feature_names_in_", None)
    if seen is None and isinstance(estimator, Pipeline) and len(estimator) > 1:
        try:
            return estimator[:-1].get_feature_names_out()
        except AttributeError:
            # A step that cannot tell.
            return None
    return seen
