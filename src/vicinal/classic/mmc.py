"""Mahalanobis metric for clustering."""

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.classic._shared import PriorSpace, held_out_hits, maximize, set_solution
from vicinal.classic.constraints import default_n_pairs, pairs_from_labels
from vicinal.classic.tuples import Differences, TupleMetric, Tuples

# Candidates of prior_weight="auto"; the last is the features as they are.
PRIOR_WEIGHTS = (0.0, 0.03, 0.1, 0.3, 0.6, 1.0)


@dataclass(eq=False, repr=False)
class MMC(TupleMetric):
    """Mahalanobis metric for clustering of Xing et al.

    Maximizes the distances of dissimilar pairs (D) while the squared distances of
    similar pairs (S) sum to one: eq. 6 and 7 of [1]_,

        max Σ_D √(vᵀMv)   subject to   Σ_S vᵀMv ≤ 1,   M ⪰ 0,

    with the differences v of the pairs; `alpha` adds a ridge to the constraint. Pairs
    are given, or drawn from points with labels, half of them of the same class. The
    optimum often has very few directions; if it was learned from labels, it is mixed
    with the identity (`prior_weight`).

    Parameters
    ----------
    form : {"full", "diagonal"}, default="full"
        A full matrix M, or a diagonal one with a weight per feature (eq. 3 of [1]_).
    alpha : float, default=1.0
        Ridge: added to the diagonal of the scatter of similar pairs, relative to its
        mean eigenvalue. With 0, as in [1]_, M mostly has rank one or two, and is
        unbounded along directions in which similar pairs do not differ.
    prior_weight : float or "auto", default="auto"
        Weight t of the identity in (1 − t) M + t I, with an I of the trace of M: 0 is
        [1]_, 1 leaves the features as they are. "auto" is 0 for pairs; for labels, it
        is the best of 0, 0.03, 0.1, 0.3, 0.6 and 1 for 3-NN on held-out rows.
    n_constraints : int or "auto", default="auto"
        Number of pairs to draw from labels, as for :class:`vicinal.classic.ITML`.
    max_iter : int, default=200
        Maximum number of iterations of L-BFGS.
    tol : float, default=1e-6
        Stop if an iteration gains less than this of the logarithm of the sum.
    verbose : int, default=0
        If above 0, print a line for each iteration.
    random_state : int, RandomState or None, default=None
        For the choice of pairs.
    preprocessor : array-like of shape (n_points, n_features), callable or None, \
default=None
        The points, if pairs are given as indices; or a function that returns points
        for an array of indices.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map, with the largest eigenvalue of M first, or with a weight of the
        identity the symmetric root of M; float32 if X is. A diagonal map has no rows
        for features without weight.
    prior_weight_ : float
        The weight of the identity in use.
    threshold_ : float
        After a fit to pairs: the largest distance of pairs predicted as similar.
    n_iter_ : int
        Number of iterations, at least 1.
    objective_curve_ : ndarray
        The logarithm of Σ_D √(vᵀMv), with M scaled to the constraint and without the
        identity, at the start and after each iteration; it never falls.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    vicinal.classic.ITML : Stays near a prior.
    vicinal.classic.SDML : Learns a sparse matrix.

    Notes
    -----
    The problem is convex. In coordinates that whiten the scatter of S, the constraint
    is Tr(N) = 1, and N = BᵀB / ‖B‖² satisfies it for any square B: L-BFGS finds the
    optimum without the projections of [1]_. The constant c of the paper's diagonal
    form only scales the weights, so that both forms are one problem.

    Cost: O(n_pairs · D²) for each iteration, about ten of them, after an eigenproblem
    of D×D.

    References
    ----------
    .. [1] Xing, Jordan, Russell, Ng. Distance Metric Learning with Application to
       Clustering with Side-Information. Neural Information Processing Systems, 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal.classic import MMC, pairs_from_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> pairs, alike = pairs_from_labels(y, 300, random_state=0)
    >>> mmc = MMC(preprocessor=X)
    >>> bool(cross_val_score(mmc, pairs, alike, scoring="roc_auc").mean() > 0.9)
    True
    """

    _tuple_size = 2
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TupleMetric._parameter_constraints,
        "form": [StrOptions({"full", "diagonal"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "prior_weight": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
    }

    form: str = "full"
    _: KW_ONLY
    alpha: float = 1.0
    prior_weight: float | str = "auto"
    n_constraints: int | str = "auto"
    verbose: int = 0

    def _learn_labels(self, X: FloatArray, codes: IntArray) -> None:
        random_state = check_random_state(self.random_state)

        def draw(X: FloatArray, codes: IntArray) -> tuple[Tuples, IntArray]:
            n = default_n_pairs(self.n_constraints, int(codes.max()) + 1, X.shape[1])
            indices, signs = pairs_from_labels(codes, 2 * n, random_state=random_state)
            return Tuples(X, indices), signs

        def learn(X: FloatArray, codes: IntArray) -> list[FloatArray]:
            rows, space, _ = self._optimum(*draw(X, codes))
            return [_mixed(rows, space, t, X.dtype) for t in PRIOR_WEIGHTS[:-1]]

        (pairs, signs), best = draw(X, codes), 0
        if isinstance(self.prior_weight, str):
            hits = held_out_hits(X, codes, learn, random_state)
            # If no row can be held out, there is nothing to choose by.
            best = int(hits.sum(axis=1).argmax()) if hits.size else 0
        self._learn_pairs(pairs, signs, PRIOR_WEIGHTS[best])

    def _learn_pairs(self, pairs: Tuples, signs: IntArray, auto: float = 0.0) -> None:
        t = self.prior_weight
        self.prior_weight_ = auto if isinstance(t, str) else float(t)
        rows, space, solution = self._optimum(pairs, signs)
        self.components_ = _mixed(rows, space, self.prior_weight_, pairs.points.dtype)
        set_solution(self, solution)

    def _optimum(
        self, pairs: Tuples, signs: IntArray
    ) -> tuple[FloatArray, PriorSpace, OptimizeResult]:
        """Return A with M = AᵀA, or the diagonal of A, its coordinates and the fit."""
        if not (signs == -1).any():
            raise ValueError("Expected dissimilar pairs, too, but no y is -1.")
        diagonal = self.form == "diagonal"
        known = pairs.used()
        space = PriorSpace(known.points)
        # A diagonal matrix is one of the features, not of a span.
        points = known.points.astype(np.float64) if diagonal else space.points
        points = points - points.mean(axis=0)
        near, far = (
            Tuples(points, known.indices[signs == sign]).differences(0, 1)
            for sign in (1, -1)
        )
        if not (points[far.first] != points[far.second]).any():
            raise ValueError(
                "Dissimilar pairs have equal points: no metric can separate them."
            )
        # Whiten Σ_S v vᵀ + alpha I, or its diagonal: then the constraint is ‖B‖² = 1.
        axes: FloatArray = np.eye(1)
        if diagonal:
            variances = near.squares().sum(axis=0)
        else:
            found, axes = np.linalg.eigh(near.scatter())
            variances = np.maximum(found, 0)
        variances = variances + self.alpha * (variances.mean() or 1.0)
        if variances.min() <= len(variances) * 1e-14 * variances.max():
            raise ValueError(
                "There are directions along which similar pairs do not differ: the "
                "metric would be unbounded there. Use alpha above 0."
            )
        if diagonal:
            root: FloatArray = 1 / np.sqrt(variances)
            start: FloatArray = np.ones(len(root))
        else:
            root = (axes / np.sqrt(variances)) @ axes.T
            start = np.eye(len(root))
        white = points * root if diagonal else points @ root
        objective = FarApart(replace(far, points=white))
        solution = maximize(self, objective, start)
        B = solution.x / np.linalg.norm(solution.x)
        return B * root if diagonal else B @ root, space, solution


class FarApart:
    """log Σ ‖B u‖ − log ‖B‖ for differences u and a square B, or its diagonal.

    The value does not depend on the scale of B. It is concave in N = BᵀB / ‖B‖², and
    in B it has no other maxima.
    """

    def __init__(self, differences: Differences) -> None:
        self.differences = differences

    @cached_property
    def _squares(self) -> FloatArray:
        return self.differences.squares()

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its gradient with respect to B, or to its diagonal."""
        B = components
        if B.ndim == 1:
            lengths = np.sqrt(self._squares @ np.square(B))
        else:
            Z = self.differences.project(B)
            lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        total, size = float(lengths.sum()), float(np.square(B).sum())
        if not (total > 0 and size > 0):
            # So low that a line search turns back.
            return float(np.finfo(np.float64).min), np.zeros_like(B)
        inverse = 1 / (np.maximum(lengths, np.finfo(np.float64).tiny) * total)
        if B.ndim == 1:
            gradient: FloatArray = B * (inverse @ self._squares)
        else:
            gradient = self.differences.back_project(Z * inverse[:, None])
        return float(np.log(total) - np.log(size) / 2), gradient - B / size


def _mixed(rows: FloatArray, space: PriorSpace, t: float, dtype: Any) -> FloatArray:
    """Return the map of (1 − t) M + t I for M = AᵀA, with an identity of M's trace."""
    if rows.ndim == 1:
        squares = np.square(rows)
        weights = np.sqrt((1 - t) * squares + t * squares.mean())
        kept = np.flatnonzero(weights > 1e-6 * weights.max())
        kept = kept[np.argsort(-weights[kept], kind="stable")]
        return np.diag(weights)[kept].astype(dtype)
    if t == 0:
        return space.to_features(rows).astype(dtype)
    M = (1 - t) * rows.T @ rows
    M[np.diag_indices_from(M)] += t * np.square(rows).sum() / len(M)
    # The symmetric root: eigenvectors of nearly equal eigenvalues depend on rounding.
    values, vectors = np.linalg.eigh(M)
    root: FloatArray = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    if space.span is not None:
        root = space.span.basis_to_features(root)
    return root.astype(dtype)
