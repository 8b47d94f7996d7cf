"""Classification by soft neighbors under a learned metric."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state, gen_batches

from vicinal._typing import FloatArray
from vicinal.nca.nca import NCA, map_queries
from vicinal.neighborhood import NeighborWeights, effective_n_threads
from vicinal.objectives.nca import vote


@dataclass(eq=False, repr=False, kw_only=True)
class NCAClassifier(ClassifierMixin, NCA):
    """Classifier by the NCA rule: a vote of soft neighbors.

    p(c | x) = Σ_{j ∈ c} p_j with p_j ∝ exp(−‖A x − A x_j‖²) over the training points
    (eq. 3.25 of [1]_). With objective="class-density", each neighbor of class c has the
    weight p(c) / N_c (eq. 3.12). The map, its parameters and its attributes are those
    of :class:`vicinal.NCA`.

    The defaults are chosen for prediction: objective "log", and a penalty that is
    selected on held-out rows.

    Parameters
    ----------
    n_components, form, init, n_init, solver, n_neighbors, batch_size, n_references, \
anneal, early_stopping, validation_fraction, n_iter_no_change, warm_start, \
max_iter, tol, callback, verbose, random_state, n_jobs
        As for :class:`vicinal.NCA`.
    objective : {"log", "expected", "class-density", "squared-error"}, default="log"
        Objective to maximize, as for :class:`vicinal.NCA`; "log" gives the best
        probabilities.
    alpha : float or "auto", default="auto"
        λ of the penalty n · λ · ‖A‖². "auto" holds out a fifth of the rows (of at most
        1,000; several times if there are few rows), fits a short path of maps from a
        strong penalty to none, six iterations each, and selects the start and the
        penalty with the least log loss on those rows. The final fit is then limited to
        the same number of iterations, regardless of `max_iter`; a stochastic fit runs
        all `max_iter` iterations.
    class_prior : array-like of shape (n_classes,), "empirical" or None, default=None
        p(c) of "class-density", in the order of `classes_`; None is uniform.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    alpha_ : float
        Selected penalty, with alpha="auto"; infinity if no learned map predicted
        better than the start, which is then kept.
    init_ : str
        Selected start, with alpha="auto"; it ends in ", scaled up" if all points look
        alike at the scale that predicts best without learning.

    See Also
    --------
    vicinal.NCA : The map alone.
    vicinal.NCARegressor : Soft neighbors for continuous targets.
    vicinal.classic.LMNNClassifier : Classification by margins.

    Notes
    -----
    Cost: start and penalty are selected by up to eight short fits of six iterations
    each, on at most a thousand rows, followed by the final fit. Each evaluation costs
    as much as for :class:`vicinal.NCA`. Prediction of m rows takes O(mnd).

    References
    ----------
    .. [1] Oneață. Fast low-rank metric learning. University of Edinburgh, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from vicinal import NCAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NCAClassifier(n_components=2)
    >>> bool(cross_val_score(model, X, y).mean() > 0.94)
    True
    """

    objective: Any = "log"
    alpha: float | str = "auto"

    def _attributes_of(
        self, problem: Any, components: FloatArray, points: FloatArray | None = None
    ) -> dict[str, Any]:
        """Return the fitted attributes of a map, including the points that vote."""
        state = super()._attributes_of(problem, components)
        if points is None:
            points = problem.mapped(state["components_"])
        codes, weights = problem.codes, problem.weights
        weight_of_one = np.ones(len(codes))
        if self.objective == "class-density":
            sizes = np.bincount(codes, weights=weights)
            weight_of_one = (problem.prior / sizes)[codes]
        return state | {
            "_offset": problem.offset,
            "classes_": problem.classes,
            "_codes": codes,
            "_points": points,
            "_weights": NeighborWeights.build(weights, weight_of_one, points.dtype),
        }

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return p(c | x) of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points. A training point is among its own neighbors.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Classes in the order of `classes_`.
        """
        queries = map_queries(self, X)
        n_threads = effective_n_threads(self.n_jobs)
        known = self._points, self._codes, len(self.classes_), self._weights
        proba = vote(queries, *known, n_threads)
        return proba / proba.sum(axis=1, keepdims=True)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each point (eq. 3.24).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def sample_predict(
        self, X: ArrayLike, random_state: int | np.random.RandomState | None = None
    ) -> NDArray[Any]:
        """Return the class of a random neighbor of each point (NCA, section 6).

        The neighbor is j with probability p_j, so that the class is c with probability
        p(c | x): the stochastic rule that the map was learned for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.
        random_state : int, RandomState or None, default=None
            Seed.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        bounds = self.predict_proba(X).cumsum(axis=1)
        draws = check_random_state(random_state).uniform(size=(len(bounds), 1))
        return self.classes_[(draws * bounds[:, -1:] >= bounds).sum(axis=1)]

    def effective_neighbors(self, X: ArrayLike) -> FloatArray:
        """Return the effective number of neighbors of new points (NCA, section 6).

        It is the perplexity exp(−Σ_j p_j log p_j) over the training points: a local
        estimate of k. `effective_neighbors_` has it for the training points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points. A training point is among its own neighbors.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        queries = map_queries(self, X).astype(np.float64)
        points = self._points.astype(np.float64)
        found = np.empty(len(queries))
        for rows in gen_batches(len(queries), max(1, 2**22 // len(points))):
            exponents = -cdist(queries[rows], points, "sqeuclidean")
            exponents -= self._weights.log_offsets
            log_p = exponents - logsumexp(exponents, axis=1, keepdims=True)
            # A row of weight w is w points, with p_j / w each.
            information = log_p - np.log(self._weights.counts)
            found[rows] = np.exp(-(np.exp(log_p) * information).sum(axis=1))
        return found
