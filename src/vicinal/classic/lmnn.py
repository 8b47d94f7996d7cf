"""Large margin nearest neighbors."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import CallbackSupportMixin, LinearMetric, warn_caller
from vicinal.classic._gradient import (
    GRADIENT_CONSTRAINTS,
    Evaluate,
    at_least_one,
    fit_by_gradient,
)
from vicinal.objectives import LMNNObjective
from vicinal.optimize import LBFGS, Objective, Refreshed, Stochastic

# Up to this number of rows, impostors are searched at each evaluation.
FEW_ROWS = 8_000
# From this number of rows on, "auto" uses mini-batches of the given size.
MANY_ROWS, BATCH_SIZE = 100_000, 1_024
# Mini-batches in an iteration, and iterations between two searches for impostors.
_STEPS, _KEPT_FOR = 10, 10
# Number of points that are used to scale the start.
_SAMPLE = 512


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
    batch_size : int, "auto" or None, default="auto"
        Number of random points in each of an iteration's ten steps, with impostors
        from all rows; None is L-BFGS over all points. "auto" is None up to 100,000
        rows, then 1,024. Mini-batches run for `max_iter` iterations and ignore `tol`.
    max_iter : int, default=50
        Maximum number of iterations.
    tol : float, default=1e-5
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GRADIENT_CONSTRAINTS,
        "n_neighbors": [at_least_one],
        "regularization": [Interval(Real, 0, 1, closed="neither")],
        "batch_size": [at_least_one, StrOptions({"auto"}), None],
    }

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        n_components: int | None = None,
        init: str | ArrayLike = "auto",
        regularization: float = 0.5,
        batch_size: int | str | None = "auto",
        max_iter: int = 50,
        tol: float = 1e-5,
        callback: Callable[[FloatArray, int], object] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.init = init
        self.regularization = regularization
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

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
        fit_by_gradient(self, X, y)
        return self

    def _more(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Return further fitted attributes."""
        return {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _problem(
        self, X: FloatArray, codes: IntArray, seed: int
    ) -> tuple[Any, Any, Evaluate]:
        if np.bincount(codes).max() < 2:
            raise ValueError(
                f"{type(self).__name__} needs a class of two rows at least: where each "
                "row is alone in its class, there are no target neighbours."
            )
        sizes = np.bincount(codes)
        if (small := int((sizes <= self.n_neighbors).sum())) > 0:
            warn_caller(
                f"n_neighbors={self.n_neighbors} is more than {small} of the "
                f"{len(sizes)} classes can give: the smallest has {sizes.min()} rows. "
                "Their rows have as many target neighbours as there are."
            )
        n = len(X)
        batch_size = self._batch_size(n)
        objective = LMNNObjective(
            X,
            codes,
            self.n_neighbors,
            regularization=self.regularization,
            keep_lists=batch_size is None and n > FEW_ROWS,
            n_jobs=self.n_jobs,
        )
        if batch_size is None:
            objective.find_targets()
        rng = np.random.default_rng(seed)
        sample = np.sort(rng.choice(n, min(n, _SAMPLE), replace=False))
        evaluate = objective.of_queries(sample).value_and_gradient
        if batch_size is not None:
            batches = MinibatchLMNN(objective, min(n, batch_size))
            return batches, Stochastic(self.max_iter, seed, _STEPS), evaluate
        if n <= FEW_ROWS:
            return objective, LBFGS(self.max_iter, self.tol), evaluate
        rounds = Refreshed(
            objective.refresh,
            lambda _: False,
            {"max_iter": self.max_iter, "tol": self.tol},
            _KEPT_FOR,
        )
        return objective, rounds, evaluate

    def _batch_size(self, n: int) -> int | None:
        if not isinstance(self.batch_size, str):
            return self.batch_size
        return None if n <= MANY_ROWS else BATCH_SIZE


@dataclass(frozen=True)
class MinibatchLMNN:
    """LMNN objective from which the terms of random points are drawn."""

    objective: LMNNObjective
    batch_size: int

    def draw(self, rng: Generator) -> Objective:
        """Return the terms of random points, scaled to the number of all points."""
        n = len(self.objective.X)
        queries = np.sort(rng.choice(n, self.batch_size, replace=False))
        part = self.objective.of_queries(queries)
        return _Scaled(part, n / self.batch_size)


@dataclass(frozen=True)
class _Scaled:
    objective: Objective
    factor: float

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.objective.value_and_gradient(components)
        return self.factor * value, self.factor * gradient
