from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from vicinal.app.methods.baselines import AutoScaler, leave_one_out


def test_a_table_of_different_things_is_standardised() -> None:
    X, y = load_wine(return_X_y=True)
    scaler = AutoScaler("classification").fit(X, y)
    assert scaler.standardized_
    expected = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(scaler.transform(X), expected)


def test_pixels_keep_one_unit() -> None:
    X, y = load_digits(return_X_y=True)
    scaler = AutoScaler("classification").fit(X, y)
    assert not scaler.standardized_
    Z = scaler.transform(X)
    np.testing.assert_allclose(Z, (X - X.mean(axis=0)) / scaler.scale_[0])
    assert Z.var(axis=0).mean() == pytest.approx(1)


@pytest.mark.parametrize("factor", [1, 1000])
def test_numbers_to_predict(factor: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) * [10, 1]
    scaler = AutoScaler("regression").fit(X * factor, X[:, 0])
    assert not scaler.standardized_
    assert AutoScaler("regression").fit(X * factor, X[:, 1]).standardized_


def test_float32_stays() -> None:
    X, y = load_wine(return_X_y=True)
    X = X.astype(np.float32)
    assert AutoScaler("classification").fit(X, y).transform(X).dtype == np.float32


def test_rows_without_spread() -> None:
    X = np.ones((6, 2))
    Z = AutoScaler("classification").fit(X, np.repeat([0, 1], 3)).transform(X)
    np.testing.assert_array_equal(Z, 0)


@pytest.mark.parametrize("kind", ["int", "str"])
def test_leave_one_out_against_scikit_learn(kind: str) -> None:
    X, y = load_wine(return_X_y=True)
    labels: Any = y if kind == "int" else y.astype(str)
    # With three neighbours of three classes, the nearest decides; one has no ties.
    scores = cross_val_score(KNeighborsClassifier(1), X, labels, cv=LeaveOneOut())
    assert leave_one_out(X, labels, "classification", 1) == scores.mean()


def naive(Z: np.ndarray, y: np.ndarray, k: int) -> list[list[object]]:
    found = []
    for i, row in enumerate(Z):
        others = [j for j in range(len(Z)) if j != i]
        others.sort(key=lambda j: float(((Z[j] - row) ** 2).sum()))
        found.append([y[j] for j in others[:k]])
    return found


def test_leave_one_out() -> None:
    generator = np.random.default_rng(1)
    Z = generator.normal(size=(50, 2))
    y = generator.choice(["a", "b", "c"], 50)
    right = 0
    for own, labels in zip(y, naive(Z, y, 3), strict=True):
        best = max(labels, key=lambda one: (labels.count(one), -labels.index(one)))
        right += best == own
    assert leave_one_out(Z, y, "classification") == pytest.approx(right / 50)
    t = Z[:, 0] + 0.1 * generator.normal(size=50)
    guess = np.array([np.mean(labels) for labels in naive(Z, t, 3)])  # type: ignore[arg-type]
    expected = 1 - ((guess - t) ** 2).sum() / ((t - t.mean()) ** 2).sum()
    assert leave_one_out(Z, t, "regression") == pytest.approx(expected)


def test_leave_one_out_of_duplicates_and_many_rows() -> None:
    y = np.array(["a", "b"] * 4)
    assert 0 <= leave_one_out(np.zeros((8, 1)), y, "classification") <= 1
    assert leave_one_out(np.zeros((2, 1)), np.array(["a", "a"]), "classification") == 1
    many = np.arange(5000.0)[:, None]
    assert leave_one_out(many, many[:, 0], "regression") > 0.999


def test_of_equally_near_rows_the_first_others_are_asked() -> None:
    y = np.array([0, 1, 0, 0, 1, 0])
    # Row 0 asks 1 and 2, row 1 asks 0 and 2, the others 0 and 1; the first decides.
    answers = np.array([1, 0, 0, 0, 0, 0])
    found = leave_one_out(np.zeros((6, 1)), y, "classification", 2)
    assert found == np.mean(answers == y)
