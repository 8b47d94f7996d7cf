"""Local component analysis: the estimator."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._covariances import Diagonal, Form, Full, LowRank, Spherical
from vicinal._em import Kernel, Reached
from vicinal._local import MOST_NUMBERS, LocalDensity, LocalKernels, local_em
from vicinal._monitor import Monitor
from vicinal._parzen import ParzenMetric, Problem, at_least_one, at_least_zero
from vicinal._regularisation import best_ridge_of
from vicinal._typing import FloatArray
from vicinal.neighborhood import single_threaded_blas

COVARIANCES = ("full", "diagonal", "spherical", "low-rank", "local")
DEFAULT_RANK = 10


class LCA(ParzenMetric):
    """Local component analysis: a metric and a density, learned without labels."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ParzenMetric._parameter_constraints,
        "covariance": [StrOptions(set(COVARIANCES))],
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
        self.batch_size = batch_size
        self.n_references = n_references
        self.discount = discount
        self.contamination = contamination
        self.cv = cv
        self.rtol = rtol
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learn(self, problem: Problem, regs: dict[str, float]) -> tuple[bool, int]:
        if self.covariance != "local":
            self.__dict__.pop("covariances_", None)
            return super()._learn(problem, regs)
        n, d = problem.U.shape
        if n * d * d > MOST_NUMBERS:
            raise ValueError(
                f"covariance='local' would keep {n} matrices of {d} × {d}: too much. "
                "Use 'full', or fewer points or features."
            )
        model = self._model(problem, regs)
        shared = self._em(
            problem, model, *self._start(problem, model), lambda *_: False
        )
        return self._learn_local(problem, shared, regs), shared.kernel.n_floored

    def _learn_local(
        self, problem: Problem, shared: Reached, regs: dict[str, float]
    ) -> bool:
        """Go on from the shared covariance to one for each point."""
        kernel, units, U = shared.kernel, problem.units, problem.U
        components = self._components(problem, kernel)
        constant = kernel.log_det - float(np.log(units.scale).sum())
        latest: list[LocalKernels] = []

        def state(_: Any = None) -> dict[str, Any]:
            density = LocalDensity(units, kernel, U, latest[-1])
            return {**self._state(problem, kernel), "_density": density}

        monitor = Monitor(self, *problem.data, components, state)

        def on_iteration(kernels: LocalKernels, curve: list[float]) -> bool:
            latest[:] = [kernels]
            return monitor(components, [height + constant for height in curve])

        def keep(curve: list[float]) -> None:
            attributes = state()
            density = attributes["_density"]
            spread = units.scale[:, None] * kernel.inverse
            attributes["covariances_"] = spread @ density.kernels.covariances @ spread.T
            attributes["_local_scatter"] = shared.local_scatter
            self.__dict__.update({**regs, **attributes})
            self.objective_curve_ = np.array(curve)
            self.n_iter_ = len(curve) - 1

        V = U.astype(np.float64) @ kernel.map.T
        try:
            with single_threaded_blas(), monitor:
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

    def _alike(self) -> bool:
        return self.covariance in ("spherical", "low-rank")

    def _form(self, n_features: int) -> Form:
        if self.covariance == "diagonal":
            return Diagonal()
        if self.covariance == "spherical":
            return Spherical()
        if self.covariance != "low-rank":
            return Full()
        rank = self.n_components
        if rank is None:
            rank = min(DEFAULT_RANK, n_features - 1)
        if rank >= n_features and n_features > 1:
            raise ValueError(
                f"n_components={rank} leaves nothing for the multiple of the identity "
                f"in {n_features} features; choose less, or covariance='full'."
            )
        return LowRank(min(rank, n_features - 1))

    def _model(self, problem: Problem, regs: dict[str, float]) -> "CovarianceModel":
        form = self._form(problem.U.shape[1])
        return CovarianceModel(form, regs["reg_"] / np.square(problem.units.scale))

    def _start(
        self, problem: Problem, model: "CovarianceModel"
    ) -> tuple[Kernel, FloatArray]:
        C = problem.covariance
        if not self._is_warm(problem):
            return model.maximise(C), C
        A = self._previous_map(problem)
        inverse = np.linalg.inv(A)
        kernel = model.kernel(A, inverse, np.linalg.slogdet(A)[1])
        return kernel, inverse @ inverse.T

    def _components(self, problem: Problem, kernel: Kernel) -> FloatArray:
        """Return the symmetric one among the roots of Σ⁻¹, in the data's units."""
        sizes, axes = eigh(kernel.map.T @ kernel.map)
        root = (axes * np.sqrt(sizes)) @ axes.T
        return (root / problem.units.scale).astype(problem.U.dtype)

    def _state(self, problem: Problem, kernel: Kernel) -> dict[str, Any]:
        spread = problem.units.scale[:, None] * kernel.inverse
        return {**super()._state(problem, kernel), "covariance_": spread @ spread.T}


@dataclass(frozen=True, eq=False)
class CovarianceModel:
    """LCA's M-step: one covariance of some form for all kernels.

    Attributes
    ----------
    form : Form
        The kind of covariance.
    ridge : ndarray of shape (n_features,)
        ν in the features' units. The penalty ½ν tr Σ⁻¹ per point adds νI to C.
    """

    form: Form
    ridge: FloatArray

    def maximise(self, C: FloatArray) -> Kernel:
        """Return the kernel with the best covariance for C + νI."""
        best = self.form.maximise(C + np.diag(self.ridge))
        log_det = -best.log_det / 2
        return self.kernel(best.root, best.inverse, log_det, best.n_floored)

    def kernel(
        self, root: FloatArray, inverse: FloatArray, log_det: float, n_floored: int = 0
    ) -> Kernel:
        """Return the kernel with a root of Σ⁻¹."""
        penalty = float(np.square(root).sum(axis=0) @ self.ridge) / 2
        return Kernel(root, inverse, len(root), log_det, penalty, n_floored)
