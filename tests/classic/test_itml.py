from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.classic.oracles import itml_by_the_dual
from vicinal._typing import FloatArray
from vicinal.classic import ITML, MRMR, itml
from vicinal.classic.constraints import random_pairs
from vicinal.classic.itml import GAMMAS, LogDetObjective, scale_by_bounds
from vicinal.optimize import SOLVERS

X, y = load_iris(return_X_y=True)
X = scale(X)
ignore_convergence = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)


@ignore_convergence
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for itml in (
            ITML(),
            ITML(0.1, prior="covariance", n_constraints=50, max_iter=20),
        )
        for pair in estimator_checks_generator(itml)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: ITML, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def problem(seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(8, 3))
    sign = np.where(np.arange(8) % 2, 1.0, -1.0)
    return V, sign, np.where(sign > 0, 0.5, 6.0)


def objective(
    V: FloatArray, sign: FloatArray, bounds: FloatArray, gamma: float
) -> LogDetObjective:
    W = V / np.sqrt(bounds)[:, None]
    return LogDetObjective(W[sign > 0], W[sign < 0], gamma, 1)


def solved(
    V: FloatArray, sign: FloatArray, bounds: FloatArray, gamma: float
) -> tuple[FloatArray, Any]:
    solver = SOLVERS["lbfgs"](max_iter=5_000, tol=1e-14)
    found = solver.maximize(
        objective(V, sign, bounds, gamma), np.eye(V.shape[1]), lambda *_: False
    )
    return found.x.T @ found.x, found


@pytest.mark.parametrize("gamma", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_optimum_is_that_of_the_dual(seed: int, gamma: float) -> None:
    M, found = solved(*problem(seed), gamma)
    expected, value = itml_by_the_dual(*problem(seed), gamma)
    np.testing.assert_allclose(M, expected, atol=1e-5 * np.abs(expected).max())
    # Strong duality: what the primal cannot go below, the dual cannot go above.
    assert -found.curve[-1] == pytest.approx(value, rel=1e-7)


@given(seed=st.integers(0, 2**16), gamma=st.floats(0.05, 20))
@settings(max_examples=25, deadline=None)
def test_value_and_gradient_at_any_map(seed: int, gamma: float) -> None:
    V, sign, bounds = problem(seed)
    rng = np.random.default_rng(seed)
    A = np.eye(3) + 0.3 * rng.normal(size=(3, 3))
    loss = objective(V, sign, bounds, gamma)

    def naive(A: FloatArray) -> float:
        M = A.T @ A
        total = np.trace(M) - np.linalg.slogdet(M)[1] - 3
        for v, s, b in zip(V, sign, bounds, strict=True):
            ratio = v @ M @ v / b
            xi = max(ratio, 1) if s > 0 else min(ratio, 1)
            total += gamma * (xi - np.log(xi) - 1)
        return -float(total)

    value, gradient = loss.value_and_gradient(A)
    assert value == pytest.approx(naive(A), rel=1e-10)
    step = 1e-6
    for i, j in np.ndindex(3, 3):
        more, less = A.copy(), A.copy()
        more[i, j] += step
        less[i, j] -= step
        slope = (naive(more) - naive(less)) / (2 * step)
        assert gradient[i, j] == pytest.approx(slope, rel=1e-4, abs=1e-4)


def test_a_singular_map_is_no_way_to_go() -> None:
    value, gradient = objective(*problem(0), 1.0).value_and_gradient(np.zeros((3, 3)))
    assert value < -1e300
    assert not gradient.any()


def test_with_dear_slack_the_bounds_hold() -> None:
    V, sign, bounds = problem(0)
    V, sign, bounds = V[:4], sign[:4], bounds[:4]
    M, _ = solved(V, sign, bounds, 1e6)
    lengths = np.einsum("ij,jk,ik->i", V, M, V)
    assert np.all(sign * (lengths - bounds) <= 1e-3 * bounds)


def test_without_constraints_that_bite_the_prior_comes_back() -> None:
    V, sign, _ = problem(0)
    M, found = solved(V, sign, np.where(sign > 0, 1e3, 1e-3), 1.0)
    np.testing.assert_array_equal(M, np.eye(3))
    assert found.converged


@given(seed=st.integers(0, 2**16), alike=st.booleans(), across=st.booleans())
@settings(max_examples=30, deadline=None)
def test_pairs_are_what_they_should_be(seed: int, alike: bool, across: bool) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, size=12)
    other = rng.integers(0, 4, size=9) if across else None
    second = codes if other is None else other
    i, j = random_pairs(codes, other, 3000, alike, np.random.RandomState(seed))
    wanted = {
        (a, b)
        for a in range(len(codes))
        for b in range(len(second))
        if (codes[a] == second[b]) == alike and (across or a != b)
    }
    assert set(zip(i.tolist(), j.tolist(), strict=True)) <= wanted
    if wanted:
        times = np.zeros((len(codes), len(second)))
        np.add.at(times, (i, j), 1)
        expected = 3000 / len(wanted)  # six standard deviations each way
        seen = np.array([times[pair] for pair in sorted(wanted)])
        assert np.abs(seen - expected).max() < 6 * np.sqrt(expected)
    else:
        assert len(i) == 0


