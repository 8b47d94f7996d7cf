import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal.app.methods.linear_map import directions, feature_shares

MAPS = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 100)).map(
    lambda size: np.random.RandomState(size[2]).randn(*size[:2])
)


@given(MAPS, st.sampled_from([1e-60, 1.0, 1e60]))
def test_shares_are_parts_of_the_squared_size(A: np.ndarray, unit: float) -> None:
    expected = (A**2).sum(axis=0) / (A**2).sum()
    np.testing.assert_allclose(feature_shares(unit * A), expected)


@given(MAPS)
def test_shares_do_not_change_when_the_image_turns(A: np.ndarray) -> None:
    Q, _ = np.linalg.qr(np.random.RandomState(0).randn(len(A), len(A)))
    np.testing.assert_allclose(feature_shares(Q @ A), feature_shares(A), atol=1e-12)


@given(MAPS)
def test_all_directions_make_up_the_metric(A: np.ndarray) -> None:
    shares, loadings = directions(A, n_directions=5)
    M = loadings.T * shares @ loadings
    np.testing.assert_allclose(M, A.T @ A / (A**2).sum(), atol=1e-12)
    assert (loadings.max(axis=1) >= -loadings.min(axis=1) - 1e-12).all()


@pytest.mark.parametrize("shape", [(2, 3), (0, 3)])
def test_a_map_to_nowhere(shape: tuple[int, int]) -> None:
    assert feature_shares(np.zeros(shape)).tolist() == [0, 0, 0]
    assert directions(np.zeros(shape))[1].shape == (0, 3)
