"""TableNCA, TableNCAClassifier and TableNCARegressor."""

import datetime as dt
import tracemalloc
from decimal import Decimal
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import estimator_checks_generator

from vicinal import TableNCA, TableNCAClassifier, TableNCARegressor
from vicinal.plotting import ShapeDisplay

# The check repeats rows instead of weighting them. Mini-batches and held-out rows are
# drawn from the rows as they are given. The votes are equal: see below.
RANDOM = {
    "check_sample_weight_equivalence_on_dense_data": "draws depend on their number"
}
FEW: dict[str, Any] = {
    "n_components": 8,
    "max_iter": 5,
    "n_estimators": 2,
    "random_state": 0,
}
rng = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for kind in (TableNCA, TableNCAClassifier, TableNCARegressor)
        for pair in estimator_checks_generator(
            kind(8, max_iter=5, n_estimators=2, n_jobs=1),
            expected_failed_checks=RANDOM,
            mark="xfail",
        )
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def mixed(n: int = 300) -> tuple[pd.DataFrame, Any]:
    """Return numbers, text, dates, ranks, booleans and gaps, with a class."""
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": rng.choice(["x", "y", "z"], n),
            "when": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 400, n), unit="D"),
            "grade": pd.Categorical(
                rng.choice(["low", "middle", "high"], n),
                ["low", "middle", "high"],
                ordered=True,
            ),
            "flag": rng.random(n) < 0.5,
            "noise": rng.normal(size=n),
        }
    )
    y = (frame["size"].abs() > 0.7) ^ (frame["kind"] == "x")
    frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    frame.loc[rng.random(n) < 0.1, "kind"] = None
    return frame, y.to_numpy().astype(int)


def test_a_mixed_table_is_learned() -> None:
    frame, y = mixed(800)
    model = TableNCAClassifier(random_state=0).fit(frame[:600], y[:600])
    assert model.score(frame[600:], y[600:]) > 0.8
    largest = np.argsort(-model.feature_importances_)[:2]
    assert set(frame.columns[largest]) == {"size", "kind"}
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_pandas_and_polars_are_the_same() -> None:
    frame, y = mixed()
    frame = frame.drop(columns="grade")  # polars has no ordered categories
    columns = frame.astype(object).where(frame.notna(), None).to_dict("list")
    same = pl.DataFrame(columns, infer_schema_length=None)
    assert same["when"].dtype == pl.Datetime
    one = TableNCAClassifier(**FEW).fit(frame, y)
    other = TableNCAClassifier(**FEW).fit(same, y)
    expected = one.predict_proba(frame)
    np.testing.assert_array_equal(other.predict_proba(same), expected)


def test_columns_are_taken_by_name() -> None:
    frame, y = mixed()
    model = TableNCAClassifier(**FEW).fit(frame, y)
    turned = frame[frame.columns[::-1]].assign(more=1)
    expected = model.predict_proba(frame)
    np.testing.assert_array_equal(model.predict_proba(turned), expected)
    with pytest.raises(ValueError, match="no column 'kind'"):
        model.predict(frame.drop(columns="kind"))


def test_an_array_at_predict() -> None:
    frame = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc"))
    y = (frame["a"] > 0).to_numpy()
    model = TableNCAClassifier(**FEW).fit(frame, y)
    with pytest.warns(UserWarning, match="feature names"):
        found = model.predict_proba(frame.to_numpy())
    np.testing.assert_array_equal(found, model.predict_proba(frame))


def test_unseen_categories_and_gaps_at_predict() -> None:
    frame, y = mixed()
    model = TableNCAClassifier(**FEW).fit(frame, y)
    new = frame[:3].assign(kind=["?", None, "x"], size=np.nan, noise=np.nan)
    assert np.isfinite(model.predict_proba(new)).all()


@pytest.mark.parametrize("kind", [TableNCAClassifier, TableNCARegressor])
@pytest.mark.parametrize("form", ["additive", "diagonal"])
def test_strange_columns(kind: Any, form: str) -> None:
    n = 60
    frame = pd.DataFrame(
        {
            "all missing": np.full(n, np.nan),
            "constant": np.ones(n),
            "names": [f"row {i}" for i in range(n)],
            "no text": [None] * n,
            "x": rng.normal(size=n),
        }
    )
    model = kind(form=form, max_iter=3, random_state=0)
    y = (frame["x"] > 0).astype(int)
    assert np.isfinite(model.fit(frame, y).predict(frame)).all()


