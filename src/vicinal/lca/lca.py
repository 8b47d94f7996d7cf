"""Local component analysis: the estimator."""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.metric import unscale_components, validate_data, warn_caller
from vicinal.lca._local_covariance import LocalDensity, local_em
from vicinal.lca._selection import choose_ridge
from vicinal.lca._shared import ParzenMetric, at_least_one, at_least_zero
from vicinal.lca.data import ScaledData
from vicinal.lca.density import ParzenDensity
from vicinal.lca.em import (
    CovarianceMStep,
    EMResult,
    Form,
    Kernel,
    MStep,
    OnIteration,
    form_of,
)
from vicinal.neighborhood import single_threaded_blas

__all__ = ["LCA"]


@dataclass(eq=False, repr=False)
class LCA(ParzenMetric):
    """Local component analysis: a metric and a density, learned without labels.

    Learns the covariance Σ of the kernels of a Parzen density,
    p(x) = 1/n Σ_j N(x; x_j, Σ), under which each point is most probable given the
    others (eq. 1 of [1]_). EM alternates between the responsibilities,
    λ_ij ∝ N(x_i; x_j, Σ) (eq. 3), and the mean of the local covariances,
    Σ = 1/n Σ_ij λ_ij (x_i − x_j)(x_i − x_j)ᵀ (eq. 4). `transform` makes the data
    locally isotropic, while PCA whitening makes them globally isotropic. This helps
    spectral clustering, manifold learning and outlier detection.

    Parameters
    ----------
    covariance : {"full", "diagonal", "spherical", "low-rank", "local"}, \
default="full"
        The form of Σ: unrestricted, one variance per feature, one variance for all
        features, a matrix of rank `n_components` plus a multiple of the identity, or
        one Σ_j for each point, smoothed towards the shared one.
    alpha : float or "auto", default="auto"
        ν: EM minimizes the negative log-likelihood plus ½ν tr Σ⁻¹ per point, which adds
        νI to eq. 4. "auto" chooses it between 1e-6 and 1 times each feature's variance
        by a few hundred held-out points, and mixes one Gaussian into the density: see
        `background_weight_`. 0.0 is the paper's method.
    n_components : int or None, default=None
        The rank for covariance="low-rank"; None is 10, or n_features − 1 if that is
        less.
    smoothing : float, default=3.0
        For covariance="local": the weight of the shared covariance in each Σ_j, in
        points.
    batch_size : int, "all" or "auto", default="auto"
        B, the locations of an update in the fast form (section 5). "auto" is "all" up
        to 20,000 points. Beyond, it is the maximum of the paper's 100, 4 per feature
        and a thousandth of the points.
    n_references : int, "all" or "auto", default="auto"
        N, the random points that each of these locations has as neighbors, including
        the location itself. "auto" is "all" up to 20,000 points, and beyond that the
        paper's 3000.
    discount : float, default=0.6
        γ: the weight that the old C_L has after a pass through the data in the fast
        form; after one update it is γ^(B/n) (eq. 7).
    rescale : bool, default=True
        Whether the fast form ends with a fit of the scale of Σ to all points as
        references. With N references the nearest ones are further away than among all
        points, so that Σ is too wide for the density of all points. False keeps the
        paper's estimate, in which that acts as a regularizer (section 5.2).
    debias : bool, default=True
        Whether a start that was not learned counts as one batch in eq. 7. False starts
        from the covariance of the data with its full weight, as eq. 7 is written; this
        takes more passes.
    contamination : "auto" or float, default=0.1
        The share of the training points that `predict` calls outliers. "auto" sets the
        threshold for new points, by the leave-one-out scores; see `offset_`.
    cv : int, splitter, iterable or None, default=None
        The folds of "auto", which uses some of them; None is five folds of shuffled
        rows.
    rtol : float, default=1e-4
        The relative error of densities in `score_samples` if a ball tree saves time: in
        one or two dimensions, with 500,000 points or more. Otherwise, and with 0, they
        are exact.
    warm_start : bool, default=False
        Start from the last fit; after Ctrl-C, keep the latest iteration.
    max_iter : int, default=100
        Maximum number of iterations; in the fast form, of passes through the data.
    tol : float, default=1e-3
        Stop when an iteration gains less, in nats per point; in the fast form, whose
        gains are noisy, when five passes together do.
    callback : callable or None, default=None
        Called after each iteration with the flattened map and the iteration's number,
        from 1; raising StopIteration ends the fit there. From scikit-learn 1.9 on,
        `set_callbacks` works, too.
    verbose : int, default=0
        Above 0, prints a line for each iteration.
    random_state : int, RandomState or None, default=None
        For the fast form and the shuffled folds.
    n_jobs : int or None, default=None
        Number of threads. None is the number that BLAS would use; −1 is all cores. The
        result does not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        A with AᵀA = Σ⁻¹, the map under which the kernels are round; float32 if X is.
    covariance_ : ndarray of shape (n_features, n_features)
        Σ, in float64; with covariance="local" the shared one.
    covariances_ : ndarray of shape (n_samples, n_features, n_features)
        The Σ_j, with covariance="local" only.
    alpha_ : float
        ν, as set or chosen; with "auto" in units of each feature's variance.
    background_weight_ : float
        π, with alpha="auto" only: the density is 1 − π times the kernel density plus π
        times one Gaussian with the mean and the covariance of all points. π maximizes
        the leave-one-out likelihood and is never 0, so that a point far from all others
        has a low density, not zero. `modes` ignores the Gaussian.
    n_iter_ : int
        Iterations of EM, and calls of `partial_fit`.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        The objective of EM at the start and after each iteration: the mean
        leave-one-out log-likelihood minus the penalty. It never falls in exact EM. In
        the fast form it is estimated from random points and random neighbors. Not set
        by `partial_fit`.
    loo_score_samples_ : ndarray of shape (n_samples,)
        Log-density of each training point given the others.
    offset_ : float
        The log-density below which a point is an outlier.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.LCAGauss : For data with many directions of Gaussian noise.
    vicinal.ModeClustering : Clusters under the learned density.
    sklearn.neighbors.KernelDensity : One bandwidth, given by the user.

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
        "covariance": [
            StrOptions({"full", "diagonal", "spherical", "low-rank", "local"})
        ],
        "alpha": [at_least_zero, StrOptions({"auto"})],
        "n_components": [at_least_one, None],
        "smoothing": [Interval(Real, 0, None, closed="neither")],
    }
    _alphas: ClassVar[tuple[str, ...]] = ("alpha",)

    covariance: str = "full"
    _: KW_ONLY
    alpha: float | str = "auto"
    n_components: int | None = None
    smoothing: float = 3.0

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Learn the metric and the density.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        # BLAS is held throughout: threads that it wakes for small matrices would spin
        # on the cores that the engine needs.
        with self._unchanged_on_error(), single_threaded_blas():
            points = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
            return self._learn(
                ScaledData.build(
                    points, self._isotropic, self.n_jobs, (X, y), self.alpha == "auto"
                )
            )

    def _learn(self, data: ScaledData) -> Self:
        """Choose ν, run EM, and set the fitted attributes."""
        form, alpha, C = self._form(data), self.alpha, None
        if automatic := alpha == "auto":
            alpha, C = choose_ridge(data, form, self.cv, self.random_state)
        chosen = {"alpha_": float(alpha)}
        m_step = self._m_step(data, chosen)
        start = self._start(data, m_step, C)
        result = self._monitored_em(data, m_step, start, chosen)
        fitted = chosen | self._attributes_of(data, result)
        if not automatic:
            return self._store(fitted, data, result)
        density: ParzenDensity = fitted["_density"].with_background(data)
        fitted |= {"_density": density, "background_weight_": density.weight}
        self._store(fitted, data, result, m_step.ridge)
        if density.learned_nothing(form.n_parameters(data.U.shape[1])):
            warn_caller(
                "LCA learned nothing local: its kernels predict left-out points "
                "no better than one Gaussian, which has a weight of "
                f"{density.weight:.2f} in the density. The points are Gaussian, or too "
                "few to show more. Use more points, or LCAGauss if there are many "
                "directions of noise.",
                ConvergenceWarning,
            )
        return self

    @property
    def _isotropic(self) -> bool:  # type: ignore[override]
        return self.covariance in ("spherical", "low-rank")

    def _form(self, data: ScaledData) -> Form:
        return form_of(self.covariance, self.n_components, data.U.shape[1])

    def _m_step(self, data: ScaledData, alphas: dict[str, float]) -> CovarianceMStep:
        """Return the M-step with the fitted ridge."""
        ridge = data.ridge(alphas["alpha_"], self.alpha == "auto")
        return CovarianceMStep(self._form(data), ridge)

    def _start(
        self, data: ScaledData, m_step: CovarianceMStep, C: FloatArray | None = None
    ) -> EMResult:
        """Start from the last fit, from a known C_L, or from the data's covariance."""
        previous = self._previous(data)
        if previous is None:
            C = data.covariance if C is None else C
            return EMResult(m_step.fit(C), C, weight=0.0)
        A, C = previous
        inverse = np.linalg.inv(A)
        # The last fit may have been of another form.
        return EMResult(m_step.kernel(inverse @ inverse.T), C)

    def _em(
        self,
        data: ScaledData,
        m_step: MStep,
        start: EMResult,
        on_iteration: OnIteration | None = None,
        seed: Any = None,
    ) -> EMResult:
        """Run EM; for one covariance per point, after EM for the shared one."""
        if self.covariance != "local":
            return super()._em(data, m_step, start, on_iteration, seed)
        n, d = data.U.shape
        if n * d * d > 10**8:  # 0.8 GB
            raise ValueError(
                f"covariance='local' would keep {n} matrices of {d} × {d}: too much. "
                "Use 'full', or fewer points or features."
            )
        return local_em(
            super()._em(data, m_step, start),
            data.U,
            self.smoothing,
            max_iter=self.max_iter,
            tol=self.tol,
            n_threads=data.n_threads,
            on_iteration=on_iteration,
        )

    def _components_of(self, data: ScaledData, kernel: Kernel) -> dict[str, Any]:
        """Return the fitted attributes for a kernel."""
        # The symmetric root of Σ⁻¹.
        variances, axes = eigh(kernel.map.T @ kernel.map)
        root = (axes * np.sqrt(np.maximum(variances, 0))) @ axes.T
        spread = data.units.scale[:, None] * kernel.inverse
        return {
            "components_": unscale_components(root, data.units.scale, data.U.dtype),
            "covariance_": spread @ spread.T,
        }

    def _attributes_of(self, data: ScaledData, result: EMResult) -> dict[str, Any]:
        """Return the fitted attributes for the state of EM."""
        attributes = super()._attributes_of(data, result)
        if (local := result.local_kernels) is None:
            return attributes
        spread = data.units.scale[:, None] * result.kernel.inverse
        covariances = spread @ local.covariances @ spread.T
        if data.duplicates is not None:
            covariances = covariances[data.duplicates.group]
        density = LocalDensity(
            units=data.units, kernel=result.kernel, U=data.U, kernels=local
        )
        return attributes | {"covariances_": covariances, "_density": density}
