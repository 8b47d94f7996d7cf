"""What LCA and LCA-Gauss share: EM with callbacks, and how its result is stored."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray
from vicinal.base.callers import warn_caller
from vicinal.base.metric import LinearMetric
from vicinal.base.monitor import CallbackSupportMixin, Monitor
from vicinal.lca._data import ScaledData
from vicinal.lca._density_mixin import DensityMixin, KnownScores
from vicinal.lca._e_step import Kernel, expectation
from vicinal.lca._em import Model, OnIteration, Reached, Start, exact_em
from vicinal.lca._minibatch_em import N_EXACT, Sampling, sampling_of, stochastic_em
from vicinal.lca._warnings import collapse_reasons, copies_reasons, few_values_reasons

at_least_one = Interval(Integral, 1, None, closed="left")
at_least_zero = Interval(Real, 0, None, closed="left")


class ParzenMetric(CallbackSupportMixin, DensityMixin, LinearMetric):
    """Base of the estimators that maximise the leave-one-out likelihood by EM.

    The subclasses have `fit` and `partial_fit`; here is what these share.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "batch_size": [at_least_one, StrOptions({"all"}), None],
        "n_references": [at_least_one, StrOptions({"all"}), None],
        "discount": [Interval(Real, 0, 1, closed="left")],
        "rescale": ["boolean"],
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
    # The names of the parameters that are ridges.
    _regs: ClassVar[tuple[str, ...]] = ()
    batch_size: int | str | None
    n_references: int | str | None
    discount: float
    rescale: bool
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

    def _em(
        self,
        data: ScaledData,
        model: Model,
        start: Start,
        on_iteration: OnIteration,
        seed: Any = None,
    ) -> Reached:
        """Run EM over all pairs or mini-batches; a seed is used instead of ours."""
        stopping: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        stopping |= {"n_threads": data.n_threads, "on_iteration": on_iteration}
        sampling = self._sampling(data)
        if sampling is None:
            return exact_em(model, data.U, start, **stopping)
        rng = check_random_state(self.random_state if seed is None else seed)
        return stochastic_em(model, data.U, start, sampling, rng=rng, **stopping)

    def _monitored_em(
        self,
        data: ScaledData,
        model: Model,
        start: Start,
        components_of: Callable[[Kernel], FloatArray],
        attributes_of: Callable[[Reached], dict[str, Any]],
    ) -> Reached:
        """Run EM with callbacks and printing; if warm_start, store what Ctrl-C ends.

        Parameters
        ----------
        data : ScaledData
            The points.
        model : Model
            The M-step.
        start : Start
            Where EM begins.
        components_of : callable
            The map that belongs to a kernel.
        attributes_of : callable
            The fitted attributes that belong to what EM has reached.
        """
        latest = Reached(start.kernel, start.local_scatter, [], converged=False)
        monitor = Monitor(
            self,
            *data.data,
            components_of(start.kernel),
            lambda _: attributes_of(latest),
        )

        def on_iteration(reached: Reached) -> bool:
            nonlocal latest
            latest = reached
            heights = [height - data.log_unit for height in reached.curve]
            return monitor(components_of(reached.kernel), heights)

        try:
            with monitor:
                latest = self._em(data, model, start, on_iteration)
        except KeyboardInterrupt:
            if self.warm_start and latest.curve:
                self._store(attributes_of(latest), data)
            raise
        return latest

    def _sampling(self, data: ScaledData) -> Sampling | None:
        """Return how to draw mini-batches; None where all pairs are looked at."""
        few = len(data.U) <= N_EXACT
        whole: tuple[Any, ...] = ("all", None) if few else ("all",)
        if self.batch_size in whole and self.n_references in whole:
            return None
        return self._minibatches(data)

    def _minibatches(self, data: ScaledData) -> Sampling:
        """Return how to draw mini-batches."""
        return sampling_of(
            self.batch_size,
            self.n_references,
            self.discount,
            data.U.shape,
            self.rescale,
        )

    def _scatter_at(self, data: ScaledData, kernel: Kernel) -> FloatArray:
        """Return C_L at a kernel: of all pairs, or of a pass by mini-batches."""
        U, n_threads = data.U, data.n_threads
        sampling = self._sampling(data)
        if sampling is None:
            return expectation(U, kernel, n_threads).C
        rng = check_random_state(self.random_state)
        total = np.zeros_like(kernel.map)
        for batch in sampling.batches(rng.permutation(len(U))):
            seen = sampling.scatter(U, kernel, batch, rng, n_threads)
            total += seen * (len(batch) / len(U))
        return total

    def _store(self, attributes: dict[str, Any], data: ScaledData) -> None:
        """Make the estimator fitted, all at once, and forget what was before."""
        if data.copies is not None:
            density = attributes["_density"].with_copies(data.copies)
            attributes = attributes | {"_density": density}
        for name in OPTIONAL:
            if hasattr(self, name):
                delattr(self, name)
        self._weight = 1.0
        self._contamination = self.contamination
        self._known = KnownScores()
        for name, value in attributes.items():
            setattr(self, name, value)

    def _is_warm(self, data: ScaledData) -> bool:
        """Return whether to start from the last fit."""
        if not (self.warm_start and hasattr(self, "components_")):
            return False
        n_before = self._density.kernel.map.shape[1]
        if n_before != data.U.shape[1]:
            raise ValueError(
                f"X has {data.U.shape[1]} features, but the map to start from "
                f"(warm_start=True) has {n_before}."
            )
        return True

    def _previous(self, data: ScaledData) -> tuple[FloatArray, FloatArray]:
        """Return the map and the local scatter of the last fit, in this one's units."""
        scales = data.units.scale / self._density.units.scale
        return (
            self._density.kernel.map * scales,
            self._local_scatter / np.outer(scales, scales),
        )

    def _warn(self, message: str) -> None:
        warn_caller(message, ConvergenceWarning)

    def _warn_of_convergence(self, converged: bool) -> None:
        if not converged:
            self._warn(
                f"{type(self).__name__} did not converge in {self.n_iter_} iterations; "
                "raise max_iter or tol.",
            )

    def _warn_of_data(
        self, data: ScaledData, kernel: Kernel, n_held: int | None = None
    ) -> None:
        """Warn once of all in the data that makes the density say little.

        Parameters
        ----------
        data : ScaledData
            The points.
        kernel : Kernel
            What was learned.
        n_held : int or None, default=None
            In how many directions the default ridge keeps the kernel from
            collapsing; None where the ridge is not the default.
        """
        reasons = collapse_reasons(self._regs, kernel.n_floored, n_held or 0)
        if n_held is not None:
            names = getattr(self, "feature_names_in_", None)
            reasons += few_values_reasons(self._regs, data, kernel, names)
            reasons += copies_reasons(data)
        if reasons:
            self._warn(" ".join(reasons))


OPTIONAL = ("objective_curve_", "cv_score_", "covariances_", "background_weight_")
"""Fitted attributes that only some settings give; a refit forgets them."""


def ridge_in_units(reg: float, automatic: bool, data: ScaledData) -> FloatArray:
    """Return a ridge ν for each feature, in EM's units.

    Parameters
    ----------
    reg : float
        ν: in units of each feature's variance where it was chosen automatically, else
        in the features' own.
    automatic : bool
        Whether that is so; then constant features get a width, too.
    data : ScaledData
        The points.
    """
    if automatic:
        return reg + data.pinned
    ridge: FloatArray = reg / np.square(data.units.scale)
    return ridge
