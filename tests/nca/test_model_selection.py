from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from tests.nca.data import class_problem
from vicinal import NCA, NCAClassifier, NCARegressor
from vicinal._typing import FloatArray
from vicinal.nca._initialization import best_loss_scale, scaled_starts
from vicinal.nca._problems import Fold
from vicinal.nca._selection import (
    PENALTIES,
    SELECTION_ITERATIONS,
    Selected,
    _choose,
    candidates,
    fit_path,
    selected_start,
)
from vicinal.objectives import NCAObjective

X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


def test_the_scale_is_that_of_the_best_leave_one_out_loss() -> None:
    objective = NCAObjective(X, y, "log")

    def mean(size: float) -> float:
        return float(objective.terms(size * np.eye(4), np.arange(150)).mean())

    A = best_loss_scale(objective, 1e6 * np.eye(4))
    sizes = np.geomspace(0.1, 10, 200)
    best = sizes[np.argmax([mean(size) for size in sizes])]
    assert A[0, 0] == pytest.approx(best, rel=0.1)
    # f is judged by g: its own best scale is the largest.
    other = best_loss_scale(NCAObjective(X, y), 1e-6 * np.eye(4))
    np.testing.assert_allclose(other, A, rtol=0.1)


class Slope:
    """An objective that wants to go to a place, whatever the penalty."""

    n_points = 100.0

    def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
        return -float(((A - 1) ** 2).sum()) * 100, -200 * (A - 1)


def judged(best: float, noise: float = 0.0) -> Fold:
    """Judges a map by how far its first entry is from the best."""
    errors = np.random.default_rng(0).normal(size=50)
    errors = noise * (errors - errors.mean())  # the means are as without noise

    def losses(A: FloatArray) -> FloatArray:
        return np.full(50, (A.flat[0] - best) ** 2) + errors * A.flat[0]

    objective: Any = Slope()
    problem: Any = SimpleNamespace(
        objective=lambda: objective, X=X, weights=np.ones(len(X))
    )
    return Fold(problem, losses, np.ones(50))


def choose(
    fold: Fold, starts: dict[str, FloatArray], max_iter: int = 50, tol: float = 1e-9
) -> Any:
    return choose_of([(fold, starts)], max_iter, tol)


def choose_of(folds: Any, max_iter: int = 50, tol: float = 1e-9) -> Any:
    est = SimpleNamespace(max_iter=max_iter, tol=tol)
    paths = [fit_path(est, fold, starts) for fold, starts in folds]
    return _choose(paths, [fold for fold, _ in folds])


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

    some = Fold(trial.problem, losses, trial.weights)
    found = choose(some, {"start": np.array([[-1.0]])}, 50, 1e-9)
    assert found.alpha == np.inf


def test_trials_judge_together() -> None:
    # The one wants a strong penalty, the other none: in between, they lose least.
    start = {"start": np.array([[-1.0]])}
    found = choose_of([(judged(0.5), start), (judged(1.0), start)])
    assert 0 < found.alpha < 1


def test_a_map_of_zeros_has_no_penalty() -> None:
    found = choose(judged(1.0), {"zeros": np.zeros((1, 1))}, 50, 1e-9)
    assert found.alpha == 0.0


@pytest.mark.parametrize("model", [NCAClassifier(), NCA(alpha="auto"), NCARegressor()])
def test_what_was_chosen_is_told(model: Any) -> None:
    model.fit(X, y)
    assert model.alpha_ >= 0
    assert model.init_ in ("identity", "rca", "linear")
    assert model.n_iter_ <= SELECTION_ITERATIONS
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
        {"n_neighbors": 20},
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


def test_a_diagonal_fit_stays_diagonal_after_a_warm_start() -> None:
    model = NCAClassifier(form="diagonal", warm_start=True, max_iter=2).fit(X, y)
    model.fit(X, y)
    assert model.init_ == "warm"
    np.testing.assert_array_equal(model.components_, np.diag(model.feature_weights_))


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


def around(n: int, seed: int) -> tuple[FloatArray, Any]:
    """Return a class around another, in so many features that all are far apart."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    return (2.0 - labels)[:, None] * rng.normal(size=(n, 15)), labels


def test_a_scale_at_which_all_look_alike_is_not_the_end() -> None:
    points, labels = around(900, seed=0)
    new, wanted = around(900, seed=1)
    objective = NCAObjective(points, labels, "log")
    starts = scaled_starts(objective, {"identity": np.eye(15)})
    assert list(starts) == ["identity", "identity, scaled up"]
    alike, near = (np.median(objective.effective_neighbors(A)) for A in starts.values())
    assert alike > 450
    assert near == pytest.approx(10, rel=0.3)
    model = NCAClassifier().fit(points, labels)
    assert model.init_.endswith(", scaled up")
    plain = KNeighborsClassifier(3).fit(points, labels)
    assert model.score(new, wanted) > plain.score(new, wanted) + 0.1
    squares, goal = np.square(points).sum(axis=1), np.square(new).sum(axis=1)
    regressor = NCARegressor().fit(points, squares)
    other = KNeighborsRegressor(5).fit(points, squares)
    assert regressor.score(new, goal) > other.score(new, goal) + 0.1


def test_starts_that_not_all_folds_have_are_left_out() -> None:
    both = {"start": np.array([[-1.0]])}
    more = {**both, "other": np.array([[0.5]])}
    assert choose_of([(judged(0.5), more), (judged(0.5), both)]).init == "start"


def test_a_start_that_is_kept_is_made_again_from_all_rows() -> None:
    model, problem = NCAClassifier(), class_problem(X, y)
    starts = candidates(model, problem)
    name = next(iter(starts))
    of_few = np.full_like(starts[name], 0.5)
    found = selected_start(model, problem, Selected(name, np.inf, of_few))
    np.testing.assert_array_equal(found, starts[name])
    # A learned map, or one that was there before, is kept.
    for other in (Selected(name, 0.1, of_few), Selected("warm", np.inf, of_few)):
        assert selected_start(model, problem, other) is of_few
