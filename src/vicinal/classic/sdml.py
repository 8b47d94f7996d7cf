"""Sparse distance metric learning."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import span_of
from vicinal.base.metric import unscale_components
from vicinal.base.pair_classifier import PairClassifier
from vicinal.base.tuples import Preprocessor, Tuples
from vicinal.base.tuples_from_labels import pairs_from_labels
from vicinal.classic._prior import prior_space
from vicinal.classic._sampled_pairs import number_of_pairs
from vicinal.classic._sparse_inverse import sparse_inverse, sparsity_for_blocks
from vicinal.neighborhood import effective_n_threads

# The part of the largest possible balance that "auto" takes.
PART = 0.5


class SDML(PairClassifier):
    """Sparse distance metric learning.

    The Mahalanobis matrix near a prior one that brings alike pairs together, parts
    others, and has few entries off its diagonal [1]_: the least of ::

        Tr(P M) − log det M + λ Σ_{i≠j} |M_ij|,    P = M₀⁻¹ + η (mean of y v vᵀ),

    eq. 8 of [1]_, over pairs with the differences v and y of 1 or −1. The pairs are
    given, or drawn from points with labels, half of them of one class.

    Parameters
    ----------
    sparsity : float or "auto", default="auto"
        λ, relative to the mean of P's diagonal. "auto" is 0.01, or more where features
        would else hang together in blocks of more than 200.
    balance : float or "auto", default="auto"
        η. From some η on, which depends on the pairs, P is not positive definite and
        the problem has no solution; "auto" is half of that.
    prior : {"identity", "covariance"} or array-like, default="identity"
        M₀: the identity, the inverse of the covariance, as Ledoit and Wolf estimate
        it, or a matrix of shape (n_features, n_features).
    n_constraints : int or "auto", default="auto"
        How many pairs to draw from labels, as for :class:`vicinal.classic.ITML`.
    max_iter : int, default=100
        Iterations of the graphical lasso at most.
    tol : float, default=1e-4
        The graphical lasso's bound on the duality gap.
    random_state : int, RandomState or None, default=None
        For the choice of pairs.
    preprocessor : array-like of shape (n_points, n_features), callable or None, \
default=None
        The points, where pairs are given as two indices; or what returns points for
        an array of indices.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The upper triangular R of M = RᵀR; float32 if X is.
    precision_ : ndarray of shape (n_features, n_features)
        M itself, with its zeros.
    balance_ : float
        η in use, for differences in units of the largest value in X.
    sparsity_ : float
        λ in use.
    n_iter_ : int
        Iterations of the graphical lasso, the most of any block; 1 at least.
    threshold_ : float
        After a fit to pairs: the distance up to which they are predicted to be alike.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.classic.ITML : The same pairs without sparsity.
    sklearn.covariance.graphical_lasso : What solves it.

    Notes
    -----
    The problem is solved by scikit-learn's :func:`sklearn.covariance.graphical_lasso`,
    one block of features at a time: features between which no entry of P is larger than
    λ do not hang together in the solution either, so that this loses nothing.

    Cost: O(n_pairs · D²) once, and a graphical lasso of D×D, the part that grows
    fastest with D.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "sparsity": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "balance": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "prior": [StrOptions({"identity", "covariance"}), "array-like"],
        "n_constraints": [
            Interval(Integral, 2, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "preprocessor": ["array-like", callable, None],
    }

    def __init__(
        self,
        sparsity: float | str = "auto",
        *,
        balance: float | str = "auto",
        prior: str | ArrayLike = "identity",
        n_constraints: int | str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: int | RandomState | None = None,
        preprocessor: Preprocessor | None = None,
    ) -> None:
        self.sparsity = sparsity
        self.balance = balance
        self.prior = prior
        self.n_constraints = n_constraints
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.preprocessor = preprocessor

    def _learn_labels(self, X: FloatArray, codes: IntArray) -> None:
        n_pairs = number_of_pairs(self.n_constraints, int(codes.max()) + 1, 1)
        indices, signs = pairs_from_labels(
            codes, 2 * n_pairs, random_state=check_random_state(self.random_state)
        )
        self._learn_pairs(Tuples(X, indices), signs)

    def _learn_pairs(self, pairs: Tuples, signs: IntArray, **_: Any) -> None:
        known = pairs.used()
        unit = float(np.abs(known.points).max()) or 1.0
        points = known.points.astype(np.float64) / unit
        points -= points.mean(axis=0)
        differences = Tuples(points, known.indices).differences(
            0, 1, effective_n_threads(None)
        )
        # Each kind by its own mean, so that more pairs of one do not outweigh others.
        counts = np.where(signs > 0, (signs > 0).sum(), (signs < 0).sum())
        scatter = differences.scatter(signs / counts)
        inverse, root, of_data = self._prior_inverse(known.points)
        if root is not None:
            most = _largest_balance(root.T @ scatter @ root)
        elif len(points) < points.shape[1]:  # the same, in the span of the points
            span = span_of(points)
            coordinates = Tuples(span.coordinates * span.unit, known.indices)
            most = _largest_balance(
                coordinates.differences(0, 1).scatter(signs / counts)
            )
        else:
            most = _largest_balance(scatter)
        balance = self._balance(most, scatter)
        P = inverse + balance * scatter
        size = float(np.diagonal(P).mean())
        sparsity = self.sparsity
        if isinstance(sparsity, str):
            sparsity = sparsity_for_blocks(P / size)
        solved, n_iter = sparse_inverse(P / size, sparsity, self.max_iter, self.tol)
        M = solved / size
        # R of M = RᵀR; the prior of the data was taken in their unit.
        factor = np.linalg.cholesky(M).T
        scale = unit if of_data else 1.0
        self.components_ = unscale_components(factor, scale, pairs.points.dtype)
        with np.errstate(over="ignore", under="ignore"):
            self.precision_ = (M / scale / scale).astype(pairs.points.dtype)
        self.balance_, self.sparsity_, self.n_iter_ = balance, sparsity, n_iter

    def _prior_inverse(
        self, points: FloatArray
    ) -> tuple[FloatArray, FloatArray | None, bool]:
        """Return M₀⁻¹, R with M₀ = R Rᵀ (None is 1), and whether it is of the data."""
        n_features = points.shape[1]
        if isinstance(self.prior, str) and self.prior == "identity":
            return np.eye(n_features), None, False
        space = prior_space(points, self.prior)
        inverse_root = np.linalg.pinv(space.root)
        return inverse_root.T @ inverse_root, space.root, space.of_data

    def _balance(self, most: float, scatter: FloatArray) -> float:
        if not isinstance(self.balance, str):
            if self.balance >= most:
                raise ValueError(
                    f"balance={self.balance} is too large for these pairs: the problem "
                    f"has a solution below {most:.3g} only. Lower it, or use 'auto'."
                )
            return float(self.balance)
        if np.isfinite(most):
            return PART * most
        return 1.0 / max(float(np.abs(scatter).max()), np.finfo(np.float64).tiny)


def _largest_balance(scatter: FloatArray) -> float:
    """Return the η from which on 1 + η S is not positive definite; inf if none."""
    least = float(np.linalg.eigvalsh(scatter)[0])
    rounding = len(scatter) * 1e-14 * float(np.abs(scatter).max(initial=0))
    return -1.0 / least if least < -rounding else np.inf
