"""What metric-learn's learners of pairs share, from pairs and from labels."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if

from vicinal.classic.tuples import TupleMetric, of_tuples
from vicinal.compat.metric_learn._shared import (
    MetricLearnNames,
    check_tuples,
    n_pairs_of,
)


class LearnsFromPairs(MetricLearnNames):
    """A fit to pairs, with metric-learn's calibration of the threshold."""

    _strict: ClassVar[bool] = False

    def _fit_pairs(
        self, pairs: Any, y: Any, calibration: dict[str, Any] | None, **more: Any
    ) -> Self:
        check_tuples(pairs, self.preprocessor, "pairs", 2)
        with self._as_ours(**self._translated(self._tuple_width(pairs)), **more):
            super().fit(pairs, y)  # type: ignore[misc]
        if calibration:
            self.calibrate_threshold(pairs, y, **calibration)
        return self

    @available_if(of_tuples)
    def calibrate_threshold(
        self,
        pairs_valid: ArrayLike,
        y_valid: ArrayLike,
        strategy: str = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Self:
        """Set the threshold that serves best on pairs.

        Parameters
        ----------
        pairs_valid, y_valid, strategy, min_rate, beta
            As `pairs`, `y` and so on of vicinal's own method.

        Returns
        -------
        self
        """
        calibrated: Self = super().calibrate_threshold(  # type: ignore[misc]
            pairs_valid, y_valid, strategy, min_rate=min_rate, beta=beta
        )
        return calibrated

    def _translated(self, n_features: int) -> dict[str, Any]:
        """Return our estimator's parameters."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        # Known before the fit, as this name learns from nothing else: scikit-learn then
        # draws folds with pairs of both kinds.
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


class LearnsFromLabels:
    """A fit to points, or their indices, and labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type, tags.classifier_tags = "transformer", None
        return tags

    def _fit_labels(self: Any, X: Any, y: Any, **more: Any) -> Any:
        points, y = self._known(X, y)
        n = n_pairs_of(self._renamed("num_constraints", "n_constraints"), y)
        ours = {
            **self._translated(int(np.shape(points)[1])),
            "n_constraints": 2 * n,
            **more,
        }
        with self._as_ours(**ours, preprocessor=None):
            TupleMetric.fit(self, points, y)
        return self
