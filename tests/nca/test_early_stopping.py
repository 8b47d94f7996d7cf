from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from vicinal import NCA
from vicinal._typing import FloatArray, IntArray
from vicinal.nca._schedules import EarlyStopping, held_out_accuracy, hold_out
from vicinal.objectives import NCAObjective

X, y = load_iris(return_X_y=True)


def test_each_class_gives_its_share() -> None:
    train, held = hold_out(y, 0.2, 0)
    assert sorted([*train, *held]) == list(range(150))
    np.testing.assert_array_equal(np.bincount(y[held]), [10, 10, 10])
    np.testing.assert_array_equal(hold_out(y, 0.2, 0)[1], held)
    assert not np.array_equal(hold_out(y, 0.2, 1)[1], held)


def test_the_best_map_is_kept_and_the_wait_is_limited() -> None:
    scores = iter([0.0, 1.0, 3.0, 2.0, 2.5, 2.9, 9.0])
    maps = [np.full((1, 1), float(i)) for i in range(7)]
    stopper = EarlyStopping(lambda _: next(scores), 3, maps[0])
    watched = stopper.watch(lambda *_: False)
    stops = [watched(A, []) for A in maps[1:6]]
    assert stops == [False, False, False, False, True]
    assert stopper.best[0, 0] == 2
    assert stopper.curve == [0.0, 1.0, 3.0, 2.0, 2.5, 2.9]


def noisy() -> tuple[FloatArray, IntArray]:
    """Few points in many dimensions, with labels that are half noise."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(120, 30))
    labels = (points[:, 0] + rng.normal(size=120) > 0).astype(int)
    return points, labels


@pytest.mark.parametrize("objective", ["expected", "log"])
def test_nca_keeps_the_map_that_suits_the_held_out_points(objective: str) -> None:
    points, labels = noisy()
    nca = NCA(
        2,
        init="pca",
        objective=objective,
        early_stopping=True,
        validation_fraction=0.3,
        n_iter_no_change=5,
        random_state=0,
        max_iter=300,
    ).fit(points, labels)
    curve = nca.validation_curve_
    assert len(curve) == nca.n_iter_ + 1
    best = int(np.argmax(curve))
    assert len(curve) - 1 - best == 5
    train, held = hold_out(labels, 0.3, 0)
    proba = NCAObjective(points[train], labels[train]).class_probabilities(
        nca.components_, points[held]
    )
    p = proba[np.arange(len(held)), labels[held]]
    score = np.log(p).mean() if objective == "log" else p.mean()
    assert score == pytest.approx(curve[best], rel=1e-6)


def test_a_class_that_cannot_be_shared_is_an_error() -> None:
    labels = y.copy()
    labels[0] = 3
    with pytest.raises(ValueError, match="rarest class has 1 of 150"):
        NCA(early_stopping=True).fit(X, labels)


@pytest.mark.parametrize("fraction", [0.01, 0.5, 0.99])
def test_no_class_is_emptied_on_either_side(fraction: float) -> None:
    codes = np.repeat([0, 1, 2], [100, 2, 98])
    train, held = hold_out(codes, fraction, 0)
    assert np.bincount(codes[train]).min() >= 1
    assert np.bincount(codes[held]).min() >= 1
    NCA(2, early_stopping=True, validation_fraction=fraction, max_iter=300).fit(
        np.random.default_rng(0).normal(size=(200, 4)), codes
    )


def test_held_out_rows_count_by_their_weight() -> None:
    points, labels = noisy()
    weights = np.where(np.arange(120) % 3, 1.0, 1e-9)
    flipped = np.where(np.arange(120) % 3, labels, 1 - labels)
    settings = {"early_stopping": True, "random_state": 0, "validation_fraction": 0.3}
    nca = NCA(2, init="pca", max_iter=300, **settings)  # type: ignore[arg-type]
    told = nca.fit(points, flipped, sample_weight=weights).validation_curve_.max()
    assert told > nca.fit(points, flipped).validation_curve_.max() + 0.05


def test_an_equal_score_is_no_new_best() -> None:
    stopper = EarlyStopping(lambda _: 0.5, 2, np.eye(2))
    watch = stopper.watch(lambda *_: False)
    assert not watch(2 * np.eye(2), [1.0, 2.0])
    assert watch(3 * np.eye(2), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(stopper.best, np.eye(2))


def test_five_neighbours_judge_held_out_rows() -> None:
    """Three of five are of the row's class; with the sixth there is no majority."""
    learned: Any = SimpleNamespace(
        X=np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]),
        codes=np.array([1, 1, 1, 0, 0, 0]),
    )
    held: Any = SimpleNamespace(X=np.zeros((1, 1)), codes=np.array([1]))
    assert held_out_accuracy(learned, held, np.eye(1)) == 1.0
    assert held_out_accuracy(learned, held, np.ones(1)) == 1.0
