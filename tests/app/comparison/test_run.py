from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from vicinal.app.comparison import METHODS, compare
from vicinal.app.comparison.data import Setting, read_setting
from vicinal.app.comparison.runs import judge
from vicinal.app.tables.prepared import read_target

USUAL = [m.name for m in METHODS.values() if m.default and "classification" in m.tasks]
CLASSIC = ["euclidean", "standardised", "whitened", "pca", "lda"]
WINE_X, WINE_Y = load_wine(return_X_y=True)
IRIS_X, IRIS_Y = load_iris(return_X_y=True)


def by_hand(metric: Any, X: Any, y: Any, *, leak: bool = False) -> list[float]:
    """Accuracy of 3-NN on three splits; with `leak` the metric sees all rows."""
    splitter = StratifiedShuffleSplit(3, test_size=0.3, random_state=0)
    accuracies = []
    for train, test in splitter.split(X, y):
        if metric is not None:
            metric.fit(*((X, y) if leak else (X[train], y[train])))
        Z = X if metric is None else metric.transform(X)
        knn = KNeighborsClassifier(3).fit(Z[train], y[train])
        accuracies.append(float(np.mean(knn.predict(Z[test]) == y[test])))
    return accuracies


def stub_nca(monkeypatch: pytest.MonkeyPatch, *emitted: Warning) -> None:
    """Replace NCA by the identity, with the given warnings at each fit."""

    class Identity(FunctionTransformer):
        def fit(self, X: Any, y: Any = None) -> Any:
            for warning in emitted:
                warnings.warn(warning, stacklevel=2)
            return super().fit(X)

    monkeypatch.setattr("vicinal.nca.NCA", lambda *_, **__: Identity())


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("euclidean", None),
        ("standardised", StandardScaler()),
        ("whitened", make_pipeline(StandardScaler(), PCA(whiten=True))),
        ("pca", make_pipeline(StandardScaler(), PCA(0.95))),
        ("lda", make_pipeline(StandardScaler(), LinearDiscriminantAnalysis())),
    ],
)
def test_equals_a_loop_by_hand(name: str, metric: Any) -> None:
    result = compare(WINE_X, WINE_Y, methods=[name], n_splits=3, n_neighbors=3)
    assert result[name].scores.tolist() == by_hand(metric, WINE_X, WINE_Y)


def test_nothing_is_learned_from_test_rows() -> None:
    # One far outlier: where it is a test row, it must not shrink its feature.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = np.column_stack([rng.normal(3 * y, 1), rng.normal(size=60)])
    splitter = StratifiedShuffleSplit(3, test_size=0.3, random_state=0)
    X[next(splitter.split(X, y))[1][0], 0] = 1e6
    scaler = StandardScaler()
    honest, leaked = by_hand(scaler, X, y), by_hand(scaler, X, y, leak=True)
    assert honest != leaked
    result = compare(X, y, methods=["standardised"], n_splits=3, n_neighbors=3)
    assert result["standardised"].scores.tolist() == honest


def test_nca_beats_raw_features_on_wine() -> None:
    result = compare(WINE_X, WINE_Y, methods=["nca", "euclidean"], n_splits=3)
    assert [one.name for one in result.results] == ["euclidean", "nca"]
    assert result.best.name == "nca"
    assert result["nca"].mean > 0.94
    assert result["nca"].n_components.tolist() == [13] * 3


def test_dimensions_by_default() -> None:
    result = compare(WINE_X, WINE_Y, n_splits=2)
    dimensions = {one.name: one.n_components.tolist() for one in result.results}
    assert list(dimensions) == USUAL
    assert dimensions["lda"] == [2, 2]
    for name in ("euclidean", "standardised", "whitened"):
        assert dimensions[name] == [13, 13]


@pytest.mark.parametrize(("d", "lda"), [(1, 1), (3, 2)])
def test_dimensions_as_asked(d: int, lda: int) -> None:
    result = compare(
        WINE_X, WINE_Y, methods=["pca", "lda", "nca"], n_splits=1, n_components=d
    )
    dimensions = {one.name: one.n_components.tolist() for one in result.results}
    assert dimensions == {"pca": [d], "lda": [lda], "nca": [d]}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_whitening_drops_directions_without_variance(dtype: Any) -> None:
    X = WINE_X.astype(dtype)
    dull = np.column_stack([X, np.full(len(X), 7), X[:, 0] - 2 * X[:, 1]]).astype(dtype)
    plain = compare(X, WINE_Y, methods="whitened", n_splits=3)["whitened"]
    result = compare(dull, WINE_Y, methods="whitened", n_splits=3)["whitened"]
    assert result.n_components.tolist() == [13] * 3
    np.testing.assert_allclose(result.scores, plain.scores, atol=1 / 54)


