from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier

from vicinal import NCA, NCAClassifier, NCARegressor
from vicinal._typing import FloatArray
from vicinal.nca._data import ClassificationData
from vicinal.nca._model_selection import (
    ITERATIONS,
    MOST_ROWS,
    PENALTIES,
    Trial,
    class_trials,
    folds,
    safe_choice,
    scaled_by_loss,
    select,
)
from vicinal.objectives import NCAObjective

X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


def data(points: FloatArray, labels: Any, weights: Any = None) -> ClassificationData:
    classes, codes = np.unique(labels, return_inverse=True)
    n = len(points)
    return ClassificationData(
        points,
        codes,
        np.ones(n) if weights is None else weights,
        np.full(len(classes), 1 / len(classes)),
        classes,
        np.ones(n, dtype=bool),
        (points, labels),
    )


def test_about_a_fifth_is_held_out_and_always_the_same() -> None:
    points = np.random.default_rng(0).normal(size=(900, 3))
    learn, held = folds(points, np.ones(900))[0]
    assert 130 < len(held) < 230
    np.testing.assert_array_equal(np.sort(np.r_[learn, held]), np.arange(900))
    again = folds(points, np.ones(900))[0]
    np.testing.assert_array_equal(again[1], held)


def test_of_many_rows_some_take_part() -> None:
    points = np.random.default_rng(0).normal(size=(20_000, 2))
    learn, held = folds(points, np.ones(20_000))[0]
    assert 0.8 * MOST_ROWS < len(learn) + len(held) < 1.2 * MOST_ROWS
    assert 0.1 < len(held) / (len(learn) + len(held)) < 0.3
    assert not np.intersect1d(learn, held).size


