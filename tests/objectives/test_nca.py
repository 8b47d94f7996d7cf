from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from tests.nca.oracles import nca_value_and_gradient
from tests.objectives.differences import by_differences
from vicinal._typing import FloatArray, IntArray
from vicinal.objectives import NCAObjective

KINDS = ["expected", "log", "class-density"]
D = 5


def awkward(name: str) -> tuple[FloatArray, IntArray]:
    """Data sets that break careless code."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, D)), rng.integers(3, size=60)
    if name == "singletons":
        y[:10] = 100 + np.arange(10)
    elif name == "duplicates":
        X[30:] = X[:30]
    elif name == "outlier":
        X[0] *= 1e4
    elif name == "far class":
        X[y == 2] += 1e3
    elif name == "two points":
        X, y = X[:2], np.array([0, 0])
    return X, y


CASES = ["plain", "singletons", "duplicates", "outlier", "far class", "two points"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [1, 2, D])
@pytest.mark.parametrize("case", CASES)
def test_equals_the_papers_sums(kind: str, rank: int, case: str) -> None:
    X, y = awkward(case)
    A = np.random.default_rng(1).normal(size=(rank, D))
    value, gradient = NCAObjective(X, y, kind).value_and_gradient(A)
    expected_value, expected_gradient = nca_value_and_gradient(X, y, A, kind)
    np.testing.assert_allclose(value, expected_value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        gradient,
        expected_gradient,
        rtol=1e-6,
        atol=1e-8 * (1 + np.abs(expected_gradient).max()),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [1, 2, D])
@pytest.mark.parametrize("case", CASES)
def test_the_gradient_is_that_of_the_value(kind: str, rank: int, case: str) -> None:
    X, y = awkward(case)
    A = 0.5 * np.random.default_rng(2).normal(size=(rank, D))
    objective = NCAObjective(X, y, kind)
    gradient = objective.value_and_gradient(A)[1]
    np.testing.assert_allclose(
        gradient,
        by_differences(objective, A),
        rtol=1e-4,
        atol=1e-4 * (1 + np.abs(gradient).max()),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_validated_data_give_the_same_bits(kind: str) -> None:
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(60, D)), np.arange(60) % 4
    counts, prior = rng.uniform(0.5, 3, size=60), np.array([0.1, 0.2, 0.3, 0.4])
    A = rng.normal(size=(2, D))
    checked = NCAObjective(X, y, kind, sample_weight=counts, class_prior=prior)
    value, gradient = checked.value_and_gradient(A)
    known = NCAObjective(
        X, y, kind, sample_weight=counts, class_prior=prior, check_input=False
    )
    assert known.value_and_gradient(A)[0] == value
    np.testing.assert_array_equal(known.value_and_gradient(A)[1], gradient)


@pytest.mark.parametrize("kind", KINDS)
def test_a_diagonal_map_is_its_diagonal(kind: str) -> None:
    X, y = awkward("plain")
    a = np.random.default_rng(4).normal(size=D)
    objective = NCAObjective(X, y, kind)
    value, gradient = objective.value_and_gradient(a)
    full_value, full_gradient = objective.value_and_gradient(np.diag(a))
    assert value == pytest.approx(full_value, rel=1e-12)
    np.testing.assert_allclose(gradient, np.diag(full_gradient), rtol=1e-9, atol=1e-9)


def test_class_prior() -> None:
    X, y = awkward("plain")
    A = np.random.default_rng(5).normal(size=(2, D))
    prior = np.array([0.6, 0.3, 0.1])
    value, gradient = NCAObjective(
        X, y, "class-density", class_prior=5 * prior
    ).value_and_gradient(A)
    expected = nca_value_and_gradient(X, y, A, "class-density", prior)
    assert value == pytest.approx(expected[0], rel=1e-10)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-7, atol=1e-9)
    # With the classes' own shares as prior, all neighbours weigh the same: f itself.
    empirical = NCAObjective(X, y, "class-density", class_prior="empirical")
    plain = NCAObjective(X, y)
    assert empirical.value_and_gradient(A)[0] == pytest.approx(
        plain.value_and_gradient(A)[0], rel=1e-12
    )
    with pytest.raises(ValueError, match="'empirical', None or an array"):
        NCAObjective(X, y, "class-density", class_prior="flat")


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_counts(kind: str) -> None:
    X, y = awkward("singletons")
    rng = np.random.default_rng(6)
    counts = rng.integers(0, 4, size=60)
    A = 0.3 * rng.normal(size=(2, D))
    weighted = NCAObjective(X, y, kind, sample_weight=counts)
    repeated = NCAObjective(np.repeat(X, counts, axis=0), np.repeat(y, counts), kind)
    value, gradient = weighted.value_and_gradient(A)
    expected_value, expected = repeated.value_and_gradient(A)
    assert value == pytest.approx(expected_value, rel=1e-10)
    np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        np.repeat(weighted.effective_neighbors(A), counts[counts > 0]),
        repeated.effective_neighbors(A),
        rtol=1e-9,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_fractional_weights_have_the_right_gradient(kind: str) -> None:
    X, y = awkward("plain")
    rng = np.random.default_rng(7)
    objective = NCAObjective(X, y, kind, sample_weight=rng.uniform(0.1, 3, size=60))
    A = 0.5 * rng.normal(size=(2, D))
    np.testing.assert_allclose(
        objective.value_and_gradient(A)[1],
        by_differences(objective, A),
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_float32_is_computed_in_float32_and_near_the_truth(
    kind: str, case: str
) -> None:
    X, y = awkward(case)
    X = (X + 100).astype(np.float32)
    A = np.random.default_rng(3).normal(size=(2, D))
    value, gradient = NCAObjective(X, y, kind).value_and_gradient(A)
    expected_value, expected = nca_value_and_gradient(X, y, A, kind)
    # float32 could not tell distances apart beside a far outlier: float64 steps in.
    wide = case in ("outlier", "far class")
    assert gradient.dtype == (np.float64 if wide else np.float32)
    tolerance = 1e-6 if wide else 1e-4
    assert abs(value - expected_value) <= tolerance * (1 + abs(expected_value))
    assert np.abs(gradient - expected).max() <= tolerance * (1 + np.abs(expected).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1e6, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_finite_at_any_scale(kind: str, scale: float, dtype: Any) -> None:
    X, y = awkward("outlier")
    objective = NCAObjective((X * scale).astype(dtype), y, kind)
    value, gradient = objective.value_and_gradient(np.eye(2, D))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**31), kind=st.sampled_from(KINDS))
def test_invariant_to_order_and_to_the_names_of_the_classes(
    seed: int, kind: str
) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 4)), rng.integers(4, size=30)
    A = rng.normal(size=(2, 4))
    value, gradient = NCAObjective(X, y, kind).value_and_gradient(A)
    order = rng.permutation(30)
    names = rng.permutation(np.array(["b", "a", "d", "c"]))
    other = NCAObjective(X[order], names[y[order]], kind).value_and_gradient(A)
    np.testing.assert_allclose(other[0], value, rtol=1e-10)
    np.testing.assert_allclose(other[1], gradient, rtol=1e-7, atol=1e-9)


def test_one_class_or_only_lone_points_leave_nothing_to_climb() -> None:
    X = awkward("plain")[0][:20]
    for kind in KINDS:
        for y, value in [
            (np.zeros(20), 0 if kind == "log" else 20),
            (np.arange(20), 0),
        ]:
            result = NCAObjective(X, y, kind).value_and_gradient(np.eye(2, D))
            assert result[0] == value
            assert (result[1] == 0).all()


def test_equals_scikit_learns_loss() -> None:
    X, y = load_iris(return_X_y=True)
    A = np.random.default_rng(0).normal(size=(3, 4))
    peer = NeighborhoodComponentsAnalysis()
    peer.n_iter_ = 1
    loss, gradient = peer._loss_grad_lbfgs(A.ravel(), X, y[:, None] == y)
    value, ours = NCAObjective(X, y).value_and_gradient(A)
    np.testing.assert_allclose(value, loss, rtol=1e-12)
    np.testing.assert_allclose(ours.ravel(), gradient, rtol=1e-7, atol=1e-7)


def test_bad_input_is_named() -> None:
    X, y = awkward("plain")
    with pytest.raises(
        ValueError,
        match=r"kind must be one of \['class-density', 'expected', 'log', 'squared",
    ):
        NCAObjective(X, y, "accuracy")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        NCAObjective(X, y[:-1])
    with pytest.raises(ValueError, match="contains NaN"):
        NCAObjective(np.where(X > 2, np.nan, X), y)
    with pytest.raises(ValueError, match=r"shape \(n_components, 5\), got \(2, 4\)"):
        NCAObjective(X, y).value_and_gradient(np.eye(2, 4))


def test_log_terms_where_all_matches_are_out_of_sight() -> None:
    """exp underflows for both matches of the first point, and not for its others."""
    X = np.array([[0.0], [50.0], [-50.0], [1.0], [-1.0], [1.5]])
    y = np.array([0, 0, 0, 1, 1, 1])
    squares = np.square(X[0] - X[1:, 0])
    others = np.logaddexp.reduce(-squares)
    expected = np.logaddexp.reduce(-squares[:2]) - others
    found = NCAObjective(X, y, "log").terms(np.eye(1), np.arange(6))
    assert found.min() == pytest.approx(expected, abs=1e-9)
    assert np.exp(-squares[:2]).sum() == 0
