"""NCA's parameter `neighbors`: sums over the nearest rows alone."""

from typing import Any

import numpy as np
import pytest

from tests.nca.data import X, accuracy, y
from vicinal import NCA

KINDS = ["expected", "log", "class-density"]
ignore_convergence = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)


@ignore_convergence
@pytest.mark.parametrize("objective", KINDS)
@pytest.mark.parametrize("n_neighbors", [299, 300, 10**6])
def test_neighbors_of_all_are_all(objective: str, n_neighbors: int) -> None:
    points, labels = X[:300], y[:300]
    settings: dict[str, Any] = {"objective": objective, "init": "pca", "max_iter": 8}
    whole = NCA(2, **settings).fit(points, labels)
    every = NCA(2, n_neighbors=n_neighbors, **settings).fit(points, labels)
    np.testing.assert_array_equal(every.components_, whole.components_)
    np.testing.assert_array_equal(every.objective_curve_, whole.objective_curve_)
    assert every.truncated_mass_ == 0
    assert not hasattr(whole, "truncated_mass_")


@ignore_convergence
@pytest.mark.parametrize("early_stopping", [False, True])
def test_neighbors(early_stopping: bool) -> None:
    given: dict[str, Any] = {"early_stopping": early_stopping, "random_state": 0}
    few = NCA(2, n_neighbors=10, init="lda", max_iter=30, **given).fit(X, y)
    exact = NCA(2, init="lda", max_iter=30, **given).fit(X, y)
    assert accuracy(few) > accuracy(exact) - 0.02
    assert 1e-4 < few.truncated_mass_ < 1
    auto = NCA(2, n_neighbors="auto", init="lda", max_iter=30, **given).fit(X, y)
    assert auto.truncated_mass_ < 1e-3
    assert accuracy(auto) > accuracy(exact) - 0.02
    few.set_params(n_neighbors="all").fit(X, y)
    assert not hasattr(few, "truncated_mass_")


def test_as_many_neighbors_as_points_is_all_of_them() -> None:
    truncated = NCA(2, n_neighbors=len(X), random_state=0, max_iter=15, tol=1e-2).fit(
        X, y
    )
    every = NCA(2, random_state=0, max_iter=15, tol=1e-2).fit(X, y)
    np.testing.assert_array_equal(truncated.components_, every.components_)
    assert truncated.truncated_mass_ == 0


@ignore_convergence
def test_more_neighbors_than_are_listed_are_warned_of() -> None:
    points = np.random.default_rng(0).normal(size=(6000, 1))
    labels = (points[:, 0] > 0).astype(int)
    nca = NCA(1, n_neighbors=3000, max_iter=1, tol=1.0)
    with pytest.warns(UserWarning, match="sums run over all pairs"):
        nca.fit(points, labels)
    assert nca.truncated_mass_ == 0