def test_equal_rows_are_on_one_side() -> None:
    points = np.repeat(np.random.default_rng(0).normal(size=(100, 3)), 5, axis=0)
    points[::2] *= 1.0
    held = folds(points, np.ones(500))[0][1]
    assert len(held) % 5 == 0
    assert (np.bincount(held // 5, minlength=100) % 5 == 0).all()
    # Zero has two signs, and they are the same number.
    zeros = np.array([[0.0], [-0.0]] * 50 + [[1.0]] * 60)
    sides = np.isin(np.arange(160), folds(zeros, np.ones(160))[0][1])
    assert len(set(sides[:100])) == 1 or sides.sum() == 32


def test_neither_the_type_nor_the_unit_changes_who_judges() -> None:
    points = np.random.default_rng(0).normal(size=(900, 5))
    held = folds(points, np.ones(900))[0][1]
    other = folds(points.astype(np.float32), np.ones(900))[0][1]
    assert len(np.setxor1d(held, other)) <= 9
    for unit in (2.0**-40, 2.0**300):
        np.testing.assert_array_equal(folds(points * unit, np.ones(900))[0][1], held)
    # Values of any size have digits.
    for size in (0.0, 5e-324, 1e308):
        assert len(folds(np.full((40, 2), size), np.ones(40))[0][0]) == 32


def test_rows_that_are_all_equal_are_still_divided() -> None:
    learn, held = folds(np.ones((50, 2)), np.ones(50))[0]
    assert len(held) == 10
    assert len(learn) == 40


def test_the_trial_judges_by_log_loss() -> None:
    trial = class_trials(data(X, y), "log", None)[0]
    learn, held = folds(X, np.ones(150))[0]
    A = 0.8 * np.eye(4)
    proba = NCAObjective(X[learn], y[learn]).class_probabilities(A, X[held])
    own = np.maximum(proba[np.arange(len(held)), y[held]], 1e-4)
    np.testing.assert_allclose(trial.losses(A), -np.log(own))


def test_classes_that_are_not_learned_from_do_not_judge() -> None:
    labels = y.copy()
    held = folds(X, np.ones(150))[0][1]
    labels[held[:3]] = [7, 8, 9]
    trial = class_trials(data(X, labels), "log", None)[0]
    assert len(trial.weights) == len(held) - 3
    np.testing.assert_array_equal(trial.data.classes, [0, 1, 2])


@pytest.mark.parametrize(
    ("points", "labels"), [(X[:39], y[::3]), (X, np.zeros(150, dtype=int))]
)
def test_without_judges_there_is_no_trial(points: FloatArray, labels: Any) -> None:
    assert class_trials(data(points, labels[: len(points)]), "log", None) == []


def test_the_scale_is_that_of_the_best_leave_one_out_loss() -> None:
    objective = NCAObjective(X, y, "log")

    def mean(size: float) -> float:
        return float(objective.terms(size * np.eye(4), np.arange(150)).mean())

    A = scaled_by_loss(objective, 1e6 * np.eye(4))
    sizes = np.geomspace(0.1, 10, 200)
    best = sizes[np.argmax([mean(size) for size in sizes])]
    assert A[0, 0] == pytest.approx(best, rel=0.1)
    # f is judged by g: its own best scale is the largest.
    other = scaled_by_loss(NCAObjective(X, y), 1e-6 * np.eye(4))
    np.testing.assert_allclose(other, A, rtol=0.1)


class Slope:
    """An objective that wants to go to a place, whatever the penalty."""

    X = X
    row_counts = np.ones(len(X))
    n_points = 100.0

    def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
        return -float(((A - 1) ** 2).sum()) * 100, -200 * (A - 1)


def judged(best: float, noise: float = 0.0) -> Trial[Any]:
    """Judges a map by how far its first entry is from the best."""
    errors = np.random.default_rng(0).normal(size=50)
    errors = noise * (errors - errors.mean())  # the means are as without noise

    def losses(A: FloatArray) -> FloatArray:
        return np.full(50, (A.flat[0] - best) ** 2) + errors * A.flat[0]

    objective: Any = Slope()
    return Trial(data(X, y), objective, losses, np.ones(50))


def choose(trial: Trial[Any], starts: dict[str, FloatArray], *bounds: Any) -> Any:
    return select([trial], lambda _: starts, *bounds)


def test_the_penalty_that_predicts_best_is_chosen() -> None:
    # With λ = c/‖start‖² = c, the maximum lies at 1 / (1 + c).
    start = {"start": np.array([[-1.0]])}
    for c in PENALTIES:
        found = choose(judged(1 / (1 + c)), start, 50, 1e-9)
        assert found.alpha == pytest.approx(c, abs=1e-9)
        assert found.components[0, 0] == pytest.approx(1 / (1 + c), abs=0.02)


def test_the_start_is_kept_where_nothing_learned_is_better() -> None:
    starts = {"far": np.array([[9.0]]), "near": np.array([[-1.0]])}
    found = choose(judged(-1.0), starts, 50, 1e-9)
    assert (found.init, found.alpha) == ("near", np.inf)
    assert found.attributes == {"init_": "near", "alpha_": np.inf}


def test_of_equals_the_strongest_penalty() -> None:
    start = {"start": np.array([[-1.0]])}
    sure = choose(judged(1.0), start, 50, 1e-9)
    unsure = choose(judged(1.0, noise=30.0), start, 50, 1e-9)
    assert sure.alpha == 0
    assert unsure.alpha > 0


def test_losses_that_are_no_numbers_never_win() -> None:
    trial = judged(1.0)

    def losses(A: FloatArray) -> FloatArray:
        return np.full(50, np.nan) if A.flat[0] > 0 else np.ones(50)

    some = Trial(trial.data, trial.objective, losses, trial.weights)
    found = choose(some, {"start": np.array([[-1.0]])}, 50, 1e-9)
    assert found.alpha == np.inf


def test_trials_judge_together() -> None:
    # The one wants a strong penalty, the other none: in between, they lose least.
    start = {"start": np.array([[-1.0]])}
    both = [judged(0.5), judged(1.0)]
    found = select(both, lambda _: start, 50, 1e-9)
    assert 0 < found.alpha < 1


def test_few_rows_judge_in_turn() -> None:
    points = np.random.default_rng(0).normal(size=(200, 3))
    held = np.concatenate([judges for _, judges in folds(points, np.ones(200))])
    assert len(folds(points, np.ones(200))) == 3
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
        for learn, held in folds(points, np.ones(len(points))):
            assert len(learn) + len(held) <= 2 * MOST_ROWS
            assert min(len(learn), len(held)) > 20
        t = points[:, 0] ** 2 + rng.normal(size=len(points))
        model = NCARegressor(max_iter=2).fit(points[:300], t[:300])
        assert np.isfinite(model.predict(points[:9])).all()


@pytest.mark.parametrize("weight", [1 / 12, 1e5])
def test_weights_that_are_no_counts(weight: float) -> None:
    points = np.random.default_rng(0).normal(size=(5000, 2))
    for learn, held in folds(points, np.full(5000, weight)):
        assert 0.5 * MOST_ROWS < len(learn) + len(held) < 2 * MOST_ROWS
        assert len(held) > 0


def test_a_map_of_zeros_has_no_penalty() -> None:
    assert safe_choice({"zeros": np.zeros((2, 4))}).alpha == 0.0
    found = choose(judged(1.0), {"zeros": np.zeros((1, 1))}, 50, 1e-9)
    assert found.alpha == 0.0


@pytest.mark.parametrize("model", [NCAClassifier(), NCA(alpha="auto"), NCARegressor()])
def test_what_was_chosen_is_told(model: Any) -> None:
    model.fit(X, y)
    assert model.alpha_ >= 0
    assert model.init_ in ("identity", "rca", "linear")
    assert model.n_iter_ <= ITERATIONS
    model.set_params(alpha=0.1).fit(X, y)
    assert not hasattr(model, "alpha_")
    assert not hasattr(model, "init_")


def test_probabilities_are_better_than_those_of_k_nn() -> None:
    points, labels = make_classification(
        900, 12, n_informative=5, n_classes=3, flip_y=0.1, random_state=3
    )
    model = NCAClassifier().fit(points[:600], labels[:600])
    ours = log_loss(labels[600:], model.predict_proba(points[600:]))
    for k in (3, 5, 15):
        knn = KNeighborsClassifier(k).fit(points[:600], labels[:600])
        assert ours < log_loss(labels[600:], knn.predict_proba(points[600:]))


@pytest.mark.parametrize(
    "settings",
    [
        {"form": "diagonal"},
        {"n_components": 2},
        {"n_components": 2, "anneal": True},
        {"n_components": "auto"},
        {"init": "pca", "n_components": 3},
        {"init": np.eye(2, 4)},
        {"init": np.eye(2, 4), "n_components": 2},
        {"init": np.ones(4), "form": "diagonal"},
        {"early_stopping": True},
        {"neighbors": 20},
        {"solver": "stochastic", "batch_size": 50, "n_references": 80},
        {"objective": "class-density", "class_prior": [0.5, 0.3, 0.2]},
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_goes_with_every_setting(settings: dict[str, Any]) -> None:
    model = NCAClassifier(random_state=0, **settings).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.predict_proba(X).shape == (150, 3)


def test_it_goes_on_from_the_last_map() -> None:
    model = NCAClassifier(warm_start=True, max_iter=1).fit(X, y)
    before = model.components_
    model.fit(X, y)
    assert model.init_ == "warm"
    assert not np.array_equal(model.components_, before)
    assert model.score(X, y) > 0.95
    # A map of another shape is no start for a diagonal one.
    low = NCAClassifier(2, warm_start=True).fit(X, y)
    low.set_params(form="diagonal", n_components=None, warm_start=False).fit(X, y)
    assert low.components_.shape == (4, 4)


def test_pieces_choose_again_as_more_is_seen() -> None:
    model = NCAClassifier(random_state=0)
    order = np.random.default_rng(0).permutation(150)
    chosen = []
    for rows in np.array_split(order, 15):
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        chosen.append(model.alpha_)
        assert np.isfinite(model.alpha_)
    # After 10, 20, 40 and 80 rows; none of the first are judged.
    assert len(set(chosen)) == 4
    assert model.score(X, y) > 0.9
    model.set_params(alpha=0.1).partial_fit(X, y)
    model.set_params(alpha="auto").partial_fit(X, y)
