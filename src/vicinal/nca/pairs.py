"""Neighborhood components analysis of pairs: the estimator."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.metric import CallbackSupportMixin, LinearMetric, validate_data
from vicinal.nca._problems import MatchProblem
from vicinal.nca.nca import (
    GRADIENT_CONSTRAINTS,
    NCA,
    check_diagonal,
    learn,
    warn_unless_learned,
)
from vicinal.neighborhood import center_float32, single_threaded_blas
from vicinal.objectives.matches import GivenPairsObjective, check_pairs

_STARTS = {"auto", "pca", "whiten", "identity", "random"}


@dataclass(frozen=True)
class PairProblem(MatchProblem):
    """Rows with a sparse matrix of weighted pairs."""

    def objective(self) -> GivenPairsObjective:  # type: ignore[override]
        """Return the objective of the pairs."""
        return GivenPairsObjective(self.X, self.labels, self.loss, n_jobs=self.n_jobs)


@dataclass(eq=False, repr=False)
class PairNCA(CallbackSupportMixin, LinearMetric):
    """Neighborhood components analysis of pairs.

    It does not need classes, only pairs (a, b) of points that should be near, with
    weights w. The map maximizes Σ w_ab log(exp(−‖A x_a − A x_b‖²) / S), the
    log-likelihood of the pairs among all others (eq. 8 of [1]_).

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of the map; None is the number of features.
    normalization : {"pairs", "all", "anchor"}, default="pairs"
        Set of pairs in the normalization: with "pairs", S is the sum over all pairs
        of different points; with "all", over all c and d as eq. 8 is written, so that
        each point is also paired with itself; with "anchor", over the pairs of the
        first point, which picks its partner among all points. List a pair in both
        directions if both points are anchors.
    form : {"full", "diagonal"}, default="full"
        "diagonal" learns one non-negative weight for each feature, `feature_weights_`.
    init : {"auto", "pca", "whiten", "identity", "random"} or array-like, \
default="auto"
        Initial map. "auto" is "pca" if that reduces the dimension, otherwise
        "identity".
    alpha : float, default=0.0
        λ of the penalty: alpha · ‖A‖² is subtracted from the objective for each unit
        of weight of the pairs.
    solver, batch_size, n_references, warm_start, max_iter, tol, callback, \
verbose, random_state, n_jobs
        As for :class:`vicinal.NCA`; a step of "stochastic" uses `batch_size` pairs,
        with their own points and `n_references` random points as references.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The learned map A; float32 if X is.
    effective_neighbors_ : ndarray of shape (n_samples,)
        Effective number of neighbors of each point, the perplexity of
        p_ij ∝ exp(−‖A x_i − A x_j‖²). NaN, after a stochastic fit, for all but a
        random sample of the rows.
    feature_weights_ : ndarray of shape (n_features,)
        The diagonal of the map, with form="diagonal" only.
    n_iter_ : int
        Number of iterations of the optimizer.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        The objective at the start and after each iteration.

    See Also
    --------
    vicinal.adapters.RetrievalAdapter : Pairs of queries and documents.

    Notes
    -----
    Cost: O(n²d + nDd) for each evaluation, in blocks of rows. The number of pairs has
    little influence.

    References
    ----------
    .. [1] Goldberger, Roweis, Hinton, Salakhutdinov. Neighbourhood Components
       Analysis. Advances in Neural Information Processing Systems 17, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import PairNCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> X[100:, :2] = X[:100, :2]          # rows i and 100 + i agree in two features
    >>> pairs = np.column_stack([np.arange(100), np.arange(100, 200)])
    >>> nca = PairNCA(alpha=0.01, max_iter=200).fit(X, pairs)
    >>> np.argsort(np.linalg.norm(nca.components_, axis=0))[-2:].tolist() in (
    ...     [0, 1], [1, 0])
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GRADIENT_CONSTRAINTS,
        "normalization": [StrOptions({"pairs", "all", "anchor"})],
        "form": [StrOptions({"full", "diagonal"})],
        "init": [StrOptions(_STARTS), "array-like"],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }
    _optional_attributes: ClassVar[tuple[str, ...]] = ("feature_weights_",)
    _requires_y: ClassVar[bool] = True
    _attributes_of = NCA._attributes_of
    # Settings of `NCA` that do not apply.
    n_init, n_neighbors = 1, "all"
    anneal = early_stopping = False

    n_components: int | None = None
    _: KW_ONLY
    normalization: str = "pairs"
    form: str = "full"
    init: str | ArrayLike = "auto"
    solver: Any = "auto"
    batch_size: int | str = "auto"
    n_references: int | str = "auto"
    alpha: float = 0.0
    warm_start: bool = False
    max_iter: int = 50
    tol: float = 1e-5
    callback: Callable[[FloatArray, int], object] | None = None
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, pairs: ArrayLike, weights: ArrayLike | None = None
    ) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        pairs : array-like of int of shape (n_pairs, 2)
            Indices of the two rows of X in each pair, counted from 0.
        weights : array-like of shape (n_pairs,) or None, default=None
            Non-negative weights of the pairs; None is 1. The weights of duplicate pairs
            are added.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            points: FloatArray = validate_data(
                self, X, dtype=FLOATS, ensure_min_samples=2
            )
            matrix = check_pairs(pairs, len(points), weights)
            if self.form == "diagonal":
                check_diagonal(self, points.shape[1])
            points, offset = center_float32(points)
            n = len(points)
            problem = PairProblem(
                points, np.ones(n), np.ones(n, dtype=bool), (X, pairs),
                self.normalization, self.n_jobs, offset, labels=matrix,
            )  # fmt: skip
            result = learn(self, problem)
        warn_unless_learned(self, result)
        return self
