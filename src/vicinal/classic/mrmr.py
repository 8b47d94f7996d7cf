"""Feature selection by maximal relevance and minimal redundancy."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy
from sklearn.base import BaseEstimator, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import labeled, unchanged_on_error
from vicinal.classic._shared import at_least_one
from vicinal.neighborhood.threads import blocks, rows_per_block


@dataclass(eq=False, repr=False)
class MRMR(SelectorMixin, BaseEstimator):
    """Maximal relevance, minimal redundancy: feature selection.

    Selects features greedily: each time the one with the largest mutual information
    with the classes and the smallest with the features selected before, both for
    discretized features [1]_.

    Parameters
    ----------
    n_features_to_select : int, float or "all", default=0.5
        Number of features, or a fraction of them; "all" only orders them.
    criterion : {"difference", "quotient"}, default="difference"
        Relevance minus the mean redundancy with the selected features (MID), or
        divided by it (MIQ).
    discretize : {"mean", "quantiles"}, default="mean"
        "mean" splits each feature at its mean; "quantiles" uses `n_bins` bins of about
        equal counts.
    n_bins : int, default=4
        Number of bins for "quantiles".

    Attributes
    ----------
    order_ : ndarray of shape (n_selected,)
        The selected features, in the order of selection.
    ranking_ : ndarray of shape (n_features,)
        1 for the feature selected first, 2 for the next; all features that were not
        selected share the last rank.
    relevance_ : ndarray of shape (n_features,)
        Mutual information with the classes, in nats.
    redundancy_ : ndarray of shape (n_features,)
        Mean mutual information with the features selected before, in nats; 0 for the
        first.
    scores_ : ndarray of shape (n_features,)
        The criterion at the selection of a feature, or at the end.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    sklearn.feature_selection.SelectKBest : Scores each feature independently.

    Notes
    -----
    Cost: k passes over the discretized table, for k selected features.

    References
    ----------
    .. [1] Peng, Long, Ding. Feature Selection Based on Mutual Information: Criteria of
       Max-Dependency, Max-Relevance, and Min-Redundancy. IEEE Transactions on Pattern
       Analysis and Machine Intelligence 27(8), 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from vicinal.classic import MRMR
    >>> X, y = load_wine(return_X_y=True)
    >>> MRMR(n_features_to_select=3).fit(X, y).order_
    array([ 6,  0, 12])
    >>> MRMR(n_features_to_select=3).fit_transform(X, y).shape
    (178, 3)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_features_to_select": [
            at_least_one,
            Interval(RealNotInt, 0, 1, closed="right"),
            StrOptions({"all"}),
        ],
        "criterion": [StrOptions({"difference", "quotient"})],
        "discretize": [StrOptions({"mean", "quantiles"})],
        "n_bins": [Interval(Integral, 2, 127, closed="both")],
    }

    n_features_to_select: int | float | str = 0.5
    _: KW_ONLY
    criterion: str = "difference"
    discretize: str = "mean"
    n_bins: int = 4

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Select the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            points, _, codes = labeled(self, X, y)
            n_features = points.shape[1]
            to_pick = self.n_features_to_select
            if isinstance(to_pick, str):
                to_pick = n_features
            elif not isinstance(to_pick, Integral):
                to_pick = max(1, int(to_pick * n_features))
            if to_pick > n_features:
                raise ValueError(
                    f"n_features_to_select={to_pick} is more than the {n_features} "
                    "features of X; choose at most that, or 'all'."
                )
            n_bins = None if self.discretize == "mean" else self.n_bins
            bins = discretized(points, n_bins)
            relevance = mutual_information(bins, codes)
            summed, redundancy = np.zeros(n_features), np.zeros(n_features)
            scores = relevance.copy()
            left = np.ones(n_features, dtype=bool)
            order = [first_of_the_best(relevance)]
            left[order[0]] = False
            while len(order) < to_pick:
                summed += mutual_information(bins, bins[:, order[-1]])
                redundancy[left] = summed[left] / len(order)
                if self.criterion == "difference":
                    scores[left] = relevance[left] - redundancy[left]
                else:  # without any redundancy, the more relevant feature wins
                    eps = np.finfo(np.float64).eps
                    scores[left] = relevance[left] / np.maximum(redundancy[left], eps)
                order.append(first_of_the_best(np.where(left, scores, -np.inf)))
                left[order[-1]] = False

        self.order_: IntArray = np.array(order)
        self.ranking_: IntArray = np.full(n_features, to_pick + 1)
        self.ranking_[self.order_] = np.arange(1, to_pick + 1)
        self.relevance_: FloatArray = relevance
        self.redundancy_: FloatArray = redundancy
        self.scores_: FloatArray = scores
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.order_] = True
        return mask


def first_of_the_best(scores: FloatArray) -> int:
    """Return the largest's index; of those equal but for rounding errors, the first.

    Binary features tie often, and the order should not depend on the machine.
    """
    best = scores.max()
    return int(np.argmax(scores >= best - 1e-12 * max(1.0, float(abs(best)))))


def discretized(X: FloatArray, n_bins: int | None) -> NDArray[np.int8]:
    """Return the bin of each value: by quantiles, or with None by the mean."""
    if n_bins is None:
        return np.greater(X, X.mean(axis=0, dtype=np.float64)).astype(np.int8)
    bins = np.zeros(X.shape, dtype=np.int8)
    for edge in np.quantile(X, np.arange(1, n_bins) / n_bins, axis=0):
        bins += np.greater(X, edge)
    return bins


def mutual_information(
    bins: NDArray[np.int8], codes: NDArray[np.integer[Any]]
) -> FloatArray:
    """Return the mutual information of each column with one variable, in nats.

    The counts of all pairs of values come from products with indicator matrices, a
    block of columns at a time.

    Parameters
    ----------
    bins : ndarray of shape (n_samples, n_features)
        Integers from 0.
    codes : ndarray of shape (n_samples,)
        Integers from 0.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    n, n_features = bins.shape
    # Counts of up to 2²⁴ are exact in float32.
    exact = n < 2 ** (np.finfo(np.float32).nmant + 1)
    dtype = np.float32 if exact else np.float64
    indicator = (codes[:, None] == np.arange(codes.max() + 1)).astype(dtype)
    n_bins = int(bins.max()) + 1
    information = np.empty(n_features)
    size = rows_per_block(n_features, n * indicator.itemsize)
    for columns in blocks(slice(0, n_features), size):
        block = bins[:, columns]
        counts = np.empty((n_bins, block.shape[1], indicator.shape[1]))
        for b in range(1, n_bins):
            counts[b] = (block == b).astype(dtype).T @ indicator
        counts[0] = indicator.sum(axis=0, dtype=np.float64) - counts[1:].sum(axis=0)
        # Σ p log p − Σ p_x log p_x − Σ p_y log p_y, which rounding may turn negative.
        p = counts / n
        first, second = p.sum(axis=2), p.sum(axis=0)
        margins = xlogy(first, first).sum(axis=0) + xlogy(second, second).sum(axis=1)
        information[columns] = xlogy(p, p).sum(axis=(0, 2)) - margins
    return np.maximum(information, 0)
