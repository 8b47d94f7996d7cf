from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tests.nca.data import class_problem
from vicinal import NCARegressor
from vicinal._typing import FloatArray
from vicinal.nca._problems import MOST_ROWS, _hash_to_uniform, hash_folds
from vicinal.objectives import NCAObjective

X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


def test_about_a_fifth_is_held_out_and_always_the_same() -> None:
    points = np.random.default_rng(0).normal(size=(900, 3))
    learn, held = hash_folds(points, np.ones(900))[0]
    assert 130 < len(held) < 230
    np.testing.assert_array_equal(np.sort(np.r_[learn, held]), np.arange(900))
    again = hash_folds(points, np.ones(900))[0]
    np.testing.assert_array_equal(again[1], held)


def test_of_many_rows_some_take_part() -> None:
    points = np.random.default_rng(0).normal(size=(20_000, 2))
    learn, held = hash_folds(points, np.ones(20_000))[0]
    assert 0.8 * MOST_ROWS < len(learn) + len(held) < 1.2 * MOST_ROWS
    assert 0.1 < len(held) / (len(learn) + len(held)) < 0.3
    assert not np.intersect1d(learn, held).size


def test_equal_rows_are_on_one_side() -> None:
    points = np.repeat(np.random.default_rng(0).normal(size=(100, 3)), 5, axis=0)
    points[::2] *= 1.0
    held = hash_folds(points, np.ones(500))[0][1]
    assert len(held) % 5 == 0
    assert (np.bincount(held // 5, minlength=100) % 5 == 0).all()
    # Zero has two signs, and they are the same number.
    zeros = np.array([[0.0], [-0.0]] * 50 + [[1.0]] * 60)
    sides = np.isin(np.arange(160), hash_folds(zeros, np.ones(160))[0][1])
    assert len(set(sides[:100])) == 1 or sides.sum() == 32


def test_neither_the_type_nor_the_unit_changes_who_judges() -> None:
    points = np.random.default_rng(0).normal(size=(900, 5))
    held = hash_folds(points, np.ones(900))[0][1]
    other = hash_folds(points.astype(np.float32), np.ones(900))[0][1]
    assert len(np.setxor1d(held, other)) <= 9
    for unit in (2.0**-40, 2.0**300):
        np.testing.assert_array_equal(
            hash_folds(points * unit, np.ones(900))[0][1], held
        )
    # Values of any size have digits.
    for size in (0.0, 5e-324, 1e308):
        assert len(hash_folds(np.full((40, 2), size), np.ones(40))[0][0]) == 32


def test_rows_that_are_all_equal_are_still_divided() -> None:
    learn, held = hash_folds(np.ones((50, 2)), np.ones(50))[0]
    assert len(held) == 10
    assert len(learn) == 40


def test_the_trial_judges_by_log_loss() -> None:
    trial = class_problem(X, y).folds()[0]
    learn, held = hash_folds(X, np.ones(150))[0]
    A = 0.8 * np.eye(4)
    proba = NCAObjective(X[learn], y[learn]).class_probabilities(A, X[held])
    own = np.maximum(proba[np.arange(len(held)), y[held]], 1e-4)
    np.testing.assert_allclose(trial.losses(A), -np.log(own))


def test_classes_that_are_not_learned_from_do_not_judge() -> None:
    labels = y.copy()
    held = hash_folds(X, np.ones(150))[0][1]
    labels[held[:3]] = [7, 8, 9]
    trial: Any = class_problem(X, labels).folds()[0]
    assert len(trial.weights) == len(held) - 3
    np.testing.assert_array_equal(trial.problem.classes, [0, 1, 2])


@pytest.mark.parametrize(
    ("points", "labels"), [(X[:39], y[::3]), (X, np.zeros(150, dtype=int))]
)
def test_without_judges_there_is_no_trial(points: FloatArray, labels: Any) -> None:
    assert class_problem(points, labels[: len(points)]).folds() == []


def test_few_rows_judge_in_turn() -> None:
    points = np.random.default_rng(0).normal(size=(200, 3))
    held = np.concatenate([judges for _, judges in hash_folds(points, np.ones(200))])
    assert len(hash_folds(points, np.ones(200))) == 3
    assert len(np.unique(held)) == len(held)


@pytest.mark.parametrize("seed", range(6))
def test_few_different_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for points in (
        rng.integers(0, 2, (3000, 3)).astype(float),
        (rng.random((3000, 8)) < 0.02).astype(float),
        rng.integers(0, 5, (1500, 1)) + 18.0,
        1.7e9 + rng.uniform(0, 86_400, (5000, 1)),
    ):
        for learn, held in hash_folds(points, np.ones(len(points))):
            assert len(learn) + len(held) <= 2 * MOST_ROWS
            assert min(len(learn), len(held)) > 20
        t = points[:, 0] ** 2 + rng.normal(size=len(points))
        model = NCARegressor(max_iter=2).fit(points[:300], t[:300])
        assert np.isfinite(model.predict(points[:9])).all()


@pytest.mark.parametrize("weight", [1 / 12, 1e5])
def test_weights_that_are_no_counts(weight: float) -> None:
    points = np.random.default_rng(0).normal(size=(5000, 2))
    for learn, held in hash_folds(points, np.full(5000, weight)):
        assert 0.5 * MOST_ROWS < len(learn) + len(held) < 2 * MOST_ROWS
        assert len(held) > 0


def test_the_unit_and_origin_of_a_feature_change_no_lot() -> None:
    lots = _hash_to_uniform(X)
    assert len(np.unique(lots)) > 100
    moved = X * [1, 1024, 2.0**-20, 1] + [0, 2.0**20, 0, 3]
    assert (_hash_to_uniform(moved) == lots).mean() > 0.95
