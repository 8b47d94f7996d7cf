"""Classification by soft neighbours under a learned metric."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from vicinal._typing import FloatArray
from vicinal.nca._data import ClassificationData
from vicinal.nca._nca import NCA
from vicinal.neighborhood import NeighborWeights, effective_n_threads
from vicinal.objectives.nca import vote


class NCAClassifier(ClassifierMixin, NCA):
    """Classifier by the NCA rule: neighbours vote as NCA lets them be picked.

    p(c | x) = Σ_{j ∈ c} p_j with p_j ∝ exp(−‖A x − A x_j‖²) over the training points
    (eq. 3.25 of [1]_); with objective="class-density" the neighbours of class c weigh
    p(c) / N_c each (eq. 3.12). The map comes from :class:`vicinal.NCA`, whose
    parameters and attributes these are.

    Parameters
    ----------
    n_components, objective, form, init, solver, neighbors, batch_size, n_references, \
alpha, anneal, early_stopping, validation_fraction, n_iter_no_change, warm_start, \
max_iter, tol, callback, verbose, random_state, n_jobs
        As for :class:`vicinal.NCA`.
    class_prior : array-like of shape (n_classes,), "empirical" or None, default=None
        p(c) of "class-density", in the order of `classes_`; None is uniform.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.

    References
    ----------
    .. [1] Oneață. Fast low-rank metric learning. University of Edinburgh, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from vicinal import NCAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NCAClassifier(n_components=2, max_iter=200)
    >>> bool(cross_val_score(model, X, y).mean() > 0.94)
    True
    """

    classes_: NDArray[Any]

    def _attributes_of(
        self, problem: ClassificationData, components: FloatArray
    ) -> dict[str, Any]:
        """Return the fitted attributes that follow from a map."""
        state = super()._attributes_of(problem, components)
        codes, weights = problem.codes, problem.weights
        mass_of_one = np.ones(len(codes))
        if self.objective == "class-density":
            sizes = np.bincount(codes, weights=weights)
            mass_of_one = (problem.prior / sizes)[codes]
        return {
            **state,
            "classes_": problem.classes,
            "_codes": codes,
            "_points": problem.X @ state["components_"].T,
            "_masses": NeighborWeights.build(weights, mass_of_one, problem.X.dtype),
        }

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return p(c | x) of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points. A training point counts itself among its neighbours.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Classes in the order of `classes_`.
        """
        queries = self._queries(X)
        n_threads = effective_n_threads(self.n_jobs)
        known = self._points, self._codes, len(self.classes_), self._masses
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
