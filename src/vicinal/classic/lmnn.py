"""Large margin nearest neighbors, and the energy-based classifier."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.metric import (
    CallbackSupportMixin,
    LinearMetric,
    labeled,
    validate_data,
    warn_caller,
)
from vicinal.classic._shared import (
    GRADIENT_CONSTRAINTS,
    at_least_one,
    fit_map,
    initial_map,
    unit_span,
)
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.neighborhood.nearest import hinge_energies
from vicinal.objectives import LMNNObjective
from vicinal.optimize import Refreshed, Stochastic

# Up to this number of rows, impostors are searched at each evaluation.
FEW_ROWS = 8_000


@dataclass(eq=False, repr=False)
class LMNN(CallbackSupportMixin, LinearMetric):
    """Large margin nearest neighbors.

    Learns a linear map that brings each point close to its k target neighbors (the
    nearest points of the same class, fixed in advance) and separates all points of
    other classes by a margin of 1 [1]_ [2]_. The loss is

        r Σ_ij ‖A x_ij‖² + (1 − r) Σ_ij Σ_l [1 + ‖A x_ij‖² − ‖A x_il‖²]₊

    summed over points i, their target neighbors j, and points l of other classes.

    Parameters
    ----------
    n_neighbors : int, default=3
        k, the number of target neighbors of each point: its nearest neighbors in X
        of the same class. Smaller classes use as many as they have.
    n_components : int or None, default=None
        Number of rows of the map. None is the number of features or, with more
        features than rows, the dimension of the span of the centered rows.
    init : {"auto", "pca", "lda", "rca", "whiten", "identity", "random"} or \
array-like, default="auto"
        Initial map, as for :class:`vicinal.NCA`; a named one is scaled to minimize
        the loss. An array has shape (n_components, n_features).
    regularization : float, default=0.5
        r, between 0 and 1: the weight of the distances to target neighbors relative
        to impostors. 1 − r is the μ of [2]_.
    batch_size : int, "all" or "auto", default="auto"
        Number of random points in each of an iteration's ten steps, with impostors
        from all rows; "all" is L-BFGS over all points. "auto" is "all" up to 100,000
        rows, then 1,024. Mini-batches run for `max_iter` iterations and ignore `tol`.
    max_iter : int, default=50
        Maximum number of iterations.
    tol : float, default=1e-3
        Stop if an iteration gains less than this, relative to the loss.
    callback : callable or None, default=None
        Called after each iteration with the flattened map and the iteration number,
        starting from 1; raising StopIteration ends the fit. The map is that of the
        centered, scaled rows.
    verbose : int, default=0
        If positive, print a line for each iteration.
    random_state : int, RandomState or None, default=None
        Seed for init="random", the randomized PCA of large data, the points that are
        used to scale the start, and mini-batches.
    n_jobs : int or None, default=None
        Number of threads. None uses as many as BLAS would; −1 uses all cores. The
        result does not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The learned map A; float32 if X is.
    n_iter_ : int
        Number of iterations, at least 1.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        Minus the loss at the start and after each iteration.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    LMNNClassifier : Energy-based classification with the LMNN loss.

    Notes
    -----
    Impostors are found exactly, in blocks of rows, and stored as sparse lists. Up to
    8,000 rows, they are searched at each evaluation. With more rows, they are searched
    every ten iterations, together with points that might become impostors until then;
    iterations whose gain is lost to new impostors are rejected. If there are more than
    16 million impostors, a random sample represents them.

    Only the start depends on the unit of X. Standardize features of different units.

    Cost: O(n²d) for the search for impostors, in blocks of rows, then linear in their
    number. Memory is linear in the number of impostors.

    References
    ----------
    .. [1] Weinberger, Blitzer, Saul. Distance Metric Learning for Large Margin Nearest
       Neighbor Classification. Advances in Neural Information Processing Systems 18,
       2005.
    .. [2] Weinberger, Saul. Distance Metric Learning for Large Margin Nearest Neighbor
       Classification. Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal.classic import LMNN
    >>> X, y = load_wine(return_X_y=True)
    >>> learned = LMNN(n_components=5, max_iter=200)
    >>> model = make_pipeline(StandardScaler(), learned, KNeighborsClassifier(3))
    >>> bool(cross_val_score(model, X, y).mean() > 0.95)
    True
    """

    _requires_y: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GRADIENT_CONSTRAINTS,
        "n_neighbors": [at_least_one],
        "regularization": [Interval(Real, 0, 1, closed="neither")],
        "batch_size": [at_least_one, StrOptions({"all", "auto"})],
    }

    n_neighbors: int = 3
    _: KW_ONLY
    n_components: int | None = None
    init: str | ArrayLike = "auto"
    regularization: float = 0.5
    batch_size: int | str = "auto"
    max_iter: int = 50
    tol: float = 1e-3
    callback: Callable[[FloatArray, int], object] | None = None
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            Class labels; at least two classes.

        Returns
        -------
        self
        """
        self._fit(X, y)
        return self

    def _fit(
        self, X: Any, y: Any
    ) -> tuple[FloatArray, NDArray[Any], IntArray, LMNNObjective]:
        """Fit; return the validated points, the labels, the codes and the objective."""
        with self._unchanged_on_error(), single_threaded_blas():
            X, classes, codes = labeled(self, X, y)
            self._check_class_sizes(np.bincount(codes))
            random_state = check_random_state(self.random_state)
            seed = int(random_state.randint(2**31 - 1))
            n, batch_size = len(X), self.batch_size
            if batch_size == "auto":
                batch_size = "all" if n <= 100_000 else 1_024
            span = unit_span(X)
            objective = LMNNObjective(
                span.coordinates,
                codes,
                self.n_neighbors,
                regularization=self.regularization,
                keep_lists=batch_size == "all" and n > FEW_ROWS,
                n_jobs=self.n_jobs,
            )
            if batch_size == "all":
                objective.find_targets()
            # The terms of up to 512 points scale the start.
            rng = np.random.default_rng(seed)
            some = objective.of_queries(np.sort(rng.permutation(n)[:512]))
            start = initial_map(
                self,
                span,
                codes,
                lambda A: some.value_and_gradient(A)[1],
                random_state,
            )
            problem: Any = objective
            solver: Any = None
            if not isinstance(batch_size, str):
                problem = MinibatchLMNN(objective, min(n, batch_size))
                solver = Stochastic(self.max_iter, seed, steps=10)
            elif n > FEW_ROWS:
                how = {"max_iter": self.max_iter, "tol": self.tol}
                solver = Refreshed(objective.refresh, lambda _: False, how)
            fit_map(self, X, codes, span, problem, start, solver)
        return X, classes, codes, objective

    def _check_class_sizes(self, sizes: IntArray) -> None:
        if sizes.max() < 2:
            raise ValueError(
                f"{type(self).__name__} needs a class of two rows at least: otherwise "
                "there are no target neighbors."
            )
        if (small := int((sizes <= self.n_neighbors).sum())) > 0:
            warn_caller(
                f"n_neighbors={self.n_neighbors} is more than {small} of the "
                f"{len(sizes)} classes can give: the smallest has {sizes.min()} rows. "
                "Their rows have as many target neighbors as there are."
            )


