import numpy as np
import pytest

from tests.nca.oracles import target_value
from tests.objectives.differences import by_differences
from vicinal.objectives import TargetObjective

KINDS = ["soft-match", "squared-error"]
rng = np.random.default_rng(0)
X, t = rng.normal(size=(50, 4)), 3 * rng.normal(size=50) + 100


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [1, 2, 4])
def test_equals_the_sum_and_its_differences(kind: str, rank: int) -> None:
    A = 0.7 * np.random.default_rng(rank).normal(size=(rank, 4))
    objective = TargetObjective(X, t, kind, width=2.0)
    value, gradient = objective.value_and_gradient(A)
    assert value == pytest.approx(target_value(X, t, A, kind, 2.0), rel=1e-10)
    np.testing.assert_allclose(
        gradient, by_differences(objective, A), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("kind", KINDS)
def test_validated_data_give_the_same_bits(kind: str) -> None:
    counts = np.random.default_rng(1).uniform(0.5, 3, size=50)
    A = 0.4 * np.random.default_rng(2).normal(size=(2, 4))
    checked = TargetObjective(X, t, kind, width=2.0, sample_weight=counts)
    known = TargetObjective(
        X, t, kind, width=2.0, sample_weight=counts, check_input=False
    )
    value, gradient = checked.value_and_gradient(A)
    assert known.value_and_gradient(A)[0] == value
    np.testing.assert_array_equal(known.value_and_gradient(A)[1], gradient)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_counts(kind: str) -> None:
    counts = np.random.default_rng(1).integers(0, 4, size=50)
    A = 0.4 * np.random.default_rng(2).normal(size=(2, 4))
    weighted = TargetObjective(X, t, kind, sample_weight=counts)
    repeated = TargetObjective(np.repeat(X, counts, axis=0), np.repeat(t, counts), kind)
    value, gradient = weighted.value_and_gradient(A)
    expected_value, expected = repeated.value_and_gradient(A)
    assert value == pytest.approx(expected_value, rel=1e-10)
    np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_float32_is_near_the_truth(kind: str) -> None:
    A = 0.7 * np.random.default_rng(3).normal(size=(2, 4))
    single = TargetObjective(X.astype(np.float32), t, kind).value_and_gradient(A)
    double = TargetObjective(X, t, kind).value_and_gradient(A)
    assert single[1].dtype == np.float32
    assert single[0] == pytest.approx(double[0], rel=1e-4)
    np.testing.assert_allclose(
        single[1], double[1], atol=1e-4 * np.abs(double[1]).max()
    )


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="kind must be one of"):
        TargetObjective(X, t, "median")
    with pytest.raises(ValueError, match="width must be above 0"):
        TargetObjective(X, t, width=0)
    with pytest.raises(ValueError, match="contains NaN"):
        TargetObjective(X, np.where(t > 100, np.nan, t))


@pytest.mark.parametrize("kind", ["soft-match", "squared-error"])
def test_targets_far_from_zero_keep_their_digits(kind: str) -> None:
    rng = np.random.default_rng(0)
    X, steps = rng.normal(size=(30, 2)), rng.integers(-8, 9, size=30)
    near = TargetObjective(X, steps * 2.0**-10, kind, width=2.0**-8 / 3)
    far = TargetObjective(X, 2.0**20 + steps * 2.0**-10, kind, width=2.0**-8 / 3)
    value, gradient = near.value_and_gradient(np.eye(2))
    moved, moved_gradient = far.value_and_gradient(np.eye(2))
    assert moved == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(moved_gradient, gradient, rtol=1e-7, atol=1e-12)
