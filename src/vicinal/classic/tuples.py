"""Tuples of points, and the base class of the metrics that learn from them.

A tuple is a row of indices into an array of points, so that points are never copied,
whether the tuples were given as indices or as vectors.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, eye_array
from sklearn.base import _fit_context
from sklearn.utils import (
    ClassifierTags,
    check_array,
    check_consistent_length,
    column_or_1d,
)
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.linalg import distinct_rows, mean
from vicinal.base.metric import LinearMetric, labeled, validate_data, warn_caller
from vicinal.neighborhood import (
    back_project,
    effective_n_threads,
    project,
    single_threaded_blas,
)

Preprocessor: TypeAlias = ArrayLike | Callable[[NDArray[Any]], ArrayLike]
"""The points that indices refer to, or a function from indices to points."""

NAMES = {2: "pairs", 3: "triplets", 4: "quadruplets"}
STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences V of pairs of rows.

    The pairs are edges of a graph on the rows. With its incidence matrix B, V = B X,
    and Vᵀ diag(w) V = Xᵀ L X with the Laplacian L = Bᵀ diag(w) B.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features)
        The rows.
    first, second : ndarray of shape (n_pairs,)
        V is points[first] − points[second].
    n_threads : int
        Number of threads; results do not depend on it.
    """

    points: FloatArray
    first: IntArray
    second: IntArray
    n_threads: int = field(default_factory=lambda: effective_n_threads(None))

    @cached_property
    def _factors(self) -> tuple[Any, FloatArray]:
        """B and X; or, if there are fewer pairs than points, the identity and V."""
        n, dtype = len(self.first), self.points.dtype
        if n <= len(self.points):
            return eye_array(n, dtype=dtype, format="csr"), self._vectors()
        ends = np.column_stack([self.first, self.second]).ravel()
        entries = (
            np.tile(np.array([1, -1], dtype), n),
            ends,
            np.arange(0, 2 * n + 1, 2),
        )
        return csr_array(entries, shape=(n, len(self.points))), self.points

    def _vectors(self) -> FloatArray:
        return self.points[self.first] - self.points[self.second]

    def project(self, components: FloatArray) -> FloatArray:
        """Return V Aᵀ, of shape (n_pairs, n_components)."""
        B, X = self._factors
        return B @ project(X, components, self.n_threads)

    def back_project(self, G: FloatArray) -> FloatArray:
        """Return GᵀV, of shape (n_components, n_features)."""
        B, X = self._factors
        return back_project(B.T @ G, X, self.n_threads)

    def scatter(self, weights: FloatArray | None = None) -> FloatArray:
        """Return Σ w v vᵀ, of shape (n_features, n_features)."""
        B, X = self._factors
        w = np.ones(len(self.first)) if weights is None else weights
        found = back_project(B.T @ (w[:, None] * (B @ X)), X, self.n_threads)
        return (found + found.T) / 2

    def squares(self) -> FloatArray:
        """Return v² for each pair and feature."""
        return np.square(self._vectors())


@dataclass(frozen=True, eq=False)
class Tuples:
    """Tuples of rows.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features)
        The rows, float32 or float64.
    indices : ndarray of shape (n_tuples, size)
        The rows of each tuple.
    """

    points: FloatArray
    indices: IntArray

    def __len__(self) -> int:
        return len(self.indices)

    def subset(self, chosen: Any) -> "Tuples":
        """Return some of the tuples, with the same points."""
        return Tuples(self.points, self.indices[chosen])

    def used(self) -> "Tuples":
        """Return the same tuples without the points that no tuple contains."""
        rows, places = np.unique(self.indices, return_inverse=True)
        if len(rows) == len(self.points):
            return self
        return Tuples(self.points[rows], places.reshape(self.indices.shape))

    def differences(self, a: int, b: int) -> Differences:
        """Return the points at position a of each tuple minus those at position b."""
        i = self.indices
        return Differences(self.points, i[:, a], i[:, b])

    def lengths(self, components: FloatArray, a: int, b: int) -> FloatArray:
        """Return ‖A x_a − A x_b‖ for the points at positions a and b of each tuple."""
        needed = Tuples(self.points, self.indices[:, [a, b]]).used()
        points = needed.points - mean(needed.points).astype(needed.points.dtype)
        A = components.astype(points.dtype, copy=False)
        Z = Differences(points, *needed.indices.T).project(A)
        return np.sqrt(np.einsum("ij,ij->i", Z, Z))


