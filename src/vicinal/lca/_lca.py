"""Local component analysis: the estimator."""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray
from vicinal.base.monitor import Monitor
from vicinal.lca._data import ScaledData
from vicinal.lca._e_step import Kernel
from vicinal.lca._em import Reached, Start
from vicinal.lca._fit import at_least_one, at_least_zero
from vicinal.lca._local_covariance import (
    MOST_NUMBERS,
    LocalDensity,
    LocalKernels,
    local_em,
)
from vicinal.lca._m_step import FORMS, CovarianceModel, form_of
from vicinal.lca._partial_fit import StreamedParzenMetric
from vicinal.lca._regularization import best_ridge_of


class LCA(StreamedParzenMetric):
    """Local component analysis: a metric and a density, learned without labels.

    Learns the covariance Σ of the kernels of a Parzen density,
    p(x) = 1/n Σ_j N(x; x_j, Σ), under which each point is most probable given the
    others (eq. 1 of [1]_). EM alternates between how much x_j is a neighbour of x_i,
    λ_ij ∝ N(x_i; x_j, Σ) (eq. 3), and the mean of the local covariances,
    Σ = 1/n Σ_ij λ_ij (x_i − x_j)(x_i − x_j)ᵀ (eq. 4). What `transform` returns is round
    where one looks closely, rather than as a whole as after PCA whitening: good for
    spectral clustering, manifold learning, outliers.

    Parameters
    ----------
    covariance : {"full", "diagonal", "spherical", "low-rank", "local"}, \
default="full"
        What Σ may be: anything, one variance for each feature, the same variance for
        all, a matrix of rank `n_components` plus a multiple of the identity, or one Σ_j
        for each point, smoothed towards the shared one.
    reg : float or "cv", default=0.0
        ν: EM minimises the negative log-likelihood plus ½ν tr Σ⁻¹ per point, which adds
        νI to eq. 4. "cv" chooses between about 3e-4 and 3 times the features' mean
        variance by held-out log-likelihood; features should have like scales then.
    n_components : int or None, default=None
        The rank for covariance="low-rank"; None is 10, or one less than the features.
    smoothing : float, default=3.0
        For covariance="local": how many points' worth of the shared covariance each
        point's own has.
    batch_size : int, "all" or None, default=None
        B, the locations of an update in the fast form (section 5). None is "all" up to
        20,000 points, and beyond that the paper's 100, or 4 for each feature or a
        thousandth of the points where that is more.
    n_references : int, "all" or None, default=None
        N, the random points that these locations have as neighbours, themselves among
        them. None is "all" up to 20,000 points, and beyond that the paper's 3000.
    discount : float, default=0.6
        γ: what C_L keeps of itself over a pass through the data in the fast form; an
        update keeps γ^(B/n) (eq. 7).
    contamination : "auto" or float, default=0.1
        Where outliers begin. A number is the share of the training points that
        `predict` calls outliers. "auto" sets the threshold for new points, by the
        leave-one-out scores; see `offset_`.
    cv : int, splitter, iterable or None, default=None
        How points are held out for "cv"; None is five folds of shuffled rows.
    rtol : float, default=1e-4
        The relative error that `score_samples` may make in a density where a ball
        tree saves time: in one or two dimensions, with 500,000 points or more. With 0,
        and in all other cases, it is exact.
    warm_start : bool, default=False
        Start from the last fit; keep what was reached when interrupted by Ctrl-C.
    max_iter : int, default=100
        Iterations at most; in the fast form, passes through the data.
    tol : float, default=1e-3
        Stop when an iteration gains less, in nats per point.
    callback : callable or None, default=None
        Called after each iteration with the flattened map and the iteration's number,
        from 1; raising StopIteration ends the fit there. From scikit-learn 1.9 on,
        `set_callbacks` works, too.
    verbose : int, default=0
        Above 0, prints a line for each iteration.
    random_state : int, RandomState or None, default=None
        For the fast form and the shuffled folds.
    n_jobs : int or None, default=None
        Threads. None is as many as BLAS would use; −1 is all cores. The result is
        the same for any number.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        A with AᵀA = Σ⁻¹, the map under which the kernels are round; float32 if X is.
    covariance_ : ndarray of shape (n_features, n_features)
        Σ, in float64; with covariance="local" the shared one.
    covariances_ : ndarray of shape (n_samples, n_features, n_features)
        The Σ_j, with covariance="local" only.
    reg_ : float
        ν, as set or chosen.
    n_iter_ : int
        Iterations of EM, and calls of `partial_fit`.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        What EM climbs, at the start and after each iteration: the mean leave-one-out
        log-likelihood less the penalty. It never falls in exact EM. In the fast
        form it is judged by some points among some neighbours. `partial_fit` has none.
    loo_score_samples_ : ndarray of shape (n_samples,)
        Log-density of each training point, learned from the others.
    offset_ : float
        The log-density below which a point is an outlier.
    cv_score_ : float
        The mean held-out log-density at what was chosen, with "cv" only: compares
        estimators that were fitted to the same data.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    References
    ----------
    .. [1] Le Roux, Bach. Local Component Analysis. arXiv:1109.0093, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal import LCA
    >>> X = load_iris().data
    >>> lca = LCA().fit(X[::2])
    >>> lca.transform(X).shape
    (150, 4)
    >>> round(lca.score(X[1::2]), 1)
    -1.9
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **StreamedParzenMetric._parameter_constraints,
        "covariance": [StrOptions({*FORMS, "local"})],
        "reg": [at_least_zero, StrOptions({"cv"})],
        "n_components": [at_least_one, None],
        "smoothing": [Interval(Real, 0, None, closed="neither")],
    }
    _regs: ClassVar[tuple[str, ...]] = ("reg",)

    def __init__(
        self,
        covariance: str = "full",
        *,
        reg: float | str = 0.0,
        n_components: int | None = None,
        smoothing: float = 3.0,
        batch_size: int | str | None = None,
        n_references: int | str | None = None,
        discount: float = 0.6,
        contamination: float | str = 0.1,
        cv: Any = None,
        rtol: float = 1e-4,
        warm_start: bool = False,
        max_iter: int = 100,
        tol: float = 1e-3,
        callback: Callable[[FloatArray, int], object] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.covariance = covariance
        self.reg = reg
        self.n_components = n_components
        self.smoothing = smoothing
        super().__init__(
            batch_size=batch_size,
            n_references=n_references,
            discount=discount,
            contamination=contamination,
            cv=cv,
            rtol=rtol,
            warm_start=warm_start,
            max_iter=max_iter,
            tol=tol,
            callback=callback,
            verbose=verbose,
            random_state=random_state,
            n_jobs=n_jobs,
        )

    def _learn(self, problem: ScaledData, regs: dict[str, float]) -> tuple[bool, int]:
        if self.covariance != "local":
            return super()._learn(problem, regs)
        n, d = problem.U.shape
        if n * d * d > MOST_NUMBERS:
            raise ValueError(
                f"covariance='local' would keep {n} matrices of {d} × {d}: too much. "
                "Use 'full', or fewer points or features."
            )
        model = self._model(problem, regs)
        start = self._start(problem, model)
        shared = self._em(problem, model, start, lambda _: False)
        return self._learn_local(problem, shared, regs), shared.kernel.n_floored

    def _learn_local(
        self, problem: ScaledData, shared: Reached, regs: dict[str, float]
    ) -> bool:
        """Go on from the shared covariance to one for each point."""
        kernel, units, U = shared.kernel, problem.units, problem.U
        components = self._components(problem, kernel)
        constant = kernel.log_det - float(np.log(units.scale).sum())
        latest: list[LocalKernels] = []

        def state(_: Any = None) -> dict[str, Any]:
            density = LocalDensity(units, kernel, U, latest[-1])
            return {**self._attributes_of(problem, kernel), "_density": density}

        monitor = Monitor(self, *problem.data, components, state)

        def on_iteration(kernels: LocalKernels, curve: list[float]) -> bool:
            latest[:] = [kernels]
            return monitor(components, [height + constant for height in curve])

        def keep(curve: list[float]) -> None:
            spread = units.scale[:, None] * kernel.inverse
            self._store(problem, kernel, shared.local_scatter, regs)
            self._density = LocalDensity(units, kernel, U, latest[-1])
            self.covariances_ = spread @ latest[-1].covariances @ spread.T
            self.objective_curve_ = np.array(curve)
            self.n_iter_ = len(curve) - 1

        V = U.astype(np.float64) @ kernel.map.T
        try:
            with monitor:
                _, curve, converged = local_em(
                    V,
                    self.smoothing,
                    self.max_iter,
                    self.tol,
                    problem.n_threads,
                    on_iteration,
                )
        except KeyboardInterrupt:
            if self.warm_start and latest:
                keep(monitor.curve)
            raise
        keep([height + constant for height in curve])
        return converged

    def _check_partial(self) -> None:
        super()._check_partial()
        if self.covariance == "local":
            raise ValueError(
                "partial_fit cannot learn a covariance for each point: use another "
                "covariance than 'local'."
            )

    def _choose_regs(self, X: FloatArray) -> dict[str, float]:
        if self.reg == "cv":
            reg, score = best_ridge_of(self, "reg", X)
            return {"reg_": reg, "cv_score_": score}
        return {"reg_": float(self.reg)}

    def _alike(self, n_features: int) -> bool:
        return form_of(self.covariance, self.n_components, n_features).isotropic

    def _model(self, problem: ScaledData, regs: dict[str, float]) -> CovarianceModel:
        form = form_of(self.covariance, self.n_components, problem.U.shape[1])
        return CovarianceModel(form, regs["reg_"] / np.square(problem.units.scale))

    def _start(self, problem: ScaledData, model: CovarianceModel) -> Start:
        C = problem.covariance
        if not self._is_warm(problem):
            return Start(model.fit(C), C, learned=False)
        A, C = self._previous(problem)
        inverse = np.linalg.inv(A)
        # The last fit may have been of another form.
        return Start(model.kernel_near(inverse @ inverse.T), C, learned=True)

    def _components(self, problem: ScaledData, kernel: Kernel) -> FloatArray:
        """Return a root of Σ⁻¹, symmetric for features in units of their spread."""
        sizes, axes = eigh(kernel.map.T @ kernel.map)
        root = (axes * np.sqrt(sizes)) @ axes.T
        return problem.map_of_data(root)

    def _attributes_of(self, problem: ScaledData, kernel: Kernel) -> dict[str, Any]:
        spread = problem.units.scale[:, None] * kernel.inverse
        return {
            **super()._attributes_of(problem, kernel),
            "covariance_": spread @ spread.T,
        }