def test_more_features_than_rows() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 10)
    X = rng.normal(size=(20, 50)) + y[:, None]
    result = compare(X, y, methods=CLASSIC, n_splits=2, n_components=40)
    assert result["whitened"].n_components.tolist() == [13, 13]
    assert result["pca"].n_components.tolist() == [14, 14]
    assert result["lda"].n_components.tolist() == [1, 1]


def test_same_seed_same_accuracies() -> None:
    def run(seed: int) -> list[list[float]]:
        result = compare(
            WINE_X, WINE_Y, methods=["euclidean", "nca"], n_splits=2, random_state=seed
        )
        return [one.scores.tolist() for one in result.results]

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_a_generator_draws_one_seed() -> None:
    def run(seed: Any) -> Any:
        return compare(WINE_X, WINE_Y, methods="lda", n_splits=3, random_state=seed)

    one = run(np.random.RandomState(5))
    again = run(one.setting.random_state)
    assert one["lda"].scores.tolist() == again["lda"].scores.tolist()
    assert (
        one.setting.random_state == run(np.random.RandomState(5)).setting.random_state
    )


def test_labels_in_a_column() -> None:
    with pytest.warns(DataConversionWarning):
        column = compare(WINE_X, WINE_Y[:, None], methods="lda", n_splits=2)
    plain = compare(WINE_X, WINE_Y, methods="lda", n_splits=2)
    assert column["lda"].scores.tolist() == plain["lda"].scores.tolist()


def test_parameters_reach_the_split_and_knn() -> None:
    result = compare(
        WINE_X, WINE_Y, methods=["euclidean"], n_splits=1, test_size=0.5, n_neighbors=7
    )
    splitter = StratifiedShuffleSplit(1, test_size=0.5, random_state=0)
    train, test = next(splitter.split(WINE_X, WINE_Y))
    knn = KNeighborsClassifier(7).fit(WINE_X[train], WINE_Y[train])
    assert result.best.mean == knn.score(WINE_X[test], WINE_Y[test])


def test_labels_may_be_strings() -> None:
    names = np.array(["a", "b", "c"], dtype=object)[WINE_Y]
    one = compare(WINE_X, names, methods=["lda"], n_splits=2)
    other = compare(WINE_X, WINE_Y, methods=["lda"], n_splits=2)
    assert one["lda"].scores.tolist() == other["lda"].scores.tolist()


def test_progress() -> None:
    calls: list[tuple[int, int, str]] = []
    compare(
        WINE_X,
        WINE_Y,
        methods=["lda", "euclidean"],
        n_splits=2,
        on_progress=lambda *call: calls.append(call),
    )
    names = ["euclidean", "lda", "majority class", "logistic regression"]
    names += ["gradient boosting"]
    names = [*names, *names, "done"]
    assert [call[:2] for call in calls] == [(done, 10) for done in range(11)]
    assert [call[2].partition(" (")[0] for call in calls] == names
    assert re.fullmatch(r"lda \(best so far: lda, \d+\.\d %\)", calls[6][2])


def test_references_may_be_left_out() -> None:
    options: Any = {"methods": "lda", "n_splits": 4}
    result = compare(WINE_X, WINE_Y, references=False, **options)
    assert result.references == ()
    assert "gradient" not in str(result)
    beside = compare(WINE_X, WINE_Y, **options).references
    # The constant on all splits, the others on the first three.
    assert [one.scores.size for one in beside] == [4, 3, 3]
    assert beside[0].mean == pytest.approx(0.389, abs=0.001)
    assert min(one.mean for one in beside[1:]) > 0.95


def test_fits_that_did_not_converge_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Two warnings in one fit are still one fit.
    stub_nca(monkeypatch, ConvergenceWarning("limit"), ConvergenceWarning("again"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = compare(WINE_X, WINE_Y, methods=["lda", "nca"], n_splits=3)
    assert result["nca"].not_converged == 3
    assert result["lda"].not_converged == 0
    last = str(result).splitlines()[-1]
    assert last == "nca: 3 of 3 fits did not converge (limit)."


def test_warnings_become_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    stub_nca(monkeypatch, UserWarning("look here"), ConvergenceWarning("limit"))
    result = compare(WINE_X, WINE_Y, methods=["nca"], n_splits=2)
    assert result["nca"].not_converged == 2
    assert result["nca"].warnings == ("look here",)
    assert result.notes == [
        "nca: 2 of 2 fits did not converge (limit).",
        "nca: look here",
    ]


def test_warnings_for_developers_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    stub_nca(monkeypatch, FutureWarning("soon"))
    with pytest.warns(FutureWarning, match="soon"):
        compare(WINE_X, WINE_Y, methods=["nca"], n_splits=1)


def test_missing_values_are_learned_from_training_rows() -> None:
    rng = np.random.default_rng(0)
    X = WINE_X.copy()
    X[rng.random(X.shape) < 0.2] = np.nan
    metric = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    expected = by_hand(metric, X, WINE_Y)
    result = compare(X, WINE_Y, methods="standardised", n_splits=3, n_neighbors=3)
    assert result["standardised"].scores.tolist() == expected
    assert all(one.mean > 0.8 for one in compare(X, WINE_Y, n_splits=2).results[1:])


def test_confusion_has_a_place_for_classes_that_are_not_met() -> None:
    setting = read_setting(WINE_X, WINE_Y)
    test = np.flatnonzero(WINE_Y == 2)[:5]
    _, score, found = judge(setting, test, np.eye(3)[[0, 2, 2, 2, 2]])
    assert score == 0.8
    assert found["confusion"].tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 4]]