def n_dimensions(X: Any) -> int:
    """Return the number of dimensions of any array-like, without array functions."""
    return int(X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim)


def check_tuples(X: ArrayLike, size: int, preprocessor: Preprocessor | None) -> Tuples:
    """Validate tuples of points, given as vectors or as indices.

    Parameters
    ----------
    X : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)
        The points of each tuple, or their indices.
    size : int
        Number of points of a tuple.
    preprocessor : array-like, callable or None
        All points, or a function from an array of indices to points.

    Returns
    -------
    Tuples
    """
    given, name = np.asarray(X), NAMES[size]
    by_index = preprocessor is not None and given.ndim == 2
    if not (by_index or given.ndim == 3) or given.shape[1] != size:
        raise ValueError(
            f"Expected {name}, an array of shape (n_{name}, {size}, n_features), or "
            f"with preprocessor=X of indices, of shape (n_{name}, {size}); got shape "
            f"{given.shape}. Points with labels go to fit(X, y) without a preprocessor."
        )
    if not by_index:
        checked = check_array(given, dtype=FLOATS, allow_nd=True, input_name=name)
        rows = checked.reshape(len(checked) * size, checked.shape[2])
        first, places = distinct_rows(check_array(rows, dtype=FLOATS))
        return Tuples(rows[first], places.reshape(-1, size))
    if callable(preprocessor):
        wanted, places = np.unique(given, return_inverse=True)
        points = check_array(
            preprocessor(wanted), dtype=FLOATS, input_name="preprocessor"
        )
        if len(points) != len(wanted):
            raise ValueError(
                f"Expected the preprocessor to return {len(wanted)} points for as many "
                f"indices; it returned {len(points)}."
            )
        return Tuples(points, places.reshape(given.shape))
    points = check_array(preprocessor, dtype=FLOATS, input_name="preprocessor")
    indices = check_array(given, dtype=None, input_name=name)
    if (
        indices.dtype.kind not in "iuf"
        or not np.isin(indices, np.arange(len(points))).all()
    ):
        raise ValueError(
            f"Expected {name} of whole numbers from 0 to {len(points) - 1}, the rows "
            "of preprocessor. Points with labels go to fit(X, y) without one."
        )
    return Tuples(points, indices.astype(np.intp))


def check_pair_labels(y: Any, pairs: Any) -> IntArray:
    """Validate the labels of pairs, which must be 1 or -1."""
    expected = "Expected y with 1 for similar pairs and -1 for others"
    if y is None:
        raise ValueError(
            f"{expected}. Learning from pairs requires y to be passed, but the target "
            "y is None."
        )
    labels = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"))
    check_consistent_length(pairs, labels)
    if labels.dtype.kind not in "iuf" or not np.isin(labels, (-1, 1)).all():
        raise ValueError(
            f"{expected}, which is 2 * y - 1 for labels 0 and 1; got values like "
            f"{np.unique(labels)[:5].tolist()}. For points with labels, give X of two "
            "dimensions and no preprocessor."
        )
    return labels.astype(np.intp)


def _check_consistent(tuples: Tuples, signs: IntArray | None) -> None:
    """Raise ValueError if tuples have a point twice, or contradict each other."""
    i = tuples.indices
    size = i.shape[1]
    name = NAMES[size]
    places = {2: [(0, 1)], 3: [(0, 1), (0, 2), (1, 2)], 4: [(2, 3)]}[size]
    twice = np.any([i[:, a] == i[:, b] for a, b in places], axis=0)
    if signs is not None:
        twice &= signs == -1
    if twice.any():
        raise ValueError(
            f"Expected {name} of different points, but number {twice.argmax()} of the "
            f"{name} (from 0) has one point twice. Remove all such {name}; there are "
            f"{twice.sum()}."
        )
    if signs is None:
        return
    low, high = np.sort(i, axis=1).T
    keys = low * len(tuples.points) + high
    both = np.intersect1d(keys[signs == 1], keys[signs == -1])
    if len(both):
        same = np.flatnonzero(keys == both[0]).tolist()
        raise ValueError(
            f"Expected consistent pairs, but pairs {same} (from 0) have the same two "
            "points, some with y = 1 and some with y = -1. Remove all contradictions; "
            f"there are {len(both)}."
        )


