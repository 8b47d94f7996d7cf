from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import average_precision_score, log_loss, r2_score, roc_auc_score

from vicinal.app.comparison import compare
from vicinal.app.methods.scores import (
    SCORES,
    _average_precision,
    _r2,
    choose_score,
)

WINE_X, WINE_Y = load_wine(return_X_y=True)
IRIS_X, IRIS_Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("scale", [1e140, 1e-140])
def test_targets_of_any_unit_give_the_same_scores(scale: float) -> None:
    y = np.random.default_rng(0).normal(size=150)
    options: Any = {"methods": ["euclidean"], "n_splits": 2}
    plain, scaled = (compare(IRIS_X, t, **options) for t in (y, y * scale))
    np.testing.assert_allclose(plain["euclidean"].scores, scaled["euclidean"].scores)


def test_imbalanced_classes_are_judged_by_balanced_accuracy() -> None:
    rng = np.random.default_rng(0)
    y = np.array(["no"] * 180 + ["yes"] * 20)
    X = rng.normal(size=(200, 2)) + 1.5 * (y == "yes")[:, None]
    options: Any = {"methods": "euclidean lda", "n_splits": 2, "n_neighbors": 3}
    result = compare(X, y, **options)
    assert result.measure == "balanced accuracy (%)"
    assert result.notes[0].startswith("90 % of the rows are of class no: ")
    assert "accuracy (%)" in result.header[4]
    plain = compare(X, y, score="accuracy", **options)
    for name in ("euclidean", "lda"):
        assert result[name].accuracy == pytest.approx(plain[name].mean)
        assert result[name].mean < plain[name].mean
    assert result["majority class"].mean == 0.5
    precision = compare(X, y, score="average-precision", **options)
    assert 0.1 < precision["euclidean"].mean < 1
    assert precision["majority class"].mean == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("score", "message"),
    [("r2", "accuracy, balanced-accuracy"), ("average-precision", "needs two classes")],
)
def test_scores_that_there_are_not(score: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare(WINE_X, WINE_Y, score=score)


@pytest.mark.parametrize("unit", [1.0, 1e-180, 1e150])
def test_r2_of_weighted_rows_is_scikit_learns(unit: float) -> None:
    rng = np.random.default_rng(0)
    truth = 5 + rng.normal(size=40)
    predicted = truth + 0.3 * rng.normal(size=40)
    weights = rng.multinomial(40, np.full(40, 1 / 40), size=3).astype(float)
    found = _r2(unit * truth, unit * predicted, weights)
    wanted = [r2_score(truth, predicted, sample_weight=one) for one in weights]
    np.testing.assert_allclose(found, wanted)


def test_r2_of_equal_targets_is_no_number() -> None:
    truth = np.full(5, 3.0)
    assert not np.isfinite(_r2(truth, truth + 1, np.ones((1, 5)))).any()


def test_average_precision_of_weighted_rows_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(60) < 0.3).astype(int)
    predicted = np.round(rng.random(60) + 0.4 * truth, 1)  # with ties
    weights = rng.multinomial(60, np.full(60, 1 / 60), size=3).astype(float)
    wanted = [
        average_precision_score(truth, predicted, sample_weight=one) for one in weights
    ]
    np.testing.assert_allclose(_average_precision(truth, predicted, weights), wanted)


def test_three_imbalanced_classes_are_judged_by_balanced_accuracy() -> None:
    y = np.repeat([0, 1, 2], [147, 37, 16])
    scored, note = choose_score("auto", "classification", y, ("a", "b", "c"))
    assert scored == "balanced-accuracy"
    assert note.startswith("74 % of the rows are of class a: ")
    even = np.repeat([0, 1, 2], [60, 60, 10])
    assert (
        choose_score("auto", "classification", even, ("a", "b", "c"))[0] == "accuracy"
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_of_probabilities_are_those_of_scikit_learn(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(n_classes, size=200)
    # With ties.
    proba = rng.dirichlet(np.ones(n_classes), size=200).round(1) + 0.01
    proba /= proba.sum(axis=1, keepdims=True)
    area, loss = SCORES["roc-auc"], SCORES["log-loss"]
    found = area.of(truth, area.outcome(truth, proba))
    given = proba if n_classes > 2 else proba[:, 1]
    assert found == pytest.approx(roc_auc_score(truth, given, multi_class="ovr"))
    found = loss.of(truth, loss.outcome(truth, proba))
    assert found == pytest.approx(-log_loss(truth, proba))


@pytest.mark.parametrize(("n_rare", "is_said"), [(3, True), (20, False)])
def test_tiny_classes_are_named_as_the_cause_of_wide_intervals(
    n_rare: int, is_said: bool
) -> None:
    y = np.repeat([0, 1, 2], [120, 20, n_rare])
    X = np.random.default_rng(0).normal(size=(len(y), 3)) + y[:, None]
    result = compare(X, y, methods=["euclidean", "lda"], n_splits=2, references=False)
    assert ("Classes of fewer than 10 rows: 1" in " ".join(result.notes)) == is_said
