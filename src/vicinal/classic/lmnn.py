"""Large-margin nearest neighbours."""

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

# Up to so many rows impostors are found anew at each evaluation.
FEW_ROWS = 8_000
# From so many rows on, "auto" takes mini-batches, of so many points.
MANY_ROWS, BATCH_SIZE = 100_000, 1_024
# Mini-batches in an iteration, and iterations that impostors are kept for.
_STEPS, _KEPT_FOR = 10, 10
# Points at which the scale of the start is judged.
_SAMPLE = 512


class LMNN(CallbackSupportMixin, LinearMetric):
    """Large-margin nearest neighbours.

    Learns the linear map under which the k nearest points of its own class, fixed
    beforehand, are near to a point, and all points of other classes farther away than
    these by a margin of 1 [1]_ [2]_: the least

        r Σ_ij ‖A x_ij‖² + (1 − r) Σ_ij Σ_l [1 + ‖A x_ij‖² − ‖A x_il‖²]₊

    over points i, their target neighbours j, and l of other classes.

    Parameters
    ----------
    n_neighbors : int, default=3
        k, the target neighbours of each point: its nearest in X, of its class. A class
        of fewer gives as many as it has.
    n_components : int or None, default=None
        Rows of the map. None is the number of features or, with more features than
        rows, of the dimensions that the rows differ in.
    init : {"auto", "pca", "lda", "rca", "whiten", "identity", "random"} or \
array-like, default="auto"
        The map to start from, as for :class:`vicinal.NCA`; one that has a name is
        scaled so that the loss is least. An array has shape (n_components, n_features).
    regularization : float, default=0.5
        r, between 0 and 1: how much nearness of target neighbours counts beside
        impostors. 1 − r is the μ of [2]_.
    batch_size : int, "auto" or None, default="auto"
        Points whose terms an iteration's ten small steps look at, each drawn anew, with
        impostors among all rows; None is L-BFGS over all points. "auto" is None up to
        100,000 rows, then 1,024. Mini-batches do all of `max_iter`, whatever `tol` is.
    max_iter : int, default=50
        Iterations at most.
    tol : float, default=1e-5
        Stop when an iteration gains less than this, relative to the loss.
    callback : callable or None, default=None
        Called after each iteration with the flattened map and the iteration's number,
        from 1; raising StopIteration ends the fit there. The map is that of the
        centred, scaled rows.
    verbose : int, default=0
        Above 0, prints a line for each iteration.
    random_state : int, RandomState or None, default=None
        For init="random", the randomised PCA of large data, the points at which the
        scale of the start is judged, and mini-batches.
    n_jobs : int or None, default=None
        Threads. None is as many as BLAS would use; −1 is all cores. The result is
        the same for any number.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The learned map A; float32 if X is.
    n_iter_ : int
        Iterations, 1 at least.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        Minus the loss at the start and after each iteration.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    LMNNClassifier : Classifies by what a point would add to the loss.

    Notes
    -----
    Impostors are found exactly, a block of rows at a time; what is held are sparse
    lists of them. Up to 8,000 rows they are found at each evaluation; with more rows
    every ten iterations, with some who might become impostors until then, and rounds
    that new impostors would undo are taken back. Where there are more than 16 million
    at a time, a random part stands for all.

    Nothing of the loss depends on the unit of X but where it starts from. Standardise
    features of different units.

    Cost: O(n²d) to find impostors, in blocks of rows, then as many terms as there are;
    memory holds lists of them.

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
        """Learn the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            Their classes, two at least.

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
    """LMNN's objective, of which terms of random points are drawn."""

    objective: LMNNObjective
    batch_size: int

    def draw(self, rng: Generator) -> Objective:
        """Return the terms of some points, scaled up to the number of all."""
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