def test_refused_input() -> None:
    X = rng.normal(size=(20, 2))
    y = X[:, 0] > 0
    with pytest.raises(ValueError, match="infinity"):
        TableNCAClassifier().fit(pd.DataFrame(X).replace(X[3, 1], np.inf), y)
    with pytest.raises(ValueError, match="at least two classes"):
        TableNCAClassifier().fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="y contains missing"):
        TableNCAClassifier().fit(X, [None, *y[1:]])
    with pytest.raises(ValueError, match="is not a column"):
        TableNCAClassifier(categorical_features=["z"]).fit(pd.DataFrame(X), y)
    names = pd.DataFrame({"a": np.repeat(np.arange(5000).astype(str), 2)})
    labels = np.arange(10_000) % 2
    with pytest.raises(ValueError, match=r"5,000 categories.*min_frequency"):
        TableNCAClassifier(form="diagonal").fit(names, labels)


def test_ten_thousand_categories() -> None:
    n = 20_000
    frame = pd.DataFrame({"id": (np.arange(n) % 10_000).astype(str)})
    model = TableNCAClassifier(8, max_iter=2, n_estimators=1, random_state=0)
    tracemalloc.start()
    proba = model.fit(frame, np.arange(n) % 2).predict_proba(frame[:100])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(proba).all()
    assert peak < 6e8  # a float32 matrix of rows and categories takes 8e8 bytes


def test_categories_are_learned() -> None:
    frame = pd.DataFrame({"id": (np.arange(6000) % 200).astype(str)})
    y = np.arange(6000) % 200 % 2
    model = TableNCAClassifier(8, random_state=0).fit(frame[:5000], y[:5000])
    assert model.score(frame[5000:], y[5000:]) > 0.95


def test_rare_categories_have_no_vector() -> None:
    frame = pd.DataFrame(
        {"x": rng.normal(size=100), "id": [f"{i}" for i in range(100)]}
    )
    y = (frame["x"] > 0).to_numpy()
    model = TableNCAClassifier(**FEW).fit(frame, y)
    same = model.predict_proba(frame.assign(id="another"))
    np.testing.assert_array_equal(model.predict_proba(frame), same)


def test_the_result_does_not_depend_on_threads() -> None:
    X = rng.normal(size=(2500, 6))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    one, two = (
        TableNCAClassifier(8, max_iter=3, random_state=0, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(X[:50]), two.predict_proba(X[:50]))
    other = TableNCAClassifier(8, max_iter=3, random_state=1).fit(X, y)
    assert not np.array_equal(one.transform(X[:5]), other.transform(X[:5]))


def test_votes_are_the_formula() -> None:
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] > 0, "a", "b")
    weights = rng.integers(0, 3, 80)
    model = TableNCAClassifier(**FEW).fit(X, y, weights)
    new = rng.normal(size=(7, 3))
    Q, Z = model.transform(new), model.transform(X)
    expected = np.zeros((7, 2))
    for own in (slice(0, 8), slice(8, 16)):  # the two maps
        distances = np.linalg.norm(Q[:, None, own] - Z[None, :, own], axis=2)
        mass = weights * np.exp(-distances)
        votes = np.stack([mass[:, y == c].sum(axis=1) for c in "ab"], axis=1)
        expected += votes / votes.sum(axis=1, keepdims=True) / 2
    np.testing.assert_allclose(model.predict_proba(new), expected, rtol=1e-10)


def test_leave_one_out_is_the_formula() -> None:
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + X[:, 1] ** 2
    model = TableNCARegressor(**FEW).fit(X, y)
    Z = model.transform(X)
    votes = np.zeros((2, 60))
    for i, own in enumerate((slice(0, 8), slice(8, 16))):
        p = np.exp(-np.linalg.norm(Z[:, None, own] - Z[None, :, own], axis=2))
        np.fill_diagonal(p, 0)
        votes[i] = (p @ y) / p.sum(axis=1)
    held = np.array([member.held for member in model._members])
    assert held.sum(axis=1).tolist() == [9, 9]
    assert held.any(axis=0).sum() == 18
    expected = np.where(held[0], votes[0], votes[1])
    expected = np.where(held.any(axis=0), expected, votes.mean(axis=0))
    np.testing.assert_allclose(model.predict(), expected, rtol=1e-9)


