"""Diagonal maps, the number of components, and the number of neighbours."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import scale

from vicinal import NCA
from vicinal._typing import FloatArray, IntArray
from vicinal.base.selection import enough_components, ordered_by_size
from vicinal.objectives import NCAObjective

X, y = load_iris(return_X_y=True)


def two_of_ten(n: int = 300) -> tuple[FloatArray, IntArray]:
    """Ten features of which the first two decide the class."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 10))
    return points, (points[:, 0] > 0).astype(int) + 2 * (points[:, 1] > 0)


def test_a_diagonal_map_weighs_features_and_tells_which_matter() -> None:
    points, labels = two_of_ten()
    nca = NCA(form="diagonal", max_iter=300).fit(points, labels)
    weights = nca.feature_weights_
    assert (weights >= 0).all()
    np.testing.assert_array_equal(nca.components_, np.diag(weights))
    assert weights[:2].min() > 3 * weights[2:].max()
    np.testing.assert_allclose(nca.transform(points), points * weights)


def test_a_diagonal_climb_starts_where_it_is_told_to() -> None:
    start = NCAObjective(X, y).value_and_gradient(1 / X.std(axis=0))[0]
    nca = NCA(form="diagonal", init="whiten", max_iter=300).fit(X, y)
    assert nca.objective_curve_[0] == pytest.approx(start)
    given = NCA(form="diagonal", init=-np.ones(4), max_iter=300).fit(X, y)
    assert (given.feature_weights_ >= 0).all()
    again = NCA(form="diagonal", max_iter=300, warm_start=True).fit(X, y)
    assert again.fit(X, y).n_iter_ <= 2


def test_a_refit_leaves_nothing_of_other_settings() -> None:
    nca = NCA(form="diagonal", early_stopping=True, max_iter=300).fit(X, y)
    assert hasattr(nca, "feature_weights_")
    assert hasattr(nca, "validation_curve_")
    nca.set_params(form="full", early_stopping=False).fit(X, y)
    assert not hasattr(nca, "feature_weights_")
    assert not hasattr(nca, "validation_curve_")


def test_a_diagonal_climb_goes_on_after_an_interrupt() -> None:
    def interrupt(_: FloatArray, n: int) -> None:
        if n == 3:
            raise KeyboardInterrupt

    nca = NCA(form="diagonal", warm_start=True, max_iter=300, callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        nca.fit(X, y)
    reached = nca.objective_curve_[-1]
    nca.set_params(callback=None).fit(X, y)
    assert nca.objective_curve_[0] == pytest.approx(reached)


def test_callbacks_see_a_diagonal_as_a_map() -> None:
    calls: list[FloatArray] = []
    NCA(form="diagonal", max_iter=300, callback=lambda a, _: calls.append(a)).fit(X, y)
    assert calls[0].shape == (4,)


def test_turning_a_map_keeps_its_distances() -> None:
    A = np.random.default_rng(0).normal(size=(3, 5))
    turned = ordered_by_size(A)
    np.testing.assert_allclose(turned.T @ turned, A.T @ A, atol=1e-12)
    assert np.all(np.diff(np.linalg.norm(turned, axis=1)) <= 0)


def test_enough_components_are_the_fewest_that_do_as_well_as_any() -> None:
    points, labels = two_of_ten()
    assert enough_components(points, labels, 5 * np.eye(10)) == 2
    assert enough_components(points[:, :1], (points[:, 0] > 0) * 1, np.eye(1)) == 1


def test_the_number_of_components_can_be_found() -> None:
    points, labels = two_of_ten()
    nca = NCA("auto", max_iter=300, objective="log", alpha=1e-2).fit(points, labels)
    assert nca.components_.shape == (2, 10)
    assert nca.transform(points).shape == (300, len(nca.components_))


def test_a_number_that_was_found_is_kept_by_a_warm_start() -> None:
    points, labels = two_of_ten()
    nca = NCA("auto", max_iter=300, alpha=1e-2, warm_start=True).fit(points, labels)
    reached = nca.objective_curve_[-1]
    assert nca.fit(points, labels).objective_curve_[0] == pytest.approx(reached)


def test_effective_neighbors_are_the_perplexity() -> None:
    nca = NCA(2, init="pca", max_iter=300).fit(X, y)
    assert nca.effective_neighbors_.shape == (150,)
    Z = nca.transform(X)
    distances = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    p = np.exp(distances.min(axis=1, keepdims=True) - distances)
    p /= p.sum(axis=1, keepdims=True)
    entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
    np.testing.assert_allclose(nca.effective_neighbors_, np.exp(entropy), rtol=1e-6)


def test_a_number_of_neighbors_is_suggested() -> None:
    nca = NCA(2, init="pca", max_iter=300).fit(X, y)
    for seen, suggested in [(1.0, 1), (2.4, 3), (4.9, 5), (5.9, 5), (6.1, 7)]:
        nca.effective_neighbors_ = np.full(9, seen)
        assert nca.suggest_n_neighbors() == suggested


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1e-1])
def test_a_penalty_keeps_the_map_small(alpha: float) -> None:
    points, labels = load_wine(return_X_y=True)
    points = scale(points)
    free = NCA(2, init="pca", max_iter=500).fit(points, labels)
    held = NCA(2, init="pca", max_iter=500, alpha=alpha).fit(points, labels)
    sizes = np.linalg.norm(free.components_), np.linalg.norm(held.components_)
    assert sizes[1] < 0.8 * sizes[0] if alpha else sizes[1] == sizes[0]
    value = NCAObjective(points, labels).value_and_gradient(held.components_)[0]
    assert held.objective_curve_[-1] == pytest.approx(
        value - 178 * alpha * sizes[1] ** 2, rel=1e-6
    )


@pytest.mark.parametrize("solver", ["cg", "bold-driver", "delta-bar-delta", "decay"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_solver_serves(solver: str) -> None:
    points, labels = load_digits(return_X_y=True)
    points, labels = points[:200], labels[:200]
    nca = NCA(2, solver=solver, init="lda", max_iter=30).fit(points, labels)
    assert nca.objective_curve_[-1] > nca.objective_curve_[0]
