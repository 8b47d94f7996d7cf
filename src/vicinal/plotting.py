"""Displays of metrics, in the style of scikit-learn's Display classes.

They need matplotlib: ``pip install 'vicinal[plot]'``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline
from sklearn.utils import (
    check_array,
    check_consistent_length,
    check_scalar,
    column_or_1d,
)
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from vicinal.base.metric import warn_caller
from vicinal.neighbors import import_extra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from vicinal._typing import FloatArray, IntArray

__all__ = [
    "ComparisonDisplay",
    "ConvergenceDisplay",
    "EmbeddingDisplay",
    "MapDisplay",
    "MetricDisplay",
    "NeighborsDisplay",
    "ShapeDisplay",
]

# Okabe and Ito's colors, which the color-blind can tell apart.
PALETTE = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7"),
    *("#56b4e9", "#d55e00", "#2b2f33", "#d3c31f"),
)
_MARKERS = "o^sD"


class Display:
    """Base of the displays: `plot` sets `ax_` and `figure_`."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any) -> Any:
        """Return the axes to draw on, new ones by default, and store them."""
        import_extra("matplotlib", "plot")
        from matplotlib import pyplot as plt

        # The constrained layout makes room for long names beside the axes.
        self.ax_ = plt.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


def _last_step(estimator: Any, attribute: str) -> Any:
    """Return a fitted estimator, or the last step of a pipeline, with an attribute."""
    check_is_fitted(estimator)
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(last, attribute):
        raise ValueError(f"{type(last).__name__} has no {attribute} to draw.")
    return last


def _check_image_shape(image_shape: tuple[int, int] | None, n_features: int) -> None:
    if image_shape is not None and np.prod(image_shape) != n_features:
        raise ValueError(
            f"image_shape {image_shape} does not fit {n_features} features."
        )


