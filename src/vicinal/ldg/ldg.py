"""Local discriminative Gaussians: the estimator."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult
from scipy.sparse import issparse
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal.base.linalg import orthonormal, span_of, varying_axes
from vicinal.base.metric import LinearMetric, labeled, warn_caller
from vicinal.base.selection import checked_n_components
from vicinal.ldg.eigenproblem import (
    EigenProblem,
    LocalGaussianObjective,
    Matrix,
    complete_rows,
)
from vicinal.ldg.local_gaussians import ClassPoints, least_spread, scatters
from vicinal.ldg.local_qda import LocalQDA, at_least_one
from vicinal.ldg.selection import (
    Sample,
    choose_dimension,
    choose_gamma,
    choose_n_neighbors,
    grow_dimension,
    warn_of_small_classes,
)
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.objectives.nca import check_class_prior
from vicinal.optimize import maximize


@dataclass(eq=False, repr=False)
class LDG(LinearMetric):
    """Local discriminative Gaussians.

    Supervised dimensionality reduction by one eigendecomposition [1]_. Around each
    point x_i, each class j is a Gaussian N(μ_ij, σ_ij² I), fitted to the k points of
    the class nearest to x_i. With Δ_ij = μ_ij − x_i,

        V = Σ_i Δ_{i,y_i} Δ_{i,y_i}ᵀ / σ²_{i,y_i},
        A = Σ_i Σ_j p(j) Δ_ij Δ_ijᵀ / σ²_ij,

    the components are the eigenvectors of V − γA with the smallest eigenvalues (eq. 6):
    along them a point is near the Gaussian of its own class and far from the others.
    A map of fewer dimensions is a prefix of one of more: see :meth:`set_n_components`.

    Standardize the features first, as the paper does, unless they share a unit.

    Parameters
    ----------
    n_components : int, "auto" or "grow", default="auto"
        Number of dimensions to keep. "auto" compares the accuracies of 3-NN on
        held-out rows in 1, 2, … up to all dimensions, where LDG is the Euclidean
        distance. It takes the smallest number that is within one standard error of the
        best and one better than all dimensions, or all if there is none: a default
        that does not hurt. "grow" is the paper's rule: dimensions are added until the
        leave-one-out accuracy falls. It stops at the first dip of a noisy curve.
    n_neighbors : int or "auto", default="auto"
        k. "auto" takes the best of 4, 8, 16, 32, 64 and 128 for :class:`LocalQDA` in
        five folds, the largest if several are. A class with too few points gives all
        it has.
    gamma : float or "auto", default="auto"
        γ. "auto" takes the best of 0.2, 0.4, 0.6, 0.8 and 1 for leave-one-out 3-NN, the
        largest if several are. The dimension is then the number of classes plus five.
    refine : bool, default=False
        Whether to start from the eigenvectors and optimize the objective that the
        eigenproblem approximates (eq. 2), over orthonormal maps.
    class_prior : array-like of shape (n_classes,), "empirical" or None, \
