"""LCA with a multiplicative Gaussian component: the estimator, and its search."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.validation import validate_data
from vicinal.lca._background import Background, MixtureDensity
from vicinal.lca._data import ScaledData
from vicinal.lca._density import ProductDensity
from vicinal.lca._em import Reached, Start
from vicinal.lca._fit import (
    ParzenMetric,
    at_least_zero,
    ridge_in_units,
)
from vicinal.lca._gaussian_split import ProductModel, Split, gaussian_parzen_split
from vicinal.lca._minibatch_em import sampled_rows
from vicinal.lca._partial_fit import add_points, grown_data, is_first, ridge_of
from vicinal.lca._regularization import best_gaussian_ridge, best_ridge_of
from vicinal.lca._ridge_path import choose_split
from vicinal.lca._warnings import learned_nothing, n_held_by
from vicinal.neighborhood import single_threaded_blas

__all__ = ["LCAGauss", "Split", "gaussian_parzen_split", "golden_section"]


class LCAGauss(ParzenMetric):
    """LCA with a multiplicative Gaussian component.

    Splits the space into directions in which the data are Gaussian, mostly noise, and
    directions that a Parzen density like LCA's models: p(x) = N(A_G (x − μ); 0, I) ·
    1/n Σ_j N(A_L (x − x_j); 0, I) · ``|det A|`` (section 4 of [1]_, with the
    determinant as in eq. 5). EM needs no number of directions: proposition 1,
    :func:`vicinal.lca.gaussian_parzen_split`, finds in each M-step the best maps
    and how many rows each has. `transform` gives the Parzen part: a reduction of the
    dimension without labels.

    Parameters
    ----------
    n_gaussian : int, "auto" or "search", default="auto"
        How many directions are Gaussian. "auto" starts with none, and lets EM move
        directions over (algorithm 1); with reg_local="auto" it takes none or all of
        them where points that were left out say that this is better. "search" goes on
        from there with LCA-Gauss-Red: it moves more of them over and runs EM again, and
        searches for the best number by golden section.
    reg_local : float, "auto" or "cv", default="auto"
        ν added to the local covariance C_L. "auto" chooses it between 1e-6 and 1 times
        each feature's variance by a few hundred held-out points, and mixes one Gaussian
        into the density: see `background_weight_`. 0.0 is the paper's method.
    reg_global : float, "auto" or "cv", default="auto"
        ν added to the global covariance C_G. "auto" chooses it for a single Gaussian by
        its leave-one-out likelihood, in units of each feature's variance. "cv" chooses
        it for a single Gaussian, as the paper does, and then `reg_local` for the whole
        model.
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
    components_, local_components_ : ndarray of shape \