@dataclass(eq=False, repr=False)
class EmbeddingDisplay(Display):
    """Rows as mapped by a metric, colored by their target.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        The rows in the plane.
    y : ndarray of shape (n_samples,), optional
        Classes or numbers.
    axis_names : tuple of two str
        The labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the drawing.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    vicinal.plotting.NeighborsDisplay : Looks at one row.
    vicinal.SupervisedMap : With layout="pca", measures how much of such a picture
        holds for new rows.

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

    points: FloatArray
    y: NDArray[Any] | None = None
    axis_names: tuple[str, str] = ("", "")

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
            Classes or numbers to color them by. Numbers with more values than there
            are colors and markers are drawn on a scale.
        ax : matplotlib Axes, optional
            The axes to draw on; new ones by default.
        **options
            For matplotlib's `scatter`.
        """
        check_is_fitted(estimator)
        labels = None if y is None else column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        points = np.asarray(estimator.transform(X))
        names = ("first dimension", "second dimension")
        if points.shape[1] == 1:
            points, names = np.pad(points, ((0, 0), (0, 1))), ("first dimension", "")
        elif points.shape[1] > 2:
            points = PCA(2, svd_solver="full").fit_transform(points)
            names = ("first principal component", "second principal component")
        return cls(points, labels, names).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; new ones by default.
        **options
            For matplotlib's `scatter`.

        Returns
        -------
        self
        """
        ax = self._axes(ax)
        options = {"s": 14, "linewidths": 0, "alpha": 0.85, **options}
        x, height = self.points.T
        names: Any = () if self.y is None else np.unique(self.y)
        many = len(names) > len(PALETTE) * len(_MARKERS)
        if self.y is None:
            ax.scatter(x, height, **{"color": PALETTE[0], **options})
        elif type_of_target(self.y) == "continuous" or (
            many and self.y.dtype.kind in "iuf"
        ):
            drawn = ax.scatter(x, height, c=self.y, **{"cmap": "cividis", **options})
            self.figure_.colorbar(drawn, ax=ax)
        else:
            drawn = []
            for i, name in enumerate(names):
                own = self.y == name
                look = {
                    "color": PALETTE[i % len(PALETTE)],
                    "marker": _MARKERS[i // len(PALETTE) % len(_MARKERS)],
                }
                look |= {"label": str(name), **options}
                drawn.append(ax.scatter(x[own], height[own], **look))
            # Set later: matplotlib drops labels with a leading underscore, and reads
            # formulas between dollars.
            outside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
            legend = ax.legend(drawn, ["class"] * len(drawn), frameon=False, **outside)
            for text, name in zip(legend.get_texts(), names, strict=True):
                text.set(text=str(name), parse_math=False)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        return self


@dataclass(eq=False, repr=False)
class MapDisplay(Display):
    """A map of labeled rows: as learned, and as held-out rows are placed.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        The rows on the map that has seen their labels.
    held_out : ndarray of shape (n_samples, 2) or None
        The rows as placed by maps that have not; NaN if there is none.
    y : ndarray of shape (n_samples,) or None
        Classes or numbers.
    titles : tuple of str
        One for each picture.
    warning : str, optional
        What to warn of: the picture is not better than chance.

    Attributes
    ----------
    ax_ : ndarray of matplotlib Axes
        The axes of the pictures.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    vicinal.pictures.SupervisedMap : Its `plot` returns one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.pictures import SupervisedMap
    >>> X, y = load_iris(return_X_y=True)
    >>> display = SupervisedMap(random_state=0).fit(X, y).plot()
    >>> len(display.ax_)
    2
    """

    points: FloatArray
    held_out: FloatArray | None = None
    y: NDArray[Any] | None = None
    titles: tuple[str, ...] = ("", "")
    warning: str | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw a fitted map.

        Parameters
        ----------
        estimator : SupervisedMap
            Fitted, with two components.
        **options
            For `plot`.
        """
        check_is_fitted(estimator)
        if estimator.embedding_.shape[1] != 2:
            raise ValueError("A map is drawn in two dimensions: set n_components=2.")
        held_out = getattr(estimator, "cross_fitted_embedding_", None)
        measure = "5-NN accuracy" if hasattr(estimator, "classes_") else "R² of 5-NN"
        titles = [f"trustworthiness {estimator.trustworthiness_:.3f}"]
        warning = None
        if hasattr(estimator, "train_score_"):
            titles = [f"seen in fit: {measure} {estimator.train_score_:.3f}"]
        if held_out is not None:
            low, high = np.quantile(estimator.null_scores_, [0.025, 0.975])
            titles.append(
                f"held out: {measure} {estimator.score_:.3f}\n"
                f"permuted labels: {estimator.null_scores_.mean():.3f} "
                f"({low:.3f} to {high:.3f}), p = {estimator.p_value_:.2g}"
            )
            if estimator.p_value_ > 0.05:
                warning = f"The picture is not better than chance. {titles[-1]}"
        points, y = estimator.embedding_, estimator.target_
        return cls(points, held_out, y, tuple(titles), warning).plot(**options)

    def plot(self, *, max_rows: int = 20_000, **options: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        max_rows : int, default=20000
            Largest number of rows to draw; a random part of more.
        **options
            For matplotlib's `scatter`.

        Returns
        -------
        self

        Warns
        -----
        UserWarning
            If held-out rows show nothing but chance.
        """
        import_extra("matplotlib", "plot")
        from matplotlib import pyplot as plt

        pictures = (
            [self.points] if self.held_out is None else [self.points, self.held_out]
        )
        size: dict[str, Any] = {
            "figsize": (6 * len(pictures), 5),
            "layout": "constrained",
        }
        self.figure_, axes = plt.subplots(1, len(pictures), squeeze=False, **size)
        self.ax_ = axes[0]
        rows = np.sort(
            np.random.RandomState(0).permutation(len(self.points))[:max_rows]
        )
        for ax, points, title in zip(self.ax_, pictures, self.titles, strict=False):
            # NaN is not drawn, but keeps the colors of the classes alike.
            y = None if self.y is None else self.y[rows]
            EmbeddingDisplay(points[rows], y).plot(ax, **options)
            ax.set(title=title, xticks=[], yticks=[])
            if ax is not self.ax_[-1] and ax.get_legend() is not None:
                ax.get_legend().remove()
        if self.warning is not None:
            self.figure_.suptitle("not better than chance", color=PALETTE[5])
            warn_caller(self.warning)
        return self


@dataclass(eq=False, repr=False)
class NeighborsDisplay(Display):
    """The nearest rows of a row under the Euclidean and under a learned metric.

    Parameters
    ----------
    query : int
        The row.
    neighbors : ndarray of int of shape (2, n_neighbors)
        Its nearest rows before and after learning, nearest first.
    distances : ndarray of shape (2, n_neighbors)
        Their distances, each under its own metric.
    images : ndarray of shape (n_samples, height, width), optional
        The rows as images.
    y : ndarray of shape (n_samples,), optional
        Their classes or numbers.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the drawing.
    figure_ : matplotlib Figure
        The figure of the axes.

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
    >>> display = NeighborsDisplay.from_estimator(nca, X, query=70, n_neighbors=4, y=y)
    >>> display.neighbors.shape
    (2, 4)
    """

    query: int
    neighbors: IntArray
    distances: FloatArray
    images: FloatArray | None = None
    y: NDArray[Any] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        query: int,
        n_neighbors: int = 8,
        *,
        image_shape: tuple[int, int] | None = None,
        y: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Find and draw the nearest rows.

        Parameters
        ----------
        estimator : object
            Fitted, with a `transform`.
        X : array-like of shape (n_samples, n_features)
            The rows to search.
        query : int
            The row whose neighbors to search.
        n_neighbors : int, default=8
            The number of neighbors.
        image_shape : tuple of two int, optional
            Height and width, if rows are images.
        y : array-like of shape (n_samples,), optional
            Their classes; neighbors of other classes are marked.
        ax : matplotlib Axes, optional
            The axes to draw on; new ones by default.
        """
        check_is_fitted(estimator)
        rows: FloatArray = check_array(X, dtype=[np.float64, np.float32])
        labels = None if y is None else column_or_1d(y, warn=True)
        check_consistent_length(rows, labels)
        n = len(rows)
        check_scalar(query, "query", Integral, min_val=-n, max_val=n - 1)
        check_scalar(n_neighbors, "n_neighbors", Integral, min_val=1, max_val=n - 1)
        _check_image_shape(image_shape, rows.shape[1])
        query %= n
        others = np.delete(np.arange(n), query)
        neighbors = np.empty((2, n_neighbors), dtype=np.intp)
        distances = np.empty((2, n_neighbors))
        for side, points in enumerate((rows, np.asarray(estimator.transform(X)))):
            search = NearestNeighbors(n_neighbors=n_neighbors).fit(points[others])
            (distances[side],), (found,) = search.kneighbors(points[[query]])
            neighbors[side] = others[found]
        images = None if image_shape is None else rows.reshape(-1, *image_shape)
        return cls(query, neighbors, distances, images, labels).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the rows as images if there are any, otherwise as points in two lines.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; new ones by default.

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
            look: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": "small"}
            look |= {"textcoords": "offset points", "parse_math": False}
            for rank, j in zip(ranks, near, strict=True):
                text = self._label(j).replace(": ", "\n")
                ax.annotate(text, (rank, height), (0, -9), **look)
        ax.set(xlim=(0.4, ranks.size + 0.6), ylim=(0.4, 2.6), xticks=ranks)
        ax.set_xlabel("nearest first")
        ax.set_title(f"nearest rows of {self._label(self.query)}", parse_math=False)
        ax.set_yticks([2, 1], ("before", "after"))
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)

    def _draw_pictures(self, ax: Any, images: FloatArray) -> None:
        ax.set_axis_off()
        columns = self.neighbors.shape[1] + 1
        for side, name in enumerate(("before", "after")):
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


