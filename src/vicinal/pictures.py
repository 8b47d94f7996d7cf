"""Maps of labeled rows to the plane, with the evidence that they show more than chance.

A learned metric says which rows are near, and a layout draws these neighborhoods. The
labels act through the metric alone.
"""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import cdist
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
    clone,
)
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, r2_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import (
    _safe_indexing,
    check_array,
    check_consistent_length,
    check_random_state,
    column_or_1d,
    gen_batches,
)
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray
from vicinal.additive import TableNCA, TableNCARegressor
from vicinal.base.columns import categorical_columns, is_frame
from vicinal.base.metric import unchanged_on_error, validate_data, warn_caller
from vicinal.base.selection import held_out, majority
from vicinal.nca import NCAClassifier, NCARegressor
from vicinal.neighbors import import_extra
from vicinal.plotting import MapDisplay

__all__ = ["NeighborLayout", "SupervisedMap"]


@dataclass(eq=False, repr=False)
class NeighborLayout(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Layout of points that keeps neighbors together.

    The layout maximizes Σ_i Σ_j log q_ij / (q_ij + Σ_m q_im) over the nearest
    neighbors j of each point i, with q = 1 / (1 + d²) in the layout and m drawn at
    random [1]_: NCA's soft neighbors with the kernel of t-SNE, and with the neighbors
    in place of the class.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the layout.
    n_neighbors : int, default=15
        Neighbors of each point.
    n_draws : int, default=5
        Random points for each neighbor.
    n_epochs : int, default=200
        Passes over all neighbors. New points take a quarter of them.
    init : ndarray of shape (n_samples, n_components) or None, default=None
        Start; None is the principal components.
    random_state : int, RandomState or None, default=None
        Seed of the draws.
    n_jobs : int or None, default=None
        Number of threads of the neighbor search.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The layout of the training points.

    See Also
    --------
    vicinal.pictures.SupervisedMap : Learns the metric, and measures the picture.

    Notes
    -----
    Cost: the search for neighbors, and O(`n_epochs` · n · `n_neighbors` · `n_draws`)
    steps of a compiled loop.

    References
    ----------
    .. [1] Damrich, Böhm, Hamprecht, Kobak. From t-SNE to UMAP with contrastive
       learning. International Conference on Learning Representations, 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.pictures import NeighborLayout
    >>> X = load_iris().data
    >>> NeighborLayout(random_state=0).fit_transform(X).shape
    (150, 2)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "init": [np.ndarray, None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    n_components: int = 2
    _: KW_ONLY
    n_neighbors: int = 15
    n_draws: int = 5
    n_epochs: int = 200
    init: FloatArray | None = None
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002
        """Arrange the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        from vicinal.neighborhood import kernels  # loads Numba

        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        rng = check_random_state(self.random_state)
        shape = len(points), self.n_components
        if self.init is None:
            layout = start_of(points, self.n_components, rng)
        else:
            layout = check_array(self.init, dtype=np.float64, input_name="init")
        if layout.shape != shape:
            raise ValueError(f"init must have shape {shape}, got {layout.shape}.")
        # Points that coincide would stay together.
        layout = layout + rng.normal(scale=1e-2, size=layout.shape)
        self._center = points.mean(axis=0)
        k = min(self.n_neighbors, len(points) - 1)
        search = NearestNeighbors(n_neighbors=k, n_jobs=self.n_jobs)
        self._search = search.fit(points - self._center)
        near = self._search.kneighbors(return_distance=False)
        self._seed = rng.randint(2**31 - 1)
        kernels.arrange(layout, near, self.n_epochs, self.n_draws, self._seed)
        self.embedding_ = layout
        return self

    def fit_transform(self, X: ArrayLike, y: object = None) -> FloatArray:
        """Arrange the points, and return the layout.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y).embedding_

    def transform(self, X: ArrayLike) -> FloatArray:
        """Place new points among the training points, which stay.

        Each is placed by its five nearest, from their median. A point that coincides
        with a training point, to a millionth of its distance from the mean, has its
        place; of equal training points, that of one. The place of a point does not
        depend on the other new points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        from vicinal.neighborhood import kernels  # loads Numba

        check_is_fitted(self)
        points = validate_data(self, X, dtype=np.float64, reset=False) - self._center
        k = min(5, self._search.n_neighbors)
        distances, near = self._search.kneighbors(points, k)
        # A training row, up to the rounding errors of a metric in float32.
        same = distances[:, 0] <= 1e-6 * np.linalg.norm(points, axis=1)
        layout = np.median(self.embedding_[near], axis=1)
        n_epochs = -(-self.n_epochs // 4)
        draws = self.n_draws, self._seed
        # A copy: compiled code for arrays that may be read only is not needed then.
        kernels.place(layout, self.embedding_.copy(), near, n_epochs, *draws)
        layout[same] = self.embedding_[near[same, 0]]
        return layout

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def start_of(
    points: FloatArray, n_components: int, rng: np.random.RandomState
) -> FloatArray:
    """Return the first principal components, the first with unit deviation."""
    d = min(n_components, *points.shape)
    solver = "covariance_eigh" if points.shape[1] <= 1000 else "randomized"
    with np.errstate(invalid="ignore"):  # points that are all equal
        found = PCA(d, svd_solver=solver, random_state=rng).fit_transform(points)
    found /= found[:, 0].std() or 1.0
    return np.pad(found, ((0, 0), (0, n_components - d)))


class OpenTSNE(NamedTuple):
    """openTSNE's embedding, with scikit-learn's `transform`."""

    embedding_: Any

    def transform(self, X: FloatArray) -> FloatArray:
        """Place new points."""
        return np.asarray(self.embedding_.transform(X))


class PaCMAP(NamedTuple):
    """PaCMAP's embedding, with scikit-learn's `transform`."""

    fitted: Any
    points: FloatArray
    embedding_: FloatArray

    def transform(self, X: FloatArray) -> FloatArray:
        """Place new points."""
        return np.asarray(self.fitted.transform(X, basis=self.points))


@dataclass(eq=False, repr=False)
class SupervisedMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map of labeled rows to the plane, with a held-out score and a null.

    A metric is learned from the labels, and the neighborhoods under it are drawn by a
    layout that does not see the labels. New rows are placed among the others. Every
    row is also placed by a map that has not seen its label. The score of these places
    says how much of the picture holds for new rows, and permuted labels say how much
    chance gives: a picture of noise may look as clear as any other.

    Parameters
    ----------
    metric : "auto", "passthrough" or estimator, default="auto"
        A transformer to a space of Euclidean distances, such as :class:`vicinal.LDG`,
        :class:`vicinal.LCA` or a pipeline; "passthrough" takes X as it is. "auto" is
        :class:`vicinal.NCAClassifier` for classes and :class:`vicinal.NCARegressor` for
        numbers, on at most 100 principal components, :class:`vicinal.TableNCA` or
        :class:`vicinal.TableNCARegressor` for data frames with categories and for
        missing values, and "passthrough" without labels.
    layout : {"neighbors", "umap", "opentsne", "pacmap", "pca"}, default="neighbors"
        "neighbors" is :class:`NeighborLayout`. UMAP, openTSNE and PaCMAP need
        ``pip install 'vicinal[maps]'``. "pca" is a linear plane: the principal
        components under the metric.
    n_components : int, default=2
        Dimension of the picture.
    n_neighbors : int, default=15
        Neighbors of each row in the layout, and in `trustworthiness_`.
    cv : int or None, default=5
        Number of folds for the held-out score, each with a metric and a layout of its
        own; None fits the map alone.
    n_permutations : int, default=200
        Permutations of the labels of the held-out rows. They need no more fits.
    random_state : int, RandomState or None, default=None
        Seed of the default metric, the layout, the folds and the permutations.
    n_jobs : int or None, default=None
        Number of threads of the default metric, and of the layouts "neighbors" and
        "opentsne".

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The training rows on the map that all labels have made.
    cross_fitted_embedding_ : ndarray of shape (n_samples, n_components)
        Each row as placed by the map of the other folds. The planes of the folds are
        aligned to `embedding_` by rotation, reflection, scale and shift. NaN for the
        only row of a class.
    score_ : float
        Accuracy of 5-NN for held-out rows, each in the plane of its fold; R² if y is
        continuous.
    train_score_ : float
        The same for the rows of `embedding_`, without themselves: the order that the
        picture seems to have.
    null_scores_ : ndarray of shape (n_permutations,)
        `score_` if the labels of the held-out rows are permuted within each fold.
    p_value_ : float
        Share of permutations that score at least as high, with the true labels as one.
        It is approximate: a held-out label also trains the maps of the other folds.
    trustworthiness_ : float
        1, less a penalty for neighbors on the map that are none under the metric, as in
        :func:`sklearn.manifold.trustworthiness`, of at most 1,000 rows.
    neighborhood_preservation_ : float
        Share of the neighbors under the metric that are neighbors on the map, of the
        same rows.
    metric_ : estimator
        The fitted metric.
    layout_ : object
        The fitted layout.
    target_ : ndarray of shape (n_samples,) or None
        y.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted, if y has classes.

    See Also
    --------
    vicinal.plotting.MapDisplay : Draws the map.
    vicinal.NCA : With two components, a linear map to the plane.

    Notes
    -----
    Cost: `cv` + 1 fits of the metric and of the layout.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from vicinal import SupervisedMap
    >>> X, y = load_wine(return_X_y=True)
    >>> wine = SupervisedMap(random_state=0).fit(scale(X), y)
    >>> bool(wine.score_ > 0.9), bool(wine.p_value_ < 0.01)
    (True, True)
    >>> wine.transform(scale(X)[:3]).shape
    (3, 2)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "metric": [
            StrOptions({"auto", "passthrough"}),
            HasMethods(["fit", "transform"]),
        ],
        "layout": [StrOptions({"neighbors", "umap", "opentsne", "pacmap", "pca"})],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left"), None],
        "n_permutations": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    metric: Any = "auto"
    layout: str = "neighbors"
    _: KW_ONLY
    n_components: int = 2
    n_neighbors: int = 15
    cv: int | None = 5
    n_permutations: int = 200
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Learn the map, and measure it.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or None, default=None
            Classes or numbers. Numbers with a fractional part, and floats with more
            distinct values than a third of the rows, are continuous. Without labels,
            `trustworthiness_` and `neighborhood_preservation_` are measured alone.

        Returns
        -------
        self

        Warns
        -----
        UserWarning
            If the held-out score is not better than chance (p > 0.05).
        """
        with unchanged_on_error(self):
            rows = self._check_rows(X, reset=True)
            n = rows.shape[0]
            target, classes = None, None
            if y is not None:
                target, classes = _check_target(y, n)
            rng = check_random_state(self.random_state)
            seed = rng.randint(2**31 - 1)
            unfitted = self._unfitted(rows, target, classes, seed)
            metric = clone(unfitted).fit(rows, target)
            points = np.asarray(metric.transform(rows), dtype=np.float64)
            start = start_of(points, self.n_components, rng)
            layout = self._lay_out(points, start, seed)
            embedding = np.asarray(layout.embedding_, dtype=np.float64)
            trust, kept = faithfulness(
                points, embedding, self.n_neighbors, random_state=seed
            )
            fitted: dict[str, Any] = {
                "metric_": metric,
                "layout_": layout,
                "embedding_": embedding,
                "trustworthiness_": trust,
                "neighborhood_preservation_": kept,
                "target_": target if classes is None else classes[target],
            }
            if classes is not None:
                fitted["classes_"] = classes
            if target is not None:
                votes = _vote(embedding, target, None, classes is not None)
                fitted["train_score_"] = _score(target, votes, classes is not None)
                if self.cv is not None:
                    how = start, embedding, classes is not None, seed
                    fitted |= self._cross_fit(unfitted, rows, target, *how)
        scores = "classes_ train_score_ score_ null_scores_ p_value_"
        for name in (*scores.split(), "cross_fitted_embedding_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        self.__dict__.update(fitted)
        if fitted.get("p_value_", 0.0) > 0.05:
            warn_caller(f"{self._summary()}: the picture is not better than chance.")
        return self

    def _cross_fit(
        self,
        unfitted: Any,
        rows: Any,
        target: Any,
        start: FloatArray,
        embedding: FloatArray,
        discrete: bool,
        seed: int,
    ) -> dict[str, Any]:
        """Place each row by a map that has not seen its label, and score the places."""
        rng = check_random_state(seed)
        strata = target if discrete else np.zeros(len(target), dtype=np.intp)
        places = np.full(embedding.shape, np.nan)
        fold = np.full(len(target), -1)
        found = np.zeros_like(target)
        for number, held in enumerate(held_out(strata, rng, self.cv or 2)):
            own, new = np.flatnonzero(~held), np.flatnonzero(held)
            part, labels = _safe_indexing(rows, own), target[own]
            metric = clone(unfitted).fit(part, labels)
            points, queries = (
                np.asarray(metric.transform(one), dtype=np.float64)
                for one in (part, _safe_indexing(rows, new))
            )
            begin = start_of(points, self.n_components, rng)
            begin = align(begin, begin, start[own])
            layout = self._lay_out(points, begin, seed)
            plane = np.asarray(layout.embedding_, dtype=np.float64)
            placed = _quietly(layout.transform, queries)
            found[new] = _vote(plane, labels, placed, discrete)
            places[new] = align(placed, plane, embedding[own])
            fold[new] = number
        seen = fold >= 0
        truth, found, fold = target[seen], found[seen], fold[seen]
        score, by_fold = _score(truth, found, discrete), np.argsort(fold, kind="stable")
        null = np.empty(self.n_permutations)
        for i in range(self.n_permutations):
            permuted = truth[np.lexsort((rng.uniform(size=len(fold)), fold))]
            null[i] = _score(permuted, found[by_fold], discrete)
        return {
            "cross_fitted_embedding_": places,
            "score_": score,
            "null_scores_": null,
            "p_value_": float((1 + (null >= score).sum()) / (1 + self.n_permutations)),
        }

    def _summary(self) -> str:
        """Return the held-out score beside the scores of permuted labels."""
        low, high = np.quantile(self.null_scores_, [0.025, 0.975])
        name = "5-NN accuracy" if hasattr(self, "classes_") else "R² of 5-NN"
        return (
            f"held-out {name} {self.score_:.3f}, permuted labels "
            f"{self.null_scores_.mean():.3f} ({low:.3f} to {high:.3f})"
        )

    def fit_transform(self, X: Any, y: ArrayLike | None = None) -> FloatArray:
        """Learn the map, and return the training rows on it.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or None, default=None
            Classes or numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> FloatArray:
        """Place rows on the map.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows. Training rows have their place in `embedding_`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        points = self.metric_.transform(self._check_rows(X, reset=False))
        points = np.asarray(points, dtype=np.float64)
        return np.asarray(_quietly(self.layout_.transform, points), dtype=np.float64)

    def plot(self, **options: Any) -> MapDisplay:
        """Draw training rows and held-out rows side by side, with both scores.

        Parameters
        ----------
        **options
            For :meth:`vicinal.plotting.MapDisplay.plot`.

        Returns
        -------
        MapDisplay
        """
        return MapDisplay.from_estimator(self, **options)

    def _check_rows(self, X: Any, reset: bool) -> Any:
        """Return X as numbers, or unchanged if it is a data frame."""
        if is_frame(X):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        finite = True if self.metric == "passthrough" else "allow-nan"
        least = 2 if reset else 1
        options = {"ensure_all_finite": finite, "ensure_min_samples": least}
        return validate_data(self, X, dtype=FLOATS, reset=reset, **options)

    def _unfitted(self, rows: Any, target: Any, classes: Any, seed: int) -> Any:
        """Return the metric to fit."""
        if not isinstance(self.metric, str):
            return self.metric
        if self.metric == "passthrough" or target is None:
            if _is_mixed(rows):
                raise ValueError(
                    "Without a learned metric, X must be numbers without missing "
                    "values: encode it, or give a metric that does, such as a pipeline."
                )
            return FunctionTransformer(np.asarray)
        options: dict[str, Any] = {"random_state": seed, "n_jobs": self.n_jobs}
        if _is_mixed(rows):
            kind = TableNCARegressor if classes is None else TableNCA
            return kind(**options)
        learner = NCARegressor if classes is None else NCAClassifier
        n, d = rows.shape
        if d <= 100:
            return learner(**options)
        kept = PCA(min(100, n // 2), random_state=seed)
        return make_pipeline(kept, learner(**options))

    def _lay_out(self, points: FloatArray, start: FloatArray, seed: int) -> Any:
        """Return the fitted layout."""
        k, d = min(self.n_neighbors, len(points) - 1), self.n_components
        seeded: dict[str, Any] = {"random_state": seed, "n_jobs": self.n_jobs}
        if self.layout == "neighbors":
            return NeighborLayout(d, n_neighbors=k, init=start, **seeded).fit(points)
        if self.layout == "pca":
            found = PCA(min(d, *points.shape), random_state=seed).fit(points)
            found.embedding_ = found.transform(points)
            return found
        if self.layout == "umap":
            umap = import_extra("umap", "maps").UMAP(
                max(k, 2), d, init=10 * start, random_state=seed, n_jobs=1
            )
            return _quietly(umap.fit, points)
        if self.layout == "opentsne":
            tsne = import_extra("openTSNE", "maps").TSNE(
                d,
                perplexity=min(30, (len(points) - 1) / 3),
                initialization=1e-4 * start,
                **seeded | {"n_jobs": self.n_jobs or 1},
            )
            return OpenTSNE(_quietly(tsne.fit, points))
        pacmap = import_extra("pacmap", "maps").PaCMAP(
            d, n_neighbors=k, random_state=seed, save_tree=True
        )
        placed = _quietly(pacmap.fit_transform, points, init=start)
        return PaCMAP(pacmap, points, np.asarray(placed))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.metric == "auto"
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def faithfulness(
    points: FloatArray,
    embedding: FloatArray,
    n_neighbors: int = 15,
    *,
    max_rows: int = 1000,
    random_state: Any = None,
) -> tuple[float, float]:
    """Return the trustworthiness of a picture and the share of neighbors it keeps.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        The points that are drawn.
    embedding : ndarray of shape (n_samples, n_components)
        Their places.
    n_neighbors : int, default=15
        Number of neighbors; less than half of the rows count.
    max_rows : int, default=1000
        Number of rows whose neighbors are compared; a random part of more.
    random_state : int, RandomState or None, default=None
        Draws these rows.

    Returns
    -------
    trustworthiness, preservation : float
    """
    n = len(points)
    k = min(n_neighbors, max(1, (n - 1) // 2))
    rows = check_random_state(random_state).permutation(n)[:max_rows]
    search = NearestNeighbors(n_neighbors=k).fit(embedding)
    near = search.kneighbors(embedding[rows], k + 1, return_distance=False)
    excess, kept = 0.0, 0
    for part in gen_batches(len(rows), max(1, 2**23 // n)):
        distances = cdist(points[rows[part]], points)
        distances[np.arange(len(distances)), rows[part]] = np.inf
        for row, i, own in zip(distances, rows[part], near[part], strict=True):
            others = own[own != i][:k]
            ranks = 1 + (row < row[others, None]).sum(axis=1)
            excess += np.maximum(ranks - k, 0).sum()
            kept += (ranks <= k).sum()
    pairs = len(rows) * k
    worst = max(2 * n - 3 * k - 1, 1)
    return float(1 - 2 * excess / (pairs * worst)), float(kept / pairs)


def align(points: FloatArray, source: FloatArray, target: FloatArray) -> FloatArray:
    """Rotate, reflect, scale and shift points so that `source` fits `target` best."""
    middle, to = source.mean(axis=0), target.mean(axis=0)
    rotation, overlap = orthogonal_procrustes(source - middle, target - to)
    scale = overlap / (np.square(source - middle).sum() or 1.0)
    return scale * (points - middle) @ rotation + to


def _quietly(function: Any, *arguments: Any, **options: Any) -> Any:
    """Call a layout without the warnings of its libraries."""
    with catch_warnings():
        simplefilter("ignore")
        return function(*arguments, **options)


def _is_mixed(rows: Any) -> bool:
    """Return whether rows have categories, dates or missing values."""
    if is_frame(rows) and categorical_columns(rows, "auto"):
        return True
    try:
        return bool(np.isnan(np.asarray(rows, dtype=np.float64)).any())
    except (TypeError, ValueError):
        return True


def _check_target(y: ArrayLike, n: int) -> tuple[Any, NDArray[Any] | None]:
    """Return codes and classes, or numbers and None."""
    labels = column_or_1d(y, warn=True)
    check_consistent_length(labels, np.empty(n))
    kind = type_of_target(labels, input_name="y", raise_unknown=True)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) == 1:
        raise ValueError(
            f"y has one class only, {classes[0]}. Leave y out to draw the rows "
            "without labels."
        )
    many = len(classes) > n / 3
    if kind == "continuous" or (many and labels.dtype.kind == "f"):
        return labels.astype(np.float64), None
    if many and n > 10:
        raise ValueError(
            f"y has {len(classes)} classes in {n} rows; there must be three rows or "
            "more in a class, on average. If y is a number, convert it to float."
        )
    return codes, classes


def _vote(
    plane: FloatArray, target: Any, queries: FloatArray | None, discrete: bool
) -> Any:
    """Return the majority or the mean of the five nearest rows in the plane."""
    k = min(5, len(plane) - (queries is None))
    near = NearestNeighbors(n_neighbors=k).fit(plane)
    votes = target[near.kneighbors(queries, return_distance=False)]
    return majority(votes) if discrete else votes.mean(axis=1)


def _score(truth: Any, found: Any, discrete: bool) -> float:
    return float((accuracy_score if discrete else r2_score)(truth, found))
