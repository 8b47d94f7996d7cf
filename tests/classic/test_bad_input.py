"""What every classic method must bear, or refuse, in the same way."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris

from vicinal._typing import FloatArray
from vicinal.classic import FDA, ITML, LFDA, MRMR, NGCA, TransferITML

X, y = load_iris(return_X_y=True)
METHODS = [
    FDA(),
    LFDA(2),
    ITML(0.1, random_state=0),
    TransferITML(0.1, random_state=0),
    MRMR(2),
    NGCA(2, n_functions=10, random_state=0),
]
every_method = pytest.mark.parametrize(
    "method", METHODS, ids=lambda method: type(method).__name__
)
every_supervised = pytest.mark.parametrize(
    "method", METHODS[:-1], ids=lambda method: type(method).__name__
)


def images(method: Any, points: Any, labels: Any = y) -> FloatArray:
    """Fit, and return the absolute values of the training points' images."""
    return np.abs(np.asarray(method.fit(points, labels).transform(points)))


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
        method.fit(X, y).transform(X[:, :3])


@every_method
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity(method: Any, bad: float) -> None:
    points = X.copy()
    points[7, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        method.fit(points, y)


@every_supervised
def test_labels(method: Any) -> None:
    expected = images(method, X)
    for labels in (y.astype(str), y * 1000 - 7, y.astype(np.uint8), list(y)):
        np.testing.assert_array_equal(images(method, X, labels), expected)
    mixed = np.array([0, "one"] * 75, dtype=object)
    with pytest.raises(ValueError, match="Unknown label type"):
        method.fit(X, mixed)
    with pytest.raises(ValueError, match="requires y to be passed"):
        method.fit(X, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        method.fit(X, y[:-1])
    with pytest.raises(ValueError, match="only one class"):
        method.fit(X, np.zeros(150))
