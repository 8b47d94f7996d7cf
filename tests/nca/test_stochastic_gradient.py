import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from tests.nca.oracles import softmax
from vicinal import NCA
from vicinal._typing import FloatArray, IntArray
from vicinal.nca import StochasticGradient
from vicinal.objectives import NCAObjective

X, y = load_wine(return_X_y=True)
X = scale(X)


def gradient_of(
    rows: IntArray, points: FloatArray, classes: IntArray, A: FloatArray
) -> FloatArray:
    """Eq. 4 of the NCA paper for the p_i of some rows: the sum of their gradients."""
    total = np.zeros((points.shape[1], points.shape[1]))
    for i in rows:
        others = np.flatnonzero(np.arange(len(points)) != i)
        x_ij = points[i] - points[others]
        p_ij = softmax(-np.square(x_ij @ A.T).sum(axis=1))
        same = classes[others] == classes[i]
        everyone = (p_ij[:, None] * x_ij).T @ x_ij
        matches = (p_ij[same, None] * x_ij[same]).T @ x_ij[same]
        total += p_ij[same].sum() * everyone - matches
    return 2 * A @ total


def test_steps_are_those_of_the_thesis() -> None:
    points, classes = X[::6, :4], y[::6]  # sorted by class, as the objective sorts them
    n, eta_0, t_0, size, start = len(points), 2.0, 7.0, 8, 0.5 * np.eye(2, 4)
    mean = gradient_of(np.arange(n), points, classes, start) / n
    unit = eta_0 * np.linalg.norm(start) / np.linalg.norm(mean)
    rng, A, t = np.random.default_rng(3), start, t_0
    for _ in range(2):
        order = rng.permutation(n)
        for first in range(0, n, size):
            batch = order[first : first + size]
            A = A + unit / t * gradient_of(batch, points, classes, A) / len(batch)
            t += 1
    solver = StochasticGradient(2, batch_size=size, eta_0=eta_0, t_0=t_0, seed=3)
    found = solver.maximize(NCAObjective(points, classes), start, lambda *_: False)
    assert found.x == pytest.approx(A, rel=1e-9)
    assert found.nit == 2
    assert len(found.curve) == 3


def test_t_0_is_the_one_that_suits_held_out_rows_best() -> None:
    """One pass from the start for each t_0, judged by the p_i of held-out rows."""
    points, classes, eta_0, size = X[::3, :4], y[::3], 50.0, 10
    n, start = len(points), 0.5 * np.eye(2, 4)
    mean = gradient_of(np.arange(n), points, classes, start) / n
    unit = eta_0 * np.linalg.norm(start) / np.linalg.norm(mean)
    order = np.random.default_rng(4).permutation(n)
    held, learn = order[: n // 10], np.sort(order[n // 10 :])
    scores = {}
    for k in range(11):
        A, t = start, eta_0 / 1.6 * 2**k
        batches = np.random.default_rng(4).permutation(len(learn))
        for first in range(0, len(learn), size):
            batch = batches[first : first + size]
            step = gradient_of(batch, points[learn], classes[learn], A) / len(batch)
            A, t = A + unit / t * step, t + 1
        squares = np.square((points[held, None] - points) @ A.T).sum(axis=2)
        squares[np.arange(len(held)), held] = np.inf
        p = np.array([softmax(-of) for of in squares])
        same = classes[held, None] == classes
        scores[eta_0 / 1.6 * 2**k] = (p * same).sum(axis=1).mean()
    best = max(scores, key=lambda t_0: scores[t_0])
    assert best not in (min(scores), max(scores))
    objective = NCAObjective(points, classes)
    given, searched = (
        StochasticGradient(3, size, eta_0, t_0, seed=4).maximize(
            objective, start, lambda *_: False
        )
        for t_0 in (best, None)
    )
    np.testing.assert_array_equal(searched.x, given.x)


def test_the_search_for_t_0_suits_the_unit_of_the_data() -> None:
    f = []
    for unit in (0.5, 1.0, 2.0):
        nca = NCA(2, solver=StochasticGradient(), init=np.eye(2, 13) / unit)
        f.append(nca.fit(unit * X, y).objective_curve_[-1])
    assert f == pytest.approx([f[0]] * 3, rel=1e-6)
    assert f[0] > 0.98 * len(X)


def test_a_step_size_that_diverges_is_reported() -> None:
    solver = StochasticGradient(t_0=1e-300)
    found = solver.maximize(NCAObjective(X, y), np.eye(2, 13), lambda *_: False)
    assert found.reason == "not_finite"
    assert np.isfinite(found.x).all()


def test_penalties_are_refused() -> None:
    with pytest.raises(TypeError, match="use alpha=0"):
        NCA(2, alpha=0.1, solver=StochasticGradient()).fit(X, y)
