import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from vicinal import NCA, NCARegressor
from vicinal.nca._initialization import (
    perplexity,
    rescale_init,
    to_perplexity,
    typical_distance,
)
from vicinal.objectives import NCAObjective

X, y = load_wine(return_X_y=True)
X = scale(X)
OBJECTIVE = NCAObjective(X, y)
ALL = np.arange(len(X))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("size", [1e-8, 1e-2, 1.0, 1e2, 1e5])
def test_any_scale_becomes_that_of_so_many_neighbours(size: float) -> None:
    A = to_perplexity(OBJECTIVE, size * np.eye(13), rng(), 7)
    assert perplexity(OBJECTIVE, A, ALL) == pytest.approx(7, rel=0.1)
    np.testing.assert_allclose(A / A[0, 0], np.eye(13), atol=1e-12)


def test_no_more_than_half_of_the_points() -> None:
    few = NCAObjective(X[::30], y[::30])
    A = to_perplexity(few, np.eye(13), rng(), 100)
    assert perplexity(few, A, np.arange(6)) <= 3.1


def test_maps_without_a_scale_stay() -> None:
    zeros = np.zeros((2, 13))
    np.testing.assert_array_equal(to_perplexity(OBJECTIVE, zeros, rng()), zeros)
    np.testing.assert_array_equal(rescale_init(OBJECTIVE, zeros, rng(), True), zeros)
    equal = NCAObjective(np.ones((20, 3)), np.arange(20) % 2)
    np.testing.assert_array_equal(to_perplexity(equal, np.eye(3), rng()), np.eye(3))


@pytest.mark.parametrize("n", [20, 28, 43])
def test_rounding_is_no_distance(n: int) -> None:
    equal = NCAObjective(np.full((n, 1), 5.1), np.arange(n) % 2)
    assert typical_distance(equal, np.eye(1)) == 0
    NCARegressor(init="random", solver="stochastic", max_iter=2).fit(
        np.full((n, 1), -5.1e-46), np.arange(n)
    )


def test_a_start_that_sees_is_left_alone() -> None:
    # Wine at full rank: about seven neighbours. scikit-learn starts there, too.
    assert perplexity(OBJECTIVE, np.eye(13), ALL) > 3
    for ours in (True, False):
        np.testing.assert_array_equal(
            rescale_init(OBJECTIVE, np.eye(13), rng(), ours), np.eye(13)
        )
    # A start of the user's choice may see few; one of ours may not.
    narrow = 2.0 * np.eye(13)
    assert perplexity(OBJECTIVE, narrow, ALL) < 1.5
    np.testing.assert_array_equal(rescale_init(OBJECTIVE, narrow, rng(), False), narrow)
    scaled = rescale_init(OBJECTIVE, narrow, rng(), True)
    assert perplexity(OBJECTIVE, scaled, ALL) == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize("size", [1e-5, 1e5])
def test_a_blind_start_is_scaled_whoever_chose_it(size: float) -> None:
    scaled = rescale_init(OBJECTIVE, size * np.eye(13), rng(), False)
    assert perplexity(OBJECTIVE, scaled, ALL) == pytest.approx(10, rel=0.1)


def test_weights_are_counts() -> None:
    counts = np.random.default_rng(1).integers(1, 4, size=len(X))
    weighted = NCAObjective(X, y, sample_weight=counts)
    repeated = NCAObjective(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert typical_distance(weighted, np.eye(13)) == pytest.approx(
        typical_distance(repeated, np.eye(13)), rel=1e-12
    )
    assert perplexity(weighted, np.eye(13), ALL) == pytest.approx(
        perplexity(repeated, np.eye(13), np.arange(counts.sum())), rel=1e-9
    )


@pytest.mark.parametrize("unit", [2.0**-60, 2.0**-12, 2.0**12, 2.0**60])
def test_the_unit_of_the_data_changes_nothing_but_the_map(unit: float) -> None:
    plain = NCA(init=np.eye(13), max_iter=20, tol=1e-2).fit(X, y)
    nca = NCA(init=np.eye(13) / unit, max_iter=20, tol=1e-2).fit(unit * X, y)
    np.testing.assert_allclose(nca.components_ * unit, plain.components_, rtol=1e-9)
    blind = NCA(max_iter=100, tol=1e-3).fit(unit * X, y)
    assert blind.n_iter_ > 2
    assert blind.objective_curve_[-1] > 0.99 * len(X)
