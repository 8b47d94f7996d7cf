from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.utils.estimator_checks import estimator_checks_generator

from vicinal.classic import Covariance

X, _ = load_wine(return_X_y=True)


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(Covariance())),
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: Covariance, check: Any) -> None:
    check(estimator)


def test_it_is_the_inverse_covariance() -> None:
    found = Covariance().fit(X)
    expected = np.linalg.inv(np.cov(X.T))
    np.testing.assert_allclose(found.get_mahalanobis_matrix(), expected, rtol=1e-6)
    gram = found.components_ @ found.components_.T
    np.testing.assert_allclose(gram, np.diag(np.diagonal(gram)), atol=1e-9)
    assert (np.diff(np.diagonal(gram)) > 0).all()  # the largest variance first


def test_singular_covariances_have_a_pseudo_inverse() -> None:
    digits, _ = load_digits(return_X_y=True)
    varying = np.count_nonzero(digits.std(axis=0))
    assert len(Covariance().fit(digits).components_) == varying
    few = Covariance().fit(digits[:20])
    np.testing.assert_allclose(
        few.get_mahalanobis_matrix(),
        np.linalg.pinv(np.cov(digits[:20].T), hermitian=True, rcond=1e-10),
        atol=1e-6,
    )
    assert Covariance(3).fit(digits).transform(digits).shape == (1797, 3)


def test_what_has_no_covariance() -> None:
    with pytest.raises(ValueError, match="All rows of X are equal"):
        Covariance().fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="more than the 13 directions"):
        Covariance(14).fit(X)
