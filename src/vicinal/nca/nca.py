"""Neighborhood components analysis: the estimator, and `learn`, the algorithm."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult
from scipy.sparse import issparse
from sklearn.base import _fit_context, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.metric import (
    CallbackSupportMixin,
    LinearMetric,
    Monitor,
    validate_data,
    warn_caller,
)
from vicinal.nca._initialization import (
    STARTS,
    best_loss_scale,
    check_sparse_settings,
    convert_rows,
    data_unit,
    first_map,
    last_map,
    queries_of_all,
    seed_of,
)
from vicinal.nca._partial_fit import Reservoir, learn_piece
from vicinal.nca._problems import ClassProblem, MatchProblem, Problem
from vicinal.nca._schedules import (
    ANNEALED,
    Annealing,
    EarlyStopping,
    held_out_part,
    held_out_score,
)
from vicinal.nca._selection import (
    SELECTION_ITERATIONS,
    Selected,
    best_of_starts,
    select,
    selected_start,
)
from vicinal.nca._stochastic import NoOptimization, StochasticOptimizer
from vicinal.neighborhood import single_threaded_blas
from vicinal.objectives import TruncatedNCA
from vicinal.objectives.nca import KINDS, PairObjective
from vicinal.optimize import SOLVERS, Refreshed, Ridge, maximize

_at_least_one = Interval(Integral, 1, None, closed="left")
_at_least_zero = Interval(Real, 0, None, closed="left")
GRADIENT_CONSTRAINTS: dict[str, Any] = {
    "n_components": [_at_least_one, None],
    "init": [StrOptions(set(STARTS)), "array-like"],
    "solver": [StrOptions({"auto", "stochastic", *SOLVERS}), HasMethods("maximize")],
    "batch_size": [_at_least_one, StrOptions({"auto"})],
    "n_references": [_at_least_one, StrOptions({"auto", "all"})],
    "alpha": [_at_least_zero, StrOptions({"auto"})],
    "warm_start": ["boolean"],
    "max_iter": [_at_least_one],
    "tol": [_at_least_zero],
    "callback": [callable, None],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}
"""Constraints of the parameters that all estimators of this folder share."""

STOCHASTIC_FROM = 10_000, 7_000
"""Number of rows from which solver="auto" is stochastic: for "expected" and
"class-density", and for other objectives. An iteration then costs as much as an
evaluation over all pairs."""
SAMPLING = StochasticOptimizer, NoOptimization
"""Solvers that evaluate samples of the pairs, with a penalty of their own."""


@dataclass(eq=False, repr=False)
class NCA(CallbackSupportMixin, LinearMetric):
    """Neighborhood components analysis.

    Learns a linear map that maximizes the probability of points to pick a neighbor of
    their own class, if point i picks j with probability
    p_ij ∝ exp(−‖A x_i − A x_j‖²) [1]_. The map improves k-nearest-neighbor
    classification, retrieval and two-dimensional visualization.

    It replaces :class:`sklearn.neighbors.NeighborhoodComponentsAnalysis`, with the same
    parameters, defaults and optimum. It is many times faster, does not need n×n arrays,
    and uses a stochastic solver from about ten thousand rows on.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of rows of the map: the dimension of the mapped points. None is the
        number of features. "auto" learns a map of full rank, orders its rows by their
        singular values, keeps the fewest whose leave-one-out 3-NN accuracy is within
        a standard error of the best, and continues from these.
    objective : {"expected", "log", "class-density", "squared-error"} or PairLoss, \
