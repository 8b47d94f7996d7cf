from __future__ import annotations

import sys
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from vicinal.comparison import METHODS, Comparison, MethodResult, compare

CLASSIC = [name for name in METHODS if name != "nca"]
WINE_X, WINE_Y = load_wine(return_X_y=True)


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

    module = ModuleType("vicinal.nca")
    module.NCA = lambda *_, **__: Identity()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vicinal.nca", module)


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
    result = compare(WINE_X, WINE_Y, methods=[name], n_splits=3)
    assert result[name].accuracies.tolist() == by_hand(metric, WINE_X, WINE_Y)


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
    result = compare(X, y, methods=["standardised"], n_splits=3)
    assert result["standardised"].accuracies.tolist() == honest


def test_nca_beats_raw_features_on_wine() -> None:
    result = compare(WINE_X, WINE_Y, methods=["nca", "euclidean"], n_splits=3)
    assert [one.name for one in result.results] == ["euclidean", "nca"]
    assert result.best.name == "nca"
    assert result["nca"].mean > 0.94
    assert result["nca"].n_components.tolist() == [13] * 3


def test_dimensions_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    stub_nca(monkeypatch)
    result = compare(WINE_X, WINE_Y, n_splits=2)
    dimensions = {one.name: one.n_components.tolist() for one in result.results}
    assert list(dimensions) == list(METHODS)
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
    np.testing.assert_allclose(result.accuracies, plain.accuracies, atol=1 / 54)


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
        return [one.accuracies.tolist() for one in result.results]

    assert run(3) == run(3)
    assert run(3) != run(4)


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
    assert one["lda"].accuracies.tolist() == other["lda"].accuracies.tolist()


def test_progress() -> None:
    calls: list[tuple[int, int, str]] = []
    compare(
        WINE_X,
        WINE_Y,
        methods=["lda", "euclidean"],
        n_splits=2,
        on_progress=lambda *call: calls.append(call),
    )
    names = ["euclidean", "lda", "euclidean", "lda"]
    assert calls == [(done, 4, name) for done, name in enumerate(names, start=1)]


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
    assert last.startswith("nca: 3 of 3 fits stopped at the iteration limit")


def test_other_warnings_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    stub_nca(monkeypatch, UserWarning("look here"), ConvergenceWarning("limit"))
    with pytest.warns(UserWarning, match="look here") as caught:
        result = compare(WINE_X, WINE_Y, methods=["nca"], n_splits=2)
    assert [str(warning.message) for warning in caught] == ["look here"] * 2
    assert result["nca"].not_converged == 2


def method(name: str, *accuracies: float, d: tuple[int, ...] = (2,)) -> MethodResult:
    return MethodResult(
        name, np.array(d), np.array(accuracies), np.array([9.0, 0.25, 0.25]), 0
    )


def test_mean_and_standard_error() -> None:
    result = method("lda", 0.5, 0.7, 0.9)
    assert result.mean == pytest.approx(0.7)
    assert result.standard_error == pytest.approx(0.2 / np.sqrt(3))
    assert np.isnan(method("lda", 0.5).standard_error)


def test_table() -> None:
    comparison = Comparison(
        (method("euclidean", 0.5, 0.7, 0.9, d=(13,)), method("pca", 1.0, d=(9, 10, 9)))
    )
    assert comparison.best.name == "pca"
    assert str(comparison) == comparison.table()
    assert comparison.table().splitlines() == [
        "method     dimensions  accuracy (%)  fit (s)",
        "euclidean          13   70.0 ± 11.5    0.250",
        "pca              9-10         100.0    0.250",
    ]


NAN_X = WINE_X.copy()
NAN_X[3, 4] = np.nan
IRIS_X, IRIS_Y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (IRIS_X, np.zeros(150), {}, "one class only, 0.0"),
        (IRIS_X, np.r_[IRIS_Y[:-1], 7], {}, "2 rows or more; there is one of: 7"),
        (IRIS_X, IRIS_X[:, 0], {}, "continuous"),
        (IRIS_X, [None, "a", 1] * 50, {}, "mixes labels of several types"),
        (NAN_X, WINE_Y, {}, "NaN"),
        (IRIS_X, WINE_Y, {}, "inconsistent numbers of samples"),
        (np.ones((150, 2)), IRIS_Y, {}, "All training rows are equal"),
        (IRIS_X, IRIS_Y, {"n_splits": 0}, "n_splits == 0, must be >= 1"),
        (IRIS_X, IRIS_Y, {"n_neighbors": 0}, "n_neighbors == 0, must be >= 1"),
        (IRIS_X, IRIS_Y, {"n_neighbors": 106}, "exceeds the 105 training rows"),
        (IRIS_X, IRIS_Y, {"n_components": 0}, "n_components == 0, must be >= 1"),
        (IRIS_X, IRIS_Y, {"n_components": 5}, "exceeds the 4 features"),
        (IRIS_X, IRIS_Y, {"test_size": 1.5}, "test_size"),
        (IRIS_X, np.r_[IRIS_Y[:-2], 7, 7], {"test_size": 0.9}, "lower test_size"),
        (IRIS_X, IRIS_Y, {"methods": ["lda", "lmn"]}, "standardised.*; got 'lmn'"),
        (IRIS_X, IRIS_Y, {"methods": []}, "got none"),
    ],
)
def test_bad_input(X: Any, y: Any, options: dict[str, Any], message: str) -> None:
    def work(*call: object) -> None:
        pytest.fail("work was done before the input was checked")

    with pytest.raises(ValueError, match=message):
        compare(X, y, on_progress=work, **options)
