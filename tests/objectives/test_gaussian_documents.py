"""The closed form against the equation that it solves, and where it is exact."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.objectives.differences import by_differences
from vicinal._typing import FloatArray
from vicinal.objectives import RetrievalObjective
from vicinal.objectives.gaussian_documents import GaussianDocuments


class Quadratic:
    """The objective with the documents as a Gaussian cloud, written naively."""

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
    found = GaussianDocuments.of(Q, X, csr_array(W), 1).solve(alpha, 0.7)
    slope = by_differences(Quadratic(Q, X, W, alpha, 0.7), found)
    np.testing.assert_allclose(slope, 0, atol=1e-5)


def test_a_strong_penalty_or_no_data_leave_the_identity() -> None:
    rng = np.random.default_rng(0)
    Q, X = rng.normal(size=(9, 4)), rng.normal(size=(20, 4))
    Q[:, 3] = 0  # no query has this feature
    W = csr_array(np.eye(20)[rng.integers(20, size=9)])
    measured = GaussianDocuments.of(Q, X, W, 1)
    np.testing.assert_allclose(measured.solve(1e9, 1.0), np.eye(4), atol=1e-6)
    np.testing.assert_allclose(measured.solve(0.0, 1.0)[:, 3], np.eye(4)[3], atol=1e-9)


def test_subsets_are_measured_anew() -> None:
    rng = np.random.default_rng(0)
    Q, X = rng.normal(size=(20, 3)), rng.normal(size=(40, 3))
    W = csr_array(np.eye(40)[rng.integers(40, size=20)])
    objective = RetrievalObjective(
        Q, X, W, temperature=1.0, side="query", unit_length=True
    )
    assert objective.has_closed_form
    whole = objective.closed_form(0.01)
    part = objective.subset(np.arange(10))
    expected = GaussianDocuments.of(Q[:10], X, W[:10], 1).solve(0.01, 1.0)
    np.testing.assert_allclose(part.closed_form(0.01), expected)
    assert not np.allclose(whole, expected)
