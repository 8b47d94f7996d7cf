"""n_init, the 0.01·randn start, and NCA's rules for new rows."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from tests.nca.oracles import softmax
from vicinal import NCA, NCAClassifier
from vicinal.nca._initialization import initial_components, seed_of
from vicinal.nca._problems import ClassProblem, hash_folds
from vicinal.nca._selection import _several_starts, best_of_starts
from vicinal.objectives import NCAObjective
from vicinal.optimize import maximize

X, y = load_wine(return_X_y=True)
X = scale(X)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def naive_p(A: Any, points: Any, labels: Any, query: Any, label: Any) -> float:
    p = softmax(-(((points - query) @ A.T) ** 2).sum(axis=1))
    return float(p[labels == label].sum())


@pytest.mark.parametrize("init", ["auto", np.zeros((2, 13))])
@pytest.mark.parametrize("objective", ["expected", "log"])
def test_the_start_with_the_least_held_out_loss(objective: str, init: Any) -> None:
    nca = NCA(2, init=init, n_init=7, objective=objective, max_iter=15, random_state=0)
    problem = ClassProblem.validate(nca, X, y, None)
    chosen = best_of_starts(nca, problem, 0.0, 1.0)
    parts: list[Any] = []
    maps: list[Any] = []
    for fold, (learn, held) in zip(
        problem.folds(), hash_folds(X, np.ones(len(X))), strict=True
    ):
        part = problem.part(learn)
        starts = _several_starts(nca, part, part.objective(), 0.0, 1.0, seed_of(nca))
        parts.append([])
        for start in starts:
            A = maximize(part.objective(), start, max_iter=15, tol=1e-5).x
            p = np.array([naive_p(A, X[learn], y[learn], X[i], y[i]) for i in held])
            p = np.maximum(p, 1e-4)
            parts[-1].append(-np.log(p) if objective == "log" else 1 - p)
            maps.append(A)
        assert len(fold.weights) == len(held)
    losses = np.hstack(parts)
    best = int(np.argmin(losses.mean(axis=1)))
    gains = losses[0] - losses[best]
    if gains.mean() > gains.std() / np.sqrt(len(gains)):
        expected = maps[best]
    else:
        expected = initial_components(init, X, y, 2, np.random.RandomState(0))
    np.testing.assert_allclose(chosen, expected, rtol=1e-6)
    assert (expected is maps[best]) == (not isinstance(init, str))  # both branches
    fitted = nca.fit(X, y)
    assert fitted.objective_curve_[0] == pytest.approx(
        NCAObjective(X, y, objective).value_and_gradient(chosen)[0]
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"form": "diagonal"},
        {"n_components": 2, "init": "random"},
        {"n_components": 2, "anneal": True},
        {"n_components": 2, "alpha": "auto"},
        {"n_components": 2, "init": np.eye(2, 13)},
    ],
)
def test_several_starts_with_other_settings(settings: dict[str, Any]) -> None:
    one, three = (
        NCA(n_init=n, max_iter=5, random_state=0, **settings).fit(X, y) for n in (1, 3)
    )
    assert three.components_.shape == one.components_.shape
    again = NCA(n_init=3, max_iter=5, random_state=0, **settings).fit(X, y)
    np.testing.assert_array_equal(again.components_, three.components_)


def test_few_rows_are_judged_by_the_objective() -> None:
    few = slice(None, None, 9)
    values = [
        NCA(2, n_init=n, random_state=0).fit(X[few], y[few]).objective_curve_[-1]
        for n in (1, 6)
    ]
    assert values[1] >= values[0] - 1e-9


def test_several_starts_need_classes_and_all_rows() -> None:
    with pytest.raises(ValueError, match="n_init=2 needs a class"):
        NCA(2, n_init=2).fit(X, np.eye(3)[y])
    with pytest.raises(ValueError, match="n_init=2"):
        NCA(2, n_init=2).partial_fit(X, y)


def test_the_small_start_is_taken_as_it_is() -> None:
    start = 0.01 * np.random.RandomState(3).standard_normal((2, 13))
    nca = NCA(2, init="small-random", random_state=3).fit(X, y)
    same = NCA(2, init=start).fit(X, y)
    np.testing.assert_array_equal(nca.components_, same.components_)


@pytest.mark.parametrize("objective", ["log", "class-density"])
def test_effective_neighbors_of_new_rows(objective: str) -> None:
    weights = np.random.default_rng(0).integers(1, 4, 120).astype(float)
    model = NCAClassifier(2, objective=objective, random_state=0)
    model.fit(X[:120], y[:120], sample_weight=weights)
    rows = np.repeat(np.arange(120), weights.astype(int))
    Z, labels = X[rows] @ model.components_.T, y[rows]
    mass = 1 / np.bincount(labels)[labels] if objective == "class-density" else 1.0
    expected = []
    for query in X[120:] @ model.components_.T:
        p = softmax(-((Z - query) ** 2).sum(axis=1) + np.log(mass))
        expected.append(np.exp(-np.sum(p[p > 0] * np.log(p[p > 0]))))
    np.testing.assert_allclose(model.effective_neighbors(X[120:]), expected)


def test_a_random_neighbor_has_the_probabilities_of_the_vote() -> None:
    model = NCAClassifier(2, alpha=0.05).fit(X[::2], np.array(["a", "b", "c"])[y[::2]])
    row = X[np.argmin(np.abs(model.predict_proba(X).max(axis=1) - 0.6))][None]
    proba = model.predict_proba(row)[0]
    assert proba.max() < 0.99
    drawn = model.sample_predict(np.repeat(row, 20_000, axis=0), random_state=0)
    shares = [(drawn == c).mean() for c in model.classes_]
    np.testing.assert_allclose(shares, proba, atol=0.02)
