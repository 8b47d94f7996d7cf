from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from vicinal.classic import SDML, pairs_from_labels
from vicinal.classic.sdml import (
    blocks_of,
    sparse_inverse,
    sparsity_for_blocks,
)

X, y = load_iris(return_X_y=True)
X = scale(X)
PAIRS, ALIKE = pairs_from_labels(y, 200, random_state=0)


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(SDML(n_constraints=60))),
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: SDML, check: Any) -> None:
    check(estimator)


def scatter_of_pairs() -> Any:
    """The mean of vvᵀ over alike pairs less that over others, in X's largest unit."""
    V = (X[PAIRS[:, 0]] - X[PAIRS[:, 1]]) / np.abs(X).max()
    near, far = V[ALIKE == 1], V[ALIKE == -1]
    return near.T @ near / len(near) - far.T @ far / len(far)


@pytest.mark.parametrize("prior", ["identity", "given"])
@pytest.mark.parametrize("sparsity", [0.0, 0.05, 0.3])
def test_the_optimum_meets_its_conditions(sparsity: float, prior: str) -> None:
    M0 = np.eye(4) if prior == "identity" else np.eye(4) + 0.5
    model = SDML(
        sparsity, prior="identity" if prior == "identity" else M0, tol=1e-7,
        max_iter=1000, preprocessor=X,
    ).fit(PAIRS, ALIKE)  # fmt: skip
    M = model.precision_
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), M, atol=1e-10)
    P = np.linalg.inv(M0) + model.balance_ * scatter_of_pairs()
    size = np.diagonal(P).mean()
    # M⁻¹ − P is λ sign(M) where M is not 0, and at most λ in size where it is.
    left = (np.linalg.inv(M) - P) / size
    np.testing.assert_allclose(np.diagonal(left), 0, atol=1e-5)
    off = ~np.eye(4, dtype=bool)
    assert np.abs(left[off]).max() <= sparsity + 1e-5
    used = off & (np.abs(M) > 1e-6)
    np.testing.assert_allclose(left[used], sparsity * np.sign(M[used]), atol=1e-4)


def test_more_sparsity_more_zeros() -> None:
    zeros = [
        int((SDML(s, preprocessor=X).fit(PAIRS, ALIKE).precision_ == 0).sum())
        for s in (0.0, 0.2, 10.0)
    ]
    assert zeros[0] == 0
    assert zeros[0] <= zeros[1] <= zeros[2] == 12


def test_balance() -> None:
    least = np.linalg.eigvalsh(scatter_of_pairs())[0]
    assert least < 0
    auto = SDML(preprocessor=X).fit(PAIRS, ALIKE)
    assert auto.balance_ == pytest.approx(-0.5 / least)
    with pytest.raises(ValueError, match="a solution below"):
        SDML(balance=-1.01 / least, preprocessor=X).fit(PAIRS, ALIKE)
    # Alike pairs alone leave P positive definite, whatever the balance.
    one = SDML(preprocessor=X).fit(PAIRS[ALIKE == 1], ALIKE[ALIKE == 1])
    assert np.isfinite(one.components_).all()


def test_blocks_lose_nothing() -> None:
    rng = np.random.default_rng(0)
    P = np.zeros((9, 9))
    for part in (slice(0, 4), slice(4, 9)):
        V = rng.normal(size=(30, P[part, part].shape[0]))
        P[part, part] = V.T @ V / 30
    order = rng.permutation(9)
    P = P[np.ix_(order, order)]
    assert blocks_of(P, 0.01).max() == 1
    M, _ = sparse_inverse(P, 0.01, 500, 1e-6)
    left = np.linalg.inv(M) - P
    assert np.abs(left).max() <= 0.01 + 1e-5
    assert (M[blocks_of(P, 0.01)[:, None] != blocks_of(P, 0.01)] == 0).all()


def test_wide_tables_hang_together_in_small_blocks() -> None:
    rng = np.random.default_rng(0)
    V = rng.normal(size=(20, 260))
    P = V.T @ V / 20
    sparsity = sparsity_for_blocks(P)
    assert sparsity > 0.01
    assert np.bincount(blocks_of(P, sparsity)).max() <= 200
    digits, labels = load_digits(return_X_y=True)
    few = SDML(random_state=0).fit(digits[:50], labels[:50])
    assert np.isfinite(few.components_).all()


def test_stopping_early_is_a_warning() -> None:
    with pytest.warns(ConvergenceWarning, match="did not converge in 1"):
        SDML(0.05, max_iter=1, tol=1e-12, preprocessor=X).fit(PAIRS, ALIKE)
