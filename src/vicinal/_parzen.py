"""What LCA and LCA-Gauss share: the fit by EM, and its fitted attributes."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from vicinal._base import LinearMetric
from vicinal._em import Kernel, Model, Reached, Sampling, exact_em, stochastic_em
from vicinal._monitor import CallbackSupportMixin, Monitor
from vicinal._product_density import ProductDensity
from vicinal._typing import FloatArray
from vicinal._units import Units
from vicinal.density import DensityMixin
from vicinal.neighborhood import (
    back_project,
    effective_n_threads,
    single_threaded_blas,
)
from vicinal.objectives.pairs import FLOATS

at_least_one = Interval(Integral, 1, None, closed="left")
at_least_zero = Interval(Real, 0, None, closed="left")

# Up to here all pairs are looked at unless batches are asked for.
N_EXACT = 20_000
# The paper's batches and neighbourhoods (section 6.3), how many locations for each
# feature make a covariance that is far from degenerate, and after how many updates
# another adds little in the same pass.
BATCH_SIZE, N_REFERENCES, LOCATIONS_PER_FEATURE = 100, 3000, 4
UPDATES_PER_PASS = 1000


@dataclass(frozen=True, eq=False)
class Problem:
    """What fit was given, validated, and in what units it is computed."""

    units: Units
    U: FloatArray
    """The points, in these units."""
    covariance: FloatArray
    """Of U."""
    n_threads: int
    data: tuple[Any, Any]
    """X and y as the user gave them."""

    @classmethod
    def build(
        cls, units: Units, U: FloatArray, n_jobs: int | None, data: tuple[Any, Any]
    ) -> "Problem":
        """Measure the covariance of the points."""
        n_threads = effective_n_threads(n_jobs)
        return cls(units, U, covariance_of(U, n_threads), n_threads, data)


def covariance_of(U: FloatArray, n_threads: int) -> FloatArray:
    """Return the maximum-likelihood covariance, in float64."""
    centred = U - U.mean(axis=0, dtype=np.float64)
    return back_project(centred, centred, n_threads) / len(U)


class ParzenMetric(CallbackSupportMixin, DensityMixin, LinearMetric):
    """Base of the estimators that maximise the leave-one-out likelihood by EM."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "batch_size": [at_least_one, StrOptions({"all"}), None],
        "n_references": [at_least_one, StrOptions({"all"}), None],
        "discount": [Interval(Real, 0, 1, closed="left")],
        "contamination": [
            StrOptions({"auto"}),
            Interval(Real, 0, 0.5, closed="right"),
        ],
        "cv": ["cv_object"],
        "rtol": [at_least_zero],
        "warm_start": ["boolean"],
        "max_iter": [at_least_one],
        "tol": [at_least_zero],
        "callback": [callable, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }
    # The parameters that may be "cv".
    _regs: ClassVar[tuple[str, ...]] = ()
    batch_size: int | str | None
    n_references: int | str | None
    discount: float
    contamination: float | str
    cv: Any
    rtol: float
    warm_start: bool
    max_iter: int
    tol: float
    callback: Callable[[FloatArray, int], object] | None
    verbose: int
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    n_iter_: int
    objective_curve_: FloatArray
    _density: Any
    _local_scatter: FloatArray
    _weight: float

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Learn the metric and the density.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : None
            Ignored: there are no labels.

        Returns
        -------
        self
        """
        # BLAS is held throughout: threads that it has woken for small matrices would
        # spin on the cores that the engine needs.
        with self._unchanged_on_error(), single_threaded_blas():
            points = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
            units = Units.of(points, self._alike())
            U = units.measure(points)
            problem = Problem.build(units, U, self.n_jobs, (X, y))
            regs = self._choose_regs(points)
            self.__dict__.pop("cv_score_", None)
            converged, n_floored = self._learn(problem, regs)
        if not converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.n_iter_} "
                "iterations; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,  # past this and scikit-learn's wrapper of fit
            )
        self._warn_if_floored(n_floored)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:
        """Add points to the density, and update the metric by them (eq. 7).

        The new points are the locations, `batch_size` of them in an update, and
        `n_references` random points among all so far their neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points; at least two in the first call.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_partial()
        first = not hasattr(self, "components_")
        with self._unchanged_on_error(), single_threaded_blas():
            points = validate_data(
                self, X, dtype=FLOATS, reset=first, ensure_min_samples=1 + first
            )
            if first:
                units = Units.of(points, self._alike())
                U = units.measure(points)
            else:
                units = self._density.units
                U = np.concatenate([self._density.U, units.measure(points)])
            problem = Problem.build(units, U, self.n_jobs, (X, y))
            kernel = self._add(problem, len(points), first)
        self._warn_if_floored(kernel.n_floored)
        return self

    def _add(self, problem: Problem, n_new: int, first: bool) -> Kernel:
        """Let the last n_new points pass as locations, and keep what comes of it."""
        regs = {f"{name}_": float(getattr(self, name)) for name in self._regs}
        model = self._model(problem, regs)
        n = len(problem.U)
        sampling = self._batches(*problem.U.shape)
        if first:
            kernel, C = self._start(problem, model)
            weight = sampling.weight_of_start(n)
        else:
            kernel, C = self._density.kernel, self._local_scatter
            weight = self._weight
        rng = check_random_state(self.random_state)
        new = rng.permutation(np.arange(n - n_new, n))
        kernel, C, weight = sampling.update(
            model, problem.U, kernel, C, weight, new, rng, problem.n_threads
        )
        self.__dict__.update(regs)
        self._keep(problem, kernel, C, weight)
        self.n_iter_ = 1 if first else self.n_iter_ + 1
        return kernel

    def _learn(self, problem: Problem, regs: dict[str, float]) -> tuple[bool, int]:
        """Run EM and become fitted; return whether it converged, and what it floored.

        Parameters
        ----------
        problem : Problem
            The data.
        regs : dict
            The regularisation that was set or chosen, by fitted attribute.
        """
        model = self._model(problem, regs)
        kernel, C = self._start(problem, model)
        reached = self._run(problem, model, kernel, C, regs)
        return reached.converged, reached.kernel.n_floored

    def _run(
        self,
        problem: Problem,
        model: Model,
        kernel: Kernel,
        C: FloatArray,
        regs: dict[str, float],
    ) -> Reached:
        """Run EM from a start, watched, and become fitted."""
        latest = kernel

        def state(_: FloatArray) -> dict[str, Any]:
            return self._state(problem, latest)

        monitor = Monitor(self, *problem.data, self._components(problem, kernel), state)
        log_unit = float(np.log(problem.units.scale).sum())

        def in_units_of_x(curve: Iterable[float]) -> list[float]:
            return [height - log_unit for height in curve]

        def on_iteration(kernel: Kernel, curve: list[float]) -> bool:
            nonlocal latest
            latest = kernel
            components = self._components(problem, kernel)
            return monitor(components, in_units_of_x(curve))

        try:
            with monitor:
                reached = self._em(problem, model, kernel, C, on_iteration)
        except KeyboardInterrupt:
            if self.warm_start and monitor.n_iter:
                self.__dict__.update(regs)
                self._keep(problem, latest, C)
                self.n_iter_ = monitor.n_iter
                self.objective_curve_ = np.array(monitor.curve)
            raise
        self.__dict__.update(regs)
        self._keep(problem, reached.kernel, reached.local_scatter)
        self.n_iter_ = reached.n_iter
        self.objective_curve_ = np.array(in_units_of_x(reached.curve))
        return reached

    def _em(
        self,
        problem: Problem,
        model: Model,
        kernel: Kernel,
        C: FloatArray,
        on_iteration: Callable[[Kernel, list[float]], bool],
    ) -> Reached:
        """Run EM over all pairs, or over batches."""
        stopping: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        stopping |= {"n_threads": problem.n_threads, "on_iteration": on_iteration}
        sampling = self._sampling(*problem.U.shape)
        if sampling is None:
            return exact_em(model, problem.U, kernel, **stopping)
        rng = check_random_state(self.random_state)
        return stochastic_em(model, problem.U, kernel, C, sampling, rng=rng, **stopping)

    def _sampling(self, n: int, d: int) -> Sampling | None:
        """Return how to draw batches; None where all pairs are looked at."""
        whole: tuple[Any, ...] = ("all", None) if n <= N_EXACT else ("all",)
        if self.batch_size in whole and self.n_references in whole:
            return None
        return self._batches(n, d)

    def _batches(self, n: int, d: int) -> Sampling:
        """Return how to draw batches."""
        B, N = self.batch_size, self.n_references
        if B is None:
            # Each update maps its neighbours anew: many locations should share them.
            B = max(BATCH_SIZE, LOCATIONS_PER_FEATURE * d, n // UPDATES_PER_PASS)
        if N is None:
            N = N_REFERENCES
        B, N = (n if size == "all" else min(int(size), n) for size in (B, N))
        return Sampling(B, N, self.discount)

    def _keep(
        self, problem: Problem, kernel: Kernel, C: FloatArray, weight: float = 1.0
    ) -> None:
        """Make the estimator fitted, all at once."""
        state = {"_local_scatter": C, "_weight": weight}
        self.__dict__.update({**self._state(problem, kernel), **state})

    def _state(self, problem: Problem, kernel: Kernel) -> dict[str, Any]:
        """Return the fitted attributes that follow from a kernel."""
        return {
            "components_": self._components(problem, kernel),
            "_density": ProductDensity(problem.units, kernel, problem.U, self.rtol),
            "_contamination": self.contamination,
        }

    def _is_warm(self, problem: Problem) -> bool:
        """Return whether to go on from the last fit."""
        if not (self.warm_start and hasattr(self, "components_")):
            return False
        n_before = self._density.kernel.map.shape[1]
        if n_before != problem.U.shape[1]:
            raise ValueError(
                f"X has {problem.U.shape[1]} features, but the map to start from "
                f"(warm_start=True) has {n_before}."
            )
        return True

    def _previous_map(self, problem: Problem) -> FloatArray:
        """Return the map of the last fit, in the units of this one."""
        scales = problem.units.scale / self._density.units.scale
        previous: FloatArray = self._density.kernel.map * scales
        return previous

    def _warn_if_floored(self, n_floored: int) -> None:
        if n_floored:
            regs = " and ".join(self._regs)
            warnings.warn(
                f"The leave-one-out likelihood has no finite optimum: in {n_floored} "
                "directions the kernel would collapse, as it does with duplicate rows, "
                "with constant or collinear columns and with fewer rows than columns. "
                "There it was kept at 1e-10 of the data's variance. Drop what is "
                f"duplicate, or set {regs} above 0, for instance to 'cv'.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _check_partial(self) -> None:
        for name in self._regs:
            if getattr(self, name) == "cv":
                raise ValueError(
                    f"partial_fit cannot choose {name}: set it to a number."
                )

    def _choose_regs(self, X: FloatArray) -> dict[str, float]:
        raise NotImplementedError

    def _alike(self) -> bool:
        raise NotImplementedError

    def _model(self, problem: Problem, regs: dict[str, float]) -> Model:
        raise NotImplementedError

    def _start(self, problem: Problem, model: Any) -> tuple[Kernel, FloatArray]:
        raise NotImplementedError

    def _components(self, problem: Problem, kernel: Kernel) -> FloatArray:
        raise NotImplementedError
