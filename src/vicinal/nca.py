"""Neighbourhood components analysis: the estimator."""

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from vicinal._base import FLOATS, LinearMetric
from vicinal._monitor import CallbackSupportMixin, Monitor
from vicinal._starts import STARTS, starting_map
from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import single_threaded_blas
from vicinal.objectives import NCAObjective
from vicinal.solvers import LBFGS, Solution


class NCA(CallbackSupportMixin, LinearMetric):
    """Neighbourhood components analysis.

    Learns the linear map under which points most often pick a neighbour of their own
    class, when point i picks j with probability p_ij ∝ exp(−‖A x_i − A x_j‖²) [1]_.
    k-nearest-neighbour classification, retrieval and two-dimensional pictures all
    profit from it.

    It takes the place of :class:`sklearn.neighbors.NeighborhoodComponentsAnalysis`:
    the same parameters, defaults and optimum, many times faster and without n×n
    arrays.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of the map: the dimension that the points are mapped to. None is the
        number of features.
    objective : {"expected", "log"}, default="expected"
        What to maximise: "expected" is f (eq. 3 of [1]_), the expected number of
        points classified rightly; "log" is g (eq. 6), their log-probability, which
        heeds the worst points most.
    init : {"auto", "pca", "lda", "identity", "random"} or array-like, \
default="auto"
        The map to start from. "auto" is "lda" where n_components is below the number
        of classes, else "pca" where that reduces the dimension, else "identity". An
        array has shape (n_components, n_features).
    solver : {"auto", "lbfgs"}, default="auto"
        How to climb. "auto" is "lbfgs".
    warm_start : bool, default=False
        Start from the map of the last fit, if there is one; `init` and
        `n_components` are then ignored. An interrupted fit (Ctrl-C) keeps its map.
    max_iter : int, default=50
        Iterations at most.
    tol : float, default=1e-5
        Stop when an iteration gains less than this, relative to the objective, or
        when no entry of the gradient is larger.
    callback : callable or None, default=None
        Called after each iteration with the flattened map and the iteration's number,
        from 1; raising StopIteration ends the fit there. From scikit-learn 1.9 on,
        `set_callbacks` works, too.
    verbose : int, default=0
        Above 0, prints a line for each iteration.
    random_state : int, RandomState or None, default=None
        For init="random", and for the randomised PCA of large data.
    n_jobs : int or None, default=None
        Threads. None is as many as BLAS would use; −1 is all cores. The result is
        the same for any number.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The learned map A; float32 if X is.
    n_iter_ : int
        The optimiser's iterations.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        The objective at the start and after each iteration.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    References
    ----------
    .. [1] Goldberger, Roweis, Hinton, Salakhutdinov. Neighbourhood Components
       Analysis. Advances in Neural Information Processing Systems 17, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal import NCA
    >>> X, y = load_wine(return_X_y=True)
    >>> knn = KNeighborsClassifier(3)
    >>> print(f"{cross_val_score(knn, X, y).mean():.2f}")
    0.70
    >>> learned = make_pipeline(StandardScaler(), NCA(2, max_iter=500), knn)
    >>> print(f"{cross_val_score(learned, X, y).mean():.2f}")
    0.99
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "objective": [StrOptions({"expected", "log"})],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "solver": [StrOptions({"auto", "lbfgs"})],
        "warm_start": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "callback": [callable, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        objective: str = "expected",
        init: str | ArrayLike = "auto",
        solver: str = "auto",
        warm_start: bool = False,
        max_iter: int = 50,
        tol: float = 1e-5,
        callback: Callable[[FloatArray, int], object] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.objective = objective
        self.init = init
        self.solver = solver
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the map.

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
        points, labels = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=2)
        check_classification_targets(labels)
        codes = LabelEncoder().fit_transform(labels)

        start = self._start(points, codes)
        objective = NCAObjective(points, codes, self.objective, n_jobs=self.n_jobs)
        solver = LBFGS(self.max_iter, self.tol)
        monitor = Monitor(self, points, labels, start)
        try:
            # For the whole climb: threads that BLAS has woken for the optimiser's own
            # small products would spin on the cores that the engine needs.
            with single_threaded_blas(), monitor:
                solution = solver.maximize(objective, start, on_iteration=monitor)
        except KeyboardInterrupt:
            if self.warm_start and monitor.n_iter:
                self._keep(monitor, points.dtype)
            raise

        if not solution.converged:
            warnings.warn(
                f"NCA did not converge in {solution.n_iter} iterations "
                f"({solution.message}); raise max_iter or tol, or standardise X.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._keep(solution, points.dtype)
        return self

    def _start(self, X: FloatArray, codes: IntArray) -> FloatArray:
        if self.warm_start and hasattr(self, "components_"):
            if self.components_.shape[1] != X.shape[1]:
                raise ValueError(
                    f"X has {X.shape[1]} features, but the map to start from "
                    f"(warm_start=True) has {self.components_.shape[1]}."
                )
            return self.components_
        random_state = check_random_state(self.random_state)
        return starting_map(self.init, X, codes, self.n_components, random_state)

    def _keep(self, reached: Solution | Monitor, dtype: np.dtype[Any]) -> None:
        self.components_ = reached.components.astype(dtype)
        self.n_iter_ = reached.n_iter
        self.objective_curve_ = np.array(reached.curve)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
