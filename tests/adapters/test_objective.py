"""The retrieval objective against its equation, its gradient and closed form."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.objectives.differences import by_differences
from vicinal._typing import FloatArray
from vicinal.adapters._objective import RetrievalObjective

SIDES = ("query", "both", "two")


def naive_value(
    Q: FloatArray, X: FloatArray, W: FloatArray, T: float, maps: Any, unit: bool
) -> float:
    """Write out the sum of Σ_j w_qj log softmax_j(−‖u_q − v_j‖² / 2T)."""
    A, B = maps
    U, V = Q @ A.T, X @ B.T
    if unit:
        U = U / np.linalg.norm(U, axis=1, keepdims=True)
        V = V / np.linalg.norm(V, axis=1, keepdims=True)
    total = 0.0
    for u, w in zip(U, W, strict=True):
        exponents = -((u - V) ** 2).sum(axis=1) / (2 * T)
        total += w @ (exponents - np.log(np.exp(exponents).sum()))
    return total


@pytest.fixture
def problem() -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    Q, X = rng.normal(size=(7, 4)), rng.normal(size=(11, 4))
    W = rng.random((7, 11)) * (rng.random((7, 11)) < 0.3)
    W[:, 0] += 0.1
    return Q, X, W / W.sum(axis=1, keepdims=True)


def maps_of(side: str, rng: np.random.Generator, d: int) -> tuple[FloatArray, Any]:
    """Return components of a side, and the maps of queries and documents."""
    A, B = rng.normal(size=(2, 4 if side == "query" else d, 4))
    if side == "query":
        return A, (A, np.eye(4))
    return (A, (A, A)) if side == "both" else (np.stack([A, B]), (A, B))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("d", [2, 4])
def test_value_is_the_equation(problem: Any, side: str, unit: bool, d: int) -> None:
    Q, X, W = problem
    components, maps = maps_of(side, np.random.default_rng(1), d)
    objective = RetrievalObjective(
        Q, X, csr_array(W), temperature=0.3, side=side, unit_length=unit
    )
    value, gradient = objective.value_and_gradient(components)
    expected = naive_value(Q, X, W, 0.3, maps, unit and side != "query")
    assert value == pytest.approx(expected, rel=1e-12)
    assert objective.terms(components).sum() == pytest.approx(expected, rel=1e-12)
    assert gradient.shape == components.shape


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("unit", [True, False])
def test_gradient_is_the_values(problem: Any, side: str, unit: bool) -> None:
    Q, X, W = problem
    start, _ = maps_of(side, np.random.default_rng(2), 3)
    objective = RetrievalObjective(
        Q, X, csr_array(W), temperature=0.5, side=side, unit_length=unit
    )

    np.testing.assert_allclose(
        objective.value_and_gradient(start)[1],
        by_differences(objective, start),
        rtol=1e-6,
        atol=1e-7,
    )


def test_cosines_over_the_temperature() -> None:
    rng = np.random.default_rng(3)
    Q, X = rng.normal(size=(5, 3)), rng.normal(size=(8, 3))
    Q /= np.linalg.norm(Q, axis=1, keepdims=True)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    W = np.eye(5, 8)
    objective = RetrievalObjective(
        Q, X, csr_array(W), temperature=0.1, side="query", unit_length=True
    )
    logits = Q @ X.T / 0.1
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(objective.terms(np.eye(3)), np.diag(log_p), rtol=1e-10)


def test_float32_stays_close(problem: Any) -> None:
    Q, X, W = problem
    start, _ = maps_of("two", np.random.default_rng(4), 3)
    results = [
        RetrievalObjective(
            Q.astype(dtype),
            X.astype(dtype),
            csr_array(W),
            temperature=0.5,
            side="two",
            unit_length=True,
        ).value_and_gradient(start)
        for dtype in (np.float32, np.float64)
    ]
    assert results[0][1].dtype == np.float32
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-5)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-3, atol=1e-5)


def test_a_batch_holds_the_documents_of_its_queries(problem: Any) -> None:
    Q, X, W = problem
    objective = RetrievalObjective(
        Q, X, csr_array(W), temperature=0.5, side="query", unit_length=False
    )
    batch = objective.sample(3, 2, np.random.default_rng(0))
    assert batch.weights.shape[0] == len(batch.queries) == 3
    assert len(batch.documents) < len(X)
    np.testing.assert_allclose(batch.weights.sum(axis=1), 1)
    for query, wanted in zip(
        batch.queries, batch.weights @ batch.documents, strict=True
    ):
        (q,) = np.flatnonzero((query == Q).all(axis=1))
        np.testing.assert_allclose(wanted, W[q] @ X)


def test_a_batch_of_everything_is_the_whole(problem: Any) -> None:
    Q, X, W = problem
    objective = RetrievalObjective(
        Q, X, csr_array(W), temperature=0.5, side="query", unit_length=False
    )
    batch = objective.sample(100, 100, np.random.default_rng(0))
    assert batch.value_and_gradient(np.eye(4))[0] == pytest.approx(
        objective.value_and_gradient(np.eye(4))[0], rel=1e-12
    )


class Quadratic:
    """The penalized objective of Gaussian documents, as in the docstring."""

    def __init__(
        self, Q: FloatArray, X: FloatArray, W: FloatArray, alpha: float, T: float
    ) -> None:
        self.Q, self.X, self.W, self.alpha, self.T = Q, X, W, alpha, T

    def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
        U = self.Q @ A.T
        middle, covariance = self.X.mean(axis=0), np.cov(self.X.T, bias=True)
        value = 0.0
        for u, w in zip(U, self.W @ self.X, strict=True):
            value += u @ (w - middle) / self.T - u @ covariance @ u / (2 * self.T**2)
        value -= len(U) * self.alpha * ((A - np.eye(len(A))) ** 2).sum()
        return float(value), np.zeros_like(A)


@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
def test_no_step_from_the_closed_form_is_better(alpha: float) -> None:
    rng = np.random.default_rng(0)
    Q, X = rng.normal(size=(30, 4)), rng.normal(size=(50, 4))
    W = np.eye(50)[rng.integers(50, size=30)]
    objective = RetrievalObjective(
        Q, X, csr_array(W), temperature=0.7, unit_length=True
    )
    found = objective.closed_form(alpha, np.eye(4))
    slope = by_differences(Quadratic(Q, X, W, alpha, 0.7), found)
    np.testing.assert_allclose(slope, 0, atol=1e-5)


def test_a_strong_penalty_or_no_data_leave_the_identity() -> None:
    rng = np.random.default_rng(0)
    Q, X = rng.normal(size=(9, 4)), rng.normal(size=(20, 4))
    Q[:, 3] = 0  # no query has this feature
    W = csr_array(np.eye(20)[rng.integers(20, size=9)])
    objective = RetrievalObjective(Q, X, W, unit_length=True)
    np.testing.assert_allclose(
        objective.closed_form(1e9, np.eye(4)), np.eye(4), atol=1e-6
    )
    np.testing.assert_allclose(
        objective.closed_form(0.0, np.eye(4))[:, 3], np.eye(4)[3], atol=1e-9
    )


def test_subsets_are_measured_anew() -> None:
    rng = np.random.default_rng(0)
    Q, X = rng.normal(size=(20, 3)), rng.normal(size=(40, 3))
    W = csr_array(np.eye(40)[rng.integers(40, size=20)])
    objective = RetrievalObjective(Q, X, W, unit_length=True)
    whole = objective.closed_form(0.01, np.eye(3))
    part = objective.subset(np.arange(10))
    expected = RetrievalObjective(Q[:10], X, W[:10], unit_length=True)
    found = part.closed_form(0.01, np.eye(3))
    np.testing.assert_allclose(found, expected.closed_form(0.01, np.eye(3)))
    np.testing.assert_allclose(
        part.regression.solve(0.1), expected.regression.solve(0.1)
    )
    assert not np.allclose(whole, found)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("unit", [True, False])
def test_a_weight_is_a_number_of_copies(problem: Any, side: str, unit: bool) -> None:
    Q, X, W = problem
    components, _ = maps_of(side, np.random.default_rng(5), 3)
    copies = np.array([1, 0, 3, 1, 2, 1, 1])
    rows = np.repeat(np.arange(7), copies)
    settings: dict[str, Any] = {"temperature": 0.4, "side": side, "unit_length": unit}
    weighted = RetrievalObjective(
        Q, X, csr_array(W), sample_weight=copies.astype(float), **settings
    )
    copied = RetrievalObjective(Q[rows], X, csr_array(W[rows]), **settings)
    value, gradient = weighted.value_and_gradient(components)
    expected, expected_gradient = copied.value_and_gradient(components)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-12)
    np.testing.assert_allclose(
        weighted.regression.solve(0.1), copied.regression.solve(0.1), atol=1e-12
    )


def test_widths_may_differ_if_documents_are_not_mapped() -> None:
    rng = np.random.default_rng(6)
    Q, X, A = rng.normal(size=(6, 3)), rng.normal(size=(9, 5)), rng.normal(size=(5, 3))
    W = np.eye(6, 9)
    objective = RetrievalObjective(Q, X, csr_array(W), temperature=0.5)
    value, gradient = objective.value_and_gradient(A)
    assert value == pytest.approx(naive_value(Q, X, W, 0.5, (A, np.eye(5)), False))
    np.testing.assert_allclose(gradient, by_differences(objective, A), rtol=1e-6)
