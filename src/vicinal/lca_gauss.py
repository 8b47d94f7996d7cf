"""LCA with a multiplicative Gaussian component: the estimator, and proposition 1."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, eigh
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._covariances import FLOOR, Full
from vicinal._em import Kernel, Reached, expectation
from vicinal._parzen import ParzenMetric, Problem, at_least_zero
from vicinal._regularisation import best_gaussian_ridge, best_ridge_of
from vicinal._typing import FloatArray


class Split(NamedTuple):
    """What proposition 1 finds."""

    B_G: FloatArray
    """The Gaussian directions, as columns."""
    B_L: FloatArray
    """The Parzen directions, as columns; the most local first."""
    eigenvalues: FloatArray
    """Of C_G^(−½) C_L C_G^(−½), ascending; the first belong to B_L."""


def gaussian_parzen_split(
    C_G: ArrayLike, C_L: ArrayLike, n_gaussian: int | None = None
) -> Split:
    """Split the space into Gaussian and Parzen directions (proposition 1).

    Minimises tr(B_GᵀC_G B_G) + tr(B_LᵀC_L B_L) − log det(B_G B_Gᵀ + B_L B_Lᵀ) over all
    B_G, B_L that together are square and invertible, and over how many columns each
    has. Directions in which the local covariance is below the global one, eigenvalues
    below 1, are Parzen directions; the others are Gaussian.

    Parameters
    ----------
    C_G : array-like of shape (n_features, n_features)
        The global covariance; symmetric and positive definite.
    C_L : array-like of shape (n_features, n_features)
        The local covariance; symmetric and positive definite.
    n_gaussian : int or None, default=None
        How many columns B_G shall have; None is as many as is best.

    Returns
    -------
    Split
        B_G, B_L and the eigenvalues.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.lca_gauss import gaussian_parzen_split
    >>> split = gaussian_parzen_split(np.eye(3), np.diag([0.25, 2.0, 0.5]))
    >>> split.eigenvalues
    array([0.25, 0.5 , 2.  ])
    >>> split.B_G.shape, split.B_L.shape
    ((3, 1), (3, 2))
    """
    matrices = []
    for name, given in (("C_G", C_G), ("C_L", C_L)):
        M = check_array(given, dtype=np.float64, input_name=name)
        if M.shape[0] != M.shape[1] or not np.allclose(M, M.T):
            raise ValueError(f"{name} must be a symmetric matrix.")
        matrices.append(M)
    M1, M2 = matrices
    if M1.shape != M2.shape:
        raise ValueError(f"C_G has shape {M1.shape}, but C_L {M2.shape}.")
    if n_gaussian is not None and not 0 <= n_gaussian <= len(M1):
        raise ValueError(
            f"n_gaussian must be between 0 and {len(M1)}, got {n_gaussian}."
        )
    try:
        eigenvalues, V = eigh(M2, M1)
    except LinAlgError:
        eigenvalues = np.zeros(1)
    if not eigenvalues[0] > 0:
        raise ValueError(
            "C_G and C_L must be positive definite: without that the problem has no "
            "finite solution. Add a small multiple of the identity to both."
        )
    return _cut(eigenvalues, V, n_gaussian)


def _cut(eigenvalues: FloatArray, V: FloatArray, n_gaussian: int | None) -> Split:
    """Return the split for V with VᵀC_G V = I and VᵀC_L V = diag(eigenvalues)."""
    if n_gaussian is None:
        n_local = int(np.searchsorted(eigenvalues, 1.0))
    else:
        n_local = len(eigenvalues) - n_gaussian
    B_L = V[:, :n_local] / np.sqrt(eigenvalues[:n_local])
    return Split(V[:, n_local:], B_L, eigenvalues)


class LCAGauss(ParzenMetric):
    """LCA with a multiplicative Gaussian component.

    Splits the space into directions in which the data are Gaussian, mostly noise, and
    directions that a Parzen density like LCA's models: p(x) = N(A_G (x − μ); 0, I) ·
    1/n Σ_j N(A_L (x − x_j); 0, I) · |det A| (section 4 of [1]_, with the determinant as
    in eq. 5). EM needs no number of directions: proposition 1,
    :func:`vicinal.lca_gauss.gaussian_parzen_split`, finds in each M-step the best maps
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
        Iterations of EM.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        What EM climbs, at the start and after each iteration: the mean leave-one-out
        log-likelihood less the penalty. It never falls in exact EM. In the fast
        form it is judged by some points among some neighbours.
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
        **ParzenMetric._parameter_constraints,
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

    def _alike(self) -> bool:
        return False

    def _model(self, problem: Problem, regs: dict[str, float]) -> "ProductModel":
        d = problem.U.shape[1]
        n_gaussian = None if isinstance(self.n_gaussian, str) else self.n_gaussian
        if n_gaussian is not None and n_gaussian > d:
            raise ValueError(
                f"n_gaussian={n_gaussian} is more than the {d} features of X."
            )
        squares = np.square(problem.units.scale)
        whole = Full().maximise(
            problem.covariance + np.diag(regs["reg_global_"] / squares)
        )
        return ProductModel(
            whole.matrix,
            whole.root,
            whole.inverse,
            -whole.log_det / 2,
            whole.n_floored,
            regs["reg_local_"] / squares,
            n_gaussian,
        )

    def _start(
        self, problem: Problem, model: "ProductModel"
    ) -> tuple[Kernel, FloatArray]:
        if self._is_warm(problem):
            A, q = self._previous_map(problem), self._density.kernel.n_local
            kernel = model.kernel(A, np.linalg.inv(A), q, np.linalg.slogdet(A)[1])
            if model.n_gaussian in (None, len(A) - q):
                return kernel, problem.covariance
        else:
            d = len(model.root)
            kernel = model.kernel(
                model.root, model.inverse, d, model.log_det, model.n_floored
            )
        if model.n_gaussian is None:
            return kernel, problem.covariance
        C = expectation(problem.U, kernel, problem.n_threads).C
        return model.maximise(C), C

    def _learn(self, problem: Problem, regs: dict[str, float]) -> tuple[bool, int]:
        if self.n_gaussian != "search":
            return super()._learn(problem, regs)
        model = self._model(problem, regs)
        found = self._search(problem, model)
        reached = self._run(problem, model, found.kernel, found.local_scatter, regs)
        return reached.converged, reached.kernel.n_floored

    def _search(self, problem: Problem, model: "ProductModel") -> Reached:
        """Return where LCA-Gauss-Red ends: a golden-section search (section 4)."""

        def run(kernel: Kernel, C: FloatArray) -> Reached:
            return self._em(problem, model, kernel, C, lambda *_: False)

        first = run(*self._start(problem, model))
        d, fewest = len(model.root), len(model.root) - first.kernel.n_local
        known = {fewest: first}

        def height(n_gaussian: int) -> float:
            if n_gaussian not in known:
                moved = model.maximise(first.local_scatter, n_gaussian)
                known[n_gaussian] = run(moved, first.local_scatter)
            return known[n_gaussian].curve[-1]

        golden_section(height, fewest, d)
        return max(known.values(), key=lambda reached: reached.curve[-1])

    def _components(self, problem: Problem, kernel: Kernel) -> FloatArray:
        local = kernel.map[: kernel.n_local] / problem.units.scale
        return local.astype(problem.U.dtype)

    def _state(self, problem: Problem, kernel: Kernel) -> dict[str, Any]:
        state = super()._state(problem, kernel)
        gaussian = kernel.map[kernel.n_local :] / problem.units.scale
        return {
            **state,
            "local_components_": state["components_"],
            "gaussian_components_": gaussian.astype(problem.U.dtype),
            "n_gaussian_": len(gaussian),
        }


