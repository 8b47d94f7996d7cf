"""What LCA and LCA-Gauss share: the fit by EM, and its fitted attributes."""

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.metric import LinearMetric
from vicinal.base.monitor import CallbackSupportMixin, Monitor
from vicinal.lca._data import ScaledData
from vicinal.lca._density import ProductDensity
from vicinal.lca._density_mixin import DensityMixin
from vicinal.lca._e_step import Kernel, expectation
from vicinal.lca._em import Model, OnIteration, Reached, Start, exact_em
from vicinal.lca._minibatch_em import N_EXACT, Sampling, sampling_of, stochastic_em
from vicinal.lca._scaling import Scaler
from vicinal.neighborhood import single_threaded_blas

at_least_one = Interval(Integral, 1, None, closed="left")
at_least_zero = Interval(Real, 0, None, closed="left")


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

    def __init__(self, **parameters: Any) -> None:
        for name, value in parameters.items():
            setattr(self, name, value)

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
            units = Scaler.of(points, self._alike(points.shape[1]))
            U = units.transform(points)
            problem = ScaledData.build(units, U, self.n_jobs, (X, y))
            regs = self._choose_regs(points)
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

    def _learn(self, problem: ScaledData, regs: dict[str, float]) -> tuple[bool, int]:
        """Run EM and become fitted; return whether it converged, and what it floored.

        Parameters
        ----------
        problem : ScaledData
            The data.
        regs : dict
            The regularisation that was set or chosen, by fitted attribute.
        """
        model = self._model(problem, regs)
        reached = self._run(problem, model, self._start(problem, model), regs)
        return reached.converged, reached.kernel.n_floored

    def _run(
        self, problem: ScaledData, model: Model, start: Start, regs: dict[str, float]
    ) -> Reached:
        """Run EM from a start, watched, and become fitted."""
        latest = Reached(start.kernel, start.local_scatter, [], converged=False)
        log_unit = float(np.log(problem.units.scale).sum())

        def state(_: FloatArray) -> dict[str, Any]:
            return self._attributes_of(problem, latest.kernel)

        first = self._components(problem, start.kernel)
        monitor = Monitor(self, *problem.data, first, state)

        def keep() -> None:
            self._store(problem, latest.kernel, latest.local_scatter, regs)
            self.n_iter_ = latest.n_iter
            self.objective_curve_ = np.array(latest.curve) - log_unit

        def on_iteration(reached: Reached) -> bool:
            nonlocal latest
            latest = reached
            heights = [height - log_unit for height in reached.curve]
            return monitor(self._components(problem, reached.kernel), heights)

        try:
            with monitor:
                latest = self._em(problem, model, start, on_iteration)
        except KeyboardInterrupt:
            if self.warm_start and latest.curve:
                keep()
            raise
        keep()
        return latest

    def _em(
        self,
        problem: ScaledData,
        model: Model,
        start: Start,
        on_iteration: OnIteration,
        seed: Any = None,
    ) -> Reached:
        """Run EM over all pairs, or over batches; a seed is used instead of ours."""
        stopping: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        stopping |= {"n_threads": problem.n_threads, "on_iteration": on_iteration}
        sampling = self._sampling(problem)
        if sampling is None:
            return exact_em(model, problem.U, start, **stopping)
        rng = check_random_state(self.random_state if seed is None else seed)
        return stochastic_em(model, problem.U, start, sampling, rng=rng, **stopping)

    def _sampling(self, problem: ScaledData) -> Sampling | None:
        """Return how to draw batches; None where all pairs are looked at."""
        few = len(problem.U) <= N_EXACT
        whole: tuple[Any, ...] = ("all", None) if few else ("all",)
        if self.batch_size in whole and self.n_references in whole:
            return None
        return self._batches(problem)

    def _batches(self, problem: ScaledData) -> Sampling:
        """Return how to draw batches."""
        return sampling_of(
            self.batch_size, self.n_references, self.discount, problem.U.shape
        )

    def _scatter_at(self, problem: ScaledData, kernel: Kernel) -> FloatArray:
        """Return C_L at a kernel: of all pairs, or of a pass by batches."""
        U, n_threads = problem.U, problem.n_threads
        sampling = self._sampling(problem)
        if sampling is None:
            return expectation(U, kernel, n_threads).C
        rng = check_random_state(self.random_state)
        total = np.zeros_like(kernel.map)
        for batch in sampling.batches(rng.permutation(len(U))):
            seen = sampling.scatter(U, kernel, batch, rng, n_threads)
            total += seen * (len(batch) / len(U))
        return total

    def _store(
        self,
        problem: ScaledData,
        kernel: Kernel,
        C: FloatArray,
        regs: dict[str, float],
        weight: float = 1.0,
    ) -> None:
        """Make the estimator fitted, all at once, and forget what was before."""
        for name in ("objective_curve_", "cv_score_", "covariances_"):
            self.__dict__.pop(name, None)
        state = {"_local_scatter": C, "_weight": weight}
        self.__dict__.update({**regs, **self._attributes_of(problem, kernel), **state})

    def _attributes_of(self, problem: ScaledData, kernel: Kernel) -> dict[str, Any]:
        """Return the fitted attributes that follow from a kernel."""
        return {
            "components_": self._components(problem, kernel),
            "_density": ProductDensity(problem.units, kernel, problem.U, self.rtol),
            "_contamination": self.contamination,
        }

    def _is_warm(self, problem: ScaledData) -> bool:
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

    def _previous(self, problem: ScaledData) -> tuple[FloatArray, FloatArray]:
        """Return the map and the local scatter of the last fit, in this one's units."""
        scales = problem.units.scale / self._density.units.scale
        return (
            self._density.kernel.map * scales,
            self._local_scatter / np.outer(scales, scales),
        )

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

    # What each of them has to say for itself:

    def _choose_regs(self, X: FloatArray) -> dict[str, float]:
        """Return the ridges as fitted attributes, those that are "cv" chosen."""
        raise NotImplementedError

    def _alike(self, n_features: int) -> bool:  # noqa: ARG002
        """Return whether it matters how the scales of the features compare."""
        return False

    def _model(self, problem: ScaledData, regs: dict[str, float]) -> Model:
        """Return the M-step: from a scatter to the kernel."""
        raise NotImplementedError

    def _start(self, problem: ScaledData, model: Any) -> Start:
        """Return where EM begins."""
        raise NotImplementedError

    def _components(self, problem: ScaledData, kernel: Kernel) -> FloatArray:
        """Return the map that `transform` applies, in the points' own units."""
        raise NotImplementedError
