"""Kernels of given matches against the weights v_ij of their formulas."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from vicinal._typing import FloatArray
from vicinal.neighborhood import (
    NeighborWeights,
    given_pairs,
    kernels,
    listed_matches,
    soft_labels,
)

N = 7
# The kernels are given the first rows of these arrays: the others are not theirs.
N_ROWS = 5
ORDER = np.array([3, 0, 6, 2, 5, 1, 4])
Z = np.random.default_rng(0).normal(size=(N, 2))
KIND = np.dtype(np.float64)
MASSES = NeighborWeights.build(np.ones(N), np.ones(N), KIND)


def picked() -> FloatArray:
    """Return p_ij."""
    E = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2))
    np.fill_diagonal(E, 0)
    return np.asarray(E / E.sum(axis=1, keepdims=True))


def weighed(rule: Any) -> tuple[FloatArray, FloatArray]:
    """Return the weights and values that a rule's kernel writes for some points."""
    norms = (Z**2).sum(axis=1)
    products, values = Z[ORDER] @ Z.T, np.full(N, np.nan)
    given = products.copy()
    known = (array[ORDER][:N_ROWS] for array in (norms, *rule.query_args))
    getattr(kernels, rule.kernel)(
        products[:N_ROWS],
        ORDER[:N_ROWS],
        *known,
        norms,
        *rule.reference_args,
        values[:N_ROWS],
    )
    np.testing.assert_array_equal(products[N_ROWS:], given[N_ROWS:])
    assert np.isnan(values[N_ROWS:]).all()
    return products[:N_ROWS], values[:N_ROWS]


def some_matches() -> FloatArray:
    """Return κ_ij of several matches a point, and of one point that has none."""
    kappa = np.random.default_rng(1).uniform(0.1, 1, size=(N, N))
    kappa[(np.arange(N)[:, None] + np.arange(N)) % 3 == 0] = 0
    kappa[2] = 0
    np.fill_diagonal(kappa, 0)
    return kappa


def check_matches(rule: Any, kappa: FloatArray, power: float) -> None:
    """Compare with κ_i^power p_ij (1 − κ_ij / κ_i), and 0 where nothing matches."""
    p = picked()
    held = (p * kappa).sum(axis=1)
    some = np.where(held > 0, held, 1)[:, None]
    factors = np.where(held > 0, held**power, 0)[:, None]
    terms = np.where(held > 0, held if power else np.log(some[:, 0]), 0)
    V, values = weighed(rule)
    expected = factors * p * (1 - kappa / some)
    np.testing.assert_allclose(V, expected[ORDER][:N_ROWS], atol=1e-12)
    np.testing.assert_allclose(values, terms[ORDER][:N_ROWS], atol=1e-12)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_listed_matches(power: float) -> None:
    kappa = some_matches()
    listed = csr_array(kappa)
    check_matches(listed_matches(listed, MASSES, power), kappa, power)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_soft_labels(power: float) -> None:
    labels = np.random.default_rng(2).dirichlet([0.5] * 3, size=N)
    labels[:, 0] += labels[:, 2]
    labels[:, 2] = 0
    labels[2] = [0, 0, 1]  # nobody else may be of this class
    kappa = labels @ labels.T
    np.fill_diagonal(kappa, 0)
    check_matches(soft_labels(labels, MASSES, power), kappa, power)


def test_pairs() -> None:
    shares = some_matches()
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-9)
    attraction = np.where(np.arange(N) == 2, 0, np.linspace(0.5, 2, N))
    repulsion = np.where(np.arange(N) == 2, 0, np.linspace(3, 1, N))
    p = picked()
    expected = repulsion[:, None] * p - attraction[:, None] * shares
    terms = (shares * np.log(p + np.eye(N))).sum(axis=1)
    listed = csr_array(shares)
    V, values = weighed(given_pairs(listed, MASSES, attraction, repulsion))
    # Point 2 neither has partners nor repels: it has no part in the gradient.
    np.testing.assert_allclose(V, expected[ORDER][:N_ROWS], atol=1e-12)
    np.testing.assert_allclose(values, terms[ORDER][:N_ROWS], atol=1e-12)