def test_leave_one_out_estimates_the_error_of_new_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    p = 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))
    y = rng.random(3000) < p
    old, new = slice(1000), slice(1000, 3000)
    # Seven maps hold out all rows; an excess is over the best possible loss.
    model = TableNCAClassifier(n_estimators=7, random_state=0).fit(X[old], y[old])
    of_old = log_loss(y[old], model.predict_proba()) - log_loss(y[old], p[old])
    of_new = log_loss(y[new], model.predict_proba(X[new])) - log_loss(y[new], p[new])
    assert 0 < of_new < 0.03
    assert of_old == pytest.approx(of_new, abs=0.01)


@pytest.mark.parametrize("form", ["additive", "diagonal"])
@pytest.mark.parametrize("kind", [TableNCAClassifier, TableNCARegressor])
def test_explanations_are_exact(kind: Any, form: str) -> None:
    frame, y = mixed()
    model = kind(form=form, max_iter=5, n_estimators=2, random_state=0)
    model.fit(frame, y.astype(float if kind is TableNCARegressor else int))
    found = model.explain(frame[:6], n_neighbors=300)
    assert np.abs(found.shares.sum(axis=2) - found.distances).max() < 1e-10
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)
    distances = model.pairwise_distances(frame[:6], frame)
    there = np.take_along_axis(distances, found.rows, axis=1)
    np.testing.assert_allclose(found.distances, there, atol=1e-6)
    votes = (found.weights * y[found.rows]).sum(axis=1)
    predicted = model.predict(frame[:6])
    if kind is TableNCAClassifier:
        predicted = model.predict_proba(frame[:6])[:, 1]
    np.testing.assert_allclose(predicted, votes, atol=1e-6)


def test_shares_are_shapley_values() -> None:
    """⟨Δ_c, Δ⟩ is the mean gain of ‖Δ‖² over all orders of the columns."""
    X = rng.normal(size=(50, 3))
    model = TableNCAClassifier(8, max_iter=3, n_estimators=1, random_state=0)
    model.fit(X, X[:, 0] > 0)
    one, other = X[:1], X[1:2]
    found = model.explain(one, n_neighbors=50)
    place = int(np.flatnonzero(found.rows[0] == 1)[0])

    def squared(columns: tuple[int, ...]) -> float:
        start = np.tile(other, (2, 1))
        start[0, list(columns)] = one[0, list(columns)]
        Z = model.transform(start)
        return float(np.square(Z[0] - Z[1]).sum())

    gains = np.zeros(3)
    for order in permutations(range(3)):
        for i, c in enumerate(order):
            gains[c] += squared(order[: i + 1]) - squared(order[:i])
    shares = gains / 6 / found.distances[0, place]
    np.testing.assert_allclose(found.shares[0, place], shares, atol=1e-8)


def test_shape_functions_are_the_parts_of_points() -> None:
    frame, y = mixed()
    model = TableNCAClassifier(**FEW).fit(frame, y)
    curves = model.shape_functions()
    name, values, points = curves[1]
    assert name == "kind"
    assert values == ["x", "y", "z", None]
    assert points.shape == (4, 16)
    # Two rows that differ in the category alone differ by the difference of vectors.
    rows = frame[:1].loc[[0, 0]].assign(kind=["x", "z"])
    one, other = model.transform(rows)
    np.testing.assert_allclose(one - other, points[0] - points[2], atol=1e-9)
    _, sizes, points = curves[0]
    assert sizes[-1] is None  # a missing value
    rows = frame[:1].loc[[0, 0]].assign(size=[sizes[10], sizes[60]])
    one, other = model.transform(rows)
    np.testing.assert_allclose(one - other, points[10] - points[60], atol=1e-6)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_values_of_shape_functions_are_those_of_the_table(library: str) -> None:
    module = pytest.importorskip(library)
    days = np.datetime64("2020-02-28") + np.arange(100)
    sizes = pd.Categorical(["S", "L"] * 50, ["S", "M", "L"], ordered=True)
    frame = module.DataFrame(
        {"day": days.astype("datetime64[ms]"), "x": days > days[50]}
    )
    if library == "pandas":
        frame["size"] = sizes
    model = TableNCAClassifier(**FEW).fit(frame, np.arange(100) % 2)
    (_, of_days, _), (_, of_flags, _), *others = model.shape_functions()
    # Equal days of different units have one hash from NumPy 2.2 on only.
    assert set(of_days) == set(days.astype("datetime64[s]"))
    assert of_flags == [0.0, 1.0]
    assert [known for _, known, _ in others] == [["S", "L"]] * (library == "pandas")
    ShapeDisplay.from_estimator(model)


