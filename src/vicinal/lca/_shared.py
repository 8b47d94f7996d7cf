"""The base of LCA and LCAGauss: EM with callbacks, and the fitted density."""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.metric import (
    CallbackSupportMixin,
    LinearMetric,
    Monitor,
    validate_data,
    warn_caller,
)
from vicinal.lca.data import ScaledData
from vicinal.lca.density import LEAST_RIDGE, ParzenDensity
from vicinal.lca.em import (
    N_EXACT,
    EMResult,
    Kernel,
    MStep,
    OnIteration,
    Sampling,
    directions_below,
    exact_em,
    sampling_of,
    stochastic_em,
)
from vicinal.neighborhood import effective_n_threads, single_threaded_blas

at_least_one = Interval(Integral, 1, None, closed="left")
at_least_zero = Interval(Real, 0, None, closed="left")


class UnreliableDensityWarning(ConvergenceWarning):
    """Properties of the data make the density unreliable.

    Attributes
    ----------
    columns : list of int
        The features whose few values are far apart relative to the kernels.
    """

    def __init__(self, text: str, columns: list[int]) -> None:
        super().__init__(text)
        self.columns = columns


@dataclass(eq=False, repr=False, kw_only=True)
class ParzenMetric(CallbackSupportMixin, OutlierMixin, LinearMetric):
    """Base of the estimators that maximize the leave-one-out likelihood by EM.

    A subclass implements `fit`, `_m_step`, `_start` and `_components_of`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "batch_size": [at_least_one, StrOptions({"all", "auto"})],
        "n_references": [at_least_one, StrOptions({"all", "auto"})],
        "discount": [Interval(Real, 0, 1, closed="left")],
        "rescale": ["boolean"],
        "debias": ["boolean"],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
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
    # The names of the ridge parameters.
    _alphas: ClassVar[tuple[str, ...]] = ()
    # Whether all features share one unit.
    _isotropic: ClassVar[bool] = False
    # Fitted attributes that depend on the parameters; a new fit removes them.
    _optional: ClassVar[tuple[str, ...]] = (
        "objective_curve_",
        "covariances_",
        "background_weight_",
    )
    batch_size: int | str = "auto"
    n_references: int | str = "auto"
    discount: float = 0.6
    rescale: bool = True
    debias: bool = True
    contamination: float | str = 0.1
    cv: Any = None
    rtol: float = 1e-4
    warm_start: bool = False
    max_iter: int = 100
    tol: float = 1e-3
    callback: Callable[[FloatArray, int], object] | None = None
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    n_iter_: int = field(init=False)
    _density: ParzenDensity = field(init=False)
    _local_scatter: FloatArray = field(init=False)
    _weight: float = field(init=False)
    # The M-step with fitted ridges, the start of EM, and the attributes of a kernel.
    _m_step: ClassVar[Callable[..., MStep]]
    _start: ClassVar[Callable[..., EMResult]]
    _components_of: ClassVar[Callable[..., dict[str, Any]]]
    # Values that are computed on first use. A dict, since scikit-learn forbids
    # `predict` to set attributes.
    _cache: dict[str, Any] = field(init=False)

    # Fitting

    def _attributes_of(self, data: ScaledData, result: EMResult) -> dict[str, Any]:
        """Return the fitted attributes for the state of EM."""
        return self._components_of(data, result.kernel) | {
            "n_iter_": len(result.curve) - 1,
            "objective_curve_": np.array(result.curve) - data.units.log_unit,
            "_density": ParzenDensity(
                units=data.units, kernel=result.kernel, U=data.U, rtol=self.rtol
            ),
            "_local_scatter": result.local_scatter,
            "_weight": result.weight,
        }

    def _sampling(self, data: ScaledData) -> Sampling | None:
        """Return the samples of mini-batches; None if all pairs are used."""
        whole: tuple[Any, ...] = ("all", "auto") if len(data.U) <= N_EXACT else ("all",)
        if self.batch_size in whole and self.n_references in whole:
            return None
        return sampling_of(self, data.U.shape)

    def _em(
        self,
        data: ScaledData,
        m_step: MStep,
        start: EMResult,
        on_iteration: OnIteration | None = None,
        seed: Any = None,
    ) -> EMResult:
        """Run EM over all pairs or mini-batches; a seed replaces `random_state`."""
        options: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        options |= {"n_threads": data.n_threads, "on_iteration": on_iteration}
        sampling = self._sampling(data)
        if sampling is None:
            return exact_em(m_step, data.U, start, **options)
        rng = check_random_state(self.random_state if seed is None else seed)
        return stochastic_em(m_step, data.U, start, sampling, rng=rng, **options)

    def _monitored_em(
        self,
        data: ScaledData,
        m_step: MStep,
        start: EMResult,
        chosen: dict[str, Any],
    ) -> EMResult:
        """Run EM with callbacks; with warm_start, keep the latest state after Ctrl-C.

        Parameters
        ----------
        data, m_step, start
            As for `_em`.
        chosen : dict
            The fitted attributes that EM does not change.
        """
        latest = start

        def attributes() -> dict[str, Any]:
            return chosen | self._attributes_of(data, latest)

        first = self._components_of(data, start.kernel)["components_"]
        monitor = Monitor(self, *data.given, first, lambda _: attributes())

        def on_iteration(result: EMResult) -> bool:
            nonlocal latest
            latest = result
            components = self._components_of(data, result.kernel)["components_"]
            curve = np.array(result.curve) - data.units.log_unit
            return monitor(components, curve.tolist())

        try:
            with monitor.running():
                latest = self._em(data, m_step, start, on_iteration)
        except KeyboardInterrupt:
            if self.warm_start and latest.curve:
                self._set(attributes(), data)
            raise
        return latest

    def _store(
        self,
        attributes: dict[str, Any],
        data: ScaledData,
        result: EMResult,
        ridge: FloatArray | None = None,
    ) -> Self:
        """Set the fitted attributes; warn of the fit and of the data.

        Parameters
        ----------
        attributes : dict
            The fitted attributes.
        data : ScaledData
            The points.
        result : EMResult
            The end of EM.
        ridge : ndarray of shape (n_features,) or None, default=None
            The ridge that "auto" chose, in scaled units; None if it was given.
        """
        self._set(attributes, data)
        if not result.converged:
            warn_caller(
                f"{type(self).__name__} did not converge in {self.n_iter_} iterations; "
                "raise max_iter or tol.",
                ConvergenceWarning,
            )
        self._warn_of_data(data, result, ridge)
        return self

    def _set(self, attributes: dict[str, Any], data: ScaledData) -> None:
        """Set all fitted attributes at once, and remove those of an earlier fit."""
        if data.duplicates is not None:
            density = attributes["_density"].with_duplicates(data.duplicates)
            attributes = attributes | {"_density": density}
        for name in self._optional:
            self.__dict__.pop(name, None)
        self._contamination = self.contamination
        self._cache = {}
        self.__dict__.update(attributes)

    def _previous(self, data: ScaledData) -> tuple[FloatArray, FloatArray] | None:
        """Return map and C_L of the last fit in the units of this; None if not warm."""
        if not (self.warm_start and hasattr(self, "components_")):
            return None
        n_before = self._density.kernel.map.shape[1]
        if n_before != data.U.shape[1]:
            raise ValueError(
                f"X has {data.U.shape[1]} features, but the map to start from "
                f"(warm_start=True) has {n_before}."
            )
        scales = data.units.scale / self._density.units.scale
        C = self._local_scatter / np.outer(scales, scales)
        return self._density.kernel.map * scales, C

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:
        """Add points to the density, and update the metric by them (eq. 7).

        The new points are the locations, `batch_size` of them in an update, and
        `n_references` random points of all so far are their neighbors.

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
        if getattr(self, "covariance", None) == "local":
            raise ValueError(
                "partial_fit cannot learn a covariance for each point: use another "
                "covariance than 'local'."
            )
        first = not hasattr(self, "components_")
        with self._unchanged_on_error(), single_threaded_blas():
            points = validate_data(
                self, X, dtype=FLOATS, reset=first, ensure_min_samples=1 + first
            )
            if first:
                data = ScaledData.build(points, self._isotropic, self.n_jobs, (X, y))
            else:
                units = self._density.units
                U = np.concatenate([self._density.U, units.transform(points)])
                data = ScaledData.of(units, U, self.n_jobs, (X, y))
            # There are no points to hold out: "auto" is a small ridge.
            given = {f"{name}_": getattr(self, name) for name in self._alphas}
            alphas = {k: 1e-3 if v == "auto" else float(v) for k, v in given.items()}
            m_step = self._m_step(data, alphas)
            if first:
                start = self._start(data, m_step)
            else:
                start = EMResult(
                    self._density.kernel, self._local_scatter, self._weight
                )
            rng, n = check_random_state(self.random_state), len(data.U)
            new = rng.permutation(np.arange(n - len(points), n))
            sampling = sampling_of(self, data.U.shape)
            result = sampling.update(m_step, data.U, start, new, rng, data.n_threads)
            fitted = alphas | self._attributes_of(data, result)
            del fitted["objective_curve_"]
            fitted["n_iter_"] = 1 if first else self.n_iter_ + 1
            return self._store(fitted, data, result)

    def _warn_of_data(
        self, data: ScaledData, result: EMResult, ridge: FloatArray | None
    ) -> None:
        """Warn once of all properties of the data that make the density unreliable.

        `ridge` is as for `_store`.
        """
        kernel, n_held = result.kernel, 0
        if ridge is not None and 0 < (least := float(ridge.min())) <= 2 * LEAST_RIDGE:
            # The directions in which the ridge keeps the kernel from collapsing.
            held = result.local_scatter + np.diag(ridge)
            n_held = directions_below(held, 2 * least)
        alphas, reasons = " and ".join(self._alphas), list[str]()
        few = [] if ridge is None else _columns_of_few_values(data.U, kernel)
        if n := kernel.n_floored or n_held:
            kept = "There a small ridge determines its width"
            remedy = "drop such columns before you compare log-densities"
            if kernel.n_floored:
                kept = "There it was kept at 1e-10 of the data's variance"
                remedy = f"set {alphas} above 0, for instance to 'auto'"
            reasons.append(
                f"The leave-one-out likelihood has no finite optimum: in {n} "
                "directions the kernel would collapse, as it does with duplicate rows, "
                "columns of few values, constant or collinear columns, and fewer rows "
                f"than columns. {kept}. Drop duplicates, or {remedy}."
            )
        if few:
            names = getattr(self, "feature_names_in_", np.arange(data.U.shape[1]))
            listed = ", ".join(str(name) for name in names[few[:5]])
            if len(few) > 5:
                listed += f" and {len(few) - 5} more"
            reasons.append(
                "The kernels are narrower than the steps between the few values of "
                f"these columns: {listed}. The density is high at values that were "
                "seen and low between them, and compares only with other densities of "
                f"the same table. Drop such columns, or set {alphas} to the square of "
                "such a step."
            )
        copies = data.duplicates
        if copies is not None and len(copies.first) <= len(copies.group) / 2:
            reasons.append(
                f"Only {len(copies.first)} of the {len(copies.group)} rows differ. "
                "Kernels are learned from one row of each set of copies; the others "
                "count in the density only. Drop copies that are an accident before "
                "you split the rows."
            )
        if reasons:
            warn_caller(UnreliableDensityWarning(" ".join(reasons), few))

    # The density

    def __dir__(self) -> list[str]:
        """List the attributes; for many points, not those that are still to compute.

        scikit-learn evaluates each attribute that it lists, to complete a name or to
        draw the estimator. Neither should wait for sums over all pairs.
        """
        if not hasattr(self, "_density") or len(self._density.U) <= N_EXACT:
            return list(super().__dir__())
        lazy = {"loo_score_samples_", "offset_"} - set(self._cache)
        names = [name for name in object.__dir__(self) if name not in lazy]
        return [name for name in names if hasattr(self, name)]

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Return the log-density of each point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points. The average over kernels runs over all training points, so that a
            training point counts itself; `loo_score_samples_` does not.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log-densities; float64.
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=FLOATS)
        return self._density.log_density(points, effective_n_threads(self.n_jobs))

    def score(self, X: ArrayLike, y: None = None) -> float:  # noqa: ARG002
        """Return the mean log-density of the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        y : None
            Ignored.

        Returns
        -------
        float
            Mean log-density, in nats.
        """
        return float(self.score_samples(X).mean())

    @property
    def loo_score_samples_(self) -> FloatArray:
        """Log-density of each training point given the others; float64.

        Computed on first access.
        """
        check_is_fitted(self)
        if "loo_score_samples_" not in self._cache:
            found = self._density.leave_one_out(effective_n_threads(self.n_jobs))
            self._cache["loo_score_samples_"] = found
        return self._cache["loo_score_samples_"]

    @property
    def offset_(self) -> float:
        """The log-density below which a point is an outlier.

        Computed on first access, from a random sample of more than 20,000 training
        points. With contamination="auto" it is meant for new points: the lower quartile
        of `loo_score_samples_` minus 1.5 interquartile ranges. Otherwise it is meant
        for the training points: the quantile of their `score_samples`.
        """
        check_is_fitted(self)
        if "offset_" not in self._cache:
            density, n_threads = self._density, effective_n_threads(self.n_jobs)
            U, rows = density.U, None
            if len(U) > N_EXACT:
                rng = np.random.RandomState(0)
                rows = rng.choice(len(U), N_EXACT // 10, replace=False)
                U = U[rows]
            if self._contamination == "auto":
                if rows is None:
                    scores = self.loo_score_samples_
                else:
                    scores = density.leave_one_out(n_threads, rows)
                lower, upper = np.percentile(scores, [25, 75])
                offset = lower - 1.5 * (upper - lower)
            else:
                scores = density.log_density_of(U, n_threads)
                offset = np.percentile(scores, 100 * float(self._contamination))
            self._cache["offset_"] = float(offset)
        return self._cache["offset_"]

    def sample(
        self,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> FloatArray:
        """Draw new points from the density.

        Parameters
        ----------
        n_samples : int, default=1
            Number of points.
        random_state : int, RandomState or None, default=None
            Seed.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The points.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
        return self._density.sample(n_samples, check_random_state(random_state))

    def modes(
        self,
        X: ArrayLike,
        *,
        width: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-4,
    ) -> FloatArray:
        """Return the mode of the density that each point ascends to by mean shift.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The starting points.
        width : float, default=1.0
            Factor by which the kernels are widened. The best kernels for a density have
            more modes than the best kernels for clusters.
        max_iter : int, default=500
            Maximum number of steps.
        tol : float, default=1e-4
            A point stops when a step is shorter than this, in kernel widths.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The modes.
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=FLOATS)
        if not width > 0:
            raise ValueError(f"width must be above 0, got {width}.")
        return self._ascend(points, width, max_iter, tol)[0]

    def _ascend(
        self, points: FloatArray, width: float, max_iter: int, tol: float
    ) -> tuple[FloatArray, int]:
        """Return the modes and the number of steps; warn if it was not enough."""
        n_threads = effective_n_threads(self.n_jobs)
        found, n_steps = self._density.modes(points, width, max_iter, tol, n_threads)
        if n_steps > max_iter:
            warn_caller(
                f"Some points have not reached a mode in {max_iter} steps; raise "
                "max_iter, tol or width.",
                ConvergenceWarning,
            )
        return found.astype(points.dtype, copy=False), min(n_steps, max_iter)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the log-density minus the threshold: negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,)
            `score_samples` minus `offset_`.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return −1 for outliers and 1 for the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,)
            −1 or 1.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)


def _columns_of_few_values(U: FloatArray, kernel: Kernel) -> list[int]:
    """Return the features whose few values are far apart relative to the kernel."""
    found = []
    for j, width in enumerate(np.sqrt(np.square(kernel.inverse).sum(axis=1))):
        values = np.unique(U[:, j])
        few = 1 < len(values) <= len(U) / 4
        if few and width < np.median(np.diff(values)) / 4:
            found.append(j)
    return found