default="empirical"
        p(j), in the order of the sorted labels. "empirical" is each class's share of
        the rows; None is uniform.
    var_floor : float, default=1e-3
        The smallest σ², relative to the mean variance of the features. Neighbors that
        coincide, or a single one, have no variance.
    max_iter : int, default=50
        Maximum number of iterations of refine.
    tol : float, default=1e-5
        Refine stops if an iteration gains less than this, relative to the objective.
    verbose : int, default=0
        If positive, print the choices.
    random_state : int, RandomState or None, default=None
        Draws the folds, and the rows that the choices are made on.
    n_jobs : int or None, default=None
        Number of threads. None uses as many as BLAS would; −1 uses all cores. The
        result does not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map: orthonormal rows, ordered by their eigenvalues; float32 if X is.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of V − γA, ascending.
    n_components_ : int
        The dimension of the map.
    n_neighbors_ : int
        The k in use.
    gamma_ : float
        The γ in use.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_iter_ : int
        1 for the eigendecomposition, plus the iterations of refine.
    objective_curve_ : ndarray of shape (n_iter_,)
        Only with refine: minus eq. 2, the log posterior of the classes, at the
        eigenvectors and after each iteration. It rises.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has string names.

    See Also
    --------
    vicinal.LocalQDA : The classifier behind it.
    vicinal.TransferLDG : For a domain with few labels.
    vicinal.classic.LFDA : Another local eigenproblem.
    vicinal.NCA : Updates the neighbors along with the map.

    Notes
    -----
    Above 3,000 rows the choices are made on 3,000 of them: k on these rows alone, γ and
    "grow" with their 3-NN accuracy under the map of all rows. "auto" uses 1,500 of
    them, or 30 of each class if that is more.

    With more features than rows, the eigenproblem is solved in the span of the rows,
    which is exact. Sparse X then stays sparse. Directions along which no row varies
    come last, although eq. 6 would rank them before positive eigenvalues.

    Cost: O(n²D) to find neighbors, O(n C D²) for the scatters of C classes, and an
    eigenproblem of size min(n, D); memory O(D²), or O(n · D) if D is larger than n.

    References
    ----------
    .. [1] Parrish, Gupta. Dimensionality Reduction by Local Discriminative Gaussians.
       International Conference on Machine Learning, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal import LDG
    >>> X, y = load_wine(return_X_y=True)
    >>> knn = KNeighborsClassifier(3)
    >>> model = make_pipeline(StandardScaler(), LDG(random_state=0), knn)
    >>> bool(cross_val_score(model, X, y).mean() > 0.95)
    True
    """

    _requires_y: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LocalQDA._parameter_constraints,
        "n_components": [at_least_one, StrOptions({"auto", "grow"})],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "refine": ["boolean"],
        "max_iter": [at_least_one],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
    }
    _accept_sparse: ClassVar[list[str] | bool] = ["csr"]

    n_components: int | str = "auto"
    _: KW_ONLY
    n_neighbors: int | str = "auto"
    gamma: float | str = "auto"
    refine: bool = False
    class_prior: ArrayLike | str | None = "empirical"
    var_floor: float = 1e-3
    max_iter: int = 50
    tol: float = 1e-5
    verbose: int = 0
    random_state: int | RandomState | None = None
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the map.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The points. Sparse X with fewer features than rows is made dense.
        y : array-like of shape (n_samples,)
            Their classes, at least two.

        Returns
        -------
        self
        """
        # BLAS stays single-threaded throughout: threads that it has woken for an
        # eigenproblem would spin on the cores that the neighbor search needs.
        with self._unchanged_on_error(), single_threaded_blas():
            n_threads = effective_n_threads(self.n_jobs)
            random_state = check_random_state(self.random_state)
            rows, classes, codes = labeled(self, X, y)
            sizes, n_features = np.bincount(codes), rows.shape[1]
            priors = check_class_prior(self.class_prior, sizes)
            wanted = self._wanted(n_features)
            warn_of_small_classes(classes, sizes, self.n_neighbors, itself=1)

            order = np.argsort(codes, kind="stable")
            span = span_of(_without_rounding(rows[order]))
            points = span.coordinates
            floor = least_spread(points, self.var_floor)
            subset = ClassPoints.build(points, codes[order], floor)
            sample = Sample.draw(subset, priors, n_features, random_state, n_threads)
            k = choose_n_neighbors(sample, self.n_neighbors)
            neighbors = subset.nearest(k, None, n_threads)
            V, A = scatters(subset, neighbors, priors, n_features, n_threads)
            problem = EigenProblem.build(varying_axes(points, n_threads), V, A)
            objective = None
            if self.refine:
                objective = LocalGaussianObjective(
                    subset, neighbors, priors, n_features
                )
            to_features = span.basis_to_features
            solution = self._solve(problem, sample, k, wanted, to_features, objective)
            self.classes_ = classes
        if solution is not None and not solution.success:
            warn_caller(
                f"Refinement did not converge in {solution.nit} iterations "
                f"({solution.message}); increase max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def _wanted(self, n_features: int) -> int:
        """Return the requested dimension, or 0 if it is to be chosen."""
        if isinstance(self.n_components, str):
            return 0
        return checked_n_components(
            self.n_components, n_features, f"the {n_features} features of X", "'auto'"
        )

    def _solve(
        self,
        problem: EigenProblem,
        sample: Sample,
        k: int,
        wanted: int,
        to_features: Callable[[Matrix], Matrix],
        objective: LocalGaussianObjective | None = None,
    ) -> OptimizeResult | None:
        """Choose γ and the dimension, solve eq. 6, refine, and store the map.

        Parameters
        ----------
        problem : EigenProblem
            V and A.
        sample : Sample
            The rows to make choices on.
        k : int
            Number of neighbors.
        wanted : int
            Number of dimensions; 0 if it is to be chosen.
        to_features : callable
            Converts orthonormal directions, in columns, to rows over the features.
        objective : LocalGaussianObjective or None, default=None
            Eq. 2, to refine the map with.
        """
        points, gamma = sample.points, choose_gamma(problem, sample, self.gamma)
        if self.n_components == "auto":
            wanted = choose_dimension(sample, k, gamma, max(1, problem.rank))
        # More than wanted, for `set_n_components`.
        values, found = problem.smallest(gamma, max(256, wanted))
        if self.n_components == "grow":
            Z = points @ found.astype(points.dtype)
            wanted = max(1, grow_dimension(Z, sample.codes, sample.n_threads))
        solution = None
        if objective is not None and problem.rank > wanted:
            solution = maximize(
                objective, found[:, :wanted].T, max_iter=self.max_iter, tol=self.tol
            )
            subspace = orthonormal(solution.x.T)
            values, found = problem.ordered_in(gamma, subspace)
        components = complete_rows(to_features(found), wanted).astype(points.dtype)
        self._kept_components = components
        self._kept_eigenvalues = np.zeros(len(components))
        self._kept_eigenvalues[: len(values)] = values
        self.n_neighbors_, self.gamma_, self.n_iter_ = k, float(gamma), 1
        self.__dict__.pop("objective_curve_", None)
        if solution is not None:
            self.n_iter_ += solution.nit
            self.objective_curve_ = np.array(solution.curve)
        self.set_n_components(wanted)
        if self.verbose:
            print(  # noqa: T201
                f"[{type(self).__name__}] n_neighbors {k}, gamma {gamma:g}, "
                f"n_components {wanted}"
            )
        return solution

    def set_n_components(self, n_components: int) -> Self:
        """Change the dimension of the fitted map, at no cost.

        The eigenvectors are ordered: a fit with fewer dimensions, for the same k and γ,
        finds a prefix of those of a fit with more.

        Parameters
        ----------
        n_components : int
            At most 256, or the n_components of the fit if that is larger, or the
            number of directions in which X varies if that is smaller. After
            refine=True, at most the refined number; fewer are then ordered by V − γA,
            but not refined again.

        Returns
        -------
        self
        """
        check_is_fitted(self, "_kept_components")
        check_scalar(
            n_components, "n_components", Integral, min_val=1,
            max_val=len(self._kept_components),
        )  # fmt: skip
        self.components_ = self._kept_components[:n_components]
        self.eigenvalues_ = self._kept_eigenvalues[:n_components]
        self.n_components_ = int(n_components)
        return self


def _without_rounding(X: Any) -> Any:
    """Return dense X with features constant that vary only by rounding errors.

    Such a feature would be a direction like any other. Its eigenvalue near 0 would
    rank it before all positive ones.
    """
    if issparse(X):
        return X
    low, high = X.min(axis=0), X.max(axis=0)
    largest = np.maximum(np.abs(low), np.abs(high))
    with np.errstate(over="ignore"):  # `span_of` reports values that are too large
        noise = (low < high) & (high - low <= 4 * np.finfo(X.dtype).eps * largest)
    return np.where(noise, low, X) if noise.any() else X
