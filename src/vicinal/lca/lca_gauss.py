"""LCA with a multiplicative Gaussian component (section 4), and proposition 1."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, eigh
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.metric import unscale_components, validate_data, warn_caller
from vicinal.lca._selection import Fold, choose_split_ridge
from vicinal.lca._shared import ParzenMetric, at_least_zero
from vicinal.lca.data import ScaledData
from vicinal.lca.density import Background
from vicinal.lca.em import (
    FLOOR,
    EMResult,
    Kernel,
    directions_below,
    expectation,
    inverse_root,
)
from vicinal.neighborhood import single_threaded_blas

__all__ = ["LCAGauss", "Split", "gaussian_parzen_split"]


class Split(NamedTuple):
    """The result of proposition 1.

    See Also
    --------
    vicinal.lca.gaussian_parzen_split : Computes it.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.lca import gaussian_parzen_split
    >>> split = gaussian_parzen_split(np.eye(3), np.diag([0.1, 1.0, 1.0]))
    >>> split.B_L.shape, split.B_G.shape
    ((3, 1), (3, 2))
    """

    B_G: FloatArray
    """The Gaussian directions, as columns."""
    B_L: FloatArray
    """The Parzen directions, as columns; the most local first."""
    eigenvalues: FloatArray
    """Eigenvalues of C_G^(−½) C_L C_G^(−½), ascending; the first belong to B_L."""


def gaussian_parzen_split(
    C_G: ArrayLike, C_L: ArrayLike, n_gaussian: int | None = None
) -> Split:
    """Split the space into Gaussian and Parzen directions (proposition 1).

    Minimizes tr(B_GᵀC_G B_G) + tr(B_LᵀC_L B_L) − log det(B_G B_Gᵀ + B_L B_Lᵀ) over all
    B_G, B_L that together are square and invertible, and over their numbers of columns.
    Directions in which the local covariance is below the global one (eigenvalues below
    1) are Parzen directions; the others are Gaussian.

    Parameters
    ----------
    C_G : array-like of shape (n_features, n_features)
        The global covariance; symmetric and positive definite.
    C_L : array-like of shape (n_features, n_features)
        The local covariance; symmetric and positive definite.
    n_gaussian : int or None, default=None
        The number of columns of B_G; None is the best number.

    Returns
    -------
    Split
        B_G, B_L and the eigenvalues.

    See Also
    --------
    vicinal.LCAGauss : Uses it in each M-step.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.lca import gaussian_parzen_split
    >>> split = gaussian_parzen_split(np.eye(3), np.diag([0.25, 2.0, 0.5]))
    >>> split.eigenvalues
    array([0.25, 0.5 , 2.  ])
    >>> split.B_G.shape, split.B_L.shape
    ((3, 1), (3, 2))
    """
    matrices = []
    for name, given in (("C_G", C_G), ("C_L", C_L)):
        M = check_array(given, dtype=np.float64, input_name=name)
        slack = 1e-8 * np.abs(M).max()
        if M.shape[0] != M.shape[1] or not np.allclose(M, M.T, atol=slack):
            raise ValueError(f"{name} must be a symmetric matrix.")
        matrices.append(M)
    M1, M2 = matrices
    if M1.shape != M2.shape:
        raise ValueError(f"C_G has shape {M1.shape}, but C_L {M2.shape}.")
    if n_gaussian is not None and not (
        isinstance(n_gaussian, Integral) and 0 <= n_gaussian <= len(M1)
    ):
        raise ValueError(
            f"n_gaussian must be an int between 0 and {len(M1)}, got {n_gaussian}."
        )
    try:
        eigenvalues, V = eigh(M2, M1)
    except LinAlgError:
        eigenvalues = np.zeros(1)
    if not eigenvalues[0] > 0:
        raise ValueError(
            "C_G and C_L must be positive definite; otherwise the problem has no "
            "finite solution. Add a small multiple of the identity to both."
        )
    return _split_at(eigenvalues, V, n_gaussian)


def _split_at(eigenvalues: FloatArray, V: FloatArray, n_gaussian: int | None) -> Split:
    """Return the split for V with VᵀC_G V = I and VᵀC_L V = diag(eigenvalues)."""
    if n_gaussian is None:
        n_local = int(np.searchsorted(eigenvalues, 1.0))
    else:
        n_local = len(eigenvalues) - n_gaussian
    B_L = V[:, :n_local] / np.sqrt(eigenvalues[:n_local])
    return Split(V[:, n_local:], B_L, eigenvalues)


@dataclass(frozen=True, eq=False)
class ProductMStep:
    """The M-step of LCA-Gauss: proposition 1 for C_L and a fixed C_G.

    Proposition 1 needs invertible matrices: `FLOOR` times the identity is added to
    both, like a penalty, so that EM maximizes one objective and stays monotone.

    Attributes
    ----------
    C_G : ndarray of shape (n_features, n_features)
        The global covariance, with its ridge.
    ridge : ndarray of shape (n_features,)
        The ν of C_L in scaled units, and the floor.
    n_gaussian : int or None
        The number of Gaussian directions; None is the best number.
    """

    C_G: FloatArray
    ridge: FloatArray
    n_gaussian: int | None

    @cached_property
    def root(self) -> tuple[FloatArray, FloatArray, float]:
        """A with AᵀA = C_G⁻¹, A⁻¹ and log|det A|."""
        return inverse_root(self.C_G)[:3]

    @cached_property
    def n_floored(self) -> int:
        """The number of directions in which C_G is singular."""
        return directions_below(self.C_G, 2 * FLOOR)

    def fit(self, C: FloatArray, n_gaussian: int | None = None) -> Kernel:
        """Return the best kernel for C + νI."""
        wanted = self.n_gaussian if n_gaussian is None else n_gaussian
        C_L = C + np.diag(self.ridge)
        eigenvalues, V = eigh(C_L, self.C_G, check_finite=False)
        # Eigenvalues are below this by rounding errors only.
        least = FLOOR / np.trace(self.C_G)
        split = _split_at(np.maximum(eigenvalues, least), V, wanted)
        q = split.B_L.shape[1]
        local = split.eigenvalues[:q]
        A = np.concatenate([split.B_L, split.B_G], axis=1).T
        # VᵀC_G V = I, so that C_G V is the inverse of Vᵀ.
        inverse = self.C_G @ V
        inverse[:, :q] *= np.sqrt(local)
        log_det = self.root[2] - float(np.log(local).sum()) / 2
        n_floored = max(directions_below(C_L, 2 * FLOOR), self.n_floored)
        return self.kernel(A, inverse, q, log_det, n_floored)

    def kernel(
        self,
        A: FloatArray,
        inverse: FloatArray,
        n_local: int,
        log_det: float,
        n_floored: int = 0,
    ) -> Kernel:
        """Return the kernel with a given map."""
        local, gaussian = A[:n_local], A[n_local:]
        penalty = np.square(local).sum(axis=0) @ self.ridge
        penalty += np.einsum("ij,jk,ik->", gaussian, self.C_G, gaussian, optimize=True)
        return Kernel(A, inverse, n_local, log_det, float(penalty) / 2, n_floored)


@dataclass(eq=False, repr=False)
class LCAGauss(ParzenMetric):
    """LCA with a multiplicative Gaussian component.

    Splits the space into directions in which the data are Gaussian, mostly noise, and
    directions that a Parzen density like LCA's models: p(x) = N(A_G (x − μ); 0, I) ·
    1/n Σ_j N(A_L (x − x_j); 0, I) · ``|det A|`` (section 4 of [1]_, with the
    determinant as in eq. 5). Each M-step finds the best maps and their numbers of rows
    by proposition 1, :func:`vicinal.lca.gaussian_parzen_split`. `transform` returns the
    Parzen part: unsupervised dimensionality reduction.

    Parameters
    ----------
    n_gaussian : int or "auto", default="auto"
        The number of Gaussian directions. "auto" starts with none and lets EM add
        directions (algorithm 1). With alpha_local="auto" it takes none or all of them
        if left-out points prefer that.
    search : bool, default=False
        Whether to continue with LCA-Gauss-Red if n_gaussian="auto": a golden-section
        search over larger numbers of Gaussian directions, with EM for each.
    alpha_local : float or "auto", default="auto"
        ν added to the local covariance C_L. "auto" chooses it between 1e-6 and 1 times
        each feature's variance by a few hundred held-out points, and mixes one Gaussian
        into the density: see `background_weight_`. 0.0 is the paper's method.
    alpha_global : float or "auto", default="auto"
        ν added to the global covariance C_G. "auto" chooses it for a single Gaussian by
        its leave-one-out likelihood, in units of each feature's variance.
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
    components_, local_components_ : ndarray of shape \
