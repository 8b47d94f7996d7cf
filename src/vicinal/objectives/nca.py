"""NCA's objectives for classes: f, g, and f of the class densities."""

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.neighborhood import (
    ClassRuns,
    ExpectedMatches,
    LogMatches,
    NeighborWeights,
    Rule,
    SquaredVotes,
    average,
)
from vicinal.objectives.base import PairObjective
from vicinal.objectives.losses import CustomRule, PairLoss

_RULES: dict[str, type[ExpectedMatches | SquaredVotes]] = {
    "expected": ExpectedMatches,
    "log": LogMatches,
    "class-density": ExpectedMatches,
    "squared-error": SquaredVotes,
}
KINDS = tuple(_RULES)


class NCAObjective(PairObjective):
    """How well a linear map makes points pick neighbours of their own class.

    Point i picks j ≠ i as its neighbour with probability
    p_ij ∝ exp(−‖A x_i − A x_j‖²) (eq. 1 of [1]_), so that it is classified rightly
    with probability p_i = Σ_{j: c_j = c_i} p_ij (eq. 2).

    Parameters
    ----------
    X : array-like or sparse array of shape (n_samples, n_features)
        The points. float32 is computed with in float32, except at maps under which
        it could not tell distances apart; anything else in float64.
    y : array-like of shape (n_samples,)
        Their classes.
    kind : {"expected", "log", "class-density", "squared-error"} or PairLoss, \
default="expected"
        "expected" is f(A) = Σ_i p_i (eq. 3), the expected number of points that are
        classified rightly. "log" is g(A) = Σ_i log p_i (eq. 6); a point alone in its
        class has p_i = 0 under any map, and g leaves its term out. "class-density" is
        Σ_i p(c_i | A x_i) for the class densities of [2]_ (eq. 3.12 and 3.13): the
        neighbours of class c weigh p(c) / N_c each. "squared-error" is minus the
        squared error of the vote, −Σ_i Σ_c ([c_i = c] − Σ_{j ∈ c} p_ij)² [3]_.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        How many equal points each row stands for. Rows of weight 0 are left out.
    class_prior : array-like of shape (n_classes,), "empirical" or None, default=None
        p(c) of "class-density", in the order of the sorted labels; None is uniform.
    n_jobs : int or None, default=None
        Threads; None is as many as BLAS would use. The result does not depend on it.

    See Also
    --------
    vicinal.NCA : Maximises it.

    References
    ----------
    .. [1] Goldberger, Roweis, Hinton, Salakhutdinov. Neighbourhood Components
       Analysis. Advances in Neural Information Processing Systems 17, 2004.
    .. [2] Oneață. Fast low-rank metric learning. University of Edinburgh, 2011.
    .. [3] Lowe. Similarity Metric Learning for a Variable-Kernel Classifier. Neural
       Computation 7, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = NCAObjective(X, [0, 0, 1, 1])
    >>> value, gradient = objective.value_and_gradient(np.eye(2))
    >>> round(value, 4), gradient.shape
    (3.745, (2, 2))
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        kind: Any = "expected",
        *,
        sample_weight: ArrayLike | None = None,
        class_prior: ArrayLike | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        if not isinstance(kind, PairLoss) and kind not in _RULES:
            raise ValueError(f"kind must be one of {sorted(_RULES)}, got {kind!r}.")
        points, labels = check_X_y(
            X, y, dtype=FLOATS, accept_sparse="csr", ensure_min_samples=2
        )
        check_classification_targets(labels)
        counts = _check_sample_weight(
            sample_weight, points, dtype=np.float64, ensure_non_negative=True
        )
        if not counts.all():
            kept = counts > 0
            points, labels, counts = points[kept], labels[kept], counts[kept]
        codes = LabelEncoder().fit_transform(labels)
        sizes = np.bincount(codes, weights=counts).astype(np.float64)
        prior = check_class_prior(class_prior, sizes)
        self._build(points, codes, counts, kind, prior, n_jobs)

    @classmethod
    def from_codes(
        cls,
        X: FloatArray,
        codes: IntArray,
        kind: Any,
        counts: FloatArray,
        prior: FloatArray,
        n_jobs: int | None,
        sizes: FloatArray | None = None,
    ) -> Self:
        """Build from what has been validated.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The points, float32 or float64.
        codes : ndarray of shape (n_samples,)
            Their classes, as integers from 0, each of which occurs; or, with `sizes`,
            any.
        kind : str
            As for `NCAObjective`.
        counts : ndarray of shape (n_samples,)
            How many points each row stands for, all above 0.
        prior : ndarray of shape (n_classes,)
            p(c).
        n_jobs : int or None
            Threads.
        sizes : ndarray of shape (n_classes,) or None, default=None
            How many points each class has in the whole that these are a part of; None
            is that these are the whole.
        """
        objective = cls.__new__(cls)
        objective._build(X, codes, counts, kind, prior, n_jobs, sizes)
        return objective

    def _build(
        self,
        X: FloatArray,
        codes: IntArray,
        counts: FloatArray,
        kind: Any,
        prior: FloatArray,
        n_jobs: int | None,
        sizes: FloatArray | None = None,
    ) -> None:
        # The rules want each class to be one run of points.
        order = np.argsort(codes, kind="stable")
        codes, counts = codes[order], counts[order]
        mass_of_one = np.ones(len(codes))
        if kind == "class-density":
            of_these = np.bincount(codes, weights=counts)
            mass_of_one = (prior / (of_these if sizes is None else sizes))[codes]
        super().__init__(X, order, counts, mass_of_one, n_jobs)
        self._codes = codes
        self.kind = kind

    def subset(self, points: IntArray) -> Self:
        """Return the objective of some of the points alone; see `PairObjective`."""
        other = super().subset(points)
        other._codes = self._codes[points]
        return other

    def _make_rule(self, masses: NeighborWeights) -> Rule:
        if not isinstance(self.kind, str):
            data = self.kind.prepare(self._codes, self.counts)
            return CustomRule(self.kind, data, masses.counts)
        return _RULES[self.kind](ClassRuns.from_sorted(self._codes), masses)

    def warmup_surrogate(
        self,
    ) -> tuple[Self, Callable[[FloatArray], FloatArray]] | None:
        """Return g, and exp, which makes f's terms p_i of log p_i; None for g itself.

        f's gradient vanishes at points far from all of their class; g's does not. No
        function of p_i alone gives a squared error, which does without, too.
        """
        if self.kind not in ("expected", "class-density"):
            return None
        other = copy(self)
        other.kind, other._rules = "log", {}
        return other, np.exp

    def class_probabilities(self, components: ArrayLike, X: ArrayLike) -> FloatArray:
        """Return p(c | x) of new points by the NCA rule (thesis, eq. 3.25 and 3.12).

        Parameters
        ----------
        components : array-like of shape (n_components, n_features) or (n_features,)
            The map A, or the diagonal of a diagonal one.
        X : array-like of shape (n_queries, n_features)
            Points that are not among those of the objective.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Σ_{j ∈ c} p_ij over the objective's points, classes in sorted order.
        """
        A = self._checked(components)
        Z = self._projected(A)[self._order]
        A = A.astype(Z.dtype)
        queries = check_array(X, dtype=self.X.dtype, accept_sparse="csr")
        if self._offset is not None:
            queries = queries - self._offset
        Q = queries * A if A.ndim == 1 else queries @ A.T
        masses, n_classes = self._masses(Z.dtype), int(self._codes.max()) + 1
        return vote(Q, Z, self._codes, n_classes, masses, self._n_threads)


def vote(
    queries: FloatArray,
    points: FloatArray,
    codes: IntArray,
    n_classes: int,
    masses: NeighborWeights,
    n_threads: int,
) -> FloatArray:
    """Return Σ_{j ∈ c} p_ij for each query i and class c, of projected points."""
    indicators = np.eye(n_classes, dtype=points.dtype)[codes]
    return average(queries, points, indicators, masses, n_threads)


def check_class_prior(prior: ArrayLike | str | None, sizes: FloatArray) -> FloatArray:
    """Return p(c) for each class.

    Parameters
    ----------
    prior : array-like of shape (n_classes,), "empirical" or None
        What the user gave; None is uniform.
    sizes : ndarray of shape (n_classes,)
        How many points each class has.

    Returns
    -------
    ndarray of shape (n_classes,)
        Positive numbers that sum to 1.
    """
    if prior is None:
        return np.full(len(sizes), 1 / len(sizes))
    if isinstance(prior, str):
        if prior != "empirical":
            raise ValueError(
                f"class_prior must be 'empirical', None or an array, got {prior!r}."
            )
        return sizes / sizes.sum()
    return given_prior(prior, len(sizes), "class_prior")


def given_prior(prior: ArrayLike, n_classes: int, name: str) -> NDArray[np.float64]:
    """Return positive numbers, one for each class, as shares of their sum."""
    given = np.asarray(prior, dtype=np.float64)
    if given.shape != (n_classes,):
        raise ValueError(
            f"{name} must have one entry for each of the {n_classes} classes, got "
            f"shape {given.shape}."
        )
    if not (np.isfinite(given).all() and (given > 0).all()):
        raise ValueError(f"{name} must be positive throughout, got {given}.")
    shares: NDArray[np.float64] = given / given.sum()
    return shares
