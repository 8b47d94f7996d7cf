"""Mahalanobis metric for clustering."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.differences import Differences
from vicinal.base.metric import of_unscaled
from vicinal.base.pair_classifier import PairClassifier
from vicinal.base.tuples import Preprocessor, Tuples
from vicinal.base.tuples_from_labels import pairs_from_labels
from vicinal.classic._prior import prior_space
from vicinal.classic._sampled_pairs import number_of_pairs
from vicinal.classic._solve import maximize, warn_unless_converged
from vicinal.neighborhood import effective_n_threads


class MMC(PairClassifier):
    """Mahalanobis metric for clustering, of Xing et al.

    Moves pairs that are not alike (D) as far apart as it can, while the squared
    distances of pairs that are alike (S) sum to one: eq. 6 and 7 of [1]_,

        max Σ_D √(vᵀMv)   subject to   Σ_S vᵀMv ≤ 1,   M ⪰ 0,

    with the differences v of the pairs; `reg` adds to the sum that is held at one. The
    pairs are given, or drawn from points with labels, half of them of one class.

    Parameters
    ----------
    form : {"full", "diagonal"}, default="full"
        Whether M has all entries or a weight for each feature only (eq. 3 of [1]_).
    reg : float, default=1.0
        Added to the scatter of the pairs that are alike, relative to its mean
        eigenvalue. With 0, as in [1]_, M is mostly of rank one or two, and a direction
        in which no alike pair differs would be stretched without end.
    n_constraints : int or "auto", default="auto"
        How many pairs to draw from labels, as for :class:`vicinal.classic.ITML`.
    max_iter : int, default=200
        Iterations of L-BFGS at most.
    tol : float, default=1e-6
        Stop when an iteration gains less than this of the logarithm of the sum.
    verbose : int, default=0
        Above 0, prints a line for each iteration.
    random_state : int, RandomState or None, default=None
        For the choice of pairs.
    preprocessor : array-like of shape (n_points, n_features), callable or None, \
default=None
        The points, where pairs are given as two indices; or what returns points for
        an array of indices.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map, the largest eigenvalue of M first; float32 if X is. Features without
        weight make no row of a diagonal map.
    threshold_ : float
        After a fit to pairs: the distance up to which they are predicted to be alike.
    n_iter_ : int
        Iterations, 1 at least.
    objective_curve_ : ndarray
        Minus the logarithm of Σ_D √(vᵀMv), with M scaled to the constraint, at the
        start and after each iteration. It never rises.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.classic.ITML : Stays near a prior.
    vicinal.classic.SDML : Has few entries.

    Notes
    -----
    The problem is convex. In coordinates that whiten the scatter of S, the constraint
    is Tr(N) = 1, and N = BᵀB / ‖B‖² meets it for any square B: instead of projecting
    onto one constraint after the other, as [1]_ does, L-BFGS finds the same optimum
    without any. The constant c of the paper's diagonal form scales the weights and
    does nothing else, so that both forms are one problem.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "form": [StrOptions({"full", "diagonal"})],
        "reg": [Interval(Real, 0, None, closed="left")],
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

    def __init__(
        self,
        form: str = "full",
        *,
        reg: float = 1.0,
        n_constraints: int | str = "auto",
        max_iter: int = 200,
        tol: float = 1e-6,
        verbose: int = 0,
        random_state: int | RandomState | None = None,
        preprocessor: Preprocessor | None = None,
    ) -> None:
        self.form = form
        self.reg = reg
        self.n_constraints = n_constraints
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.preprocessor = preprocessor

    def _learn_labels(self, X: FloatArray, codes: IntArray) -> None:
        n_pairs = number_of_pairs(self.n_constraints, int(codes.max()) + 1, X.shape[1])
        indices, signs = pairs_from_labels(
            codes, 2 * n_pairs, random_state=check_random_state(self.random_state)
        )
        self._learn_pairs(Tuples(X, indices), signs)

    def _learn_pairs(self, pairs: Tuples, signs: IntArray, **_: Any) -> None:
        if not (signs == -1).any():
            raise ValueError("Expected pairs that are not alike, too, but no y is -1.")
        n_threads = effective_n_threads(None)
        known = pairs.used()
        space = prior_space(known.points, "identity")
        points = space.coordinates(known.points)
        if self.form == "diagonal":  # of features, which a span does not have
            points = known.points.astype(np.float64) / space.unit
        points = points - points.mean(axis=0)
        near, far = (
            Tuples(points, known.indices[signs == sign]).differences(0, 1, n_threads)
            for sign in (1, -1)
        )
        if not far.squares().any():
            raise ValueError(
                "Pairs that are not alike have equal points: nothing can part them."
            )
        root = self._root_of_scatter(near)
        diagonal = self.form == "diagonal"
        objective: FarApart | FarApartByFeature
        if diagonal:
            objective = FarApartByFeature(np.square(far.vectors() * root))
        else:
            white = Differences(points @ root, far.first, far.second, n_threads)
            objective = FarApart(white)
        start = np.ones(len(root)) if diagonal else np.eye(len(root))
        found = maximize(self, objective, start)
        B = found.components / np.linalg.norm(found.components)
        if diagonal:
            weights = B * root
            kept = np.flatnonzero(np.abs(weights) > 1e-6 * np.abs(weights).max())
            kept = kept[np.argsort(-np.abs(weights[kept]), kind="stable")]
            components = np.zeros((len(kept), len(weights)))
            components[np.arange(len(kept)), kept] = np.abs(weights[kept])
            self.components_ = of_unscaled(components, space.unit, pairs.points.dtype)
        else:
            self.components_ = space.to_unscaled_map(B @ root, pairs.points.dtype)
        self.n_iter_ = max(1, found.n_iter)
        self.objective_curve_ = -np.array(found.curve)
        warn_unless_converged(self, found)

    def _root_of_scatter(self, near: Differences) -> FloatArray:
        """Return R with R Σ_S v vᵀ R = 1, or its diagonal where M is diagonal."""
        if self.form == "diagonal":
            sums = near.squares()
            sums = sums + self.reg * (sums.mean() or 1.0)
            self._check_scatter(sums)
            return 1 / np.sqrt(sums)
        scatter = near.scatter()
        values, vectors = np.linalg.eigh(scatter)
        values = np.maximum(values, 0) + self.reg * (values.mean() or 1.0)
        self._check_scatter(values)
        root: FloatArray = (vectors / np.sqrt(values)) @ vectors.T
        return root

    def _check_scatter(self, values: FloatArray) -> None:
        if values.min() <= len(values) * 1e-14 * values.max():
            raise ValueError(
                "There are directions in which no two points of an alike pair differ: "
                "they could be stretched without end. Use reg above 0."
            )


class FarApart:
    """log Σ ‖B u‖ − log ‖B‖, for differences u and a square B.

    It has the same value for any multiple of B. In N = BᵀB / ‖B‖² it is concave, and
    in B it has no other maxima.
    """

    def __init__(self, differences: Differences) -> None:
        self.differences = differences

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its derivative with respect to B."""
        B = components
        Z = self.differences.project(B)
        lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        total, size = float(lengths.sum()), float(np.square(B).sum())
        if not (total > 0 and size > 0):
            # Where a line search has gone too far: so low that it turns back.
            return -np.finfo(np.float64).max, np.zeros_like(B)
        Z /= np.maximum(lengths, np.finfo(np.float64).tiny)[:, None] * total
        gradient = self.differences.back_project(Z) - B / size
        return float(np.log(total) - np.log(size) / 2), gradient


class FarApartByFeature:
    """The same of a diagonal B, given as its diagonal.

    Parameters
    ----------
    squares : ndarray of shape (n_pairs, n_features)
        u² of the differences.
    """

    def __init__(self, squares: FloatArray) -> None:
        self.squares = squares

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its derivative with respect to the diagonal."""
        b = components
        lengths = np.sqrt(self.squares @ np.square(b))
        total, size = float(lengths.sum()), float(np.square(b).sum())
        if not (total > 0 and size > 0):
            return -np.finfo(np.float64).max, np.zeros_like(b)
        inverse = 1 / np.maximum(lengths, np.finfo(np.float64).tiny)
        gradient = b * (inverse @ self.squares) / total - b / size
        return float(np.log(total) - np.log(size) / 2), gradient