(n_features − n_gaussian_, n_features)
        A_L, the most local direction first; float32 if X is.
    gaussian_components_ : ndarray of shape (n_gaussian_, n_features)
        A_G.
    n_gaussian_ : int
        How many directions are Gaussian.
    reg_local_, reg_global_ : float
        As set or chosen; with "auto" in units of each feature's variance.
    background_weight_ : float
        π, with reg_local="auto" only: the density is 1 − π times the product above plus
        π times one Gaussian for all directions; 1 where no direction is local.
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
    vicinal.LCA : Kernels in all directions.
    vicinal.lca.gaussian_parzen_split : Finds the Gaussian directions in each
        M-step.
    vicinal.classic.NGCA : Another way to find directions that are not Gaussian.

    Notes
    -----
    Cost: as of :class:`vicinal.LCA`, and an eigenproblem of D×D in each step.

    References
    ----------
    .. [1] Le Roux, Bach. Local Component Analysis. arXiv:1109.0093, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import LCAGauss
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 4))  # noise, but for the first direction
    >>> X[:200, 0] += 10
    >>> model = LCAGauss("search").fit(X)
    >>> model.n_gaussian_, model.transform(X).shape
    (3, (400, 1))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ParzenMetric._parameter_constraints,
        "n_gaussian": [
            Interval(Integral, 0, None, closed="left"),
            StrOptions({"auto", "search"}),
        ],
        "reg_local": [at_least_zero, StrOptions({"auto", "cv"})],
        "reg_global": [at_least_zero, StrOptions({"auto", "cv"})],
    }
    _regs: ClassVar[tuple[str, ...]] = ("reg_local", "reg_global")

    def __init__(
        self,
        n_gaussian: int | str = "auto",
        *,
        reg_local: float | str = "auto",
        reg_global: float | str = "auto",
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
        self.n_gaussian = n_gaussian
        self.reg_local = reg_local
        self.reg_global = reg_global
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
            automatic = self.reg_local == "auto"
            data = ScaledData.build(
                points, False, self.n_jobs, (X, y), distinct=automatic
            )
            n_gaussian = self._checked_n_gaussian(data)
            chosen, n_gaussian, C = self._choose_regs(points, data, n_gaussian)
            model = self._model(data, chosen, n_gaussian)
            start = self._start(data, model, C)
            if self.n_gaussian == "search":
                found = self._search(data, model, start)
                start = Start(found.kernel, found.local_scatter, learned=True)
            reached = self._monitored_em(
                data,
                model,
                start,
                lambda kernel: data.map_of_data(kernel.map[: kernel.n_local]),
                lambda reached: chosen | self._attributes_of(data, reached),
            )
            fitted = self._attributes_of(data, reached)
            nothing = False
            if automatic:
                density = self._with_background(data, chosen, fitted["_density"])
                d, q = data.U.shape[1], reached.kernel.n_local
                nothing = q > 0 and learned_nothing(density, q * (2 * d - q + 1) // 2)
                if nothing and self.n_gaussian == "auto":
                    kernel = model.fit(reached.local_scatter, n_gaussian=d)
                    reached = Reached(
                        kernel, reached.local_scatter, reached.curve, reached.converged
                    )
                    fitted = self._attributes_of(data, reached)
                    fitted["background_weight_"] = 1.0
                else:
                    fitted["_density"] = density
                    fitted["background_weight_"] = density.weight
            self._store(chosen | fitted, data)
            n_held = n_held_by(model.ridge, reached.local_scatter)
        self._warn_of_convergence(reached.converged)
        self._warn_of_data(data, reached.kernel, n_held if automatic else None)
        if nothing:
            self._warn(
                "LCAGauss learned nothing local: its kernels predict left-out points "
                "no better than one Gaussian. The points are Gaussian, or too few to "
                "show more. "
                + (
                    "So all directions are Gaussian, and transform returns no columns: "
                    "set n_gaussian to a number to have some."
                    if not reached.kernel.n_local
                    else "Use more points."
                )
            )
        return self

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
        regs = {f"{name}_": ridge_of(self, name) for name in self._regs}
        first = is_first(self)
        with self._unchanged_on_error(), single_threaded_blas():
            data, n_new = grown_data(self, X, isotropic=False)
            model = self._model(data, regs, self._checked_n_gaussian(data))
            start = self._start(data, model) if first else None
            reached, weight = add_points(self, data, n_new, model, start)
            fitted = self._attributes_of(data, reached)
            del fitted["objective_curve_"]
            n_iter = 1 if first else self.n_iter_ + 1
            fitted |= {"_weight": weight, "n_iter_": n_iter}
            self._store(regs | fitted, data)
        self._warn_of_data(data, reached.kernel)
        return self

    def _checked_n_gaussian(self, data: ScaledData) -> int | None:
        """Return how many directions shall be Gaussian; None leaves it to EM."""
        if isinstance(self.n_gaussian, str):
            return None
        d = data.U.shape[1]
        if self.n_gaussian > d:
            raise ValueError(
                f"n_gaussian={self.n_gaussian} is more than the {d} features of X."
            )
        return self.n_gaussian

    def _choose_regs(
        self, X: FloatArray, data: ScaledData, n_gaussian: int | None
    ) -> tuple[dict[str, float], int | None, FloatArray | None]:
        """Return the ridges as fitted attributes, how many are Gaussian, and C_L."""
        if self.reg_global == "auto":
            covariance = data.covariance + np.diag(data.pinned)
            reg_global = Background.fit(data.U, covariance).ridge
        elif self.reg_global == "cv":
            reg_global = best_gaussian_ridge(X, self.cv, self.random_state)
        else:
            reg_global = float(self.reg_global)
        regs, C = {"reg_global_": reg_global}, None
        if self.reg_local == "auto":
            reg_local, C, split = choose_split(
                data, n_gaussian, self.cv, self.random_state
            )
            if not split and self.n_gaussian == "auto":
                n_gaussian = 0
        elif self.reg_local == "cv":
            settled = type(self)(**self.get_params(deep=False))
            if self.reg_global != "auto":
                settled.set_params(reg_global=reg_global)
            reg_local, regs["cv_score_"] = best_ridge_of(settled, "reg_local", X)
        else:
            reg_local = float(self.reg_local)
        return regs | {"reg_local_": reg_local}, n_gaussian, C

    def _model(
        self, data: ScaledData, regs: dict[str, float], n_gaussian: int | None
    ) -> ProductModel:
        """Return the M-step with these ridges."""
        ridge_global = ridge_in_units(
            regs["reg_global_"], self.reg_global == "auto", data
        )
        ridge_local = ridge_in_units(regs["reg_local_"], self.reg_local == "auto", data)
        if self.reg_local == self.reg_global == "auto":
            # A constant feature is Gaussian: an eigenvalue just above 1.
            constant = data.units.constant
            ridge_local[constant] = ridge_global[constant] * (1 + 1e-6)
        return ProductModel.build(
            data.covariance, ridge_global, ridge_local, n_gaussian
        )

    def _start(
        self, data: ScaledData, model: ProductModel, C: FloatArray | None = None
    ) -> Start:
        """Begin with the last fit, a C_L that is known, or kernels everywhere."""
        warm = self._is_warm(data)
        if not warm and C is not None:
            return Start(model.fit(C), C, learned=False)
        C = data.covariance
        if warm:
            (A, C), q = self._previous(data), self._density.kernel.n_local
            kernel = model.kernel(A, np.linalg.inv(A), q, np.linalg.slogdet(A)[1])
        else:
            q = len(model.root)
            kernel = model.kernel(
                model.root, model.inverse, q, model.log_det, model.n_floored
            )
        if model.n_gaussian in (None, len(model.root) - q):
            return Start(kernel, C, learned=warm)
        C = self._scatter_at(data, kernel)
        return Start(model.fit(C), C, learned=warm)

    def _search(self, data: ScaledData, model: ProductModel, start: Start) -> Reached:
        """Return where LCA-Gauss-Red ends: a golden-section search (section 4)."""
        # Mini-batches must be judged by the same points to be compared.
        seed = check_random_state(self.random_state).randint(2**31 - 1)

        def run(start: Start) -> Reached:
            return self._em(data, model, start, lambda _: False, seed)

        first = run(start)
        C = first.local_scatter
        d, fewest = len(model.root), len(model.root) - first.kernel.n_local
        known = {fewest: first}

        def height(n_gaussian: int) -> float:
            if n_gaussian not in known:
                # C_L is not that of the moved kernel, and would move it back.
                moved = Start(model.fit(C, n_gaussian), C, learned=False)
                known[n_gaussian] = run(moved)
            return known[n_gaussian].curve[-1]

        golden_section(height, fewest, d)
        return max(known.values(), key=lambda reached: reached.curve[-1])

    def _attributes_of(self, data: ScaledData, reached: Reached) -> dict[str, Any]:
        """Return the fitted attributes that follow from what EM has reached."""
        kernel = reached.kernel
        local = data.map_of_data(kernel.map[: kernel.n_local])
        gaussian = data.map_of_data(kernel.map[kernel.n_local :])
        return {
            "components_": local,
            "local_components_": local,
            "gaussian_components_": gaussian,
            "n_gaussian_": len(gaussian),
            "n_iter_": reached.n_iter,
            "objective_curve_": np.array(reached.curve) - data.log_unit,
            "_density": ProductDensity(data.units, kernel, data.U, self.rtol),
            "_local_scatter": reached.local_scatter,
        }

    def _with_background(
        self, data: ScaledData, chosen: dict[str, float], density: ProductDensity
    ) -> MixtureDensity:
        """Put a Gaussian behind the product."""
        covariance = data.covariance + np.diag(data.pinned)
        ridge = chosen["reg_global_"] if self.reg_global == "auto" else None
        background = Background.fit(data.U, covariance, ridge)
        rows = sampled_rows(len(data.U))
        return MixtureDensity.build(density, background, data.n_threads, rows)


def golden_section(height: Callable[[int], float], low: int, high: int) -> int:
    """Return a whole number between low and high at which a function has a peak.

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