@dataclass(eq=False, repr=False)
class MetricDisplay(Display):
    """The share of each feature in a map: ‖A e_j‖² / ‖A‖².

    Shares are only meaningful if the features have comparable units: learn the metric
    after a `StandardScaler`.

    Parameters
    ----------
    shares : ndarray of shape (n_features,)
        They sum to one.
    feature_names : sequence of str
        One for each feature.
    image_shape : tuple of two int, optional
        Height and width, if features are pixels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the drawing.
    figure_ : matplotlib Figure
        The figure of the axes.

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

    shares: FloatArray
    feature_names: Sequence[str]
    image_shape: tuple[int, int] | None = None

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
            Height and width, to draw an image if features are pixels.
        ax : matplotlib Axes, optional
            The axes to draw on; new ones by default.
        **options
            For `plot`.
        """
        last = _last_step(estimator, "components_")
        squares = np.square(last.components_).sum(axis=0)
        found = squares / (squares.sum() or 1)
        names = feature_names
        if names is None:
            names = getattr(last, "feature_names_in_", None)
        if names is None and isinstance(estimator, Pipeline) and len(estimator) > 1:
            # Not every step has get_feature_names_out.
            with suppress(AttributeError):
                names = estimator[:-1].get_feature_names_out()
        if names is None:
            names = [f"x{j}" for j in range(found.size)]
        if len(names) != found.size:
            raise ValueError(
                f"There are {len(names)} feature_names for {found.size} features."
            )
        _check_image_shape(image_shape, found.size)
        return cls(found, list(names), image_shape).plot(ax, **options)

    def plot(self, ax: Any = None, *, max_features: int = 15, **options: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; new ones by default.
        max_features : int, default=15
            The largest number of bars; the largest shares are drawn.
        **options
            For matplotlib's `barh`, or its `imshow` if features are pixels.

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
        # Dollars in names do not enclose formulas.
        ax.set_yticks(heights, names, parse_math=False)
        ax.set(xlabel="share of the metric")
        return self


@dataclass(eq=False, repr=False)
class ShapeDisplay(Display):
    """Curves of the columns of an additive metric.

    Each curve is drawn along the directions in which the training rows vary most. The
    vertical distance between two values is their distance in that direction.

    Parameters
    ----------
    curves : list of ShapeFunction
        The columns to draw, with points of one dimension for each direction.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One for each column.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    vicinal.TableNCAClassifier : Its `shape_functions` are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import TableNCAClassifier
    >>> from vicinal.plotting import ShapeDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> model = TableNCAClassifier(8, random_state=0).fit(X, X[:, 0] > 0)
    >>> display = ShapeDisplay.from_estimator(model)
    >>> len(display.axes_)
    3
    """

    curves: list[Any]

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_columns: int = 9, n_directions: int = 2
    ) -> Self:
        """Draw the columns with the largest `feature_importances_`.

        Parameters
        ----------
        estimator : object
            A fitted `TableNCA`, classifier or regressor; or a pipeline that ends in
            one.
        max_columns : int, default=9
            The largest number of columns.
        n_directions : int, default=2
            Number of directions: the principal directions of the curves.
        """
        last = _last_step(estimator, "shape_functions")
        curves = last.shape_functions()
        centered = np.concatenate([c.points - c.points.mean(axis=0) for c in curves])
        directions = np.linalg.svd(centered, full_matrices=False)[2][:n_directions]
        order = np.argsort(-last.feature_importances_, kind="stable")
        chosen = [curves[c] for c in order if curves[c].values][:max_columns]
        return cls([c._replace(points=c.points @ directions.T) for c in chosen]).plot()

    def plot(self) -> Self:
        """Draw the display on a new figure.

        Returns
        -------
        self
        """
        import_extra("matplotlib", "plot")
        from matplotlib import pyplot as plt

        n = len(self.curves)
        n_columns = max(1, min(3, n))
        shape = max(1, -(-n // n_columns)), n_columns
        self.figure_, axes = plt.subplots(
            *shape, sharey=True, layout="constrained", squeeze=False,
            figsize=(3 * shape[1], 2.4 * shape[0]),
        )  # fmt: skip
        self.axes_ = axes.ravel()[:n]
        for ax in axes.ravel()[n:]:
            ax.set_axis_off()
        for ax, curve in zip(self.axes_, self.curves, strict=True):
            ax.set_title(curve.name[:40], parse_math=False, fontsize="medium")
            numeric = isinstance(curve.values[0], float | np.datetime64)
            known = [i for i, one in enumerate(curve.values) if one is not None]
            for k, points in enumerate(curve.points.T):
                look = {
                    "color": PALETTE[k % len(PALETTE)],
                    "label": f"direction {k + 1}",
                }
                if numeric:
                    ax.plot([curve.values[i] for i in known], points[known], **look)
                    for gap in set(range(len(points))) - set(known):
                        ax.axhline(points[gap], linestyle=":", color=look["color"])
                else:
                    ax.plot(np.arange(len(points)), points, "o", **look)
            if not numeric:
                names = ["missing" if one is None else one for one in curve.values]
                labels = [str(name)[:12] for name in names]
                ax.set_xticks(np.arange(len(labels)), labels, rotation=45, ha="right")
        if n:
            self.axes_[0].legend(frameon=False, fontsize="small")
        return self


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """The objective of a fit by iteration.

    Parameters
    ----------
    curve : ndarray of shape (n_iterations,)
        Values of the objective.
    name : str, optional
        The label of the curve in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the drawing.
    figure_ : matplotlib Figure
        The figure of the axes.
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

    curve: FloatArray
    name: str | None = None

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
            The axes to draw on; new ones by default. Several fits can share axes.
        name : str, optional
            The label of the curve; the name of the class by default.
        **options
            For matplotlib's `plot`.
        """
        last = _last_step(estimator, "objective_curve_")
        curve = np.asarray(last.objective_curve_)
        return cls(curve, name or type(last).__name__).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; new ones by default.
        **options
            For matplotlib's `plot`.

        Returns
        -------
        self
        """
        # On given axes, which may hold a curve, matplotlib's next color.
        fresh = {"color": PALETTE[0]} if ax is None else {}
        ax = self._axes(ax)
        look = {**fresh, "label": self.name, **options}
        (self.line_,) = ax.plot(np.arange(self.curve.size), self.curve, **look)
        ax.set(xlabel="iteration", ylabel="objective")
        if self.name:
            ax.legend(frameon=False)
        return self


@dataclass(eq=False, repr=False)
class ComparisonDisplay(Display):
    """Mean scores of methods with their 95 % intervals.

    Parameters
    ----------
    names : sequence of str
        The methods.
    means : ndarray of shape (n_methods,)
        Their mean scores.
    intervals : ndarray of shape (n_methods, 2)
        The ends of their intervals; NaN if there is none.
    measure : str
        The name of the score.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the drawing.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    vicinal.compare : Compares methods.

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

    names: Sequence[str]
    means: FloatArray
    intervals: FloatArray
    measure: str = "score"

    @classmethod
    def from_comparison(
        cls, comparison: Any, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the result of `vicinal.compare`.

        Parameters
        ----------
        comparison : Comparison
            The result.
        ax : matplotlib Axes, optional
            The axes to draw on; new ones by default.
        **options
            For matplotlib's `errorbar`.
        """
        factor = comparison.evidence.score.factor  # accuracies are in percent
        names = [result.name for result in comparison.results]
        means = np.array([result.mean for result in comparison.results])
        intervals = np.array([comparison.interval(name) for name in names])
        display = cls(names, factor * means, factor * intervals, comparison.measure)
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; new ones by default.
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
