"""Fits inside a comparison: their warnings, and fits on halves of the rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray

__all__ = ["cluster_agreement", "fit_catching_warnings"]

# scikit-learn's own default for the number of clusters, where nobody says it.
_N_CLUSTERS = 8


def fit_catching_warnings(
    metric: Pipeline, X: FloatArray, y: Any
) -> list[warnings.WarningMessage]:
    """Fit a pipeline; return the warnings for its user, and issue others again."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metric.fit(X, y)
    kinds = (UserWarning, RuntimeWarning)
    issued = [w for w in caught if issubclass(w.category, kinds)]
    for w in caught:
        if w not in issued:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    return issued


def cluster_agreement(metric: Pipeline, X: FloatArray, X_test: FloatArray) -> float:
    """Return how well two halves of the training rows agree on the test rows' clusters.

    Parameters
    ----------
    metric : Pipeline
        Fitted on all of `X`; it is fitted again on each half.
    X, X_test : ndarray
        Training and test rows.

    Returns
    -------
    float
        The adjusted Rand index of the two clusterings by k-means; NaN where the metric
        has no dimensions.
    """
    found = []
    for i in range(2):
        half = X[i::2]
        learned = _as_chosen(metric)
        fit_catching_warnings(learned, half, None)
        Z = learned.transform(half)
        if not Z.shape[1]:
            return float("nan")
        means = KMeans(min(_N_CLUSTERS, len(half)), n_init=3, random_state=0)
        with warnings.catch_warnings():
            # Fewer distinct rows than clusters leave some of the clusters empty.
            warnings.simplefilter("ignore", ConvergenceWarning)
            means.fit(Z)
        found.append(means.predict(learned.transform(X_test)))
    return float(adjusted_rand_score(*found))


def _as_chosen(metric: Pipeline) -> Pipeline:
    """Return a pipeline to fit again, with what was cross-validated held fast."""
    last = metric.named_steps["metric"]
    options = {
        f"metric__{name}": getattr(last, f"{name}_")
        for name, value in last.get_params(deep=False).items()
        if isinstance(value, str) and value == "cv"
    }
    return clone(metric).set_params(**options)