@dataclass(frozen=True)
class MinibatchLMNN:
    """LMNN objective of some points, scaled to the number of all points.

    Attributes
    ----------
    objective : LMNNObjective
        The objective.
    batch_size : int
        Number of points that `draw` returns.
    """

    objective: LMNNObjective
    batch_size: int

    def draw(self, rng: Generator) -> "MinibatchLMNN":
        """Return the objective of random points."""
        n = len(self.objective.X)
        queries = np.sort(rng.choice(n, self.batch_size, replace=False))
        return replace(self, objective=self.objective.of_queries(queries))

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate the objective at a map."""
        value, gradient = self.objective.value_and_gradient(components)
        factor = len(self.objective.X) / len(self.objective.queries)
        return factor * value, factor * gradient


class LMNNClassifier(ClassifierMixin, LMNN):
    """Energy-based classifier of large margin nearest neighbors.

    A new point is assigned to the class in which it adds least to the LMNN loss (eq. 16
    of [1]_). The energy has three parts: the distances to its k nearest points of that
    class; the points of other classes that are nearer than these plus a margin of 1;
    and the margins of other classes' points that it violates as an impostor. It
    usually has a lower error than k-NN under the same metric. The metric, its
    parameters and its attributes are those of :class:`vicinal.classic.LMNN`.

    Parameters
    ----------
    n_neighbors, n_components, init, regularization, batch_size, max_iter, tol, \
callback, verbose, random_state, n_jobs
        As for :class:`vicinal.classic.LMNN`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.

    See Also
    --------
    vicinal.classic.LMNN : The map alone.
    vicinal.NCAClassifier : Soft neighbors instead of margins.

    Notes
    -----
    Cost: as for :class:`vicinal.classic.LMNN`; prediction of m rows takes O(mnd).

    References
    ----------
    .. [1] Weinberger, Saul. Distance Metric Learning for Large Margin Nearest Neighbor
       Classification. Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal.classic import LMNNClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LMNNClassifier(max_iter=200))
    >>> bool(cross_val_score(model, X, y).mean() > 0.95)
    True
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the map, and store the mapped points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            Class labels; at least two classes.

        Returns
        -------
        self
        """
        points, self.classes_, codes, objective = self._fit(X, y)
        # Sorted by class, with the distances to the target neighbors plus the margin.
        Z = (points @ self.components_.T)[objective.order]
        distances = objective.target_distances(Z)
        self._points = Z
        self._bounds = np.concatenate([[0], np.cumsum(np.bincount(codes))])
        self._reach = np.where(distances < 0, -1.0, distances + 1).astype(Z.dtype)
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return minus the energy of each point in each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            Classes in the order of `classes_`; with two classes, the second minus the
            first.
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=FLOATS)
        A = self.components_
        energies = hinge_energies(
            points.astype(A.dtype, copy=False) @ A.T,
            self._points,
            self._bounds,
            self._reach,
            self.n_neighbors,
            (self.regularization, 1 - self.regularization),
            effective_n_threads(self.n_jobs),
        )
        if len(self.classes_) == 2:
            return energies[:, 0] - energies[:, 1]
        return -energies

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of least energy for each point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        decision = self.decision_function(X)
        if decision.ndim == 1:
            return self.classes_[(decision > 0).astype(int)]
        return self.classes_[decision.argmax(axis=1)]
