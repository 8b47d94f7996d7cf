"""Classifiers of pairs: near enough, or not."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FloatArray, IntArray
from vicinal.base.thresholds import best_threshold
from vicinal.base.tuple_metric import TupleMetric, of_tuples
from vicinal.base.tuples import Tuples, check_distinct

__all__ = ["PairClassifier", "check_pair_labels"]


class PairClassifier(TupleMetric):
    """Base of metrics that learn from pairs: they tell which pairs are alike."""

    _tuple_size = 2
    classes_: IntArray
    threshold_: float

    def _fit_tuples(self, tuples: Tuples, y: Any, **how: Any) -> None:
        signs = check_pair_labels(y, len(tuples))
        if self._strict:
            _check_agreement(tuples, signs)
        if not (signs == 1).any():
            raise ValueError("Expected pairs that are alike, but no y is 1.")
        self._learn_pairs(tuples, signs, **how)
        self.classes_ = np.array([-1, 1])
        lengths = tuples.lengths(self.components_, 0, 1)
        self.threshold_ = best_threshold(lengths, signs == 1)

    def _learn_pairs(self, pairs: Tuples, signs: IntArray, **how: Any) -> None:
        """Learn from checked pairs, and 1 or -1 for each."""
        raise NotImplementedError

    @available_if(of_tuples)
    def decision_function(self, pairs: ArrayLike) -> FloatArray:
        """Return minus the learned distance of each pair: high where it is alike.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            The pairs of points, or with `preprocessor` of indices.

        Returns
        -------
        ndarray of shape (n_pairs,)
            The scores; pairs are alike from −`threshold_` on.
        """
        return -self._tuples(pairs).lengths(self.components_, 0, 1)

    @available_if(of_tuples)
    def predict(self, pairs: ArrayLike) -> IntArray:
        """Return 1 for pairs that are no farther apart than `threshold_`, else -1.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            The pairs of points, or with `preprocessor` of indices.

        Returns
        -------
        ndarray of shape (n_pairs,)
            The predictions.
        """
        near = -self.decision_function(pairs) <= self.threshold_
        return np.where(near, 1, -1)

    @available_if(of_tuples)
    def score(self, pairs: ArrayLike, y: ArrayLike) -> float:
        """Return the area under the ROC curve: how often an alike pair is the nearer.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            The pairs of points, or with `preprocessor` of indices.
        y : array-like of shape (n_pairs,)
            1 for pairs that are alike, -1 for others.

        Returns
        -------
        float
            Of an alike pair and one that is not: the chance that the first is nearer.
        """
        from sklearn.metrics import roc_auc_score  # slow to import

        scores = self.decision_function(pairs)
        return float(roc_auc_score(check_pair_labels(y, len(scores)), scores))

    @available_if(of_tuples)
    def set_threshold(self, threshold: float) -> Self:
        """Set the distance up to which `predict` says that pairs are alike.

        Parameters
        ----------
        threshold : float
            The largest distance of pairs that are alike.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        try:
            value = float(threshold)
        except (TypeError, ValueError):
            raise ValueError(
                f"threshold must be a number, a distance; got {threshold!r}."
            ) from None
        if np.isnan(value):
            raise ValueError("threshold must be a number, a distance; got nan.")
        self.threshold_ = value
        return self

    @available_if(of_tuples)
    def calibrate_threshold(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        strategy: str = "accuracy",
        *,
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Self:
        """Set the threshold that serves best on pairs, which fit should not have seen.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            The pairs of points, or with `preprocessor` of indices.
        y : array-like of shape (n_pairs,)
            1 for pairs that are alike, -1 for others.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
            What is largest at the threshold: the share of right predictions; the
            F-score of alike pairs; the share of alike pairs that are found, or that
            of others, while at least `min_rate` of the other kind are right.
        min_rate : float or None, default=None
            In [0, 1], for "max_tpr" and "max_tnr".
        beta : float, default=1.0
            For "f_beta": how many times recall weighs what precision does.

        Returns
        -------
        self
        """
        signs: NDArray[Any] = check_pair_labels(y)
        lengths = -self.decision_function(pairs)
        check_consistent_length(lengths, signs)
        self.threshold_ = best_threshold(
            lengths, signs == 1, strategy, min_rate=min_rate, beta=beta
        )
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        learned = getattr(self, "learned_from_", None)
        # Known before the fit only where there is a preprocessor.
        if learned == "pairs" or (learned is None and self.preprocessor is not None):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


def check_pair_labels(y: Any, n_pairs: int | None = None) -> IntArray:
    """Return what pairs are labelled with, which must be 1 or -1."""
    if y is None:
        raise ValueError(
            "Expected y with 1 for pairs that are alike and -1 for others. Learning "
            "from pairs requires y to be passed, but the target y is None."
        )
    labels = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"))
    if n_pairs is not None and len(labels) != n_pairs:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_pairs} "
            f"pairs, and y for {len(labels)}."
        )
    if labels.dtype.kind not in "iuf" or not np.isin(labels, (-1, 1)).all():
        values = np.unique(labels)[:5].tolist()
        remedy = "For points with labels, give X of two dimensions and no preprocessor."
        if values in ([0], [0, 1]):
            remedy = "Of 0 and 1, 2 * y - 1 makes them."
        raise ValueError(
            "Expected y with 1 for pairs that are alike and -1 for others; got values "
            f"like {values}. {remedy}"
        )
    return labels.astype(np.intp)


def _check_agreement(pairs: Tuples, signs: IntArray) -> None:
    """Raise ValueError where two pairs contradict each other, or one itself."""
    check_distinct(pairs, [(0, 1)], among=signs == -1)
    ordered = np.sort(pairs.indices, axis=1)
    keys = ordered[:, 0] * len(pairs.points) + ordered[:, 1]
    order = np.lexsort([signs, keys])
    same = keys[order][1:] == keys[order][:-1]
    (found,) = np.nonzero(same & (signs[order][1:] != signs[order][:-1]))
    if len(found):
        one, other = sorted(order[found[0] : found[0] + 2].tolist())
        raise ValueError(
            f"Expected pairs that agree, but pairs {one} and {other} (from 0) have the "
            "same two points, and y calls them alike in one and not in the other. "
            f"Leave out all like that; their number is {len(found)}."
        )
