"""Awkward and wrong input: a clear exception or a right answer, never NaN."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from vicinal import NCA, NCAClassifier, NCARegressor
from vicinal._typing import FloatArray

X, y = load_iris(return_X_y=True)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fitted(points: Any, labels: Any = y, **parameters: Any) -> NCA:
    """Fit, check that every entry is finite and nothing was lowered, and return."""
    parameters = {"n_components": 2, "max_iter": 10, "init": "pca", **parameters}
    nca = NCA(**parameters).fit(points, labels)
    assert np.isfinite(nca.components_).all()
    assert np.isfinite(nca.objective_curve_).all()
    assert nca.objective_curve_[-1] >= nca.objective_curve_[0]
    return nca


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity(bad: float) -> None:
    points = X.copy()
    points[7, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        NCA().fit(points, y)
    nca = fitted(X)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        nca.transform(points)


@pytest.mark.parametrize(
    ("points", "labels", "message"),
    [
        (X[:0], y[:0], "0 sample"),
        (X[:1], y[:1], "minimum of 2"),
        (X[:, :0], y, "0 feature"),
        (X, y[:-1], "inconsistent numbers of samples"),
        (X, np.linspace(0, 1, 150), "continuous"),
        (X, np.stack([y, y], axis=1), "1d array"),
        (X[0], y[:1], "2D array"),
    ],
)
def test_impossible_shapes_and_targets(
    points: FloatArray, labels: FloatArray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        NCA().fit(points, labels)


def test_labels_of_mixed_types() -> None:
    labels = np.array([0, "one"] * 75, dtype=object)
    with pytest.raises(ValueError, match="Unknown label type"):
        NCA().fit(X, labels)


@pytest.mark.parametrize(
    "labels", [y.astype(str), y.astype(bool), y * 1000 - 7, y.astype(np.uint8), list(y)]
)
def test_labels_of_any_one_type(labels: Any) -> None:
    codes = np.unique(labels, return_inverse=True)[1]
    np.testing.assert_array_equal(
        fitted(X, labels).components_, fitted(X, codes).components_
    )


def test_no_labels() -> None:
    with pytest.raises(ValueError, match="requires y to be passed"):
        NCA().fit(X, None)


def test_sparse_input() -> None:
    with pytest.raises(ValueError, match="would make sparse X dense"):
        NCA(form="diagonal").fit(sparse.csr_array(X), y)


def test_frames_with_strings() -> None:
    for frame in (
        pd.DataFrame({"a": X[:, 0], "b": ["x"] * 150}),
        pl.DataFrame({"a": X[:, 0], "b": ["x"] * 150}),
    ):
        with pytest.raises(ValueError, match="could not convert string"):
            NCA().fit(frame, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 5}, "more than the 4 features"),
        ({"n_components": 0}, "'n_components' parameter"),
        ({"n_components": 2.5}, "'n_components' parameter"),
        ({"init": "svd"}, "'init' parameter"),
        ({"init": np.eye(2, 3)}, "3 columns"),
        ({"objective": "accuracy"}, "'objective' parameter"),
        ({"solver": "adam"}, "'solver' parameter"),
        ({"alpha": -1}, "'alpha' parameter"),
        ({"form": "round"}, "'form' parameter"),
        ({"anneal": "slowly", "n_components": 2}, "'anneal' parameter"),
        ({"anneal": True}, "give a smaller n_components"),
        ({"anneal": True, "n_components": 4}, "give a smaller n_components"),
        ({"form": "diagonal", "n_components": 2}, "keeps all features"),
        ({"form": "diagonal", "init": "lda"}, "mixes features"),
        ({"form": "diagonal", "n_components": "auto"}, "cannot be combined with"),
        ({"anneal": True, "n_components": "auto"}, "cannot be combined with"),
        ({"anneal": True, "n_components": 3, "init": np.eye(2, 4)}, "fewer than"),
        ({"class_prior": [1, 2, 3]}, "has no effect"),
        ({"objective": "class-density", "class_prior": [1, 2, 3, 4]}, "3 classes"),
        ({"form": "diagonal", "init": np.ones(3)}, "init must be 4 finite numbers"),
        ({"objective": "class-density", "class_prior": [0.5, 0.5]}, "3 classes"),
        ({"objective": "class-density", "class_prior": [1, 1, -1]}, "positive"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"tol": -1.0}, "'tol' parameter"),
        ({"callback": 3}, "'callback' parameter"),
        ({"n_jobs": 0}, "n_jobs == 0"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    nca = NCA(**parameters)
    before = dict(vars(nca))
    with pytest.raises(ValueError, match=message):
        nca.fit(X, y)
    assert vars(nca) == before


@pytest.mark.parametrize("objective", ["expected", "log"])
@pytest.mark.parametrize("init", ["auto", "pca", "identity", "random"])
@pytest.mark.parametrize(
    "case",
    [
        "class of one",
        "constant column",
        "duplicate column",
        "duplicate rows",
        "all equal",
    ],
)
def test_what_can_be_handled_is(case: str, init: str, objective: str) -> None:
    points, labels = X.copy(), y.copy()
    if case == "class of one":
        labels[0] = 9
    elif case == "constant column":
        points[:, 2] = 3.0
    elif case == "duplicate column":
        points[:, 2] = points[:, 3]
    elif case == "duplicate rows":
        points[75:] = points[:75]
    else:
        points[:] = 1.0
    fitted(points, labels, init=init, objective=objective, random_state=0)


def test_a_constant_column_is_not_listened_to_more_than_it_was() -> None:
    points = np.column_stack([X, np.full(150, 3.0)])
    nca = fitted(points, init=np.eye(2, 5))
    np.testing.assert_allclose(nca.components_[:, 4], 0, atol=1e-9)


@pytest.mark.parametrize("init", ["pca", "identity", "random", "lda"])
def test_far_fewer_rows_than_features(init: str) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20, 500))
    nca = fitted(points, np.repeat([0, 1, 2, 3], 5), init=init, random_state=0)
    assert nca.components_.shape == (2, 500)


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1e6, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("objective", ["expected", "log"])
@pytest.mark.parametrize("init", ["pca", "lda", "rca", "whiten", "identity", "random"])
def test_any_scale(scale: float, dtype: Any, objective: str, init: str) -> None:
    points = (X * scale).astype(dtype)
    nca = fitted(points, objective=objective, init=init, random_state=0)
    assert nca.components_.dtype == dtype


def test_a_scale_that_overflows_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="Scale the data"):
        NCA(2, init=np.eye(2, X.shape[1])).fit(X * 1e200, y)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, bool, np.float16])
def test_other_types_are_computed_in_float64(dtype: Any) -> None:
    points = np.round(X).astype(dtype)
    nca = fitted(points)
    assert nca.components_.dtype == np.float64
    np.testing.assert_array_equal(
        nca.components_, fitted(points.astype(np.float64)).components_
    )


def test_any_layout_of_memory(tmp_path: Path) -> None:
    expected = fitted(X).components_
    read_only = X.copy()
    read_only.flags.writeable = False
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    mapped = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    swapped = X.astype(X.dtype.newbyteorder())
    for points in (read_only, strided, np.asfortranarray(X), mapped, swapped):
        np.testing.assert_allclose(fitted(points).components_, expected, rtol=1e-5)
    np.testing.assert_array_equal(read_only, X)
    reversed_rows = fitted(X[::-1], y[::-1])
    assert reversed_rows.objective_curve_[-1] > 0


def test_input_is_never_written_to() -> None:
    points, labels, start = X.copy(), y.copy(), np.eye(2, 4)
    fitted(points, labels, init=start)
    np.testing.assert_array_equal(points, X)
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(start, np.eye(2, 4))


def test_another_number_of_features_in_transform() -> None:
    with pytest.raises(ValueError, match="X has 3 features, but NCA is expecting 4"):
        fitted(X).transform(X[:, :3])


@pytest.mark.parametrize("model", [NCA(), NCAClassifier(), NCARegressor()])
@pytest.mark.parametrize(("dtype", "weight"), [("f4", 1e39), ("f8", 1e300)])
def test_weights_too_large_to_compute_with(
    model: Any, dtype: str, weight: float
) -> None:
    with pytest.raises(ValueError, match="divide them so that none is above 1e"):
        model.fit(X.astype(dtype), y, sample_weight=np.full(len(X), weight))
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_large_weights(dtype: str) -> None:
    weights = np.full(len(X), 1e30)
    nca = NCA(2, max_iter=3).fit(X.astype(dtype), y, sample_weight=weights)
    assert np.isfinite(nca.components_).all()
