"""The neural estimators as scikit-learn's."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

pytest.importorskip("torch")
from vicinal.neural import (
    NeuralNCA,
    NeuralNCAClassifier,
    NeuralNCARegressor,
)

# The check repeats rows instead of weighting them. Mini-batches and held-out rows are
# drawn from the rows as they are given. The loss and the votes are equal, and weight 0
# is the same as no row: test_weights.py.
RANDOM = {
    "check_sample_weight_equivalence_on_dense_data": "draws depend on their number"
}
FEW: dict[str, Any] = {
    "max_iter": 30,
    "n_components": 8,
    "n_estimators": 2,
    "n_jobs": 1,
}


@parametrize_with_checks(
    [NeuralNCAClassifier(**FEW), NeuralNCARegressor(**FEW), NeuralNCA(**FEW)],
    expected_failed_checks=lambda _: RANDOM,
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)
