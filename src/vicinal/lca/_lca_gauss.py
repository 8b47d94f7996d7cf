"""LCA with a multiplicative Gaussian component: the estimator, and its search."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray
from vicinal.lca._data import ScaledData
from vicinal.lca._e_step import Kernel
from vicinal.lca._em import Reached, Start
from vicinal.lca._fit import at_least_zero
from vicinal.lca._gaussian_split import ProductModel, Split, gaussian_parzen_split
from vicinal.lca._partial_fit import StreamedParzenMetric
from vicinal.lca._regularization import best_gaussian_ridge, best_ridge_of

__all__ = ["LCAGauss", "Split", "gaussian_parzen_split", "golden_section"]


class LCAGauss(StreamedParzenMetric):
    """LCA with a multiplicative Gaussian component.

    Splits the space into directions in which the data are Gaussian, mostly noise, and
    directions that a Parzen density like LCA's models: p(x) = N(A_G (x − μ); 0, I) ·
    1/n Σ_j N(A_L (x − x_j); 0, I) · |det A| (section 4 of [1]_, with the determinant as
    in eq. 5). EM needs no number of directions: proposition 1,
    :func:`vicinal.lca.gaussian_parzen_split`, finds in each M-step the best maps
    and how many rows each has. `transform` gives the Parzen part: a reduction of the
    dimension without labels.

    Parameters
    ----------
    n_gaussian : int, "auto" or "search", default="auto"
        How many directions are Gaussian. "auto" starts with none, and lets EM move
        directions over (algorithm 1). "search" goes on from there with LCA-Gauss-Red:
        it moves more of them over and runs EM again, and searches for the best number
        by golden section.
    reg_local : float or "cv", default=0.0
        ν added to the local covariance C_L.
    reg_global : float or "cv", default=0.0
        ν added to the global covariance C_G. "cv" chooses it for a single Gaussian, as
        the paper does, and then `reg_local` for the whole model.
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
    components_, local_components_ : ndarray of shape \
(n_features − n_gaussian_, n_features)
        A_L, the most local direction first; float32 if X is.
    gaussian_components_ : ndarray of shape (n_gaussian_, n_features)
        A_G.
    n_gaussian_ : int
        How many directions are Gaussian.
    reg_local_, reg_global_ : float
        As set or chosen.
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
        **StreamedParzenMetric._parameter_constraints,
        "n_gaussian": [
            Interval(Integral, 0, None, closed="left"),
            StrOptions({"auto", "search"}),
        ],
        "reg_local": [at_least_zero, StrOptions({"cv"})],
        "reg_global": [at_least_zero, StrOptions({"cv"})],
    }
    _regs: ClassVar[tuple[str, ...]] = ("reg_local", "reg_global")

    def __init__(
        self,
        n_gaussian: int | str = "auto",
        *,
        reg_local: float | str = 0.0,
        reg_global: float | str = 0.0,
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
        self.n_gaussian = n_gaussian
        self.reg_local = reg_local
        self.reg_global = reg_global
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

    def _choose_regs(self, X: FloatArray) -> dict[str, float]:
        if self.reg_global == "cv":
            reg_global = best_gaussian_ridge(X, self.cv, self.random_state)
        else:
            reg_global = float(self.reg_global)
        if self.reg_local == "cv":
            settled = type(self)(**self.get_params(deep=False))
            settled.set_params(reg_global=reg_global)
            reg_local, score = best_ridge_of(settled, "reg_local", X)
            return {
                "reg_local_": reg_local,
                "reg_global_": reg_global,
                "cv_score_": score,
            }
        return {"reg_local_": float(self.reg_local), "reg_global_": reg_global}

    def _model(self, problem: ScaledData, regs: dict[str, float]) -> ProductModel:
        d = problem.U.shape[1]
        n_gaussian = None if isinstance(self.n_gaussian, str) else self.n_gaussian
        if n_gaussian is not None and n_gaussian > d:
            raise ValueError(
                f"n_gaussian={n_gaussian} is more than the {d} features of X."
            )
        squares = np.square(problem.units.scale)
        return ProductModel.build(
            problem.covariance,
            regs["reg_global_"] / squares,
            regs["reg_local_"] / squares,
            n_gaussian,
        )

    def _start(self, problem: ScaledData, model: ProductModel) -> Start:
        C, warm = problem.covariance, self._is_warm(problem)
        if warm:
            (A, C), q = self._previous(problem), self._density.kernel.n_local
            kernel = model.kernel(A, np.linalg.inv(A), q, np.linalg.slogdet(A)[1])
        else:
            q = len(model.root)
            kernel = model.kernel(
                model.root, model.inverse, q, model.log_det, model.n_floored
            )
        if model.n_gaussian in (None, len(model.root) - q):
            return Start(kernel, C, learned=warm)
        C = self._scatter_at(problem, kernel)
        return Start(model.fit(C), C, learned=warm)

    def _learn(self, problem: ScaledData, regs: dict[str, float]) -> tuple[bool, int]:
        if self.n_gaussian != "search":
            return super()._learn(problem, regs)
        model = self._model(problem, regs)
        found = self._search(problem, model)
        start = Start(found.kernel, found.local_scatter, learned=True)
        reached = self._run(problem, model, start, regs)
        return reached.converged, reached.kernel.n_floored

    def _search(self, problem: ScaledData, model: ProductModel) -> Reached:
        """Return where LCA-Gauss-Red ends: a golden-section search (section 4)."""
        # Batches must be judged by the same points to be compared.
        seed = check_random_state(self.random_state).randint(2**31 - 1)

        def run(start: Start) -> Reached:
            return self._em(problem, model, start, lambda _: False, seed)

        first = run(self._start(problem, model))
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

    def _components(self, problem: ScaledData, kernel: Kernel) -> FloatArray:
        return problem.map_of_data(kernel.map[: kernel.n_local])

    def _attributes_of(self, problem: ScaledData, kernel: Kernel) -> dict[str, Any]:
        state = super()._attributes_of(problem, kernel)
        gaussian = problem.map_of_data(kernel.map[kernel.n_local :])
        return {
            **state,
            "local_components_": state["components_"],
            "gaussian_components_": gaussian,
            "n_gaussian_": len(gaussian),
        }


def golden_section(height: Callable[[int], float], low: int, high: int) -> int:
    """Return a whole number between low and high at which a function has a peak.

    Parameters
    ----------
    height : callable
        The function; it is asked again for what it has told before.
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
