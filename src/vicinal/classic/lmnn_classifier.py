"""Energy-based classification with LMNN."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.metric import validate_data
from vicinal.classic.lmnn import LMNN, MinibatchLMNN
from vicinal.neighborhood import effective_n_threads
from vicinal.neighborhood.nearest import hinge_energies


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

    classes_: NDArray[Any]
    _points: FloatArray
    _bounds: IntArray
    _reach: FloatArray

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
        super().__init__(
            n_neighbors,
            n_components=n_components,
            init=init,
            regularization=regularization,
            batch_size=batch_size,
            max_iter=max_iter,
            tol=tol,
            callback=callback,
            verbose=verbose,
            random_state=random_state,
            n_jobs=n_jobs,
        )

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
        super().fit(X, y)
        self.classes_ = np.unique(column_or_1d(y))
        return self

    def _more(
        self, objective: Any, X: FloatArray, codes: IntArray, components_: FloatArray
    ) -> dict[str, Any]:
        """Return the mapped points by class, and the distances to their targets."""
        if isinstance(objective, MinibatchLMNN):
            objective = objective.objective
        Z = (X @ components_.T)[objective.order]
        distances = objective.target_distances(Z)
        return {
            "_points": Z,
            "_bounds": np.concatenate([[0], np.cumsum(np.bincount(codes))]),
            "_reach": np.where(distances < 0, -1.0, distances + 1).astype(Z.dtype),
        }

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
            difference: FloatArray = energies[:, 0] - energies[:, 1]
            return difference
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
