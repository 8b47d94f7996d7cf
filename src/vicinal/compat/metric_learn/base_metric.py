"""metric-learn's module `base_metric`: what its estimators are instances of."""

from vicinal.base.metric import LinearMetric as MahalanobisMixin
from vicinal.compat.metric_learn._shared import MetricLearnNames as BaseMetricLearner

MetricTransformer = BaseMetricLearner

__all__ = ["BaseMetricLearner", "MahalanobisMixin", "MetricTransformer"]