def test_learned_gower_distance() -> None:
    frame, y = mixed(600)
    model = TableNCAClassifier(form="diagonal", random_state=0).fit(frame, y)
    largest = np.argsort(-model.column_weights_)[:2]
    assert set(frame.columns[largest]) == {"size", "kind"}
    distances = model.pairwise_distances(frame[:50])
    np.testing.assert_allclose(distances, distances.T)
    with pytest.raises(AttributeError, match="form='diagonal'"):
        _ = TableNCAClassifier(**FEW).fit(frame, y).column_weights_


def test_options_without_effect_are_warned_of() -> None:
    X, y = load_iris(return_X_y=True)
    model = TableNCAClassifier(8, form="diagonal", max_iter=2)
    with pytest.warns(UserWarning, match="n_components has no effect"):
        model.fit(X, y)


def test_warm_start_continues() -> None:
    X, y = load_iris(return_X_y=True)
    model = TableNCAClassifier(4, max_iter=2, warm_start=True, random_state=0)
    first = -log_loss(y, model.fit(X, y).predict_proba())
    for _ in range(5):
        model.fit(X, y)
    assert -log_loss(y, model.predict_proba()) > first
    with pytest.raises(ValueError, match="n_components"):
        model.set_params(n_components=5).fit(X, y)


def test_callbacks_stop_a_map() -> None:
    seen = []

    def callback(_: Any, iteration: int) -> None:
        seen.append(iteration)
        if iteration == 2:
            raise StopIteration

    X, y = load_iris(return_X_y=True)
    model = TableNCAClassifier(4, n_estimators=2, callback=callback).fit(X, y)
    assert seen == [1, 2, 1, 2]
    assert model.n_iter_ == 2


def test_verbose(capsys: Any) -> None:
    X, y = load_iris(return_X_y=True)
    TableNCAClassifier(4, max_iter=2, n_estimators=1, verbose=1).fit(X, y)
    assert "[TableNCAClassifier]" in capsys.readouterr().out


def test_a_failed_fit_changes_nothing() -> None:
    frame, y = mixed(100)
    model = TableNCAClassifier(**FEW).fit(frame, y)
    before = clone(model), model.predict_proba(frame)
    with pytest.raises(ValueError, match="two classes"):
        model.fit(frame[["size"]], np.zeros(100))
    np.testing.assert_array_equal(model.predict_proba(frame), before[1])


def test_float32_stays_so() -> None:
    X, y = load_iris(return_X_y=True)
    model = TableNCAClassifier(**FEW).fit(X.astype(np.float32), y)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.transform(X).dtype == np.float64


def test_leave_one_out_leaves_out_votes_only() -> None:
    """The curves have seen the label of a row, which the docs say."""
    X, y = rng.normal(size=(200, 20)), rng.integers(0, 2, 200)
    model = TableNCAClassifier(random_state=0).fit(X, y)
    new = rng.normal(size=(2000, 20))
    assert abs(model.predict_proba(new)[:, 1].mean() - 0.5) < 0.1
    assert "optimistic" in (TableNCAClassifier.predict_proba.__doc__ or "")


def test_maps_that_continue_may_have_seen_all_rows() -> None:
    X, y = load_iris(return_X_y=True)
    model = TableNCARegressor(**FEW, warm_start=True).fit(X, y)
    model.fit(X, y)
    Z = model.transform(X)
    expected = np.zeros(150)
    for own in (slice(0, 8), slice(8, 16)):
        p = np.exp(-np.linalg.norm(Z[:, None, own] - Z[None, :, own], axis=2))
        np.fill_diagonal(p, 0)
        expected += (p @ y) / p.sum(axis=1) / 2
    np.testing.assert_allclose(model.predict(), expected, rtol=1e-9, atol=1e-9)


