from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from vicinal import NCA
from vicinal._typing import FloatArray
from vicinal.nca._annealing import ANNEALED, Annealing, least_row
from vicinal.objectives import NCAObjective

X, y = load_wine(return_X_y=True)
X = scale(X)[:, :6]


def test_rows_are_pressed_down_in_the_order_that_is_asked_for() -> None:
    objective = NCAObjective(X, y)
    left: list[int] = []

    def last(A: FloatArray) -> int:
        left.append(len(A))
        return len(A) - 1

    start = np.eye(6)
    A = Annealing(last).reduce(objective, start, 3)
    assert left == [6, 5, 4]
    assert A.shape == (3, 6)
    reached = objective.value_and_gradient(A)[0]
    assert reached > objective.value_and_gradient(start[:3])[0]


def test_a_pressed_row_is_small_before_it_is_dropped() -> None:
    seen: list[FloatArray] = []

    class Watched(NCAObjective):
        def value_and_gradient(self, components: object) -> tuple[float, FloatArray]:
            seen.append(np.array(components))
            return super().value_and_gradient(components)  # type: ignore[arg-type]

    Annealing(lambda _: 0).reduce(Watched(X, y), np.eye(6), 5)
    assert (
        np.linalg.norm(seen[-1][0]) < 0.3 * np.linalg.norm(seen[-1][1:], axis=1).min()
    )


@pytest.mark.parametrize("measure", ANNEALED)
def test_the_three_choices(measure: str) -> None:
    A = np.array([[0.1, 0, 0], [0, 5.0, 0], [0, 0, 1.0]])
    data = np.random.default_rng(0).normal(size=(500, 3)) * [100, 1, 0.5]
    # Sizes 0.1, 5, 1; data vary by 100, 1, 0.5 along them; mapped points by 10, 5, 0.5.
    expected = {"magnitude": 0, "data-variance": 2, "projected-variance": 2}
    assert least_row(data, measure, A) == expected[measure]
    A[1] *= 0.01  # now of size 0.05, and the mapped points vary by 0.05 along it
    expected["projected-variance"] = expected["magnitude"] = 1
    assert least_row(data, measure, A) == expected[measure]


@pytest.mark.parametrize("anneal", [True, *ANNEALED])
def test_nca_ends_at_the_rank_that_was_asked_for(anneal: bool | str) -> None:
    nca = NCA(2, anneal=anneal, init="identity", max_iter=500).fit(X, y)
    assert nca.components_.shape == (2, 6)
    assert nca.objective_curve_[-1] > 0.9 * len(X)


def test_the_penalty_rises_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def noted(objective: Any, penalty: FloatArray) -> Any:
        seen.append(penalty[0])
        return objective

    class Flat:
        def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
            return 1.0, np.zeros_like(A)

    monkeypatch.setattr("vicinal.nca._annealing.Ridge", noted)
    Annealing(lambda _: 0, n_raises=4).reduce(Flat(), np.eye(2), 1)
    np.testing.assert_allclose(seen, 0.01 * np.arange(1, 5))
