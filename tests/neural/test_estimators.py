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

FEW: dict[str, Any] = {"max_iter": 30, "n_components": 8, "n_jobs": 1}


@parametrize_with_checks(
    [NeuralNCAClassifier(**FEW), NeuralNCARegressor(**FEW), NeuralNCA(**FEW)]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)
