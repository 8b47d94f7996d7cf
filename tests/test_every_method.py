"""What every method must bear, or refuse, in the same way."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

from vicinal import LDG, LocalQDA, TransferLDG
from vicinal._typing import FloatArray
from vicinal.classic import (
    FDA,
    ITML,
    LFDA,
    LMNN,
    LSML,
    MCML,
    MMC,
    MRMR,
    NGCA,
    RCA,
    SCML,
    SDML,
    Covariance,
    DANNClassifier,
    LMNNClassifier,
    TransferITML,
)

X, y = load_iris(return_X_y=True)
# Iris has many points at equal distances, and nearest is then whatever comes first.
X += np.random.default_rng(0).normal(size=X.shape) / 100
METHODS = [
    LDG(2, n_neighbors=8, gamma=0.6),
    LocalQDA(8),
    TransferLDG(2, n_neighbors=8, gamma=0.6),
    FDA(),
    LFDA(2),
    ITML(0.1, random_state=0),
    TransferITML(0.1, random_state=0),
    LMNN(n_components=2, tol=0.05, random_state=0),
    LMNNClassifier(tol=0.05, random_state=0),
    MCML(2, tol=0.05, random_state=0),
    DANNClassifier(),
    MRMR(2),
    RCA(),
    MMC(random_state=0),
    MMC("diagonal", random_state=0),
    SDML(0.1, random_state=0),
    LSML(random_state=0),
    SCML(random_state=0),
    Covariance(),
    NGCA(2, n_functions=10, random_state=0),
]
every_method = pytest.mark.parametrize(
    "method", METHODS, ids=lambda method: type(method).__name__
)
every_supervised = pytest.mark.parametrize(
    "method", METHODS[:-2], ids=lambda method: type(method).__name__
)


def answer(method: Any, points: Any) -> FloatArray:
    """Return absolute values of the images or, where there are none, probabilities."""
    ask = getattr(method, "transform", None) or method.predict_proba
    return np.abs(np.asarray(ask(points)))


def images(method: Any, points: Any, labels: Any = y) -> FloatArray:
    """Fit, and return the answer for the training points."""
    return answer(clone(method).fit(points, labels), points)


@every_method
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool, np.float16])
def test_other_types_are_computed_in_float64(method: Any, dtype: Any) -> None:
    points = np.round(X).astype(dtype)
    if dtype is bool:
        points = np.greater(X, X.mean(axis=0))
    found = images(method, points)
    expected = images(method, points.astype(np.float64))
    np.testing.assert_array_equal(found, expected)
    assert np.isfinite(found.astype(float)).all()


@every_method
def test_any_layout_of_memory(method: Any) -> None:
    expected = images(method, X)
    read_only = X.copy()
    read_only.flags.writeable = False
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    swapped = X.astype(X.dtype.newbyteorder())
    frames = (pd.DataFrame(X, columns=list("abcd")), pl.DataFrame(X, list("abcd")))
    for points in (read_only, strided, np.asfortranarray(X), swapped, *frames):
        np.testing.assert_allclose(images(method, points), expected, atol=1e-7)


@every_method
def test_input_is_never_written_to(method: Any) -> None:
    points, labels = X.copy(), y.copy()
    method.fit(points, labels)
    np.testing.assert_array_equal(points, X)
    np.testing.assert_array_equal(labels, y)


@every_method
def test_frames_with_strings(method: Any) -> None:
    frame = {"a": X[:, 0], "b": ["x"] * 150}
    for points in (pd.DataFrame(frame), pl.DataFrame(frame)):
        with pytest.raises(ValueError, match="could not convert string"):
            method.fit(points, y)


@every_method
def test_another_number_of_features_in_transform(method: Any) -> None:
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        answer(method.fit(X, y), X[:, :3])


@every_method
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity(method: Any, bad: float) -> None:
    points = X.copy()
    points[7, 1] = bad
    fitted = clone(method).fit(X, y)
    before = dict(vars(fitted))
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fitted.fit(points, y)
    assert vars(fitted) == before


@every_supervised
def test_labels(method: Any) -> None:
    expected = images(method, X)
    for labels in (y.astype(str), y * 1000 - 7, y.astype(np.uint8), list(y)):
        np.testing.assert_array_equal(images(method, X, labels), expected)
    method = clone(method)
    before = dict(vars(method))
    mixed = np.array([0, "one"] * 75, dtype=object)
    with pytest.raises(ValueError, match="Unknown label type"):
        method.fit(X, mixed)
    with pytest.raises(ValueError, match="requires y to be passed"):
        method.fit(X, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        method.fit(X, y[:-1])
    with pytest.raises(ValueError, match="only one class: 0"):
        method.fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="continuous"):
        method.fit(X, X[:, 0])
    assert vars(method) == before


@every_method
def test_sparse_rows(method: Any) -> None:
    if isinstance(method, LDG):  # which takes them, wide ones without making them dense
        np.testing.assert_allclose(
            images(method, sparse.csr_array(X)), images(method, X), atol=1e-9
        )
        return
    with pytest.raises(TypeError, match="Sparse data was passed"):
        method.fit(sparse.csr_array(X), y)


@every_method
def test_clone_pickle_and_names(method: Any) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = clone(method).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == list("abcd")
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(answer(copy, frame), answer(fitted, frame))
    assert not hasattr(clone(fitted), "n_features_in_")
    if hasattr(method, "transform"):
        out = fitted.set_output(transform="pandas").transform(frame)
        assert out.columns.tolist() == fitted.get_feature_names_out().tolist()


@pytest.mark.filterwarnings("ignore:These classes have too few")
@pytest.mark.filterwarnings("ignore:n_neighbors=3 is more than 1 of the")
@every_method
@pytest.mark.parametrize(
    "case", ["class of one", "class of two", "duplicate column", "duplicate rows"]
)
def test_what_can_be_handled_is(method: Any, case: str) -> None:
    points, labels = X.copy(), y.copy()
    if case.startswith("class"):
        labels[: 1 + (case == "class of two")] = 9
    elif case == "duplicate column":
        points[:, 2] = points[:, 3]
    else:
        points[75:] = points[:75]
    assert np.isfinite(images(method, points, labels)).all()


@every_method
@pytest.mark.parametrize("constant", [0.1, 1e16])
def test_the_value_of_a_constant_column_does_not_matter(
    method: Any, constant: float
) -> None:
    points, zeros = (np.column_stack([X, np.full(150, c)]) for c in (constant, 0))
    fitted, expected = (clone(method).fit(rows, y) for rows in (points, zeros))
    if hasattr(fitted, "components_"):  # as images would be lost beside those of 1e16
        found, wanted = np.abs(fitted.components_), np.abs(expected.components_)
        np.testing.assert_allclose(found, wanted, atol=1e-6 * wanted.max())
    else:
        np.testing.assert_allclose(
            answer(fitted, points)[:, :2], answer(expected, zeros)[:, :2], atol=1e-6
        )


@every_method
@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_any_unit(method: Any, unit: float) -> None:
    # The identity is the same matrix in any unit.
    if isinstance(method, (ITML, TransferITML, LSML, SDML)):
        method = clone(method).set_params(prior="covariance")
    found, expected = images(method, X * unit), images(method, X)
    if isinstance(method, (LDG, MRMR)):
        expected = expected * unit
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5 * expected.max())


@every_method
@pytest.mark.parametrize("unit", [1e-80, 1e80])
def test_values_that_are_too_large_or_too_small_say_so(
    method: Any, unit: float
) -> None:
    method = clone(method)
    before = dict(vars(method))
    with pytest.raises(ValueError, match="Scale the data"):
        method.fit(X * unit, y)
    assert vars(method) == before
