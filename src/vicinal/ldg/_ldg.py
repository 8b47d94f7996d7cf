"""Local discriminative Gaussians: the estimator."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FloatArray, IntArray
from vicinal.base.callers import warn_caller
from vicinal.base.metric import LinearMetric
from vicinal.base.n_components import checked_n_components
from vicinal.base.row_space import orthonormal, span_of, varying_axes
from vicinal.base.validation import LearnsFromClasses, labeled
from vicinal.ldg._eigenproblem import EigenProblem, Matrix, completed, same_signs
from vicinal.ldg._local_gaussians import ClassPoints, scatters
from vicinal.ldg._model_selection import (
    choose_dimension,
    choose_gamma,
    choose_n_neighbors,
    grown_dimensions,
    sampled_rows,
)
from vicinal.ldg._objective import LocalGaussianObjective
from vicinal.ldg._validation import (
    LDG_CONSTRAINTS,
    checked_priors,
    least_spread,
    source_of_chance,
    warn_of_small_classes,
    without_rounding,
)
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.optimize import SOLVERS

# What set_n_components can reach without a new fit.
MOST_COMPONENTS = 256


@dataclass(frozen=True)
class Sample:
    """The rows that choices are made on, and what they are made with.

    Attributes
    ----------
    points, codes
        The rows, sorted by class, and their classes.
    priors, least_spread, n_features
        p(j), the floor of d σ², and d.
    random_state, n_threads
        What is drawn, and threads.
    """

    points: FloatArray
    codes: IntArray
    priors: FloatArray
    least_spread: float
    n_features: int
    random_state: RandomState
    n_threads: int


class LDG(LearnsFromClasses, LinearMetric):
    """Local discriminative Gaussians.

    A supervised reduction of the dimension by one eigen-decomposition [1]_. Around
    each point x_i, each class j is a Gaussian N(μ_ij, σ_ij² I) made of the k points of
    that class nearest to x_i. With Δ_ij = μ_ij − x_i,

        V = Σ_i Δ_{i,y_i} Δ_{i,y_i}ᵀ / σ²_{i,y_i},
        A = Σ_i Σ_j p(j) Δ_ij Δ_ijᵀ / σ²_ij,

    and the directions kept are the eigenvectors of V − γA with the smallest
    eigenvalues (eq. 6): along them a point is near the Gaussian of its own class and
    far from the others. Fewer dimensions are a prefix of more: see
    :meth:`set_n_components`.

    Standardise the features first, as the paper does, unless they share a unit.

    Parameters
    ----------
    n_components : int, "auto" or "grow", default="auto"
        How many dimensions to keep. "auto" looks at the accuracy of 3-NN on rows that
        are held out, in 1, 2, … up to all dimensions, where LDG is the Euclidean
        distance. It takes the least number that is within one standard error of the
        best and one better than all dimensions, and all where none is: a default that
        does not hurt. "grow" is the paper's rule: one more as long as the leave-one-out
        accuracy does not fall by it, which the first dip of a noisy number ends.
    n_neighbors : int or "cv", default="cv"
        k. "cv" takes the best of 4, 8, 16, 32, 64 and 128 for :class:`LocalQDA` in five
        folds, the largest of equals. A class with too few points gives all it has.
    gamma : float or "cv", default="cv"
        γ. "cv" takes the best of 0.2, 0.4, 0.6, 0.8 and 1 for leave-one-out 3-NN in as
        many dimensions as there are classes and five more; the largest of equals.
    refine : bool, default=False
        Go on from there by descending the objective that the eigenproblem approximates
        (eq. 2), over orthonormal maps.
    priors : array-like of shape (n_classes,) or None, default=None
        p(j), in the order of the sorted labels; None is each class's share of rows.
    var_floor : float, default=1e-3
        The least σ², as a part of the features' mean variance in X. Neighbours that
        coincide, or a single one, have no variance of their own.
    max_iter : int, default=50
        Iterations of refine at most.
    tol : float, default=1e-5
        Refine stops when an iteration gains less than this, relative to the objective.
    verbose : int, default=0
        Above 0, prints what was chosen.
    random_state : int, RandomState or None, default=None
        For the folds, and for which rows serve the choices. None draws the same
        ones each time.
    n_jobs : int or None, default=None
        Threads. None is as many as BLAS would use; −1 is all cores. The result is
        the same for any number.

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
        1 for the eigen-decomposition, and the iterations of refine.
    objective_curve_ : ndarray of shape (n_iter_,)
        Eq. 2 at the eigenvectors and after each iteration, with refine only.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.LocalQDA : The classifier behind it.
    vicinal.TransferLDG : For a domain with few labels.
    vicinal.classic.LFDA : Another local eigenproblem.
    vicinal.NCA : Moves the neighbours along with the map.

    Notes
    -----
    Above 3,000 rows the choices are made on 3,000 of them: k there, γ and "grow" by
    the 3-NN of those rows under the map of all. "auto" looks at 1,500 of them, or at
    30 of each class where that is more.

    With more features than rows, the eigenproblem is solved in the space that the
    rows span, which is exact and has no more dimensions than there are rows. Sparse X
    is not made dense then. Directions along which no row varies come last: eq. 6 as it
    stands would take them before any with more of V than of γA.

    Cost: O(n²D) to find neighbours, O(n C D²) for the scatters of C classes, and an
    eigenproblem of min(n, D); memory O(D²), or O(n · D) where D is larger.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LDG_CONSTRAINTS,
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto", "grow"}),
        ],
        "refine": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
    }
    _accept_sparse: ClassVar[list[str] | bool] = ["csr"]
    components_: FloatArray
    eigenvalues_: NDArray[np.float64]
    n_components_: int
    n_neighbors_: int
    gamma_: float
    classes_: NDArray[Any]
    n_iter_: int
    objective_curve_: NDArray[np.float64]

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        n_neighbors: int | str = "cv",
        gamma: float | str = "cv",
        refine: bool = False,
        priors: ArrayLike | None = None,
        var_floor: float = 1e-3,
        max_iter: int = 50,
        tol: float = 1e-5,
        verbose: int = 0,
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.refine = refine
        self.priors = priors
        self.var_floor = var_floor
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the map.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The points. Sparse X with fewer features than rows is made dense.
        y : array-like of shape (n_samples,)
            Their classes, two at least.

        Returns
        -------
        self
        """
        # BLAS is held throughout: threads that it has woken for an eigenproblem would
        # spin on the cores that the search for neighbours needs.
        with self._unchanged_on_error(), single_threaded_blas():
            n_threads = effective_n_threads(self.n_jobs)
            random_state = source_of_chance(self.random_state)
            rows, classes, codes = labeled(self, X, y)
            priors = checked_priors(self.priors, codes)
            n_features = rows.shape[1]
            wanted = self._wanted(n_features)
            warn_of_small_classes(
                classes, np.bincount(codes), self.n_neighbors, itself=1
            )

            order = np.argsort(codes, kind="stable")
            codes = codes[order]
            span = span_of(without_rounding(rows[order]))
            points = span.coordinates
            floor = least_spread(points, self.var_floor)
            subset = ClassPoints.build(points, codes, floor)
            taken = sampled_rows(codes, random_state)
            sample = Sample(
                points[taken], codes[taken], priors, floor, n_features, random_state,
                n_threads,
            )  # fmt: skip
            k = self._chosen_n_neighbors(sample)
            neighbors = subset.nearest(k, None, n_threads)
            own, every = scatters(subset, neighbors, priors, n_features, n_threads)
            problem = EigenProblem.build(varying_axes(points, n_threads), own, every)

            def refined(found: Matrix) -> Any:
                objective = LocalGaussianObjective.build(
                    subset, neighbors, priors, n_features, n_threads
                )
                return self._refined(objective, found)

            solution = self._solve(
                problem, sample, k, wanted, span.basis_to_features,
                refined if self.refine else None,
            )  # fmt: skip
            self.classes_ = classes
        if solution is not None and not solution.success:
            warn_caller(
                f"Refinement did not converge in {solution.nit} iterations "
                f"({solution.message}); raise max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def _wanted(self, n_features: int) -> int:
        """Return how many dimensions are asked for; 0 where that is to be chosen."""
        if isinstance(self.n_components, str):
            return 0
        return checked_n_components(
            self.n_components, n_features, f"the {n_features} features of X", "'auto'"
        )

    def _chosen_n_neighbors(self, sample: Sample) -> int:
        """Return k, as given or chosen."""
        if not isinstance(self.n_neighbors, str):
            return self.n_neighbors
        return choose_n_neighbors(
            sample.points, sample.codes, sample.priors, sample.least_spread,
            sample.n_features, sample.random_state, sample.n_threads,
        )  # fmt: skip

    def _solve(
        self,
        problem: EigenProblem,
        sample: Sample,
        k: int,
        wanted: int,
        to_features: Callable[[Matrix], Matrix],
        refined: Callable[[Matrix], Any] | None = None,
    ) -> Any | None:
        """Choose γ and the dimension, solve eq. 6, and store what is found.

        Parameters
        ----------
        problem : EigenProblem
            V and A.
        sample : Sample
            The rows that choices are made on.
        k : int
            The number of neighbours.
        wanted : int
            How many dimensions; 0 where that is to be chosen.
        to_features : callable
            Takes orthonormal directions, in columns, to rows over the features.
        refined : callable or None, default=None
            Descends eq. 2 from directions, where that is wanted.
        """
        points, codes, n_threads = sample.points, sample.codes, sample.n_threads
        if isinstance(self.gamma, str):
            gamma = choose_gamma(problem, points, codes, n_threads)
        else:
            gamma = float(self.gamma)
        if self.n_components == "auto":
            wanted = choose_dimension(
                points, codes, sample.priors, sample.least_spread, sample.n_features,
                k, gamma, max(1, problem.rank), sample.random_state, n_threads,
            )  # fmt: skip
        values, found = problem.smallest(gamma, max(MOST_COMPONENTS, wanted))
        if self.n_components == "grow":
            Z = points @ found.astype(points.dtype)
            wanted = max(1, grown_dimensions(Z, codes, n_threads))
        solution = None
        if refined is not None and problem.rank > wanted:
            solution = refined(found[:, :wanted])
            subspace = orthonormal(solution.x.T)
            values, found = problem.ordered_in(gamma, subspace)
        components = same_signs(completed(to_features(found), wanted))
        self._store(components.astype(points.dtype), values, solution)
        self.gamma_, self.n_neighbors_ = gamma, k
        self.set_n_components(wanted)
        if self.verbose:
            print(  # noqa: T201
                f"[{type(self).__name__}] n_neighbors {k}, gamma {gamma:g}, "
                f"n_components {wanted}"
            )
        return solution

    def set_n_components(self, n_components: int) -> Self:
        """Change the dimension of the fitted map, at no cost.

        The eigenvectors are ordered: fewer dimensions are a prefix of more, and what a
        fit with that many would have found for the same k and γ.

        Parameters
        ----------
        n_components : int
            At most as many as were kept: 256, or n_components if that is larger, or
            the number of directions that X varies in if that is smaller. After
            refine=True, at most as many as were refined; fewer are then ordered by
            V − γA, but not refined anew.

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

    def _refined(self, objective: LocalGaussianObjective, start: Matrix) -> Any:
        """Descend eq. 2 from the eigenvectors."""
        solver = SOLVERS["lbfgs"](max_iter=self.max_iter, tol=self.tol)
        solution: Any = solver.maximize(objective, start.T, lambda *_: False)
        return solution

    def _store(
        self,
        components: FloatArray,
        eigenvalues: NDArray[np.float64],
        solution: Any | None,
    ) -> None:
        self._kept_components = components
        self._kept_eigenvalues = np.zeros(len(components))
        self._kept_eigenvalues[: len(eigenvalues)] = eigenvalues
        self.n_iter_ = 1
        self.__dict__.pop("objective_curve_", None)
        if solution is not None:
            self.n_iter_ += solution.nit
            self.objective_curve_ = -np.array(solution.curve)
