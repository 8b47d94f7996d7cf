import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from vicinal import NCA
from vicinal._typing import FloatArray
from vicinal.nca._schedules import ANNEALED, anneal, least_row
from vicinal.objectives import NCAObjective

X, y = load_wine(return_X_y=True)
X = scale(X)[:, :6]


def test_rows_are_dropped_one_by_one() -> None:
    objective = NCAObjective(X, y)
    A = anneal(objective, np.eye(6), 3, X)
    assert A.shape == (3, 6)
    reached = objective.value_and_gradient(A)[0]
    assert reached > objective.value_and_gradient(np.eye(6)[:3])[0]


def test_a_row_is_small_before_it_is_dropped() -> None:
    seen: list[FloatArray] = []

    class Watched(NCAObjective):
        def value_and_gradient(self, components: object) -> tuple[float, FloatArray]:
            seen.append(np.array(components))
            return super().value_and_gradient(components)  # type: ignore[arg-type]

    start = np.diag([0.9, 1, 1, 1, 1, 1])
    anneal(Watched(X, y), start, 5, X)
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


@pytest.mark.parametrize("how", [True, *ANNEALED])
def test_nca_ends_at_the_rank_that_was_asked_for(how: bool | str) -> None:
    nca = NCA(2, anneal=how, init="identity", max_iter=500).fit(X, y)
    assert nca.components_.shape == (2, 6)
    assert nca.objective_curve_[-1] > 0.9 * len(X)