def test_confusion_counts_the_test_rows() -> None:
    lda = compare(WINE_X, WINE_Y, methods="lda", n_splits=3)["lda"]
    assert lda.confusion is not None
    assert lda.confusion.sum() == 3 * 54
    right = np.trace(lda.confusion) / lda.confusion.sum()
    assert right == pytest.approx(lda.mean)


@pytest.mark.parametrize("whole", [True, False])
def test_numbers_to_predict(whole: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * [1, 5, 5, 5, 5]
    y = np.round(50 * X[:, 0]) if whole else X[:, 0]
    result = compare(X, y, methods="euclidean mlkr nca", n_splits=3, n_neighbors=3)
    assert result.setting.task == "regression"
    assert result.measure == "R²"
    assert result["nca"].mean > 0.9 > 0.5 > result["euclidean"].mean
    train, test = next(ShuffleSplit(3, test_size=0.3, random_state=0).split(X))
    knn = KNeighborsRegressor(3).fit(X[train], y[train])
    by_sklearn = knn.score(X[test], y[test])
    assert result["euclidean"].scores[0] == pytest.approx(by_sklearn)


def test_no_target() -> None:
    rng = np.random.default_rng(0)
    # Two flat sheets: one bandwidth for all directions cannot be right.
    X = rng.normal(size=(240, 3)) * [1, 1, 0.05] + np.repeat(
        [[0, 0, 0], [0, 0, 1]], 120, 0
    )
    result = compare(X, methods="kernel-density gaussian lca", n_splits=2)
    assert result.setting.task == "none"
    assert result.best.name == "lca"
    assert result["lca"].mean > result["kernel-density"].mean + 0.1
    for one in result.results:
        assert one.agreement is not None
        assert ((one.agreement > 0) & (one.agreement <= 1)).all()
    assert "cluster agreement" in str(result)
    unlabelled = compare(X, np.zeros(240), task="none", methods="gaussian", n_splits=1)
    assert unlabelled.setting.y is None


def test_names_of_the_features() -> None:
    frame = load_iris(as_frame=True).data
    named = compare(frame, IRIS_Y, methods="euclidean", n_splits=1)
    assert named.setting.feature_names == list(frame.columns)
    plain = compare(IRIS_X, IRIS_Y, methods="euclidean", n_splits=1)
    assert plain.setting.feature_names == ["x0", "x1", "x2", "x3"]


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.tile([0.5, 1.5], 30), "classification"),
        (np.tile([1.0, 2.0], 30), "classification"),
        (np.tile(np.arange(20.0), 6), "classification"),
        (np.tile(np.arange(21.0), 6), "classification"),
        (np.tile(np.arange(21), 6), "classification"),
        (np.tile(np.arange(21), 4), "regression"),
        (np.tile([0.5, 1.5, 2.5], 20), "regression"),
    ],
)
def test_the_rule_for_targets_is_that_of_tables(y: Any, task: str) -> None:
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    setting = compare(X, y, methods=["euclidean"], n_splits=1, test_size=0.4).setting
    assert setting.task == task
    classes = [] if task == "regression" else [str(one) for one in np.unique(y)]
    assert list(setting.classes) == classes
    assert read_target(pl.Series("y", y)).task == task


def test_splits_without_end_end_with_the_time_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    check = Setting.check_training_rows

    def counted(setting: Setting, train: Any) -> None:
        seen.append(train)
        check(setting, train)

    monkeypatch.setattr(Setting, "check_training_rows", counted)
    options: Any = {"methods": ["euclidean"], "n_splits": 10**7}
    result = compare(IRIS_X, IRIS_Y, time_budget=0.2, **options)
    assert 1 <= result.setting.n_splits < 10**6
    assert len(seen) <= result.setting.n_splits + 11
    assert f"of {10**7} splits" in result.notes[0]
