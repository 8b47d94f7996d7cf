"""MCML's objective: each point's neighbours are those of its class, all alike."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets

from vicinal._typing import FLOATS, IntArray
from vicinal.neighborhood import ClassRuns, CollapsedClasses, NeighborWeights, Rule
from vicinal.objectives.base import PairObjective


class MCMLObjective(PairObjective):
    """How near a linear map comes to collapsing the classes, each to one point.

    Then point i would pick each other point of its class with the same probability
    p⁰_ij = 1 / (N_c − 1), and no other. The value is, up to a constant, minus the
    divergence of the p_ij ∝ exp(−‖A x_i − A x_j‖²) from that,

        Σ_i Σ_{j ≠ i, c_j = c_i} log p_ij / (N_c − 1)

    (eq. 2 and 3 of [1]_), which is concave in AᵀA. Points alone in their class have no
    term.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points; float32 is computed with in float32.
    y : array-like of shape (n_samples,)
        Their classes.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    See Also
    --------
    vicinal.classic.MCML : Maximises it.

    References
    ----------
    .. [1] Globerson, Roweis. Metric Learning by Collapsing Classes. Advances in Neural
       Information Processing Systems 18, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import MCMLObjective
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> value, gradient = MCMLObjective(X, [0, 0, 1, 1]).value_and_gradient(np.eye(2))
    >>> round(value, 4), gradient.shape
    (-0.2635, (2, 2))
    """

    def __init__(
        self, X: ArrayLike, y: ArrayLike, *, n_jobs: int | None = None
    ) -> None:
        points, labels = check_X_y(X, y, dtype=FLOATS, ensure_min_samples=2)
        check_classification_targets(labels)
        codes = LabelEncoder().fit_transform(labels)
        order = np.argsort(codes, kind="stable")
        ones = np.ones(len(codes))
        super().__init__(points, order, ones, ones, n_jobs)
        self._codes = codes[order]

    def subset(self, points: IntArray) -> Self:
        """Return the objective of some of the points alone; see `PairObjective`."""
        other = super().subset(points)
        other._codes = self._codes[points]
        return other

    def _make_rule(self, masses: NeighborWeights) -> Rule:
        return CollapsedClasses(ClassRuns.from_sorted(self._codes), masses)
