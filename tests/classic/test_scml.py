from typing import Any

import numpy as np
import pytest
import sklearn
from scipy.optimize import linprog
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.objectives.differences import by_differences
from vicinal.classic import SCML, triplets_from_labels
from vicinal.classic.scml import OrderedTriplets, _discriminants
from vicinal.optimize import SOLVERS

X, y = load_iris(return_X_y=True)
X = scale(X)
TRIPLETS = triplets_from_labels(y, 200, random_state=0)


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(SCML(n_basis=20))),
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: SCML, check: Any) -> None:
    check(estimator)


def margins(seed: int, n: int = 60, n_basis: int = 8) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_basis)) + 0.3


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_optimum_is_that_of_the_linear_program(seed: int) -> None:
    K, beta = margins(seed), 0.05
    n, d = K.shape
    # min Σ ξ / n + β Σ w with ξ ≥ 1 − K w, both not negative: the paper's problem.
    exact = linprog(
        np.concatenate([np.full(d, beta), np.full(n, 1 / n)]),
        A_ub=np.hstack([-K, -np.eye(n)]),
        b_ub=-np.ones(n),
    )
    solver = SOLVERS["lbfgs"](max_iter=2000, tol=1e-12)
    found = solver.maximize(OrderedTriplets(K, beta), np.ones(d), lambda *_: False)
    # The rounded hinge lies below the hinge, by an eighth at most.
    assert (
        exact.fun - OrderedTriplets.rounded / 2 <= -found.curve[-1] <= exact.fun + 1e-6
    )
    w = np.square(found.x)
    hinge = np.maximum(1 - K @ w, 0).mean() + beta * w.sum()
    assert hinge <= exact.fun + OrderedTriplets.rounded / 2
    # And for its own problem the conditions hold: slopes of w are 0, or w is.
    slope = -OrderedTriplets(K, beta).value_and_gradient(np.ones(d))[1]
    assert slope.shape == (d,)
    slopes = np.clip(1 - K @ w, 0, OrderedTriplets.rounded) / OrderedTriplets.rounded
    rest = beta - slopes @ K / n
    assert rest.min() > -1e-4
    assert np.abs(rest * w).max() < 1e-4


def test_gradient() -> None:
    loss = OrderedTriplets(margins(3), 0.1)
    at = np.random.default_rng(0).random(8)
    expected = by_differences(loss, at)
    np.testing.assert_allclose(loss.value_and_gradient(at)[1], expected, atol=1e-5)


def test_metrics_are_composed_of_the_basis() -> None:
    basis = np.vstack([np.eye(4), np.ones(4)])
    model = SCML(basis=basis, preprocessor=X).fit(TRIPLETS)
    M = model.get_mahalanobis_matrix()
    unit = basis / np.linalg.norm(basis, axis=1, keepdims=True)
    parts = np.stack([np.outer(b, b).ravel() for b in unit])
    weights = np.linalg.lstsq(parts.T, M.ravel(), rcond=None)[0]
    np.testing.assert_allclose(weights @ parts, M.ravel(), atol=1e-9 * np.abs(M).max())
    assert weights.min() > -1e-9 * weights.max()
    assert 1 <= model.n_basis_ <= 5


@pytest.mark.parametrize("unit", [1e-60, 1e-3, 1e3, 1e60])
def test_the_unit_of_triplets_does_not_matter(unit: float) -> None:
    plain, other = (
        SCML(preprocessor=points, random_state=0).fit(TRIPLETS)
        for points in (X, X * unit)
    )
    np.testing.assert_allclose(
        np.abs(other.components_ * unit), np.abs(plain.components_), rtol=1e-4
    )


def test_triplets_come_into_order() -> None:
    plain = SCML(basis=np.eye(4)[:1], preprocessor=X).fit(TRIPLETS)
    model = SCML(preprocessor=X, random_state=0).fit(TRIPLETS)
    assert model.score(TRIPLETS) > 0.95 > plain.score(TRIPLETS)
    sparse = SCML(0.3, preprocessor=X, random_state=0).fit(TRIPLETS)
    assert sparse.n_basis_ <= model.n_basis_
    traces = [np.trace(m.get_mahalanobis_matrix()) for m in (sparse, model)]
    assert traces[0] < traces[1]


def test_few_fit_in_memory() -> None:
    with sklearn.config_context(working_memory=1):
        model = SCML(random_state=0).fit(np.tile(X, (4, 1)), np.tile(y, 4))
    assert np.isfinite(model.components_).all()


def test_wide_points() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 50))
    labels = np.arange(30) % 3
    points[:, 0] += 4 * labels
    model = SCML(random_state=0).fit(points, labels)
    assert model.components_.shape[1] == 50
    given = SCML(basis=np.eye(50)[:3]).fit(points, labels)
    assert np.isfinite(given.components_).all()


def test_what_cannot_be_learned() -> None:
    with pytest.raises(ValueError, match="a column for each of the 4 features"):
        SCML(basis=np.eye(3)).fit(X, y)
    with pytest.raises(ValueError, match="No direction was found"):
        SCML().fit(np.ones((6, 2)), [0, 0, 1, 1, 2, 2])
    with pytest.raises(ValueError, match="No two rows"):
        SCML().fit(X[:3], [0, 1, 2])


def test_a_price_that_nothing_is_worth() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(2, size=60)
    found = [SCML(beta=b, random_state=0).fit(X, y) for b in (0.01, 0.5, 10)]
    assert found[0].n_basis_ > found[1].n_basis_ > found[2].n_basis_ == 1
    assert found[2].components_.any()
    with pytest.raises(ValueError, match="basis must not contain rows of zeros"):
        SCML(basis=np.zeros((2, 4))).fit(X, y)


def test_points_at_one_place_have_no_direction() -> None:
    points, codes = np.ones((6, 2)), np.array([0, 0, 0, 1, 1, 1])
    assert _discriminants(points, codes, 1).shape == (0, 2)
    points[0] = 2
    assert _discriminants(points, codes, 1).shape == (1, 2)
