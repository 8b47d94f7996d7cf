"""Local component analysis: the estimator."""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.monitor import Monitor
from vicinal.base.validation import validate_data
from vicinal.lca._background import Background, MixtureDensity
from vicinal.lca._data import ScaledData
from vicinal.lca._density import ProductDensity
from vicinal.lca._e_step import Kernel
from vicinal.lca._em import Reached, Start
from vicinal.lca._fit import (
    ParzenMetric,
    at_least_one,
    at_least_zero,
    ridge_in_units,
)
from vicinal.lca._local_covariance import MOST_NUMBERS, LocalKernels, local_em
from vicinal.lca._local_density import LocalDensity
from vicinal.lca._m_step import FORMS, CovarianceModel, Form, form_of
from vicinal.lca._minibatch_em import sampled_rows
from vicinal.lca._partial_fit import add_points, grown_data, is_first, ridge_of
from vicinal.lca._regularization import best_ridge_of
from vicinal.lca._ridge_path import choose_ridge
from vicinal.lca._warnings import learned_nothing, n_held_by
from vicinal.neighborhood import single_threaded_blas


class LCA(ParzenMetric):
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
    reg : float, "auto" or "cv", default="auto"
        ν: EM minimises the negative log-likelihood plus ½ν tr Σ⁻¹ per point, which adds
        νI to eq. 4. "auto" chooses it between 1e-6 and 1 times each feature's variance
        by a few hundred held-out points, and mixes one Gaussian into the density: see
        `background_weight_`. 0.0 is the paper's method. "cv" chooses between about
        3e-4 and 3 times the features' mean variance by cross-validation, which takes
        longer; features should have like scales then.
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
        N, the random points that each of these locations has as neighbours, including
        the location itself. None is "all" up to 20,000 points, and beyond that the
        paper's 3000.
    discount : float, default=0.6
        γ: the weight that the old C_L has after a pass through the data in the fast
        form; after one update it is γ^(B/n) (eq. 7).
    rescale : bool, default=True
        Whether the fast form ends with a fit of the scale of Σ to all points as
        references. With N references the nearest ones are further away than among all
        points, so that Σ is too wide for the density of all points. False keeps the
        paper's estimate, in which that acts as a regularizer (section 5.2).
    contamination : "auto" or float, default=0.1
        Where outliers begin. A number is the share of the training points that
        `predict` calls outliers. "auto" sets the threshold for new points, by the
        leave-one-out scores; see `offset_`.
    cv : int, splitter, iterable or None, default=None
        How points are held out for "auto" and "cv"; None is five folds of shuffled
        rows. "auto" takes as many of the folds as it needs.
    rtol : float, default=1e-4
        The relative error that `score_samples` may make in a density where a ball
        tree saves time: in one or two dimensions, with 500,000 points or more. With 0,
        and in all other cases, it is exact.
    warm_start : bool, default=False
        Start from the last fit; when interrupted by Ctrl-C, store the latest iteration.
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
        ν, as set or chosen; with "auto" in units of each feature's variance.
    background_weight_ : float
        π, with reg="auto" only: the density is 1 − π times the kernels' plus π times
        that of one Gaussian with the mean and the covariance of all points. π is
        best for the leave-one-out likelihood, and never 0, so that a point far from all
        others has a low density rather than none. `modes` ignores the Gaussian.
    n_iter_ : int
        Iterations of EM, and calls of `partial_fit`.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        What EM maximises, at the start and after each iteration: the mean
        leave-one-out log-likelihood less the penalty. It never falls in exact EM. In
        the fast form it is an estimate from random points and random neighbours.
        `partial_fit` has none.
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

    See Also
    --------
    vicinal.LCAGauss : Where most directions are Gaussian noise.
    vicinal.ModeClustering : Clusters under the learned density.
    sklearn.neighbors.KernelDensity : One bandwidth, which is given.

    Notes
    -----
    Cost: O(n²D + nD²) for each step of EM, in blocks of rows; above 20,000 rows, or
    with `batch_size` or `n_references`, by mini-batches. A density of m rows takes
    O(mnD).

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
        **ParzenMetric._parameter_constraints,
        "covariance": [StrOptions({*FORMS, "local"})],
        "reg": [at_least_zero, StrOptions({"auto", "cv"})],
        "n_components": [at_least_one, None],
        "smoothing": [Interval(Real, 0, None, closed="neither")],
    }
    _regs: ClassVar[tuple[str, ...]] = ("reg",)

    def __init__(
        self,
        covariance: str = "full",
        *,
        reg: float | str = "auto",
        n_components: int | None = None,
        smoothing: float = 3.0,
        batch_size: int | str | None = None,
        n_references: int | str | None = None,
        discount: float = 0.6,
        rescale: bool = True,
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
        self.rescale = rescale
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
            form = form_of(self.covariance, self.n_components, points.shape[1])
            data = ScaledData.build(
                points, form.isotropic, self.n_jobs, (X, y), distinct=self.reg == "auto"
            )
            reached, density, n_held = self._learn(points, data, form)
        self._warn_of_convergence(reached.converged)
        self._warn_of_data(data, reached.kernel, n_held)
        self._warn_of_nothing(density, form)
        return self

    def _learn(
        self, points: FloatArray, data: ScaledData, form: Form
    ) -> tuple[Reached, Any, int | None]:
        """Choose ν, run EM, and store what is learned.

        Returns
        -------
        reached : Reached
            Where EM ended.
        density : object
            What was learned.
        n_held : int or None
            In how many directions a default ridge keeps the kernel from collapsing.
        """
        chosen, C = self._choose_reg(points, data, form)
        ridge = ridge_in_units(chosen["reg_"], self.reg == "auto", data)
        model = CovarianceModel(form, ridge)
        start = self._start(data, model, C)
        if self.covariance == "local":
            reached, fitted = self._fit_local(data, model, start, chosen)
        else:
            reached = self._monitored_em(
                data,
                model,
                start,
                lambda kernel: self._components_of(data, kernel),
                lambda reached: chosen | self._attributes_of(data, reached),
            )
            fitted = self._attributes_of(data, reached)
        density = fitted["_density"]
        if self.reg == "auto":
            density = self._with_background(data, density)
            fitted |= {"_density": density, "background_weight_": density.weight}
        self._store(chosen | fitted, data)
        n_held = n_held_by(ridge, reached.local_scatter)
        return reached, density, n_held if self.reg == "auto" else None

    def _warn_of_nothing(self, density: Any, form: Form) -> None:
        """Warn where the kernels are no better than one Gaussian."""
        if learned_nothing(density, form.n_parameters(density.U.shape[1])):
            self._warn(
                "LCA learned nothing local: its kernels predict left-out points "
                "no better than one Gaussian, which has a weight of "
                f"{density.weight:.2f} in the density. The points are Gaussian, or too "
                "few to show more. Use more points, or LCAGauss if there are many "
                "directions of noise.",
            )

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002
        """Add points to the density, and update the metric by them (eq. 7).

        The new points are the locations, `batch_size` of them in an update, and
        `n_references` random points of all so far are their neighbours.

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
        if self.covariance == "local":
            raise ValueError(
                "partial_fit cannot learn a covariance for each point: use another "
                "covariance than 'local'."
            )
        reg, first = ridge_of(self, "reg"), is_first(self)
        with self._unchanged_on_error(), single_threaded_blas():
            n_features = np.shape(X)[-1] if first else self.n_features_in_
            form = form_of(self.covariance, self.n_components, n_features)
            data, n_new = grown_data(self, X, form.isotropic)
            model = CovarianceModel(form, ridge_in_units(reg, self.reg == "auto", data))
            start = self._start(data, model) if first else None
            reached, weight = add_points(self, data, n_new, model, start)
            fitted = self._attributes_of(data, reached)
            del fitted["objective_curve_"]
            n_iter = 1 if first else self.n_iter_ + 1
            fitted |= {"reg_": reg, "_weight": weight, "n_iter_": n_iter}
            self._store(fitted, data)
        self._warn_of_data(data, reached.kernel)
        return self

    def _choose_reg(
        self, X: FloatArray, data: ScaledData, form: Form
    ) -> tuple[dict[str, float], FloatArray | None]:
        """Return ν and the score of a choice by "cv" as fitted attributes, and C_L."""
        if self.reg == "auto":
            choice = choose_ridge(data, form, self.cv, self.random_state)
            return {"reg_": choice.ridge}, choice.local_scatter
        if self.reg == "cv":
            reg, score = best_ridge_of(self, "reg", X)
            return {"reg_": reg, "cv_score_": score}, None
        return {"reg_": float(self.reg)}, None

    def _start(
        self, data: ScaledData, model: CovarianceModel, C: FloatArray | None = None
    ) -> Start:
        """Begin with the last fit, a C_L that is known, or the data's covariance."""
        if not self._is_warm(data):
            C = data.covariance if C is None else C
            return Start(model.fit(C), C, learned=False)
        A, C = self._previous(data)
        inverse = np.linalg.inv(A)
        # The last fit may have been of another form.
        return Start(model.kernel_near(inverse @ inverse.T), C, learned=True)

    def _components_of(self, data: ScaledData, kernel: Kernel) -> FloatArray:
        """Return a root of Σ⁻¹, symmetric for features in units of their spread."""
        sizes, axes = eigh(kernel.map.T @ kernel.map)
        # Squares of next to nothing may round to less than nothing.
        root = (axes * np.sqrt(np.maximum(sizes, 0))) @ axes.T
        return data.map_of_data(root)

    def _attributes_of(self, data: ScaledData, reached: Reached) -> dict[str, Any]:
        """Return the fitted attributes that follow from what EM has reached."""
        kernel = reached.kernel
        spread = data.units.scale[:, None] * kernel.inverse
        return {
            "components_": self._components_of(data, kernel),
            "covariance_": spread @ spread.T,
            "n_iter_": reached.n_iter,
            "objective_curve_": np.array(reached.curve) - data.log_unit,
            "_density": ProductDensity(data.units, kernel, data.U, self.rtol),
            "_local_scatter": reached.local_scatter,
        }

    def _with_background(self, data: ScaledData, density: Any) -> MixtureDensity:
        """Put a Gaussian behind the kernels."""
        covariance = data.covariance + np.diag(data.pinned)
        background = Background.fit(data.U, covariance)
        rows = sampled_rows(len(data.U))
        return MixtureDensity.build(density, background, data.n_threads, rows)

    def _fit_local(
        self,
        data: ScaledData,
        model: CovarianceModel,
        start: Start,
        chosen: dict[str, float],
    ) -> tuple[Reached, dict[str, Any]]:
        """Learn the shared covariance, and from there one for each point."""
        n, d = data.U.shape
        if n * d * d > MOST_NUMBERS:
            raise ValueError(
                f"covariance='local' would keep {n} matrices of {d} × {d}: too much. "
                "Use 'full', or fewer points or features."
            )
        shared = self._em(data, model, start, lambda _: False)
        kernel = shared.kernel
        components = self._components_of(data, kernel)
        constant = kernel.log_det - data.log_unit
        spread = data.units.scale[:, None] * kernel.inverse
        latest: list[LocalKernels] = []

        def attributes_of(curve: list[float]) -> dict[str, Any]:
            covariances, copies = latest[-1].covariances, data.copies
            covariances = spread @ covariances @ spread.T
            return self._attributes_of(data, shared) | {
                "_density": LocalDensity(data.units, kernel, data.U, latest[-1]),
                "covariances_": covariances
                if copies is None
                else covariances[copies.group],
                "objective_curve_": np.array(curve),
                "n_iter_": len(curve) - 1,
            }

        monitor = Monitor(
            self, *data.data, components, lambda _: attributes_of(monitor.curve)
        )

        def on_iteration(kernels: LocalKernels, curve: list[float]) -> bool:
            latest[:] = [kernels]
            return monitor(components, [height + constant for height in curve])

        try:
            with monitor:
                _, curve, converged = local_em(
                    data.U.astype(np.float64) @ kernel.map.T,
                    self.smoothing,
                    self.max_iter,
                    self.tol,
                    data.n_threads,
                    on_iteration,
                )
        except KeyboardInterrupt:
            if self.warm_start and latest:
                self._store(chosen | attributes_of(monitor.curve), data)
            raise
        reached = Reached(kernel, shared.local_scatter, curve, converged)
        return reached, attributes_of([height + constant for height in curve])
