"""NCA's objectives f and g, and their gradients."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import column_or_1d

from vicinal._typing import FloatArray
from vicinal.neighborhood import (
    ClassRuns,
    ExpectedMatches,
    LogMatches,
    Rule,
    back_project,
    effective_n_threads,
    project,
    pull,
)

_RULES: dict[str, Callable[[ClassRuns], Rule]] = {
    "expected": ExpectedMatches,
    "log": LogMatches,
}

# Beyond this a squared distance between float32 rows could overflow.
_FLOAT32_LIMIT = 1e15


class NCAObjective:
    """How well a linear map makes points pick neighbours of their own class.

    Point i picks j ≠ i as its neighbour with probability
    p_ij ∝ exp(−‖A x_i − A x_j‖²) (eq. 1 of [1]_), so that it is classified rightly
    with probability p_i = Σ_{j: c_j = c_i} p_ij (eq. 2).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points. float32 is computed with in float32, anything else in float64.
    y : array-like of shape (n_samples,)
        Their classes.
    kind : {"expected", "log"}, default="expected"
        "expected" is f(A) = Σ_i p_i (eq. 3), the expected number of points that are
        classified rightly; "log" is g(A) = Σ_i log p_i (eq. 6). A point alone in its
        class has p_i = 0 under any map: g leaves its term out.
    n_jobs : int or None, default=None
        Threads; None is as many as BLAS would use. The result does not depend on it.

    References
    ----------
    .. [1] Goldberger, Roweis, Hinton, Salakhutdinov. Neighbourhood Components
       Analysis. Advances in Neural Information Processing Systems 17, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = NCAObjective(X, [0, 0, 1, 1])
    >>> value, gradient = objective.value_and_gradient(np.eye(2))
    >>> round(value, 4), gradient.shape
    (3.745, (2, 2))
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        kind: str = "expected",
        *,
        n_jobs: int | None = None,
    ) -> None:
        if kind not in _RULES:
            raise ValueError(f"kind must be one of {sorted(_RULES)}, got {kind!r}.")
        self.X: FloatArray = check_array(
            X, dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        labels = column_or_1d(y)
        check_consistent_length(X, labels)
        if self.X.dtype == np.float32 and np.abs(self.X).max() > _FLOAT32_LIMIT:
            self.X = self.X.astype(np.float64)
        codes = np.unique(labels, return_inverse=True)[1]
        # The rules want each class to be one run of points.
        self._order = np.argsort(codes, kind="stable")
        self._rule = _RULES[kind](ClassRuns.from_sorted(codes[self._order]))
        self._n_threads = effective_n_threads(n_jobs)

    def value_and_gradient(self, components: ArrayLike) -> tuple[float, FloatArray]:
        """Evaluate at a map, in O(dDn + dn²) and without an n×n array.

        The gradient is 2 Σ_ij v_ij (A x_ij) x_ijᵀ with the rule's weights v_ij
        (eq. 5 and 7), which is 2 (L Z)ᵀX for the Laplacian L of v and Z = X Aᵀ.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features)
            The map A.

        Returns
        -------
        value : float
            f(A) or g(A): a sum over the points, not a mean.
        gradient : ndarray of shape (n_components, n_features)
            Its derivative with respect to A.
        """
        A = np.asarray(components, dtype=self.X.dtype)
        if A.ndim != 2 or A.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"components must have shape (n_components, {self.X.shape[1]}), "
                f"got {A.shape}."
            )
        Z = project(self.X, A, self._n_threads)[self._order]
        values, product = pull(Z, self._rule, self._n_threads)
        LZ = np.empty_like(Z)
        LZ[self._order] = product
        gradient = back_project(LZ, self.X, self._n_threads)
        gradient *= 2
        return float(values.sum(dtype=np.float64)), gradient