def test_classes_come_nearer_and_parts_away() -> None:
    itml = ITML(1.0, random_state=0).fit(X, y)
    pairs = [
        random_pairs(y, None, 500, alike, np.random.RandomState(1))
        for alike in (True, False)
    ]
    ratios = []
    for A in (np.eye(4), itml.components_):
        Z = X @ A.T
        near, far = (((Z[i] - Z[j]) ** 2).sum(axis=1).mean() for i, j in pairs)
        ratios.append(far / near)
    assert ratios[1] > 1.5 * ratios[0]


@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_free_slack_leaves_the_prior(prior: str) -> None:
    M = ITML(1e-9, prior=prior, random_state=0).fit(X, y).get_mahalanobis_matrix()
    expected = np.eye(4)
    if prior == "covariance":
        expected = np.linalg.inv(ledoit_wolf(X)[0])
    np.testing.assert_allclose(M, expected, atol=1e-6 * np.abs(expected).max())


def test_gamma_is_proven_on_rows_held_out_or_the_prior_stays() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(150, 12))
    helped = ITML(random_state=0).fit(np.hstack([X, 2 * noise]), y)
    assert helped.gamma_ in GAMMAS
    aimless = [
        ITML(random_state=seed).fit(noise, rng.permutation(y)) for seed in range(3)
    ]
    at_prior = [itml for itml in aimless if itml.gamma_ == 0]
    assert at_prior  # nothing to learn, and chance seldom looks like a proof
    np.testing.assert_allclose(
        at_prior[0].get_mahalanobis_matrix(), np.eye(12), atol=1e-12
    )
    assert ITML(0.1, random_state=0).fit(X, y).gamma_ == 0.1


def test_many_classes_end_in_tens_of_iterations() -> None:
    points, labels = make_classification(
        1000, 20, n_informative=10, n_classes=30, n_clusters_per_class=1, random_state=0
    )
    # The warning of a fit that has not converged would be an error.
    itml = ITML(1.0, random_state=0).fit(scale(points), labels)
    assert itml.n_iter_ < 60


def test_wide_rows_are_learned_from_in_their_span() -> None:
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(30, 80)), np.arange(30) % 3
    points[:, :2] += 3 * np.array([[0, 0], [1, 0], [0, 1]])[labels]
    wide = ITML(0.1, random_state=0).fit(points, labels)
    assert wide.components_.shape == (29, 80)
    # The same rows, given in coordinates of their own, with as many rows as those.
    Q = np.linalg.svd(points - points.mean(axis=0))[2][:29]
    narrow = ITML(0.1, random_state=0).fit(points @ Q.T, labels)
    np.testing.assert_allclose(
        Q @ wide.get_mahalanobis_matrix() @ Q.T,
        narrow.get_mahalanobis_matrix(),
        atol=1e-3,
    )


def test_rows_are_ordered_eigenvectors() -> None:
    A = ITML(0.1, random_state=0).fit(X, y).components_
    gram = A @ A.T
    np.testing.assert_allclose(gram, np.diag(np.diagonal(gram)), atol=1e-10)
    assert np.all(np.diff(np.diagonal(gram)) <= 0)
    assert np.all(np.diagonal(gram) > 0)


def test_bounds_are_percentiles_of_random_pairs() -> None:
    itml = ITML(0.1, random_state=0).fit(X, y)
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    low, high = np.percentile(squares[squares > 1e-9], [5, 95])
    assert itml.bounds_ == pytest.approx((low, high), rel=0.1)


def test_it_helps_in_a_search_and_before_feature_selection() -> None:
    points, labels = load_wine(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ITML(random_state=0), KNeighborsClassifier()),
        {"itml__gamma": [0.01, 0.1]},
    ).fit(points, labels)
    assert search.best_score_ > 0.95
    picked = make_pipeline(
        StandardScaler(), ITML(0.1, random_state=0), MRMR(5), KNeighborsClassifier(3)
    )
    assert cross_val_score(picked, points, labels).mean() > 0.9


def test_stopping_early_is_a_warning() -> None:
    with pytest.warns(
        ConvergenceWarning, match=r"in 2 iterations; raise max_iter"
    ) as seen:
        itml = ITML(1.0, max_iter=2, tol=0.0, random_state=0).fit(X, y)
    assert seen[0].filename == __file__
    assert itml.n_iter_ == 2
    assert len(itml.objective_curve_) == 3


def test_verbose_prints_a_line_for_each_iteration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    itml = ITML(0.1, random_state=0, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("[ITML] ") for line in lines)
    assert [int(line.split()[1]) for line in lines] == list(range(1, itml.n_iter_ + 1))
    assert float(lines[-1].split()[2]) == pytest.approx(itml.objective_curve_[-1])
    ITML(0.1, random_state=0).fit(X, y)
    assert capsys.readouterr().out == ""


