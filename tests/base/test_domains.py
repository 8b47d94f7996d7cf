import numpy as np

from vicinal.base.linalg import Domain


def test_features_are_standardised_and_constant_ones_keep_their_unit() -> None:
    X = np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]])
    domain = Domain.build(X, np.array([1, 0, 0])).standardized()
    np.testing.assert_array_equal(domain.codes, [0, 0, 1])
    np.testing.assert_array_equal(domain.X, X[[1, 2, 0]])
    np.testing.assert_array_equal(domain.varying(), [True, False])
    np.testing.assert_allclose(domain.origin, [2, 5])
    np.testing.assert_allclose(domain.scale, [np.sqrt(2 / 3), 1])
    both = domain.points(np.array([True, True]))
    np.testing.assert_allclose(both.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(both.std(axis=0), [1, 0])
    A, offset = domain.map_of(np.eye(2), np.array([True, True]))
    np.testing.assert_allclose(domain.X @ A.T + offset, both, atol=1e-14)


def test_a_domain_without_rows_is_standardised_in_the_same_way() -> None:
    X = np.random.default_rng(0).normal(size=(6, 2))
    domain = Domain.build(X, np.arange(6) % 2).standardized()
    empty = domain.without_rows()
    assert (empty.X.shape, empty.codes.shape) == ((0, 2), (0,))
    np.testing.assert_array_equal(empty.scale, domain.scale)
    np.testing.assert_array_equal(empty.origin, domain.origin)
