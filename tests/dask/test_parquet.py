"""From Parquet files to a saved model: columns, labels, the command."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

import dask.dataframe as dd

from tests.app.cli.conftest import run as command
from tests.dask.data import chunked, classes_in_noise
from vicinal.app.models import load
from vicinal.dask import LCA, LDG, NCA, ClusterLostError, read_parquet
from vicinal.dask.parquet import _standardized, connected, fit_pipeline

X, y = classes_in_noise(900, 5)
KINDS: dict[str, Any] = {"nca": NCA, "ldg": LDG, "lca": LCA}
NAMES = [f"f{i}" for i in range(5)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files of very unequal sizes, sorted by class, and one without rows."""
    where = tmp_path_factory.mktemp("parquet")
    order = np.argsort(y, kind="stable")
    frame = pd.DataFrame(5 + 2 * X[order], columns=NAMES)
    frame["label"] = np.array(["ant", "bee", "cicada"])[y[order]]
    frame["name"] = "someone"
    for k, rows in enumerate((slice(0, 20), slice(20, 20), slice(20, 800),
                              slice(800, 900))):  # fmt: skip
        frame[rows].to_parquet(where / f"part-{k}.parquet")
    return where


def test_only_numbers_are_read(folder: Path) -> None:
    table = read_parquet(folder, "label")
    assert list(table.X.columns) == NAMES
    assert table.left_out == ["name"]
    assert sorted(table.y.unique().compute()) == ["ant", "bee", "cicada"]
    some = read_parquet(folder, columns=["f3", "f1"])
    assert list(some.X.columns) == ["f3", "f1"]
    assert some.y is None
    assert list(read_parquet(folder, drop=["f0", "f4"]).X.columns) == NAMES[1:4]
    assert len(read_parquet(folder / "part-0.parquet").X) == 20


def test_files_that_dask_would_read_together(tmp_path: Path, client: Any) -> None:
    # A narrow column of several files is read in fewer parts than the many others.
    frame = pd.DataFrame(X, columns=NAMES).assign(label=y, **{
        f"text{k}": "some words " * 5 for k in range(20)
    })  # fmt: skip
    for k in range(3):
        frame[300 * k : 300 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    plain = NCA(2, max_iter=2, random_state=0).fit(*chunked(X, y, 300))
    read, (rows, labels, _) = (
        dd.read_parquet(tmp_path),
        read_parquet(tmp_path, "label"),
    )
    assert len(read["label"].to_delayed()) < 3
    with client.as_current():
        kept = rows.persist(), labels.persist()
    for given in ((read[NAMES], read["label"]), (rows, labels), kept):
        model = NCA(2, max_iter=2, random_state=0, client=client).fit(*given)
        np.testing.assert_array_equal(model.components_, plain.components_)


@pytest.mark.parametrize("method", ["nca", "ldg", "lca"])
def test_a_pipeline_of_the_files_own_units(
    folder: Path, client: Any, method: str
) -> None:
    table = read_parquet(folder, "label")
    n = None if method == "lca" else 2
    seen: list[int] = []
    given: dict[str, Any] = {} if method == "lca" else {"n_components": n}
    if method != "ldg":
        given |= {"max_iter": 5, "callback": lambda _, i: seen.append(i)}
    model = KINDS[method](**given, random_state=0, client=client)
    pipeline = fit_pipeline(table, model)
    frame = table.X.compute()
    Z = pipeline.transform(frame)
    assert Z.shape == (900, n or 5)
    scaler = pipeline[0]
    np.testing.assert_allclose(scaler.mean_, frame.mean(), rtol=1e-9)
    np.testing.assert_allclose(scaler.scale_, frame.std(ddof=0), rtol=1e-9)
    assert bool(seen) == (method != "ldg")


@pytest.mark.slow
def test_the_command_learns_on_a_cluster_of_its_own(
    folder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "model.safetensors"
    outcome = run(
        str(folder), "--cluster", "local", "--target", "label", "--n-components", "2",
        "--max-iter", "5", "-o", str(output),
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.output
    assert "left out, as they are not numbers: name" in outcome.output
    assert "nca: 5 features to 2 dimensions" in outcome.output
    model = load(output)
    frame = read_parquet(folder).X.compute()
    assert model.transform(frame).shape == (900, 2)
    # As of a fit in memory: scales, and what to predict, are in the file.
    np.testing.assert_allclose(model.scale, frame.std(ddof=0), rtol=1e-9)
    assert model.target == "label"
    assert model.classes == ("ant", "bee", "cicada")
    large, predicted = folder / "part-2.parquet", tmp_path / "predicted.csv"
    told = command("predict", str(output), str(large), "--among", str(large), "-o",
                   str(predicted))  # fmt: skip
    assert told.exit_code == 0, told.output
    found, truth = pd.read_csv(predicted)["predicted"], pd.read_parquet(large)["label"]
    assert (found.to_numpy() == truth.to_numpy()).mean() > 0.9


def run(*arguments: str) -> Any:
    return command("fit", *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nca needs a label"),
        (["--method", "pca"], "pca does not learn on a cluster"),
        (["--target", "nobody"], "No column 'nobody'"),
        (["--target", "label", "--drop", "x"], "No column 'x'"),
        (["--target", "label", "--jobs", "2"], "--jobs is not for --cluster"),
        (["--target", "label", "--neighbors", "7"], "--neighbors is not for"),
        (["--target", "label", "--categorical", "f0"], "--categorical is not for"),
    ],
)
def test_mistakes_are_found_before_a_cluster_is_started(
    folder: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    output = str(tmp_path / "model.safetensors")
    outcome = run(str(folder), "--cluster", "local", "-o", output, *arguments)
    assert outcome.exit_code == 2
    assert message in outcome.output
    assert not list(tmp_path.iterdir())


def test_columns_that_are_asked_for_must_be_numbers(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"Column 'name' of .* does not hold numbers"):
        read_parquet(folder, "label", columns=["f1", "name"])


def test_there_must_be_files_of_numbers(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no Parquet files"):
        read_parquet(tmp_path)
    (tmp_path / "false.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(ValueError, match="does not hold Parquet files"):
        read_parquet(tmp_path)
    with pytest.raises(ValueError, match="no columns of numbers"):
        read_parquet(folder, drop=[*NAMES])


def test_a_scheduler_that_does_not_answer() -> None:
    with (
        pytest.raises(ClusterLostError, match="No Dask scheduler answers at"),
        connected("tcp://127.0.0.1:1", timeout=1),
    ):
        pass


@pytest.mark.parametrize(
    ("types", "dtype"),
    [
        ([np.float32, np.float32], np.float32),
        ([np.float32, np.float64], np.float64),
        ([np.int64, np.float64], np.float64),
    ],
)
def test_columns_of_float32_stay_so(types: list[Any], dtype: Any) -> None:
    columns = {str(k): np.array([1, 3], dtype=one) for k, one in enumerate(types)}
    found = _standardized(pd.DataFrame(columns), np.full(2, 2.0), np.full(2, 0.5))
    assert (found.dtypes == dtype).all()
    np.testing.assert_array_equal(found, [[-2, -2], [2, 2]])