default="expected"
        Objective to maximize. "expected" is f (eq. 3 of [1]_), the expected number of
        correctly classified points. "log" is g (eq. 6), the log-likelihood, which is
        dominated by the points that are classified worst. "class-density" is f of
        class densities (eq. 3.13 of [2]_), in which small classes count as much as
        large ones. "squared-error" is minus the squared error of the neighbors'
        votes, summed over the classes; with form="diagonal", it learns the weights of
        features as Lowe's method [3]_ does, with one kernel width for all points. An
        object with `prepare` and `weigh` is a custom loss; see
        :class:`vicinal.objectives.PairLoss`.
    form : {"full", "diagonal"}, default="full"
        "diagonal" learns one non-negative weight for each feature, `feature_weights_`;
        a weight may become 0. Valid starts are then "auto", "identity" (all 1),
        "whiten" (1 / standard deviation) or an array of shape (n_features,).
    init : {"auto", "pca", "lda", "rca", "whiten", "identity", "random", \
"small-random"} or array-like, default="auto"
        Initial map. "lda" has the directions of eq. 3.16 and 3.17 of [2]_, of unit
        length, with equal class weights; "rca" and "whiten" give the classes, or all
        points, unit covariance, with the most discriminative directions first. "auto"
        is scikit-learn's LDA (which weights classes by size, and equals
        "rca") if n_components is below the number of classes, else "pca" if that
        reduces the dimension, else "identity"; the last two are divided by the unit of
        the data, a power of two that is 1 if X is standardized. "small-random" is
        0.01 · randn (section 3.3.3 of [2]_), not rescaled unless alpha="auto". An
        array has shape (n_components, n_features).
    n_init : int, default=1
        Number of starts: that of `init`; if it is "auto", "lda", "rca", "pca" and
        "whiten", too; and random ones. With several, a map is learned from each, on up
        to 1,000 rows. The fit continues from the one with the least loss on held-out
        rows, if that is better than the first start by more than a standard error. With
        alpha="auto", which compares starts with each penalty, n_init - 1 random ones
        are added to those.
    solver : {"auto", "lbfgs", "cg", "bold-driver", "delta-bar-delta", "decay", \
"stochastic"} or Solver, default="auto"
        Optimizer. "stochastic" takes 12 steps per iteration (25 for "log" and
        "squared-error"), each on random points, so that its cost does not depend on
        the number of rows; it runs `max_iter` iterations and ignores `tol`. "auto" is
        "lbfgs" below 10,000 rows (7,000 for "log" and "squared-error") and "stochastic"
        from there on. An object with
        `maximize(objective, start, callback)` is a custom solver, as those in
        `vicinal.optimize`; it has its own limits, and `max_iter` and `tol` do
        not apply.
    n_neighbors : int, "auto" or "all", default="all"
        Number of nearest neighbors in the sum of each point, updated at least every
        ten iterations; `truncated_mass_` is the resulting loss. "auto" is the number
        that loses less than a thousandth, updated when the lists are outdated. Not
        supported by "stochastic".
    batch_size : int or "auto", default="auto"
        Number of queries in a stochastic step; "auto" is 512 to 2048.
    n_references : int, "auto" or "all", default="auto"
        Number of random points among which the queries of a stochastic step have
        their neighbors; "auto" is 512 to 2048.
    alpha : float or "auto", default=0.0
        λ of eq. 3.22 of [2]_ per training point: the penalty n · alpha · ‖A‖² is
        subtracted from the objective, which limits the size of the map and thereby
        overfitting. "auto" selects it, together with the start, on held-out rows; see
        :class:`vicinal.NCAClassifier`. The solver is then limited to six iterations,
        as many as were scored.
    anneal : bool, {"magnitude", "data-variance", "projected-variance"} or Annealing, \