def test_seeds() -> None:
    first, again, other = (
        ITML(0.1, random_state=seed).fit(X, y).components_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


def test_float32_stays_float32() -> None:
    single = ITML(0.1, random_state=0).fit(X.astype(np.float32), y)
    double = ITML(0.1, random_state=0).fit(X, y)
    assert single.components_.dtype == np.float32
    np.testing.assert_allclose(
        single.get_mahalanobis_matrix(),
        double.get_mahalanobis_matrix(),
        atol=1e-2 * np.abs(double.get_mahalanobis_matrix()).max(),
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": 0.0}, "'gamma' parameter"),
        ({"prior": "none"}, "'prior' parameter"),
        ({"n_constraints": 1}, "'n_constraints' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"tol": -1.0}, "'tol' parameter"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    itml = ITML(**parameters)
    before = dict(vars(itml))
    with pytest.raises(ValueError, match=message):
        itml.fit(X, y)
    assert vars(itml) == before


def test_without_two_rows_of_a_class_there_is_no_pair() -> None:
    with pytest.raises(ValueError, match="No two rows"):
        ITML().fit(X[::10], np.arange(15))


@ignore_convergence
@pytest.mark.parametrize("prior", ["identity", "covariance"])
@pytest.mark.parametrize(
    "case",
    [
        "class of one",
        "constant column",
        "duplicate column",
        "duplicate rows",
        "all equal",
        "few rows",
        "duplicates across classes",
    ],
)
def test_what_can_be_handled_is(case: str, prior: str) -> None:
    points, labels = X.copy(), y.copy()
    if case == "class of one":
        labels[0] = 9
    elif case == "constant column":
        points[:, 2] = 3.0
    elif case == "duplicate column":
        points[:, 2] = points[:, 3]
    elif case == "duplicate rows":
        points[75:] = points[:75]
    elif case == "all equal":
        points[:] = 1.0
    elif case == "few rows":
        points, labels = np.hstack([X[::15]] * 5), y[::15]
    else:
        points = np.round(points)
    for gamma in ("auto", 1.0):
        itml = ITML(gamma, prior=prior, random_state=0).fit(points, labels)
        assert np.isfinite(itml.components_).all()
        assert np.isfinite(itml.objective_curve_).all()
        assert np.all(np.diff(itml.objective_curve_) >= 0)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_any_scale(unit: float, prior: str) -> None:
    scaled = ITML(0.1, prior=prior, random_state=0).fit(X * unit, y)
    usual = ITML(0.1, prior=prior, random_state=0).fit(X, y)
    # The identity is the same in any unit, the inverse covariance is not.
    factor = 1.0 if prior == "identity" else unit
    np.testing.assert_allclose(
        np.abs(scaled.components_ * factor), np.abs(usual.components_), rtol=1e-6
    )
    low, high = usual.bounds_
    squared = unit**2 if prior == "identity" else 1.0
    assert scaled.bounds_ == pytest.approx((low * squared, high * squared))


def test_a_covariance_too_small_for_its_inverse() -> None:
    itml = ITML(0.1, prior="covariance", random_state=0)
    with pytest.raises(ValueError, match="Scale the data"):
        itml.fit(X * 1e-310, y)
    assert not hasattr(itml, "components_")


def test_rows_that_are_all_equal_with_more_features_than_rows() -> None:
    itml = ITML().fit(np.zeros((8, 20)), np.arange(8) % 2)
    assert np.isfinite(itml.components_).all()


@pytest.mark.filterwarnings("ignore:ITML did not converge")
def test_gamma_is_chosen_under_the_bounds_that_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def scale(*arguments: Any) -> Any:
        found = scale_by_bounds(*arguments)
        seen.append(found[2])
        return found

    monkeypatch.setattr(itml, "scale_by_bounds", scale)
    X, y = load_wine(return_X_y=True)
    ITML(bounds=(0.001, 0.002), n_constraints=200, random_state=0).fit(X, y)
    assert len(set(seen)) == 1


def test_pairs_that_differ_by_rounding_are_left_out() -> None:
    anyone = np.random.default_rng(0).normal(size=(100, 2))
    near = np.array([[1.0, 0.0], [1e-16, 0.0], [0.0, 0.0]])
    kept, far, _ = scale_by_bounds(near, anyone, anyone, None, np.float64)
    assert len(kept) == 1
    assert len(far) == 100


def test_gamma_is_chosen_with_two_known_rows_of_each_class() -> None:
    rng = np.random.RandomState(0)
    codes = np.repeat(np.arange(20), 3)  # a third of the rows is held out
    points = 8 * rng.normal(size=(60, 6))
    points[:, 0] = codes + 0.1 * rng.normal(size=60)
    assert ITML(n_constraints=800, random_state=rng).fit(points, codes).gamma_ > 0


def test_as_many_pairs_as_the_paper_draws() -> None:
    # 20 c² of c classes.
    many = np.arange(len(X)) % 10
    found, expected = (
        ITML(0.1, n_constraints=n, random_state=0).fit(X, many).components_
        for n in ("auto", 2000)
    )
    np.testing.assert_array_equal(found, expected)