def test_warm_start_takes_columns_by_name() -> None:
    frame, y = mixed()
    model = TableNCAClassifier(**FEW, warm_start=True).fit(frame, y)
    before = model.score(frame, y)
    model.set_params(max_iter=1).fit(frame[frame.columns[::-1]], y)
    assert model.score(frame, y) > before - 0.1
    with pytest.raises(ValueError, match="no column 'kind'"):
        model.fit(frame.drop(columns="kind"), y)


def test_warm_start_keeps_what_is_better() -> None:
    X = rng.normal(size=(400, 3))
    y = (np.abs(X[:, 0]) > 0.7).astype(int)
    model = TableNCAClassifier(n_estimators=1, warm_start=True, random_state=0)
    proba = model.fit(X, y).predict_proba(X)
    model.set_params(max_iter=1, learning_rate=50.0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), proba, atol=0.2)


def test_parameters_do_not_change_a_fitted_model() -> None:
    X, y = load_iris(return_X_y=True)
    model = TableNCAClassifier(**FEW).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(n_components=3, n_frequencies=1, form="diagonal")
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_a_frame_at_fit_and_an_array_at_predict() -> None:
    frame, y = mixed(60)
    model = TableNCAClassifier(**FEW).fit(frame, y)
    with pytest.raises(ValueError, match="pass a data frame"):
        model.predict(frame.to_numpy())


def test_columns_of_objects_are_numbers_or_dates_if_their_values_are() -> None:
    n = 200
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(n)]
    prices = [Decimal(i) / 4 for i in range(n)]
    y = (np.arange(n) > 100).astype(int)
    for column in (days, prices):
        frame = pd.DataFrame({"x": rng.normal(size=n), "own": column})
        model = TableNCAClassifier(random_state=0).fit(frame[::2], y[::2])
        assert model.score(frame[1::2], y[1::2]) > 0.9


def test_values_that_are_all_unknown_are_warned_of() -> None:
    frame = pd.DataFrame({"k": ["1", "2"] * 30, "x": rng.normal(size=60)})
    model = TableNCAClassifier(**FEW).fit(frame, [0, 1] * 30)
    with pytest.warns(UserWarning, match="No value of column 'k' was known"):
        model.predict(frame.assign(k=pd.Series([1, 2] * 30, dtype=object)))


def test_columns_of_rare_categories_alone() -> None:
    frame = pd.DataFrame({"x": rng.normal(size=40), "id": [f"{i}" for i in range(40)]})
    y = (frame["x"] > 0).to_numpy()
    curves = TableNCAClassifier(**FEW).fit(frame, y).shape_functions()
    name, values, points = curves[1]
    assert (name, values, len(points)) == ("id", [], 0)
    with pytest.raises(ValueError, match="no category that occurs at least"):
        TableNCAClassifier().fit(frame[["id"]], y)


def test_importances_of_columns_that_cancel_are_positive() -> None:
    a = rng.normal(size=500)
    X = np.column_stack([a, a + 0.05 * rng.normal(size=500), rng.normal(size=500)])
    found = TableNCAClassifier(random_state=0).fit(X, X[:, 0] > X[:, 1])
    importances = found.feature_importances_
    assert (importances >= 0).all()
    assert importances[2] < min(importances[:2])


def test_numbers_as_names_of_columns() -> None:
    frame = pd.DataFrame(rng.normal(size=(60, 3)))
    y = (frame[0] > 0).to_numpy()
    model = TableNCAClassifier(**FEW).fit(frame, y)
    expected = model.predict_proba(frame)
    np.testing.assert_array_equal(model.predict_proba(frame[[2, 1, 0]]), expected)
    with pytest.raises(ValueError, match="must be text"):
        TableNCAClassifier().fit(frame[[2, 1, 0]], y)


def test_lists_with_text() -> None:
    rows = [[0.1 * i, "ab"[i % 2]] for i in range(40)]
    model = TableNCAClassifier(categorical_features=[1], random_state=0)
    assert model.fit(rows, [0, 1] * 20).score(rows, [0, 1] * 20) > 0.9
