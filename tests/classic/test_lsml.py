from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.objectives.differences import by_differences
from vicinal.classic import LSML, quadruplets_from_labels
from vicinal.classic.lsml import SquaredResiduals
from vicinal.classic.tuples import Differences

X, y = load_iris(return_X_y=True)
X = scale(X)
FOUR = quadruplets_from_labels(y, 150, random_state=0)


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(LSML(n_constraints=60))),
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: LSML, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prior", ["identity", "given"])
def test_the_optimum_is_where_the_papers_gradient_vanishes(
    prior: str, weighted: bool
) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4))
    M0 = np.eye(4) if prior == "identity" else A @ A.T / 4 + np.eye(4)
    w = rng.random(150) if weighted else np.ones(150)
    model = LSML(
        prior="identity" if prior == "identity" else M0,
        # Where steps gain less than rounding, some line searches give up.
        tol=1e-10, max_iter=2000, preprocessor=X,
    )  # fmt: skip
    M = model.fit(FOUR, weights=w if weighted else None).get_mahalanobis_matrix()
    ab, cd = X[FOUR[:, 0]] - X[FOUR[:, 1]], X[FOUR[:, 2]] - X[FOUR[:, 3]]
    # The unit in which the mean squared distance is one, under the prior.
    unit = np.mean([np.einsum("ij,jk,ik->i", V, M0, V).mean() for V in (ab, cd)])
    ab, cd = ab / np.sqrt(unit), cd / np.sqrt(unit)
    gradient = np.linalg.inv(M0) - np.linalg.inv(M)
    for u, v, weight in zip(ab, cd, w / w.mean(), strict=True):
        near, far = np.sqrt(u @ M @ u), np.sqrt(v @ M @ v)
        if near > far:
            gradient += weight * (1 - far / near) * np.outer(u, u)
            gradient += weight * (1 - near / far) * np.outer(v, v)
    assert np.abs(gradient).max() < 1e-4 * np.abs(np.linalg.inv(M)).max()


def test_gradient() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(9, 3))
    rows = rng.integers(9, size=(4, 20))
    loss = SquaredResiduals(
        Differences(points, *rows[:2]), Differences(points, *rows[2:]), rng.random(20)
    )
    A = np.eye(3) + 0.3 * rng.normal(size=(3, 3))
    expected = by_differences(loss, A)
    np.testing.assert_allclose(loss.value_and_gradient(A)[1], expected, atol=1e-5)
    assert loss.value_and_gradient(np.zeros((3, 3)))[0] < -1e300


def test_quadruplets_come_into_order() -> None:
    plain = LSML(1e-9, preprocessor=X).fit(FOUR)
    np.testing.assert_allclose(plain.get_mahalanobis_matrix(), np.eye(4), atol=1e-5)
    assert LSML(preprocessor=X).fit(FOUR).score(FOUR) > plain.score(FOUR) + 0.02


@pytest.mark.parametrize("weights", [np.ones(3), -np.ones(150), np.zeros(150)])
def test_bad_weights(weights: Any) -> None:
    with pytest.raises(ValueError, match="weights must be 150 numbers"):
        LSML(preprocessor=X).fit(FOUR, weights=weights)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (np.eye(3), r"prior must have shape \(4, 4\)"),
        (-np.eye(4), "symmetric and positive definite"),
        (np.triu(np.ones((4, 4))), "symmetric and positive definite"),
    ],
)
def test_bad_priors(prior: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LSML(prior=prior, preprocessor=X).fit(FOUR)