def best_threshold(
    distances: FloatArray,
    similar: NDArray[np.bool_],
    strategy: str = "accuracy",
    *,
    min_rate: float | None = None,
    beta: float = 1.0,
) -> float:
    """Return the best threshold for predicting that pairs are similar.

    Parameters
    ----------
    distances : ndarray of shape (n_pairs,)
        Distances of the pairs; pairs up to the threshold are predicted as similar.
    similar : ndarray of bool of shape (n_pairs,)
        The true labels.
    strategy, min_rate, beta
        As for `TupleMetric.calibrate_threshold`.

    Returns
    -------
    float
        Halfway between two observed distances; -1 if no pair should pass, beyond the
        largest distance if all pairs should.
    """
    if strategy not in STRATEGIES:
        raise ValueError(
            f"strategy must be one of {', '.join(STRATEGIES)}; got {strategy!r}."
        )
    constrained = strategy in ("max_tpr", "max_tnr")
    if constrained and not (isinstance(min_rate, Real) and 0 <= min_rate <= 1):
        raise ValueError(
            f"strategy={strategy!r} needs min_rate, a number from 0 to 1; got "
            f"{min_rate!r}."
        )
    if not (isinstance(beta, Real) and beta >= 0):
        raise ValueError(f"beta must be a number of at least 0; got {beta!r}.")
    order = np.argsort(distances, kind="stable")
    ordered = distances[order].astype(np.float64)
    # Pairs at equal distances pass together: thresholds lie behind the last of them.
    ends = np.append(np.flatnonzero(np.diff(ordered) > 0), len(ordered) - 1)
    positives = np.append(0, ends + 1)
    true_positives = np.append(0, np.cumsum(similar[order])[ends])
    n_similar, n_other = int(similar.sum()), int((~similar).sum())
    true_negatives = n_other - (positives - true_positives)
    if strategy == "accuracy":
        merit = (true_positives + true_negatives).astype(float)
    elif strategy == "f_beta":
        merit = (1 + beta**2) * true_positives
        merit = merit / np.maximum(beta**2 * n_similar + positives, 1)
    else:  # a rate of no pairs is 1
        sensitivity = true_positives / n_similar if n_similar else positives**0.0
        specificity = true_negatives / n_other if n_other else positives**0.0
        wanted, other = sensitivity, specificity
        if strategy == "max_tnr":
            wanted, other = specificity, sensitivity
        merit = np.where(other >= float(min_rate or 0), wanted, -1.0)
    edges = np.append(ordered[ends], 2 * ordered[-1] + 1)
    thresholds = np.append(-1.0, (edges[:-1] + edges[1:]) / 2)
    return float(thresholds[np.argmax(merit)])


def of_tuples(estimator: "TupleMetric") -> bool:
    """Raise AttributeError if the estimator was fitted to labels; for `available_if`.

    Predictions are made for tuples, not for points with labels.
    """
    if getattr(estimator, "learned_from_", None) != "labels":
        return True
    name, tuples = type(estimator).__name__, NAMES[estimator._tuple_size]
    raise AttributeError(
        f"This {name} was fitted to points with labels. Fit it to {tuples} to predict "
        f"for {tuples}: see {name}.fit."
    )


def _of_pairs(estimator: "TupleMetric") -> bool:
    return estimator._tuple_size == 2 and of_tuples(estimator)