default=False
        Start at full rank and remove rows one by one down to n_components (algorithm
        3.2 of [2]_): each time the row of the smallest norm, or the row along which
        the data, or the mapped points, vary least. True is "magnitude". A
        :class:`vicinal.nca.Annealing` also sets how slowly.
    early_stopping : bool, default=False
        Hold out some of the points, stop if their score no longer improves, and keep
        the map with the best score.
    validation_fraction : float, default=0.1
        Share of held-out points.
    n_iter_no_change : int, default=25
        Number of iterations without a better held-out score before the fit stops.
    class_prior : array-like of shape (n_classes,), "empirical" or None, default=None
        p(c) of "class-density", in the order of the sorted classes; None is uniform.
        Other objectives do not have a class prior.
    warm_start : bool, default=False
        Start from the map of the last fit, if there is one; `init` and
        `n_components` are then ignored. An interrupted fit (Ctrl-C) keeps its map.
    max_iter : int, default=50
        Maximum number of iterations.
    tol : float, default=1e-5
        Stop if an iteration gains less than this, relative to the objective, or if no
        entry of the gradient is larger.
    callback : callable or None, default=None
        Called after each iteration with the flattened map and the iteration number,
        starting from 1; raising StopIteration ends the fit. `set_callbacks` is
        supported from scikit-learn 1.9 on.
    verbose : int, default=0
        If positive, print a line for each iteration.
    random_state : int, RandomState or None, default=None
        Seed of all random numbers: init="random", the randomized PCA of data with more
        than 2,000 rows and features, held-out rows, and the mini-batches of the
        stochastic solver.
    n_jobs : int or None, default=None
        Number of threads. None uses as many as BLAS would; −1 uses all cores. The
        result does not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The learned map A; float32 if X is.
    n_iter_ : int
        Number of iterations of the optimizer.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        The objective at the start and after each iteration; for a stochastic solver,
        its mean over the mini-batches, at their scale.
    effective_neighbors_ : ndarray of shape (n_samples,)
        Effective number of neighbors of each training point, the perplexity of p_i.
        NaN for rows of weight 0 and, after a stochastic fit, for all but a random
        sample of the rows.
    truncated_mass_ : float
        Mean share of the p_ij that is lost by truncation, with `n_neighbors` only.
    feature_weights_ : ndarray of shape (n_features,)
        The diagonal of the map, with form="diagonal" only.
    alpha_ : float
        Selected penalty, with alpha="auto"; infinity if no learned map predicted
        better than the start, which is then kept.
    init_ : str
        Selected start, with alpha="auto"; "reduced" is the leading directions of a
        map of full rank.
    validation_curve_ : ndarray of shape (n_iter_ + 1,)
        The mean held-out score, with early_stopping only.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    vicinal.NCAClassifier : Classification by soft neighbors, with a selected penalty.
    vicinal.LDG : A map from one eigenproblem, for many features or little time.
    vicinal.classic.LMNN : Optimizes the margin of k-NN.

    Notes
    -----
    The :doc:`guide </nca>` groups the parameters by question.

    Cost: O(n²d + nDd) for each evaluation, in blocks of rows, with memory linear in
    the size of the data; 1 to 2 evaluations per iteration. The cost of a stochastic
    step does not depend on n.

    References
    ----------
    .. [1] Goldberger, Roweis, Hinton, Salakhutdinov. Neighbourhood Components
       Analysis. Advances in Neural Information Processing Systems 17, 2004.
    .. [2] Oneață. Fast low-rank metric learning. University of Edinburgh, 2011.
    .. [3] Lowe. Similarity Metric Learning for a Variable-Kernel Classifier. Neural
       Computation 7, 1995.

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
        **GRADIENT_CONSTRAINTS,
        "n_components": [_at_least_one, StrOptions({"auto"}), None],
        "objective": [StrOptions(set(KINDS)), HasMethods(["prepare", "weigh"])],
        "form": [StrOptions({"full", "diagonal"})],
        "n_init": [_at_least_one],
        "n_neighbors": [
            Interval(Integral, 2, None, closed="left"),
            StrOptions({"auto", "all"}),
        ],
        "anneal": ["boolean", StrOptions(set(ANNEALED)), Annealing],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [_at_least_one],
        "class_prior": ["array-like", StrOptions({"empirical"}), None],
    }

    _accept_sparse: ClassVar[list[str] | bool] = ["csr"]
    _requires_y: ClassVar[bool] = True
    # Fitted attributes of some settings only; a refit with other settings removes them.
    _optional_attributes: ClassVar[tuple[str, ...]] = (
        "feature_weights_",
        "validation_curve_",
        "truncated_mass_",
        "init_",
        "alpha_",
        "_pieces",
    )

    n_components: int | str | None = None
    _: KW_ONLY
    objective: Any = "expected"
    form: str = "full"
    init: str | ArrayLike = "auto"
    n_init: int = 1
    solver: Any = "auto"
    n_neighbors: int | str = "all"
    batch_size: int | str = "auto"
    n_references: int | str = "auto"
    alpha: float | str = 0.0
    anneal: bool | str | Annealing = False
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 25
    class_prior: ArrayLike | str | None = None
    warm_start: bool = False
    max_iter: int = 50
    tol: float = 1e-5
    callback: Callable[[FloatArray, int], object] | None = None
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            The points. Sparse data of more than 4 million entries (32 MiB), zeros
            included, are not made dense, and need a small n_components.
        y : array-like of shape (n_samples,) or (n_samples, n_classes), or sparse \