(n_features − n_gaussian_, n_features)
        A_L, the most local direction first; float32 if X is.
    gaussian_components_ : ndarray of shape (n_gaussian_, n_features)
        A_G.
    n_gaussian_ : int
        The number of Gaussian directions.
    alpha_local_, alpha_global_ : float
        As set or chosen; with "auto" in units of each feature's variance.
    background_weight_ : float
        π, with alpha_local="auto" only: the density is 1 − π times the product above
        plus π times one Gaussian for all directions; 1 if no direction is local.
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
    vicinal.LCA : Kernels in all directions.
    vicinal.lca.gaussian_parzen_split : Finds the Gaussian directions in each
        M-step.
    vicinal.classic.NGCA : Another method for non-Gaussian directions.

    Notes
    -----
    Cost: that of :class:`vicinal.LCA`, and an eigenproblem of D×D in each step.

    References
    ----------
    .. [1] Le Roux, Bach. Local Component Analysis. arXiv:1109.0093, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import LCAGauss
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 4))  # noise, except the first direction
    >>> X[:200, 0] += 10
    >>> model = LCAGauss(search=True).fit(X)
    >>> model.n_gaussian_, model.transform(X).shape
    (3, (400, 1))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ParzenMetric._parameter_constraints,
        "n_gaussian": [
            Interval(Integral, 0, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "search": ["boolean"],
        "alpha_local": [at_least_zero, StrOptions({"auto"})],
        "alpha_global": [at_least_zero, StrOptions({"auto"})],
    }
    _alphas: ClassVar[tuple[str, ...]] = ("alpha_local", "alpha_global")

    n_gaussian: int | str = "auto"
    _: KW_ONLY
    search: bool = False
    alpha_local: float | str = "auto"
    alpha_global: float | str = "auto"

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
        automatic = self.alpha_local == "auto"
        # BLAS is held throughout: threads that it wakes for small matrices would spin
        # on the cores that the engine needs.
        with self._unchanged_on_error(), single_threaded_blas():
            points = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
            data = ScaledData.build(points, False, self.n_jobs, (X, y), automatic)
            alphas, n_gaussian, C = self._choose_alphas(data)
            m_step = replace(self._m_step(data, alphas), n_gaussian=n_gaussian)
            start = self._start(data, m_step, C)
            if self.search and self.n_gaussian == "auto":
                start = self._search(data, m_step, start)
            result = self._monitored_em(data, m_step, start, alphas)
            fitted = alphas | self._attributes_of(data, result)
            if not automatic:
                return self._store(fitted, data, result)
            ridge = fitted["alpha_global_"] if self.alpha_global == "auto" else None
            density = fitted["_density"].with_background(data, ridge)
            fitted |= {"_density": density, "background_weight_": density.weight}
            d, q = data.U.shape[1], result.kernel.n_local
            nothing = q > 0 and density.learned_nothing(q * (2 * d - q + 1) // 2)
            remedy = "Use more points."
            if nothing and self.n_gaussian == "auto" and not self.search:
                kernel = m_step.fit(result.local_scatter, n_gaussian=d)
                result = replace(result, kernel=kernel)
                fitted |= self._attributes_of(data, result)
                fitted["background_weight_"] = 1.0
                remedy = (
                    "So all directions are Gaussian, and transform returns no columns: "
                    "set n_gaussian to a number to have some."
                )
            self._store(fitted, data, result, m_step.ridge)
            if nothing:
                warn_caller(
                    "LCAGauss learned nothing local: its kernels predict left-out "
                    "points no better than one Gaussian. The points are Gaussian, or "
                    f"too few to show more. {remedy}",
                    ConvergenceWarning,
                )
        return self

    def _n_given(self, data: ScaledData) -> int | None:
        """Return the given number of Gaussian directions; None leaves it to EM."""
        if isinstance(self.n_gaussian, str):
            return None
        d = data.U.shape[1]
        if self.n_gaussian > d:
            raise ValueError(
                f"n_gaussian={self.n_gaussian} is more than the {d} features of X."
            )
        return self.n_gaussian

    def _choose_alphas(
        self, data: ScaledData
    ) -> tuple[dict[str, float], int | None, FloatArray | None]:
        """Return the fitted ridges, the number of Gaussian directions, and C_L."""
        alpha_local, alpha_global = self.alpha_local, self.alpha_global
        n_gaussian, C = self._n_given(data), None
        if alpha_global == "auto":
            covariance = data.covariance + np.diag(data.constant_ridge())
            alpha_global = Background.fit(data.U, covariance).ridge
        if alpha_local == "auto":

            def m_step_of(fold: Fold, ridge: float) -> ProductMStep:
                constant = fold.constant_ridge + FLOOR
                C_G = fold.covariance + np.diag(fold.background.ridge + constant)
                return ProductMStep(C_G, ridge + constant, n_gaussian)

            forced = n_gaussian is not None
            alpha_local, C, split = choose_split_ridge(
                data, m_step_of, self.cv, self.random_state, forced=forced
            )
            if not split and not self.search:
                n_gaussian = 0
        chosen = {"alpha_local_": alpha_local, "alpha_global_": alpha_global}
        return {name: float(a) for name, a in chosen.items()}, n_gaussian, C

    def _m_step(self, data: ScaledData, alphas: dict[str, float]) -> ProductMStep:
        """Return the M-step with the fitted ridges."""
        of_global = data.ridge(alphas["alpha_global_"], self.alpha_global == "auto")
        of_local = data.ridge(alphas["alpha_local_"], self.alpha_local == "auto")
        if self.alpha_local == self.alpha_global == "auto":
            # A constant feature is Gaussian: an eigenvalue just above 1.
            constant = data.units.constant
            of_local[constant] = of_global[constant] * (1 + 1e-6)
        C_G = data.covariance + np.diag(of_global + FLOOR)
        return ProductMStep(C_G, of_local + FLOOR, self._n_given(data))

    def _start(
        self, data: ScaledData, m_step: ProductMStep, C: FloatArray | None = None
    ) -> EMResult:
        """Start from the last fit, from a known C_L, or from kernels everywhere."""
        previous = self._previous(data)
        weight, d = float(previous is not None), data.U.shape[1]
        if previous is not None:
            A, C = previous
            q = self._density.kernel.n_local
            log_det = np.linalg.slogdet(A)[1]
            kernel = m_step.kernel(A, np.linalg.inv(A), q, log_det)
        elif C is not None:
            return EMResult(m_step.fit(C), C, weight)
        else:
            A, inverse, log_det = m_step.root
            q, C = d, data.covariance
            kernel = m_step.kernel(A, inverse, q, log_det, m_step.n_floored)
        if m_step.n_gaussian in (None, d - q):
            return EMResult(kernel, C, weight)
        # The number of Gaussian directions changes: C_L of the kernel gives the best.
        sampling, n_threads = self._sampling(data), data.n_threads
        if sampling is None:
            C = expectation(data.U, kernel, n_threads).C
        else:
            rng = check_random_state(self.random_state)
            order = rng.permutation(len(data.U))
            C = sampling.scatter(data.U, kernel, order, rng, n_threads)
        return EMResult(m_step.fit(C), C, weight)

    def _search(
        self, data: ScaledData, m_step: ProductMStep, start: EMResult
    ) -> EMResult:
        """Return the result of LCA-Gauss-Red: a golden-section search (section 4)."""
        # With mini-batches, all candidates are judged by the same points.
        seed = check_random_state(self.random_state).randint(2**31 - 1)

        def run(start: EMResult) -> EMResult:
            return self._em(data, m_step, start, seed=seed)

        first = run(start)
        C, d = first.local_scatter, data.U.shape[1]
        fewest = d - first.kernel.n_local
        known = {fewest: first}

        def height(n_gaussian: int) -> float:
            if n_gaussian not in known:
                # C_L is not that of the moved kernel, and would move it back.
                moved = EMResult(m_step.fit(C, n_gaussian), C, weight=0.0)
                known[n_gaussian] = run(moved)
            return known[n_gaussian].curve[-1]

        golden_section(height, fewest, d)
        best = max(known.values(), key=lambda result: result.curve[-1])
        return replace(best, curve=[])

    def _components_of(self, data: ScaledData, kernel: Kernel) -> dict[str, Any]:
        """Return the fitted attributes for a kernel."""
        A = unscale_components(kernel.map, data.units.scale, data.U.dtype)
        local, gaussian = np.split(A, [kernel.n_local])
        return {
            "components_": local,
            "local_components_": local,
            "gaussian_components_": gaussian,
            "n_gaussian_": len(gaussian),
        }


def golden_section(height: Callable[[int], float], low: int, high: int) -> int:
    """Return an integer between low and high at which a function has a peak.

    Parameters
    ----------
    height : callable
        The function; it may be called again with the same number.
    low, high : int
        The ends, both included.
    """
    ratio = (np.sqrt(5) - 1) / 2
    while high - low > 2:
        left = high - max(1, round(ratio * (high - low)))
        right = low + max(1, round(ratio * (high - low)))
        left = min(left, right - 1)
        if height(left) >= height(right):
            high = right
        else:
            low = left
    return max(range(low, high + 1), key=height)
