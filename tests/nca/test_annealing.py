from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import vicinal
from tests.nca.oracles import nca_value_and_gradient
from vicinal import NCA
from vicinal._typing import FloatArray
from vicinal.nca import Annealing
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


def test_a_fixed_rise_of_the_penalty_is_algorithm_3_2() -> None:
    rows = slice(None, None, 4)
    points, classes = X[rows, :4], y[rows]
    delta, n_raises, n_steps = 0.3, 4, 2
    A = np.diag([1.0, 0.9, 0.8, 0.7])
    expected = A.copy()
    while len(expected) > 2:
        shape, penalties = expected.shape, np.zeros(len(expected))
        least = int(np.argmin(np.linalg.norm(expected, axis=1)))
        for _ in range(n_raises):
            penalties[least] += delta

            def negated(flat: FloatArray) -> tuple[float, FloatArray]:
                B = flat.reshape(shape)  # noqa: B023  called within the iteration
                f, gradient = nca_value_and_gradient(points, classes, B, "expected")
                squares, weights = np.sum(B**2, axis=1), penalties  # noqa: B023
                gradient = gradient - 2 * weights[:, None] * B
                return -(f - float(weights @ squares)), -gradient.ravel()

            options = {"maxiter": n_steps, "gtol": 0.0}
            flat = expected.ravel()
            found = minimize(negated, flat, jac=True, method="CG", options=options)
            expected = found.x.reshape(shape)
        expected = np.delete(expected, least, axis=0)
    how = Annealing(delta=delta, n_raises=n_raises, n_steps=n_steps)
    found_rows = anneal(NCAObjective(points, classes), A, 2, points, how)
    assert found_rows == pytest.approx(expected, rel=1e-6)
    assert anneal(NCAObjective(points, classes), A, 2, points) != pytest.approx(
        expected, rel=1e-2
    )


def test_a_schedule_of_ones_own_is_used_and_saved(tmp_path: Path) -> None:
    slowly = Annealing("projected-variance", delta=0.1, n_raises=10, n_steps=1)
    nca = NCA(2, anneal=slowly, init="identity", max_iter=500).fit(X, y)
    usual = NCA(2, anneal="projected-variance", init="identity", max_iter=500).fit(X, y)
    assert not np.allclose(nca.components_, usual.components_)
    vicinal.save(tmp_path / "annealed.vicinal", nca)
    assert vicinal.load(tmp_path / "annealed.vicinal").anneal == slowly