@dataclass(eq=False, repr=False, kw_only=True)
class TupleMetric(LinearMetric):
    """Base class of linear metrics that learn from labels or from tuples of points.

    The shape of X decides: X of two dimensions is points, and y their labels; X of
    three dimensions is tuples, and so is any X if the estimator has a `preprocessor`.

    A subclass sets `_tuple_size` and implements `_learn_labels`, and `_learn_pairs`
    for a size of two or else `_learn_tuples`. Triplets (a, b, c) say that a is nearer
    to b than to c; quadruplets (a, b, c, d) that a is nearer to b than c is to d.
    """

    _tuple_size: ClassVar[int]
    # Whether contradictory and degenerate tuples are errors.
    _strict: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "prior": [StrOptions({"identity", "covariance"}), "array-like"],
        "n_constraints": [
            Interval(Integral, 2, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "preprocessor": ["array-like", callable, None],
    }
    max_iter: int = 200
    tol: float = 1e-6
    random_state: int | np.random.RandomState | None = None
    preprocessor: Preprocessor | None = None
    # Learn from validated points and class codes, pairs and their signs, or tuples.
    _learn_labels: ClassVar[Callable[..., None]]
    _learn_pairs: ClassVar[Callable[..., None]]
    _learn_tuples: ClassVar[Callable[..., None]]

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Fit the metric to labels or to tuples.

        Parameters
        ----------
        X : array-like
            Points of shape (n_samples, n_features); or tuples of points, of shape
            (n_tuples, size, n_features); or with `preprocessor` tuples of indices, of
            shape (n_tuples, size).
        y : array-like of shape (n_samples,) or (n_tuples,), or None, default=None
            The classes of the points, at least two; or for pairs, 1 for similar and -1
            for dissimilar points. Triplets and quadruplets have no y.

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def _fit(self, X: Any, y: Any, **options: Any) -> Self:
        """Fit; `options` are arguments that only apply to tuples."""
        name = NAMES[self._tuple_size]
        with self._unchanged_on_error(), single_threaded_blas():
            if self.preprocessor is None and n_dimensions(X) != 3:
                if any(value is not None for value in options.values()):
                    raise ValueError(
                        f"{' and '.join(options)} can only be used with {name}, not "
                        "with points and labels."
                    )
                points, _, codes = labeled(self, X, y)
                self._warn_of_indices(X, y)
                self._learn_labels(points, codes)
                self.learned_from_ = "labels"
                for attribute in ("threshold_", "classes_"):  # of an earlier fit
                    self.__dict__.pop(attribute, None)
                return self
            tuples = check_tuples(X, self._tuple_size, self.preprocessor)
            validate_data(self, tuples.points, skip_check_array=True)
            if self._tuple_size == 2:
                signs = check_pair_labels(y, tuples)
                if self._strict:
                    _check_consistent(tuples, signs)
                if not (signs == 1).any():
                    raise ValueError("Expected similar pairs, but no y is 1.")
                self._learn_pairs(tuples, signs)
                lengths = tuples.lengths(self.components_, 0, 1)
                self.threshold_ = best_threshold(lengths, signs == 1)
            else:
                if y is not None and np.ndim(y) and not (np.asarray(y) == 1).all():
                    raise ValueError(
                        f"Expected {name} without y: the order of their points tells "
                        "which distance is smaller. Points with labels are X of two "
                        "dimensions, without a preprocessor."
                    )
                if self._strict:
                    _check_consistent(tuples, None)
                self._learn_tuples(tuples, **options)
            self.classes_ = np.array([-1, 1])
            self.learned_from_ = name
        return self

    def _warn_of_indices(self, X: Any, y: Any) -> None:
        """Warn if X was read as points but looks like tuples of indices."""
        given = np.asarray(X)
        if given.dtype.kind not in "iu" or given.shape[1] != self._tuple_size:
            return
        if np.isin(check_array(y, ensure_2d=False, dtype=None), (-1, 1)).all():
            warn_caller(
                f"X of shape {given.shape} and y of 1 and -1 are read as points with "
                f"labels. For {NAMES[self._tuple_size]} of indices, pass the points: "
                f"{type(self).__name__}(preprocessor=X)."
            )

    def _checked(self, X: ArrayLike, size: int | None = None) -> Tuples:
        """Validate tuples of the width seen in fit."""
        check_is_fitted(self)
        tuples = check_tuples(X, size or self._tuple_size, self.preprocessor)
        validate_data(self, tuples.points, reset=False, skip_check_array=True)
        return tuples

    def pair_distance(self, pairs: ArrayLike) -> FloatArray:
        """Return the learned distance between the two points of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of points, or with `preprocessor` of indices.

        Returns
        -------
        ndarray of shape (n_pairs,)
            The distances.
        """
        check_is_fitted(self)
        if self.preprocessor is None:
            return super().pair_distance(pairs)
        return self._checked(pairs, 2).lengths(self.components_, 0, 1)

    @available_if(of_tuples)
    def decision_function(self, tuples: ArrayLike) -> FloatArray:
        """Score tuples by their learned distances.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)
            Tuples of points, or with `preprocessor` of indices.

        Returns
        -------
        ndarray of shape (n_tuples,)
            Minus the distance of pairs; d(a, c) − d(a, b) of triplets (a, b, c); and
            d(c, d) − d(a, b) of quadruplets (a, b, c, d).
        """
        checked = self._checked(tuples)
        near = checked.lengths(self.components_, 0, 1)
        if self._tuple_size == 2:
            return -near
        c, d = (0, 2) if self._tuple_size == 3 else (2, 3)
        return checked.lengths(self.components_, c, d) - near

    @available_if(of_tuples)
    def predict(self, tuples: ArrayLike) -> IntArray:
        """Predict which pairs are similar, or which tuples are in the right order.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_tuples,)
            1 for pairs at a distance of at most `threshold_`, and for triplets and
            quadruplets of which the first distance is the smaller one; else -1.
        """
        decision = self.decision_function(tuples)
        if self._tuple_size == 2:
            return np.where(decision >= -self.threshold_, 1, -1)
        return np.where(decision > 0, 1, -1)

    @available_if(of_tuples)
    def score(self, tuples: ArrayLike, y: ArrayLike | None = None) -> float:
        """Return the area under the ROC curve of pairs, or the accuracy of others.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)
            As for `decision_function`.
        y : array-like of shape (n_tuples,) or None, default=None
            For pairs, 1 for similar and -1 for dissimilar points. For triplets and
            quadruplets, 1 if they should be in order, else -1; None is 1 for all.

        Returns
        -------
        float
            From 0 to 1.
        """
        if self._tuple_size == 2:
            from sklearn.metrics import roc_auc_score  # slow to import

            scores = self.decision_function(tuples)
            return float(roc_auc_score(check_pair_labels(y, scores), scores))
        predicted = self.predict(tuples)
        return float(np.mean(predicted == (1 if y is None else np.asarray(y))))

    @available_if(_of_pairs)
    def set_threshold(self, threshold: float) -> Self:
        """Set the distance up to which `predict` calls pairs similar.

        Parameters
        ----------
        threshold : float
            The largest distance of similar pairs.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if not isinstance(threshold, Real) or np.isnan(threshold):
            raise ValueError(f"threshold must be a number; got {threshold!r}.")
        self.threshold_ = float(threshold)
        return self

    @available_if(_of_pairs)
    def calibrate_threshold(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        strategy: str = "accuracy",
        *,
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Self:
        """Set the best threshold for given pairs, which fit should not have seen.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of points, or with `preprocessor` of indices.
        y : array-like of shape (n_pairs,)
            1 for similar pairs, -1 for dissimilar ones.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
            The criterion to maximize: the accuracy; the F-score of similar pairs; the
            true positive rate, or the true negative rate, while the other rate is at
            least `min_rate`.
        min_rate : float or None, default=None
            In [0, 1], for "max_tpr" and "max_tnr".
        beta : float, default=1.0
            Weight of recall relative to precision, for "f_beta"; 0 is precision alone.

        Returns
        -------
        self
        """
        lengths = -self.decision_function(pairs)
        similar = check_pair_labels(y, lengths) == 1
        self.threshold_ = best_threshold(
            lengths, similar, strategy, min_rate=min_rate, beta=beta
        )
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.preprocessor is None
        # Before the fit, only a preprocessor shows that it will be to pairs.
        by_index = self.preprocessor is not None
        learned = getattr(self, "learned_from_", "pairs" if by_index else None)
        if self._tuple_size == 2 and learned == "pairs":
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags
