"""Mahalanobis metric for clustering."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.differences import Differences
from vicinal.base.pair_classifier import PairClassifier
from vicinal.base.tuples import Preprocessor, Tuples
from vicinal.base.tuples_from_labels import pairs_from_labels
from vicinal.classic._choice import hits_of_maps
from vicinal.classic._far_apart import FarApart, FarApartByFeature, Optimum
from vicinal.classic._prior import prior_space
from vicinal.classic._sampled_pairs import number_of_pairs
from vicinal.classic._solve import maximize, warn_unless_converged
from vicinal.neighborhood import effective_n_threads

# Parts of the identity to choose from; the last is the features as they are.
_PRIOR_WEIGHTS = (0.0, 0.03, 0.1, 0.3, 0.6, 1.0)


class MMC(PairClassifier):
    """Mahalanobis metric for clustering, of Xing et al.

    Moves pairs that are not alike (D) as far apart as it can, while the squared
    distances of pairs that are alike (S) sum to one: eq. 6 and 7 of [1]_,

        max Σ_D √(vᵀMv)   subject to   Σ_S vᵀMv ≤ 1,   M ⪰ 0,

    with the differences v of the pairs; `reg` adds to the sum that is held at one. The
    pairs are given, or drawn from points with labels, half of them of one class. The
    optimum often rests on very few directions, and where it was learned from labels,
    it is mixed with the identity (`prior_weight`).

    Parameters
    ----------
    form : {"full", "diagonal"}, default="full"
        Whether M has all entries or a weight for each feature only (eq. 3 of [1]_).
    reg : float, default=1.0
        Added to the scatter of the pairs that are alike, relative to its mean
        eigenvalue. With 0, as in [1]_, M is mostly of rank one or two, and a direction
        in which no alike pair differs would be stretched without end.
    prior_weight : float or "auto", default="auto"
        The part t of the identity in (1 − t) M + t I, where I has the trace of M: 0 is
        [1]_, 1 leaves the features as they are. "auto" is 0 for pairs; for labels, it
        is the one of six values under which 3-NN is right on most rows held out.
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
        The map, the largest eigenvalue of M first, or with a part of the identity the
        symmetric root of M; float32 if X is. Features without weight make no row of a
        diagonal map.
    prior_weight_ : float
        The part of the identity in use.
    threshold_ : float
        After a fit to pairs: the distance up to which they are predicted to be alike.
    n_iter_ : int
        Iterations, 1 at least.
    objective_curve_ : ndarray
        Minus the logarithm of Σ_D √(vᵀMv), with M scaled to the constraint and without
        the identity, at the start and after each iteration. It never rises.
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
        "prior_weight": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
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
        prior_weight: float | str = "auto",
        n_constraints: int | str = "auto",
        max_iter: int = 200,
        tol: float = 1e-6,
        verbose: int = 0,
        random_state: int | RandomState | None = None,
        preprocessor: Preprocessor | None = None,
    ) -> None:
        self.form = form
        self.reg = reg
        self.prior_weight = prior_weight
        self.n_constraints = n_constraints
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.preprocessor = preprocessor

    def _learn_labels(self, X: FloatArray, codes: IntArray) -> None:
        random_state = check_random_state(self.random_state)
        drawn = self._drawn(X, codes, random_state)
        t = self.prior_weight
        if isinstance(t, str):
            t = self._best_prior_weight(X, codes, random_state)
        self._learn_pairs(*drawn, prior_weight=t)

    def _drawn(
        self, X: FloatArray, codes: IntArray, random_state: RandomState
    ) -> tuple[Tuples, IntArray]:
        n_pairs = number_of_pairs(self.n_constraints, int(codes.max()) + 1, X.shape[1])
        indices, signs = pairs_from_labels(
            codes, 2 * n_pairs, random_state=random_state
        )
        return Tuples(X, indices), signs

    def _best_prior_weight(
        self, X: FloatArray, codes: IntArray, random_state: RandomState
    ) -> float:
        """Return the part of the identity under which most rows held out are right."""

        def learn(X: FloatArray, codes: IntArray) -> list[FloatArray]:
            optimum = self._optimum(*self._drawn(X, codes, random_state))
            return [optimum.components(t, X.dtype) for t in _PRIOR_WEIGHTS[:-1]]

        hits = hits_of_maps(X, codes, learn)
        # Where nothing can be held out, there is nothing to go by.
        return _PRIOR_WEIGHTS[int(hits.sum(axis=1).argmax())] if hits.size else 0.0

    def _learn_pairs(
        self,
        pairs: Tuples,
        signs: IntArray,
        prior_weight: float | None = None,
        **_: Any,
    ) -> None:
        if prior_weight is None:
            given = self.prior_weight
            prior_weight = 0.0 if isinstance(given, str) else given
        optimum = self._optimum(pairs, signs)
        self.components_ = optimum.components(prior_weight, pairs.points.dtype)
        self.prior_weight_ = float(prior_weight)
        self.n_iter_ = max(1, optimum.found.n_iter)
        self.objective_curve_ = -np.array(optimum.found.curve)
        warn_unless_converged(self, optimum.found)

    def _optimum(self, pairs: Tuples, signs: IntArray) -> Optimum:
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
        return Optimum(B * root if diagonal else B @ root, space, found)

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