matrix of shape (n_samples, n_samples)
            Class labels; or soft labels, with the class probabilities in each row, so
            that i and j match by Σ_c y_ic y_jc; or a sparse matrix of matches between 0
            and 1 (section 5 of the paper).
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Number of equal points that each row represents. The starts "pca", "lda",
            "rca" and "whiten" ignore it.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            shape = np.shape(y) if hasattr(y, "shape") else np.asarray(y, object).shape
            soft = issparse(y) or (len(shape) == 2 and shape[1] > 1)
            kind: type[ClassProblem | MatchProblem]
            kind = MatchProblem if soft and not is_classifier(self) else ClassProblem
            problem = kind.validate(self, X, y, sample_weight)
            self._check_settings(problem.X)
            result = learn(self, convert_rows(self, problem))
        warn_unless_learned(self, result)
        return self

    def _check_settings(self, X: Any) -> None:
        """Raise ValueError if settings exclude each other, before any work."""
        if issparse(X):
            check_sparse_settings(self, X)
        if isinstance(self.objective, type) or isinstance(self.solver, type):
            raise TypeError("objective and solver are instances, not classes.")
        if self.n_neighbors != "all" and not isinstance(self.solver, str):
            raise ValueError(
                "A solver of your own runs over all pairs: use n_neighbors='all'."
            )
        if isinstance(self.solver, str) and self.solver == "stochastic":
            for name, usual in (("anneal", False), ("n_neighbors", "all")):
                if getattr(self, name) != usual:
                    raise ValueError(
                        f"solver='stochastic' cannot be combined with {name}="
                        f"{getattr(self, name)!r}; use solver='auto'."
                    )
        if self.n_neighbors != "all" and self.objective not in (
            "expected", "log", "class-density",
        ):  # fmt: skip
            raise ValueError(
                f"objective={self.objective!r} needs all points; use n_neighbors='all'."
            )
        fixed = self.form == "diagonal" or self.anneal
        if self.n_components == "auto" and fixed and last_map(self, X) is None:
            raise ValueError(
                "n_components='auto' cannot be combined with form='diagonal' or anneal."
            )
        if self.form == "diagonal":
            check_diagonal(self, X.shape[1])

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None
    ) -> Self:
        """Update the map with a piece of the data.

        Each call is a short stochastic fit from the current map, on the rows of the
        piece and a random sample of up to 8192 of all previous rows. The fitted
        attributes refer to that sample, and :class:`vicinal.NCAClassifier` predicts
        from it. `solver`, `max_iter`, `tol`, `callback` and `verbose` are ignored.
        After `fit`, the first call starts from scratch unless `warm_start` is True.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points of this piece.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,) or None, default=None
            All classes of the data, for the first call; None is the classes in y.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            begun = hasattr(self, "_pieces")
            points, labels = validate_data(self, X, y, dtype=FLOATS, reset=not begun)
            check_classification_targets(labels)
            for name, usual in (
                ("anneal", False), ("early_stopping", False), ("n_neighbors", "all"),
                ("n_init", 1),
            ):  # fmt: skip
                if getattr(self, name) != usual:
                    raise ValueError(
                        f"partial_fit cannot be combined with {name}="
                        f"{getattr(self, name)!r}."
                    )
            if self.n_components == "auto":
                raise ValueError(
                    "partial_fit cannot be combined with n_components='auto'."
                )
            if begun:
                known = self._pieces.classes
            else:
                known = np.unique(labels if classes is None else np.asarray(classes))
            unknown = np.setdiff1d(labels, known)
            if len(unknown):
                raise ValueError(
                    f"y has the labels {unknown.tolist()[:5]}, which are not among the "
                    "classes that the first call of partial_fit was told of; give all "
                    "of them there, as classes=."
                )
            codes = np.searchsorted(known, labels)
            pieces, problem, solver, selected, result = learn_piece(
                self, points, codes, known
            )
            Run(self, problem, problem.objective(), solver, selected).finish(result)
            self._pieces: Reservoir = pieces
            if hasattr(self, "classes_"):  # the classes of a classifier are fixed
                self.classes_, self._codes = known, pieces.codes
        return self

    def _attributes_of(
        self, problem: Problem, components: FloatArray
    ) -> dict[str, Any]:
        """Return the fitted attributes of a map, or of the diagonal of a map."""
        if components.ndim == 2:
            basis = problem.basis
            if basis is not None:
                components = components @ basis.T
                if self.n_components is None:  # as many rows as features
                    components = basis @ components
            return {"components_": components.astype(problem.X.dtype)}
        # The sign of a weight does not change distances.
        weights = np.abs(components).astype(problem.X.dtype)
        return {"components_": np.diag(weights), "feature_weights_": weights}

    def suggest_n_neighbors(self) -> int:
        """Return a k for k-NN that corresponds to the learned scale.

        The scale of A determines the effective number of neighbors, so that NCA learns
        it together with the metric (section 2 of the paper). The result is the median
        of `effective_neighbors_`, rounded to an odd number, to avoid ties of two
        classes.
        """
        check_is_fitted(self)
        typical = float(np.nanmedian(self.effective_neighbors_))
        return max(1, 2 * round((typical - 1) / 2) + 1)


# --- the algorithm


def learn(
    est: Any, problem: Problem, make_run: "Callable[..., Run] | None" = None
) -> OptimizeResult:
    """Choose penalty, solver and start, maximize the objective, store the map.

    Parameters
    ----------
    est : estimator
        The estimator, for its parameters.
    problem : Problem
        Validated rows and labels.
    make_run : callable or None, default=None
        Factory with the arguments of `Run`; None is `Run`.

    Returns
    -------
    OptimizeResult
    """
    train, held = held_out_part(est, problem) if est.early_stopping else (problem, None)
    selected = select(est, train) if est.alpha == "auto" else None
    alpha = float(est.alpha) if selected is None else selected.alpha
    objective = train.objective() if est.n_neighbors == "all" else train.truncated(est)
    # The maps of a selection were judged after a number of iterations.
    limit = est.max_iter if selected is None else SELECTION_ITERATIONS
    unit = 1 / data_unit(train.X, train.weights)
    how = {"max_iter": min(limit, est.max_iter), "tol": est.tol, "unit": unit}
    solver = choose_solver(est, train, objective, alpha, how)
    if selected is not None:
        start = selected_start(est, problem, selected)
    elif est.n_init > 1 and last_map(est, problem.X) is None:
        start = best_of_starts(est, train, alpha, unit)
    else:
        start = first_map(est, train, objective, solver, alpha, unit)
    stochastic = isinstance(solver, StochasticOptimizer)
    stopper = None
    if held is not None:
        # Maps of mini-batches have a scale of their own.
        judge = None if stochastic else objective
        score = held_out_score(est, train, held, judge)
        stopper = EarlyStopping(score, est.n_iter_no_change, start)
    run = (make_run or Run)(est, problem, objective, solver, selected, stopper)
    state = partial(est._attributes_of, problem)
    monitor = Monitor(est, *problem.given, start, state, run.optimizer, stochastic)
    watch = monitor if stopper is None else stopper.watch(monitor)
    target: Any = objective
    if alpha and not isinstance(solver, SAMPLING):  # which have their own penalty
        target = Ridge(objective, alpha * objective.n_points)
    try:
        with monitor.running():
            result = maximize(target, start, watch, solver=run.optimizer, **how)
    except KeyboardInterrupt:
        if est.warm_start and monitor.n_iter:  # keep the current map
            A = monitor.components
            if stochastic:
                A = solver.rescaled(objective, A)
            run.finish(OptimizeResult(x=A, nit=monitor.n_iter, curve=monitor.curve))
        raise
    if problem.targets is not None and selected is not None:
        # The penalty shrinks the map; the scale that predicts best is larger.
        result.x = best_loss_scale(problem.scale_objective(), result.x)
    run.finish(result)
    return result


def choose_solver(
    est: Any, problem: Problem, objective: Any, alpha: float, how: dict[str, Any]
) -> Any:
    """Return the solver for `solver`, the number of rows and the objective."""
    if np.isinf(alpha):
        return NoOptimization(seed_of(est))
    solver = est.solver
    if isinstance(solver, str) and solver == "auto":
        two_phases = problem.loss in ("expected", "class-density")
        many = problem.X.shape[0] >= STOCHASTIC_FROM[0 if two_phases else 1]
        needs_pairs = est.n_neighbors != "all" or est.anneal
        solver = "stochastic" if many and not needs_pairs else "lbfgs"
    if isinstance(solver, str) and solver == "stochastic":
        return StochasticOptimizer.build(est, problem, alpha)
    if isinstance(objective, TruncatedNCA) and objective.may_truncate:
        refresh, is_stale = objective.refresh, objective.is_stale
        how = {**how, "solver": solver}
        return Refreshed(refresh, is_stale, how, objective.list_lifetime)
    return solver


@dataclass(frozen=True)
class Run:
    """One optimization of an estimator's map."""

    est: Any
    problem: Problem
    objective: PairObjective
    optimizer: Any
    selected: Selected | None = None
    stopper: EarlyStopping | None = None

    def finish(self, result: OptimizeResult) -> None:
        """Set all fitted attributes."""
        est, problem, objective, A = self.est, self.problem, self.objective, result.x
        found: dict[str, Any] = {}
        if self.selected is not None:
            found = {"init_": self.selected.init, "alpha_": self.selected.alpha}
        if self.stopper is not None:
            every = est.n_neighbors == "all"
            objective = problem.objective() if every else problem.truncated(est)
            A = self.stopper.best
            objective.refresh(A)
            if isinstance(self.optimizer, StochasticOptimizer):
                A = self.optimizer.rescaled(objective, A)
            found["validation_curve_"] = np.array(self.stopper.curve)
        queries = None
        if isinstance(self.optimizer, SAMPLING):
            rng = np.random.default_rng(self.optimizer.seed)
            queries = queries_of_all(objective, rng)
        perplexities = np.full(len(problem.kept), np.nan, dtype=problem.X.dtype)
        perplexities[problem.kept] = objective.effective_neighbors(A, queries)
        if isinstance(objective, TruncatedNCA):
            found["truncated_mass_"] = objective.lost_mass(A)
        found["effective_neighbors_"] = perplexities
        found["n_iter_"] = result.nit
        found["objective_curve_"] = np.array(result.curve) * problem.curve_unit
        found |= est._attributes_of(problem, A)
        for name in est._optional_attributes:  # of the last fit
            vars(est).pop(name, None)
        vars(est).update(found)


