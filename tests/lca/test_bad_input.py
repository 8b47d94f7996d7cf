"""Awkward and wrong input for LCA and LCAGauss: an exception or finite numbers."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from vicinal import LCA, LCAGauss
from vicinal._typing import FloatArray

X = load_iris().data
FORMS = [
    LCA(),
    LCA("diagonal"),
    LCA("spherical"),
    LCA("low-rank"),
    LCA("local"),
    LCA(batch_size=20, n_references=50, random_state=0),
    LCAGauss(),
    LCAGauss(search=True),
    LCAGauss(1),
]


def finite(model: Any, points: Any) -> Any:
    """Fit, and check that everything the density says is finite."""
    model.fit(points)
    for found in (
        model.components_,
        model.objective_curve_,
        model.loo_score_samples_,
        model.score_samples(points),
        model.offset_,
        model.sample(3, random_state=0),
    ):
        assert np.isfinite(found).all()
    return model


@pytest.mark.parametrize("model", FORMS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "case",
    ["duplicates", "constant", "collinear", "wide", "equal", "two", "one feature"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_can_be_handled_is(model: Any, case: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    makers: dict[str, Callable[[], FloatArray]] = {
        "duplicates": lambda: np.repeat(X[::4], 2, axis=0),
        "constant": lambda: np.column_stack([X[:50], np.full(50, 7.0)]),
        "collinear": lambda: np.column_stack([X[:50], X[:50, 0] - X[:50, 1] / 3]),
        "wide": lambda: rng.normal(size=(10, 15)),
        "equal": lambda: np.ones((10, 3)),
        "two": lambda: X[[0, 100]],
        "one feature": lambda: X[:60, :1],
    }
    points = makers[case]().astype(dtype)
    if isinstance(model, LCAGauss) and points.shape[1] == 1:
        model = LCAGauss()
    finite(model.set_params(max_iter=20), points)


@pytest.mark.parametrize("model", [LCA(), LCA("spherical"), LCAGauss()], ids=str)
def test_duplicates_of_every_point_are_warned_of(model: Any) -> None:
    # By default copies do not judge their originals: the kernels stay wide.
    rows, fresh = X[::2], X[1::2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        alone = model.fit(rows).score(fresh)
        assert model.fit(np.repeat(rows, 2, axis=0)).score(fresh) > alone - 1.0
    points = np.repeat(X, 2, axis=0)
    model.set_params(**dict.fromkeys(model._alphas, 0.0))
    with pytest.warns(ConvergenceWarning, match="no finite optimum.*set alpha"):
        model.fit(points)


@pytest.mark.parametrize(
    "model", [LCA(alpha=0.01), LCAGauss(alpha_local=0.01, alpha_global=0.01)], ids=str
)
@pytest.mark.parametrize(
    "points",
    [
        np.repeat(X, 2, axis=0),
        np.column_stack([X, np.ones(150)]),
        np.column_stack([X, X[:, 0]]),
        np.random.default_rng(0).normal(size=(10, 15)),
    ],
)
def test_a_ridge_makes_them_ordinary(model: Any, points: FloatArray) -> None:
    finite(model, points)  # warnings are errors


def test_duplicates_do_not_hide_the_rest() -> None:
    with pytest.warns(ConvergenceWarning, match="in 1 directions"):
        model = LCA(alpha=0.0).fit(np.column_stack([X, X[:, 0] + 1]))
    plain = LCA(alpha=0.0).fit(X)
    np.testing.assert_allclose(model.covariance_[:4, :4], plain.covariance_, rtol=1e-6)
    with pytest.warns(ConvergenceWarning, match="in 1 directions"):
        default = LCA().fit(np.column_stack([X, X[:, 0] + 1]))
    np.testing.assert_allclose(
        default.covariance_[:4, :4], LCA().fit(X).covariance_, rtol=0.15, atol=1e-3
    )


@pytest.mark.parametrize("model", [LCA(), LCAGauss()], ids=str)
@pytest.mark.parametrize(
    ("points", "message"),
    [
        (X[:1], "minimum of 2"),
        (X[:0], "0 sample"),
        (X[:, :0], "0 feature"),
        (X[0], "2D array"),
        (np.where(X > 7, np.nan, X), "NaN"),
        (np.where(X > 7, np.inf, X), "infinity"),
        (X * 1e200, "Scale the data"),
        (X * 1e-200, "Scale the data"),
        ((X * 1e-39).astype(np.float32), "Scale the data"),
    ],
)
def test_impossible_input(model: Any, points: FloatArray, message: str) -> None:
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(points)
    assert vars(model) == before


def test_sparse_input() -> None:
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        LCA().fit(sparse.csr_array(X))


@pytest.mark.parametrize("factor", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [LCA(), LCA("spherical"), LCAGauss()], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_scale(factor: float, dtype: Any, model: Any) -> None:
    points = (X * factor).astype(dtype)
    scaled = finite(model, points)
    reached = scaled.objective_curve_[-1] + 4 * np.log(factor)
    plain = model.fit(X.astype(dtype)).objective_curve_[-1]
    assert reached == pytest.approx(plain, abs=0.02)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool, np.float16])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_types_are_computed_in_float64(dtype: Any) -> None:
    points = np.round(X).astype(dtype)
    model = finite(LCA(alpha=0.1), points)
    assert model.components_.dtype == np.float64


def test_input_is_never_written_to() -> None:
    points = X.copy()
    points.flags.writeable = False
    LCA().fit(points).modes(points)
    LCAGauss(alpha_local=0.01).fit(np.asfortranarray(points))
    np.testing.assert_array_equal(points, X)
