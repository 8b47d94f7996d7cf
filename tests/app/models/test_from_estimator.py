from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import vicinal
from vicinal import LDG, NCA, NCAClassifier
from vicinal.app.models import load
from vicinal.classic import FDA
from vicinal.datasets import load as load_dataset

if TYPE_CHECKING:
    from pathlib import Path

WINE = load_dataset("wine")


def saved(path: Path, estimator: Any) -> Any:
    vicinal.save(path / "m.safetensors", estimator)
    return vicinal.load(path / "m.safetensors")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        NCA(2, max_iter=5),
        NCAClassifier(2, max_iter=5),
        LDG(2, random_state=0),
        FDA(2),
        StandardScaler(),
        PCA(3, whiten=True),
        LinearDiscriminantAnalysis(),
        make_pipeline(StandardScaler(), LDG(2, random_state=0)),
        make_pipeline("passthrough", PCA(2), StandardScaler()),
    ],
)
def test_what_is_loaded_transforms_as_what_was_saved(
    tmp_path: Path, estimator: Any
) -> None:
    estimator.fit(WINE.X, WINE.y)
    model = saved(tmp_path, estimator)
    expected = estimator.transform(WINE.X)
    np.testing.assert_allclose(model.transform(WINE.X), expected, atol=1e-8)


def test_a_map_is_kept_to_the_last_bit(tmp_path: Path) -> None:
    for dtype in (np.float32, np.float64):
        X = WINE.X.astype(dtype)
        ldg = LDG(2, random_state=0).fit(X, WINE.y)
        model = saved(tmp_path, ldg)
        np.testing.assert_array_equal(model.components_, ldg.components_, strict=True)
        table = load(tmp_path / "m.safetensors")
        assert table.method == "ldg"
        assert table.parameters["n_components"] == 2
        np.testing.assert_array_equal(table.components, ldg.components_, strict=True)
        assert table.transform(X).dtype == dtype


def test_frames(tmp_path: Path) -> None:
    frame = pd.DataFrame(WINE.X, columns=WINE.feature_names)
    scaler = StandardScaler().set_output(transform="pandas").fit(frame)
    model = saved(tmp_path, scaler)
    assert model.columns.feature_names == WINE.feature_names
    expected = scaler.transform(frame).to_numpy()
    shuffled = frame[frame.columns[::-1]]
    polars = pl.DataFrame(frame.to_dict("list")).with_columns(pl.lit("x").alias("more"))
    for given in (frame, shuffled, polars, WINE.X):
        np.testing.assert_allclose(model.transform(given), expected, atol=1e-9)
    with pytest.raises(ValueError, match="no column 'alcohol'"):
        model.transform(frame.drop(columns="alcohol"))
    with pytest.raises(ValueError, match="rows are 13 numbers each"):
        model.transform(WINE.X[:, :5])
    with pytest.raises(ValueError, match="rows are 13 numbers each"):
        model.transform(WINE.X.astype(str))


def test_missing_numbers(tmp_path: Path) -> None:
    X = WINE.X.copy()
    X[::7, 3] = np.nan
    filling = make_pipeline(SimpleImputer(strategy="median"), PCA(2)).fit(X)
    np.testing.assert_allclose(
        saved(tmp_path, filling).transform(X), filling.transform(X), atol=1e-9
    )
    model = saved(tmp_path, PCA(2).fit(WINE.X))
    with pytest.raises(
        ValueError, match="Column 'x3' has missing numbers, and the mod"
    ):
        model.transform(X)


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    X = load_dataset("iris").X
    with pytest.raises(ValueError, match=r"KernelPCA is not a linear map.*joblib"):
        vicinal.save(path, KernelPCA(2, kernel="rbf").fit(X))
    with pytest.raises(ValueError, match="LinearRegression has no transform to keep"):
        vicinal.save(path, LinearRegression().fit(X, X[:, 0]))
    with pytest.raises(ValueError, match="NCA has no transform to keep"):
        vicinal.save(path, NCA)
    with pytest.raises(ValueError, match="int has no transform to keep"):
        vicinal.save(path, 3)
    with pytest.raises(NotFittedError):
        vicinal.save(path, NCA(2))
    assert list(tmp_path.iterdir()) == []


def test_arrays_need_no_polars(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    vicinal.save(tmp_path / "pca.safetensors", PCA(2).fit(X))
    program = (
        "import sys; sys.modules['polars'] = None\n"
        "import numpy as np, vicinal\n"
        "print(vicinal.load(sys.argv[1]).transform(np.ones((4, 3))).shape)"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "pca.safetensors")],
        capture_output=True,
        check=True,
    )
    assert outcome.stdout.split() == b"(4, 2)".split()