def warn_unless_learned(est: Any, result: OptimizeResult) -> None:
    """Warn if the fit did not converge or learned nothing."""
    # With alpha="auto", each map was judged after the same number of iterations.
    if result.success or (est.alpha == "auto" and result.reason == "max_iter"):
        return
    begun, ended = result.curve[0], result.curve[-1]
    # A smaller gain, relative to the objective, is rounding error.
    gained = abs(ended - begun) > 1e-9 * max(abs(begun), abs(ended))
    if result.reason == "max_iter":
        advice = (
            f"did not converge in {result.nit} iterations ({result.message}); raise "
            "max_iter or tol, or standardise X."
        )
    elif gained:
        advice = (
            f"stopped after {result.nit} iterations, before it converged "
            f"({result.message}). The map is the best that was found; more iterations "
            "would not change it. Standardise X, raise alpha, or use float64."
        )
    else:
        advice = (
            "has learned nothing: no step from the start raises the objective "
            f"({result.message}). The map is the start. Standardise X, or give another "
            "init."
        )
    warn_caller(f"{type(est).__name__} {advice}", ConvergenceWarning)


def check_diagonal(est: Any, n_features: int) -> None:
    """Raise ValueError if a diagonal map is to reduce the dimension."""
    if est.n_components not in (None, n_features):
        raise ValueError(
            "form='diagonal' keeps all features: n_components must be None, not "
            f"{est.n_components!r}."
        )
    if est.anneal:
        raise ValueError("form='diagonal' keeps all features: use anneal=False.")


def map_queries(est: Any, X: ArrayLike) -> FloatArray:
    """Validate new points, and map them to the space of the training points."""
    check_is_fitted(est)
    points = validate_data(
        est, X, reset=False, dtype=FLOATS, accept_sparse=est._accept_sparse
    )
    A = est.components_
    points = points.astype(A.dtype, copy=False)
    if est._offset is not None:
        points = points - est._offset
    mapped: FloatArray = points @ A.T
    return mapped
