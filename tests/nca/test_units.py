"""Another unit of X rescales the map and changes nothing else, to the last digit."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris, load_wine

from vicinal import NCA, NCAClassifier, NCARegressor
from vicinal.classic import MLKR
from vicinal.nca._initialization import data_unit
from vicinal.objectives import NCAObjective, TargetObjective
from vicinal.optimize import power_of_two

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
UNITS = [2.0**-100, 2.0**-40, 2.0**-7, 2.0**9, 2.0**100]
X, y = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
NUMBERS = X[:, 0] + rng.normal(size=len(X)) / 10

FITS: list[tuple[Any, Any]] = [
    (NCA(), y),
    (NCA(2), y),
    (NCA(3), y),
    (NCA(objective="log"), y),
    (NCA(form="diagonal"), y),
    (NCA(init="rca"), y),
    (NCA(2, init="rca", solver="cg"), y),
    (NCA(init="whiten", solver="bold-driver"), y),
    (NCA(2, anneal=True), y),
    (NCA("auto"), y),
    (NCA(2, n_neighbors=5), y),
    (NCA(2, n_neighbors="auto", init="rca"), y),
    (NCAClassifier(), y),
    (NCAClassifier(2), y),
    (NCARegressor(), NUMBERS),
    (NCARegressor(2, alpha=0.0), NUMBERS),
    (MLKR(), NUMBERS),
]


@pytest.mark.parametrize(("model", "target"), FITS, ids=lambda value: str(value)[:60])
def test_a_unit_that_is_a_power_of_two_changes_no_digit(
    model: Any, target: Any
) -> None:
    model.set_params(max_iter=10)
    plain = model.fit(X, target).components_
    for unit in UNITS:
        other = model.fit(X * unit, target).components_
        np.testing.assert_array_equal(other * unit, plain)


@pytest.mark.parametrize(
    ("model", "target"),
    [*FITS, (NCA(early_stopping=True), y), (NCA(solver="stochastic"), y)],
    ids=lambda value: str(value)[:60],
)
def test_values_whose_map_is_too_large_for_float32_say_so(
    model: Any, target: Any
) -> None:
    tiny = (X * 1e-39).astype(np.float32)
    with pytest.raises(ValueError, match="Scale the data"):
        model.fit(tiny, target)
    assert np.isfinite(model.fit(tiny.astype(np.float64), target).components_).all()


def test_a_large_map_of_float32_is_learned() -> None:
    nca = NCA(form="diagonal").fit((X * 1e-29).astype(np.float32), y)
    assert 1e29 < nca.components_.max() < np.inf


@pytest.mark.parametrize("unit", [1e-4, 1e-30, 1e5])
def test_any_unit_is_learned_in(unit: float) -> None:
    nca = NCA().fit(X * unit, y)
    assert nca.n_iter_ > 5
    plain = NCA().fit(X, y).objective_curve_[-1]
    assert nca.objective_curve_[-1] > 0.99 * plain


def unit_of(points: Any, counts: Any = None) -> float:
    return data_unit(points, np.ones(len(points)) if counts is None else counts)


def test_the_unit_of_standardised_data_is_one() -> None:
    points = rng.normal(size=(50, 4)) * [1, 3, 0.1, 100]
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    assert unit_of(points) == 1
    # A feature that does not vary says nothing of the unit.
    constant = np.column_stack([points, np.full((50, 9), 1e3)])
    assert unit_of(constant) == 1
    assert unit_of(8 * points) == 8
    assert unit_of(np.zeros((5, 2))) == 1


def test_a_weight_is_a_number_of_copies() -> None:
    points = rng.normal(size=(20, 2)) * np.arange(20)[:, None]
    counts = np.arange(20)[::-1] ** 2 + 1
    repeated = np.repeat(points, counts, axis=0)
    assert unit_of(points, counts) == unit_of(repeated)


def test_a_row_far_out_has_no_say_in_the_unit() -> None:
    points = rng.normal(size=(20, 2))
    points /= points.std()
    for far in (1e4, 1e12, 1e70):
        points[7] = far
        assert unit_of(points) == 1


@pytest.mark.parametrize(
    ("size", "nearest"), [(1.0, 1), (1.4, 1), (1.5, 2), (0.7, 0.5), (0.72, 1), (3, 4)]
)
def test_the_nearest_power_of_two(size: float, nearest: float) -> None:
    assert power_of_two(size) == nearest
    assert power_of_two(size * 2.0**-100) == nearest * 2.0**-100


@pytest.mark.parametrize("far", [1e3, 1e6, 1e12, 1e15])
def test_a_row_far_out_in_all_features_leaves_the_others_alone(far: float) -> None:
    points, labels = np.vstack([X, np.full(4, far)]), np.append(y, 0)
    assert NCAClassifier().fit(points, labels).score(X, y) > 0.95
    numbers = np.append(NUMBERS, 0.0)
    for model in (NCARegressor(), MLKR()):
        assert model.fit(points, numbers).score(X, NUMBERS) > 0.8


def test_raw_units_of_wine_are_learned_in() -> None:
    points, labels = load_wine(return_X_y=True)
    curve = NCA(2, init="pca").fit(points, labels).objective_curve_
    assert NCA(2).fit(points, labels).objective_curve_[-1] > 0.9 * curve[-1]


@pytest.mark.parametrize("model", [NCARegressor(), MLKR(alpha=0.1), NCAClassifier()])
def test_points_too_close_for_a_penalty_are_refused(model: Any) -> None:
    with pytest.raises(ValueError, match="Scale the data"):
        model.fit(X * 1e-200, y)


def test_a_stochastic_fit_finds_its_scale_in_any_unit() -> None:
    nca = NCA(2, solver="stochastic", max_iter=3, random_state=0)
    seen = nca.fit(X, y).effective_neighbors_
    small = nca.fit(X * 2.0**-200, y).effective_neighbors_
    np.testing.assert_allclose(np.median(small), np.median(seen), rtol=0.01)


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("value", [1e-60, 1.0, 1e60])
def test_rows_that_are_all_equal_have_no_unit(value: float, container: Any) -> None:
    """A map in the unit of what is so small is so large that its penalty overflows."""
    points, labels = np.full((6, 2), value), [0, 1] * 3
    nca = NCA(alpha=0.1, solver="bold-driver", max_iter=3)
    nca.fit(container(points), labels)
    assert np.abs(nca.components_).max() <= 1


def test_float32_far_from_the_origin_is_centered_first() -> None:
    rows = [[58685.51171875], [58685.515625], [58685.51953125], [58685.515625]]
    points = np.array(rows, dtype=np.float32)
    labels, A = [0, 0, 1, 1], [[79.0]]
    found = NCAObjective(points, labels).value_and_gradient(A)
    exact = NCAObjective(points.astype(np.float64), labels).value_and_gradient(A)
    assert found[0] == pytest.approx(exact[0], rel=1e-5)
    np.testing.assert_allclose(found[1], exact[1], rtol=1e-4)


@pytest.mark.parametrize("offset", [1e3, 1e5])
@pytest.mark.parametrize("kind", [NCA, NCAClassifier])
def test_the_origin_of_float32_data_does_not_matter(offset: float, kind: Any) -> None:
    X, y = load_iris(return_X_y=True)
    far = (X + offset).astype(np.float32)
    near = (far.astype(np.float64) - offset).astype(np.float32)  # the same numbers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = kind(random_state=0, max_iter=5).fit(far, y)
        other = kind(random_state=0, max_iter=5).fit(near, y)
    np.testing.assert_allclose(
        one.get_mahalanobis_matrix(),
        other.get_mahalanobis_matrix(),
        atol=0.01 * np.abs(other.get_mahalanobis_matrix()).max(),
    )
    if kind is NCAClassifier:
        np.testing.assert_allclose(
            one.predict_proba(far), other.predict_proba(near), atol=1e-3
        )


def test_pieces_of_float32_far_from_the_origin() -> None:
    rng = np.random.default_rng(0)
    Z = np.round(rng.normal(size=(600, 4)) * 64) / 64
    c = (Z[:, 0] + Z[:, 1] > 0).astype(int)
    proba = []
    for points in ((Z + 1e5).astype(np.float32), Z.astype(np.float32)):
        model = NCAClassifier(alpha=1e-3, random_state=0)
        for piece in (slice(0, 200), slice(200, 400), slice(400, 600)):
            model.partial_fit(points[piece], c[piece], classes=[0, 1])
        proba.append(model.predict_proba(points))
    np.testing.assert_allclose(proba[0], proba[1], atol=2e-3)


def test_an_interrupted_regression_has_its_curve_in_the_unit_of_y() -> None:
    X, _ = load_iris(return_X_y=True)

    def interrupt(_: object, iteration: int) -> None:
        if iteration == 2:
            raise KeyboardInterrupt

    settings = {"alpha": 0.0, "warm_start": True, "random_state": 0, "max_iter": 3}
    model = NCARegressor(2, callback=interrupt, **settings)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, 100 * X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = NCARegressor(2, **settings).fit(X, 100 * X[:, 0])  # type: ignore[arg-type]
    np.testing.assert_allclose(model.objective_curve_, whole.objective_curve_[:3])
    start = TargetObjective(X, 100 * X[:, 0], kind="squared-error")
    model.set_params(init="identity", callback=None, warm_start=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, 100 * X[:, 0])
    value = start.value_and_gradient(np.eye(2, 4))[0]
    assert model.objective_curve_[0] == pytest.approx(value, rel=1e-8)
