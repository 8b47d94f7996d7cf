"""Sparse distance metric learning."""

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import warn_caller
from vicinal.classic._shared import PriorSpace
from vicinal.classic.constraints import default_n_pairs, pairs_from_labels
from vicinal.classic.tuples import TupleMetric, Tuples


@dataclass(eq=False, repr=False)
class SDML(TupleMetric):
    """Sparse distance metric learning.

    Learns a Mahalanobis matrix near a prior that brings similar pairs together,
    separates dissimilar ones, and has few entries off its diagonal [1]_: it minimizes
    ::

        Tr(P M) − log det M + λ Σ_{i≠j} |M_ij|,    P = M₀⁻¹ + η (mean of y v vᵀ),

    eq. 8 of [1]_, over pairs with the differences v and y of 1 or −1. Pairs are given,
    or drawn from points with labels, half of them of the same class.

    Parameters
    ----------
    sparsity : float or "auto", default="auto"
        λ, relative to the mean of P's diagonal. "auto" is 0.01, or more if otherwise
        more than 200 features would be connected in one block.
    balance : float or "auto", default="auto"
        η. Above some η, which depends on the pairs, P is not positive definite and the
        problem has no solution; "auto" is half of it.
    prior : {"identity", "covariance"} or array-like, default="identity"
        M₀: the identity, the inverse of the Ledoit-Wolf covariance, or a matrix of
        shape (n_features, n_features).
    n_constraints : int or "auto", default="auto"
        Number of pairs to draw from labels, as for :class:`vicinal.classic.ITML`.
    max_iter : int, default=100
        Maximum number of iterations of the graphical lasso.
    tol : float, default=1e-4
        Tolerance of the duality gap of the graphical lasso.
    random_state : int, RandomState or None, default=None
        For the choice of pairs.
    preprocessor : array-like of shape (n_points, n_features), callable or None, \
default=None
        The points, if pairs are given as indices; or a function that returns points
        for an array of indices.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The upper triangular R of M = RᵀR; float32 if X is.
    precision_ : ndarray of shape (n_features, n_features)
        M itself, with its zeros.
    balance_ : float
        η in use, for differences in units of the largest value in X unless
        prior="covariance".
    sparsity_ : float
        λ in use.
    n_iter_ : int
        Largest number of iterations of the graphical lasso, over all blocks.
    threshold_ : float
        After a fit to pairs: the largest distance of pairs predicted as similar.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    vicinal.classic.ITML : Learns a dense matrix from the same pairs.
    sklearn.covariance.graphical_lasso : The solver.

    Notes
    -----
    The problem is solved by scikit-learn's :func:`sklearn.covariance.graphical_lasso`,
    one block of features at a time. This is exact: features that are not connected by
    entries of P above λ are not connected in the solution either.

    Cost: O(n_pairs · D²) once, and a graphical lasso of D×D, which dominates for many
    features.

    References
    ----------
    .. [1] Qi, Tang, Zha, Chua, Zhang. An Efficient Sparse Metric Learning in
       High-Dimensional Space via l1-Penalized Log-Determinant Regularization.
       International Conference on Machine Learning, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal.classic import SDML, pairs_from_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> pairs, alike = pairs_from_labels(y, 300, random_state=0)
    >>> sdml = SDML(preprocessor=X)
    >>> bool(cross_val_score(sdml, pairs, alike, scoring="roc_auc").mean() > 0.9)
    True
    """

    _tuple_size = 2
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TupleMetric._parameter_constraints,
        "sparsity": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "balance": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    sparsity: float | str = "auto"
    _: KW_ONLY
    balance: float | str = "auto"
    prior: str | ArrayLike = "identity"
    n_constraints: int | str = "auto"
    max_iter: int = 100
    tol: float = 1e-4

    def _learn_labels(self, X: FloatArray, codes: IntArray) -> None:
        n_pairs = default_n_pairs(self.n_constraints, int(codes.max()) + 1, 1)
        indices, signs = pairs_from_labels(
            codes, 2 * n_pairs, random_state=check_random_state(self.random_state)
        )
        self._learn_pairs(Tuples(X, indices), signs)

    def _learn_pairs(self, pairs: Tuples, signs: IntArray) -> None:
        known = pairs.used()
        n_features = known.points.shape[1]
        points = known.points.astype(np.float64)
        points -= points.mean(axis=0)
        # The inverse covariance has the unit of the data; other priors have none.
        covariance = isinstance(self.prior, str) and self.prior == "covariance"
        if not covariance:
            points /= float(np.abs(known.points).max()) or 1.0
        # Each kind of pairs by its own mean, so that the kinds have equal weight.
        weights = signs / np.where(signs > 0, (signs > 0).sum(), (signs < 0).sum())
        scatter = Tuples(points, known.indices).differences(0, 1).scatter(weights)
        # M₀⁻¹, and the scatter in coordinates in which M₀ is the identity.
        inverse_prior, whitened = np.eye(n_features), scatter
        space = PriorSpace(known.points if covariance else points, self.prior)
        if space.root is not None:
            inverse_root = np.linalg.pinv(space.root)
            inverse_prior = inverse_root.T @ inverse_root
            whitened = space.root.T @ scatter @ space.root
        elif space.span is not None:  # the span has the same eigenvalues but 0
            in_span = Tuples(space.points, known.indices)
            whitened = in_span.differences(0, 1).scatter(weights)
        balance = self._checked_balance(whitened, float(np.abs(scatter).max()))
        P = inverse_prior + balance * scatter
        size = float(np.diagonal(P).mean())
        sparsity = self.sparsity
        if isinstance(sparsity, str):
            sparsity = sparsity_for_blocks(P / size)
        M, n_iter = sparse_inverse(P / size, sparsity, self.max_iter, self.tol)
        M = M / size
        dtype = pairs.points.dtype
        self.components_ = np.linalg.cholesky(M).T.astype(dtype)
        self.precision_ = M.astype(dtype)
        self.balance_, self.sparsity_, self.n_iter_ = balance, sparsity, n_iter

    def _checked_balance(self, scatter: FloatArray, size: float) -> float:
        """Return η, for which I + η S must be positive definite."""
        least = float(np.linalg.eigvalsh(scatter)[0])
        rounding = len(scatter) * 1e-14 * float(np.abs(scatter).max(initial=0))
        bounded = least < -rounding
        if isinstance(self.balance, str):
            if bounded:
                return -0.5 / least
            return 1.0 / max(size, np.finfo(np.float64).tiny)
        if bounded and self.balance >= -1 / least:
            raise ValueError(
                f"balance={self.balance} is too large for these pairs: the problem "
                f"has a solution below {-1 / least:.3g} only. Lower it, or use 'auto'."
            )
        return float(self.balance)


