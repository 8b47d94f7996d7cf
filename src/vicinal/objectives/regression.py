"""Objectives for continuous targets: soft matches, and kernel regression."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_X_y
from sklearn.utils.validation import _check_sample_weight

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.neighborhood import NeighborWeights, Rule, SoftMatches, SquaredErrors
from vicinal.objectives.base import PairObjective
from vicinal.objectives.losses import CustomRule

_RULES: dict[str, type[SoftMatches]] = {
    "soft-match": SoftMatches,
    "squared-error": SquaredErrors,
}


class TargetObjective(PairObjective):
    """How well a linear map makes points pick neighbours with targets like their own.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points.
    y : array-like of shape (n_samples,)
        Their targets, numbers.
    kind : {"soft-match", "squared-error"}, default="soft-match"
        "soft-match" is Σ_i Σ_j p_ij κ_ij with κ_ij = exp(−(y_i − y_j)² / (2 w²)), the
        agreement of the targets (NCA, section 5). "squared-error" is
        −Σ_i (y_i − Σ_j p_ij y_j)², the objective of metric learning for kernel
        regression.
    width : float, default=1.0
        w: how far apart two targets are that still agree.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        How many equal points each row stands for. Rows of weight 0 are left out.
    n_jobs : int or None, default=None
        Threads; None is as many as BLAS would use.

    See Also
    --------
    vicinal.NCARegressor : Maximises it.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import TargetObjective
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = TargetObjective(X, [0.0, 0.1, 1.0, 1.1], kind="squared-error")
    >>> value, gradient = objective.value_and_gradient(np.eye(2))
    >>> gradient.shape
    (2, 2)
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        kind: str = "soft-match",
        *,
        width: float = 1.0,
        sample_weight: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        if kind not in _RULES:
            raise ValueError(f"kind must be one of {sorted(_RULES)}, got {kind!r}.")
        if not width > 0:
            raise ValueError(f"width must be above 0, got {width}.")
        points, targets = check_X_y(
            X, y, dtype=FLOATS, y_numeric=True, ensure_min_samples=2
        )
        counts = _check_sample_weight(
            sample_weight, points, dtype=np.float64, ensure_non_negative=True
        )
        if not counts.all():
            kept = counts > 0
            points, targets, counts = points[kept], targets[kept], counts[kept]
        self._build(points, targets.astype(np.float64), kind, width, counts, n_jobs)

    @classmethod
    def from_validated(
        cls,
        X: FloatArray,
        targets: FloatArray,
        kind: Any,
        width: float,
        counts: FloatArray,
        n_jobs: int | None,
    ) -> Self:
        """Build from points, float64 targets and counts that have been validated."""
        objective = cls.__new__(cls)
        objective._build(X, targets, kind, width, counts, n_jobs)
        return objective

    def _build(
        self,
        X: FloatArray,
        targets: FloatArray,
        kind: Any,
        width: float,
        counts: FloatArray,
        n_jobs: int | None,
    ) -> None:
        if kind == "soft-match":
            targets = targets / (np.sqrt(2) * width)
        # Only differences count, and those of large numbers lose digits in float32.
        self._targets = targets - targets.mean()
        self._kind: Any = _RULES[kind] if isinstance(kind, str) else kind
        n = len(X)
        super().__init__(X, np.arange(n), counts, np.ones(n), n_jobs)

    def subset(self, points: IntArray) -> Self:
        """Return the objective of some of the points alone; see `PairObjective`."""
        other = super().subset(points)
        other._targets = self._targets[points]
        return other

    def _make_rule(self, masses: NeighborWeights) -> Rule:
        if not isinstance(self._kind, type):
            data = self._kind.prepare(self._targets, self.counts)
            return CustomRule(self._kind, data, masses.counts)
        return self._kind(self._targets.astype(masses.log_offsets.dtype), masses)