@dataclass(frozen=True, eq=False)
class ProductModel:
    """LCA-Gauss' M-step: proposition 1, for the local scatter and a fixed C_G.

    Attributes
    ----------
    C_G : ndarray of shape (n_features, n_features)
        The global covariance, with its ridge.
    root : ndarray of shape (n_features, n_features)
        A with AᵀA = C_G⁻¹.
    inverse : ndarray of shape (n_features, n_features)
        A⁻¹.
    log_det : float
        log|det root|.
    n_floored : int
        In how many directions C_G was singular.
    ridge : ndarray of shape (n_features,)
        The ν of C_L, in the features' units.
    n_gaussian : int or None
        How many directions are Gaussian; None is as many as is best.
    """

    C_G: FloatArray
    root: FloatArray
    inverse: FloatArray
    log_det: float
    n_floored: int
    ridge: FloatArray
    n_gaussian: int | None

    def maximise(self, C: FloatArray, n_gaussian: int | None = None) -> Kernel:
        """Return the kernel for C + νI."""
        wanted = self.n_gaussian if n_gaussian is None else n_gaussian
        local = Full().maximise(C + np.diag(self.ridge))
        eigenvalues, V = eigh(local.matrix, self.C_G, check_finite=False)
        split = _cut(np.maximum(eigenvalues, FLOOR), V, wanted)
        q = split.B_L.shape[1]
        log_det = self.log_det - float(np.log(split.eigenvalues[:q]).sum()) / 2
        A = np.concatenate([split.B_L, split.B_G], axis=1).T
        # VᵀC_G V = I, so that C_G V is the inverse of Vᵀ.
        inverse = self.C_G @ V
        inverse[:, :q] *= np.sqrt(split.eigenvalues[:q])
        n_floored = max(local.n_floored, self.n_floored)
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