def blocks_of(P: FloatArray, sparsity: float) -> IntArray:
    """Return the number of the block of each feature.

    Blocks are the connected components of the graph of entries |P_ij| > λ. The
    solution has the same blocks.
    """
    linked = csr_array(np.abs(P) > sparsity)
    return connected_components(linked, directed=False)[1]


def sparsity_for_blocks(
    P: FloatArray, least: float = 0.01, largest_block: int = 200
) -> float:
    """Return the least λ, to 5 %, without blocks of more than `largest_block`."""

    def small_enough(sparsity: float) -> bool:
        return bool(np.bincount(blocks_of(P, sparsity)).max() <= largest_block)

    if small_enough(least):
        return least
    low, high = least, float(np.abs(P - np.diag(np.diagonal(P))).max())
    while high > 1.05 * low:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if small_enough(middle) else (middle, high)
    return high


def sparse_inverse(
    P: FloatArray, sparsity: float, max_iter: int, tol: float
) -> tuple[FloatArray, int]:
    """Minimize Tr(P M) − log det M + λ Σ_{i≠j} |M_ij|, one block at a time.

    Parameters
    ----------
    P : ndarray of shape (n_features, n_features)
        Symmetric and positive definite.
    sparsity : float
        λ.
    max_iter, tol
        As for :func:`sklearn.covariance.graphical_lasso`.

    Returns
    -------
    M : ndarray of shape (n_features, n_features)
        The minimum.
    n_iter : int
        Largest number of iterations of a block.
    """
    from sklearn.covariance import graphical_lasso  # slow to import

    if sparsity == 0:
        inverse = np.linalg.inv(P)
        return (inverse + inverse.T) / 2, 1
    labels = blocks_of(P, sparsity)
    M = np.diag(1 / np.diagonal(P))
    most, converged = 1, True
    for block in np.flatnonzero(np.bincount(labels) > 1):
        rows = np.flatnonzero(labels == block)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, part, n_iter = graphical_lasso(
                P[np.ix_(rows, rows)],
                alpha=sparsity,
                max_iter=max_iter,
                tol=tol * len(rows),
                enet_tol=1e-6,
                return_n_iter=True,
            )
        M[np.ix_(rows, rows)] = (part + part.T) / 2
        most, converged = max(most, n_iter), converged and n_iter < max_iter
    if not converged:
        warn_caller(
            f"SDML's graphical lasso did not converge in {max_iter} iterations; raise "
            "max_iter, tol or sparsity.",
            ConvergenceWarning,
        )
    return M, most
