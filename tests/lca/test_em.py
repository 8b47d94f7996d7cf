"""The fast forms of EM, and points that come one part after the other."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from tests.lca.oracles import local_covariance, subsampled_em
from vicinal import LCA, LCAGauss
from vicinal.lca import _shared, lca_gauss
from vicinal.lca.data import ScaledData, Scaler
from vicinal.lca.em import (
    CovarianceMStep,
    EMResult,
    Form,
    Sampling,
    expectation,
    form_of,
    narrowed,
    sampling_of,
    stochastic_em,
)

X = load_iris().data
points = make_blobs(1500, 4, centers=8, random_state=0)[0]


@pytest.mark.parametrize(
    ("n_references", "batch_size"), [(50, 10), (90, 90), (150, 7), (20, 50), (1, 5)]
)
def test_groups_of_locations_have_n_distinct_references(
    n_references: int, batch_size: int
) -> None:
    rng = np.random.RandomState(0)
    batch = rng.permutation(150)[:batch_size]
    locations: list[int] = []
    for rows, n_locations in Sampling(9, n_references, 0.6).groups(batch, 150, rng):
        locations.extend(rows[:n_locations])
        assert len(np.unique(rows)) == len(rows) == max(n_references, 2)
    np.testing.assert_array_equal(locations, batch)


def test_an_update_is_equation_7() -> None:
    problem = ScaledData.of(Scaler.of(X, isotropic=False), X, 1, (X, None))
    model = CovarianceMStep(Form("full"), np.zeros(4))
    kernel = model.fit(problem.covariance)
    rng = np.random.RandomState(0)
    sampling = Sampling(150, 150, 0.6)
    everyone = np.arange(150)
    start = EMResult(kernel, problem.covariance)
    result = sampling.update(model, X, start, everyone, rng, 1)
    assert result.weight == 1
    precision = np.linalg.inv(problem.covariance)
    expected = 0.6 * problem.covariance + 0.4 * local_covariance(X, precision)
    np.testing.assert_allclose(
        result.local_scatter, expected, rtol=1e-5
    )  # computed in float32
    some = expectation(X, kernel, 1, np.arange(20))
    assert some.log_means.shape == (20,)


def test_an_update_keeps_the_root_of_what_a_pass_keeps() -> None:
    """Eq. 7 with two batches in a pass: γ^(B/n) is γ^½."""
    problem = ScaledData.of(Scaler.of(X, isotropic=False), X, 1, (X, None))
    model = CovarianceMStep(Form("full"), np.zeros(4))
    first = model.fit(problem.covariance)
    order = np.random.RandomState(1).permutation(150)
    kept = np.sqrt(0.6)
    expected, kernel = problem.covariance, first
    for batch in (order[:75], order[75:]):
        seen = expectation(X, kernel, 1, batch).C
        expected = kept * expected + (1 - kept) * seen
        kernel = model.fit(expected)
    start, rng = EMResult(first, problem.covariance), np.random.RandomState(0)
    result = Sampling(75, 150, 0.6).update(model, X, start, order, rng, 1)
    assert result.weight == pytest.approx(1)
    np.testing.assert_allclose(result.local_scatter, expected, rtol=1e-5)


@pytest.mark.parametrize("debias", [False, True])
def test_the_weight_of_the_start_in_equation_7(debias: bool) -> None:
    """Naive eq. 7 from the global covariance, as written or as one batch of many."""
    start = np.cov(X.T, bias=True)
    kept, C, weight = 0.9, start, 1.0
    if debias:
        weight = 1 - kept
    for _ in range(3):
        seen = local_covariance(X, np.linalg.inv(C))
        before = kept * weight
        weight = before + 1 - kept
        C = (before * C + (1 - kept) * seen) / weight
    assert debias or weight == pytest.approx(1)
    lca = LCA(alpha=0.0, batch_size=150, discount=kept, debias=debias, max_iter=3)
    with pytest.warns(ConvergenceWarning, match="3 iterations"):
        lca.fit(X)
    np.testing.assert_allclose(lca.covariance_, C, rtol=1e-4)


def test_single_losses_do_not_stop_batches() -> None:
    """Noisy gains: EM goes on until five passes together gain less than tol."""
    model = CovarianceMStep(Form("full"), np.zeros(2))
    U = np.random.default_rng(0).normal(size=(200, 2))
    widths = iter([1.0, 2.0, 0.5, 0.9, 0.3, 0.2, *[0.21] * 20])

    def one_pass(state: EMResult) -> EMResult:
        C = next(widths) * np.eye(2)
        return EMResult(model.kernel(C), C)

    start = EMResult(model.kernel(4 * np.eye(2)), 4 * np.eye(2))
    result = stochastic_em(
        model, U, start, Sampling(200, 200, 0.6), max_iter=30, tol=1e-3,
        rng=np.random.RandomState(0), n_threads=1, one_pass=one_pass,
    )  # fmt: skip
    best = int(np.argmax(result.curve))
    assert best >= 5
    assert result.converged
    assert len(result.curve) == best + 6


def test_batches_keep_the_weight_of_what_they_saw() -> None:
    model = CovarianceMStep(Form("full"), np.zeros(2))
    U = np.random.default_rng(0).normal(size=(200, 2))
    start = EMResult(model.kernel(np.eye(2)), np.eye(2), weight=0.0)
    result = stochastic_em(
        model, U, start, Sampling(200, 200, 0.6), max_iter=1, tol=0,
        rng=np.random.RandomState(0), n_threads=1,
    )  # fmt: skip
    # The start counts as one batch: γ (1 − γ) + (1 − γ).
    assert result.weight == pytest.approx(0.6 * 0.4 + 0.4)


def test_float32_is_left_to_points_that_it_can_tell_apart() -> None:
    (narrow,) = narrowed(points)
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, points - points.mean(axis=0), atol=1e-5)
    apart = np.vstack([points, points + 1e6])
    assert narrowed(apart)[0] is apart
    assert narrowed(points * 1e60)[0].dtype == np.float64


def test_batches_of_clusters_that_float32_would_blur() -> None:
    apart = np.vstack([points[:500], points[:500] + 3e4 * np.eye(4)[0]])
    exact = LCA(alpha=0.0).fit(apart)
    fast = LCA(alpha=0.0, batch_size=100, n_references=1000, random_state=0).fit(apart)
    np.testing.assert_allclose(
        fast.covariance_, exact.covariance_, rtol=0.25, atol=0.05
    )


def test_batches_come_near_the_exact_optimum() -> None:
    exact = LCA(alpha=1e-3).fit(points[:1000])
    fast = LCA(alpha=1e-3, batch_size=100, n_references=400, random_state=0)
    with pytest.warns(ConvergenceWarning, match="1 iterations"):
        few = clone(fast).set_params(max_iter=1).fit(points[:1000])
    fast.fit(points[:1000])
    held_out = points[1000:]
    assert fast.score(held_out) > exact.score(held_out) - 0.03
    assert few.score(held_out) < fast.score(held_out)
    assert len(fast.objective_curve_) == fast.n_iter_ + 1


def test_the_kernel_is_scaled_to_all_neighbours() -> None:
    exact = LCA().fit(points)
    fast = LCA(batch_size=100, n_references=100, random_state=0).fit(points)
    sizes = [np.trace(model.covariance_) for model in (exact, fast)]
    narrow = LCA().fit(points[:100])
    assert np.trace(narrow.covariance_) > 1.4 * sizes[0]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.15)


@pytest.mark.parametrize(("n_references", "ratio"), [(50, 2.1), (100, 1.5)])
@pytest.mark.parametrize("batch_size", [10, 40, "all"])
def test_references_are_honored_for_any_batch_size(
    n_references: int, ratio: float, batch_size: int | str
) -> None:
    """Section 5.2: fewer references widen the kernels, by as much as in naive EM."""
    some = points[:300, :2]
    naive = subsampled_em(some, n_references, 20, np.random.default_rng(0))
    exact = np.trace(LCA(alpha=0.0).fit(some).covariance_)
    assert np.trace(naive) == pytest.approx(ratio * exact, rel=0.1)
    fast = LCA(alpha=0.0, n_references=n_references, batch_size=batch_size)
    fast.set_params(rescale=False, random_state=0).fit(some)
    assert np.trace(fast.covariance_) == pytest.approx(np.trace(naive), rel=0.2)
    fast.set_params(rescale=True).fit(some)
    assert np.trace(fast.covariance_) == pytest.approx(exact, rel=0.15)


def test_many_points_are_fitted_by_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for shape, expected in {
        (20_001, 4): Sampling(100, 3000, 0.6),
        (20_001, 256): Sampling(1024, 3000, 0.6),
        (500_000, 20): Sampling(500, 3000, 0.6),
    }.items():
        assert sampling_of(LCA(), shape) == expected
    problem = ScaledData.of(
        Scaler.of(points, isotropic=False), points, 1, (points, None)
    )
    assert LCA()._sampling(problem) is None
    monkeypatch.setattr(_shared, "N_EXACT", 1500)
    assert LCA()._sampling(problem) is None
    monkeypatch.setattr(_shared, "N_EXACT", 1499)
    assert LCA()._sampling(problem) == Sampling(100, 1500, 0.6)
    assert LCA(batch_size="all", n_references="all")._sampling(problem) is None
    monkeypatch.setattr(_shared, "N_EXACT", 1000)
    first, again, other = (
        LCA(random_state=seed, tol=0.1).fit(points).covariance_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_lca_gauss_by_batches() -> None:
    rng = np.random.default_rng(0)
    noisy = np.hstack([points[:, :1] * 3, rng.normal(size=(1500, 3))])
    exact = LCAGauss(3).fit(noisy[:1000])
    fast = LCAGauss(3, batch_size=100, n_references=500, random_state=0)
    fast.fit(noisy[:1000])
    assert fast.score(noisy[1000:]) > exact.score(noisy[1000:]) - 0.05


@pytest.mark.parametrize("make", [LCA, LCAGauss])
def test_parts_come_near_the_whole(make: type[LCA] | type[LCAGauss]) -> None:
    shuffled = np.random.default_rng(0).permutation(points[:1000])
    model = make(batch_size=10, random_state=0)
    for part in np.array_split(shuffled, 10):
        model.partial_fit(part)
    assert model.n_iter_ == 10
    assert len(model.loo_score_samples_) == 1000
    whole = make(max_iter=300).fit(shuffled)
    held_out = points[1000:]
    assert model.score(held_out) > whole.score(held_out) - 0.7
    regs = dict.fromkeys(make._alphas, 1e-3)  # what parts are learned with
    with pytest.warns(ConvergenceWarning):
        start = make(max_iter=1, tol=0).set_params(**regs).fit(shuffled)
    assert model.score(held_out) > start.score(held_out) + 0.5


def test_partial_fit_goes_on_after_fit() -> None:
    model = LCA(alpha=0.01, random_state=0).fit(X[:100])
    before = model.covariance_
    model.partial_fit(X[100:])
    assert len(model.loo_score_samples_) == 150
    assert not np.array_equal(model.covariance_, before)
    single = LCA(alpha=0.01).fit(X[:100]).partial_fit(X[100:101])
    assert len(single.loo_score_samples_) == 101


def test_what_partial_fit_cannot_do() -> None:
    with pytest.raises(ValueError, match="another covariance than 'local'"):
        LCA("local").partial_fit(X)
    with pytest.raises(ValueError, match="minimum of 2"):
        LCA().partial_fit(X[:1])
    model = LCA().partial_fit(X)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.partial_fit(X[:, :3])


def test_the_search_by_batches_moves_directions_over() -> None:
    fast = LCAGauss(search=True, batch_size=50, n_references=140, random_state=0).fit(X)
    assert fast.n_gaussian_ == 1  # as by all pairs


def test_a_fixed_number_of_gaussian_directions_needs_no_look_at_all_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(lca_gauss, "expectation", never)
    fast = LCAGauss(2, batch_size=50, n_references=100, random_state=0).fit(X)
    assert fast.n_gaussian_ == 2


def test_a_warm_start_goes_on_by_batches() -> None:
    fast = LCAGauss(
        batch_size=20, n_references=100, tol=1e-4, warm_start=True, random_state=0
    ).fit(X)
    reached = fast.objective_curve_[-1]
    assert fast.fit(X).objective_curve_.min() > reached - 0.05


def test_what_was_learned_counts_in_a_warm_start() -> None:
    lca = LCA(warm_start=True, tol=1e-9, max_iter=999).fit(X)
    before = lca.covariance_
    lca.set_params(batch_size=10, n_references="all", discount=0.9999, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="1 iterations"):
        lca.set_params(random_state=0).fit(X)
    np.testing.assert_allclose(lca.covariance_, before, rtol=0.01)


def test_searched_numbers_are_judged_by_the_same_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeds = []
    em = LCAGauss._em

    def spy(model: LCAGauss, *given: Any, **named: Any) -> Any:
        seeds.append(named.get("seed"))
        return em(model, *given, **named)

    monkeypatch.setattr(LCAGauss, "_em", spy)
    LCAGauss(search=True, batch_size=50, n_references=100).fit(X)
    *searched, final = seeds
    assert len(searched) > 1
    assert len(set(searched)) == 1
    assert searched[0] is not None
    assert final is None


def test_partial_fit_forgets_what_only_fit_knows() -> None:
    model = LCA("local").fit(X[:100]).set_params(covariance="full")
    model.partial_fit(X[100:])
    assert not hasattr(model, "covariances_")
    assert not hasattr(model, "objective_curve_")
    mixed = LCA().fit(X[:100]).partial_fit(X[100:])
    assert not hasattr(mixed, "background_weight_")


def test_a_low_rank_leaves_room_for_the_identity() -> None:
    def rank(given: int | None, n_features: int) -> int:
        return form_of("low-rank", given, n_features).rank

    assert rank(None, 3) == 2
    assert rank(2, 3) == 2
    # One feature has a variance and nothing else.
    assert rank(None, 1) == rank(1, 1) == 0


@pytest.mark.parametrize(("n_features", "rank"), [(1, 0), (2, 1), (3, 2), (50, 10)])
def test_a_low_rank_leaves_a_direction_to_the_rest(n_features: int, rank: int) -> None:
    assert form_of("low-rank", None, n_features).rank == rank
    with pytest.raises(ValueError, match="leaves nothing for the multiple"):
        form_of("low-rank", max(n_features, 2), max(n_features, 2))
