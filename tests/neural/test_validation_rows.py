"""Rows given to judge the epochs, instead of rows held out."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("torch")
from tests.neural.data import mixed, waves
from vicinal.neural import NeuralNCAClassifier, NeuralNCARegressor

X, y = waves()
X_VAL, Y_VAL = waves(100, seed=1)
MODEL = NeuralNCAClassifier(8, n_estimators=1, max_iter=8, random_state=0)


def test_they_judge_and_do_not_vote() -> None:
    model = clone(MODEL).fit(X, y, X_val=X_VAL, y_val=Y_VAL)
    assert len(model.effective_neighbors_) == len(X)
    assert model.explain(X_VAL, n_neighbors=500).rows.shape == (100, len(X))
    # Accuracy, and a tenth of the likelihood, of exactly these rows.
    best = model.validation_scores_.max()
    model._members[0].kernel.__dict__["temperature"] = 1.0
    p = model.predict_proba(X_VAL)[np.arange(100), Y_VAL]
    expected = model.score(X_VAL, Y_VAL) + 0.1 * np.log(p).mean()
    assert best == pytest.approx(expected, abs=0.01)
    assert model.temperatures_.shape == (1,)


def test_other_rows_choose_another_epoch() -> None:
    right = clone(MODEL).fit(X, y, X_val=X_VAL, y_val=Y_VAL)
    wrong = clone(MODEL).fit(X, y, X_val=X_VAL, y_val=1 - Y_VAL)
    assert np.argmax(right.validation_scores_) > np.argmax(wrong.validation_scores_)
    assert right.score(X_VAL, Y_VAL) > wrong.score(X_VAL, Y_VAL)


def test_of_mixed_columns_and_of_numbers() -> None:
    frame, labels = mixed()
    model = NeuralNCAClassifier(8, max_iter=4, random_state=0)
    model.fit(frame[:200], labels[:200], X_val=frame[200:], y_val=labels[200:])
    assert model.score(frame[200:], labels[200:]) > 0.7
    regressor = NeuralNCARegressor(
        8,
        n_estimators=1,
        linear_vote=False,
        max_iter=30,
        calibrate=False,
        random_state=0,
    )
    regressor.fit(X, 100 + 9 * X[:, 0], X_val=X_VAL, y_val=100 + 9 * X_VAL[:, 0])
    error = np.mean((regressor.predict(X_VAL) - 100 - 9 * X_VAL[:, 0]) ** 2)
    variance = (9 * X[:, 0]).var()
    assert -regressor.validation_scores_.max() == pytest.approx(
        error / variance, abs=0.02
    )


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({}, {"X_val": X_VAL}, "need each other"),
        ({}, {"y_val": Y_VAL}, "need each other"),
        ({}, {"X_val": X_VAL[:, :2], "y_val": Y_VAL}, "3 features"),
        ({}, {"X_val": X_VAL, "y_val": Y_VAL + 7}, "label 7"),
        ({}, {"X_val": X_VAL[:0], "y_val": Y_VAL[:0]}, "0 sample"),
        ({}, {"X_val": X_VAL, "y_val": Y_VAL[:5]}, "inconsistent"),
        ({"early_stopping": False}, {"X_val": X_VAL, "y_val": Y_VAL}, "early_stopping"),
    ],
)
def test_rows_that_cannot_judge(
    settings: dict[str, Any], given: dict[str, Any], message: str
) -> None:
    model = clone(MODEL).set_params(**settings)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **given)
    assert not hasattr(model, "n_features_in_")
