"""`vicinal adapt` as a person runs it."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tests.adapters.data import turned
from vicinal.adapters import load_adapter
from vicinal.cli import build_app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    queries, documents, pairs = turned()
    for name, vectors in (("q", queries), ("d", documents)):
        n = len(vectors)
        pl.DataFrame(
            {
                "id": [f"{name}{i}" for i in range(n)],
                "text": [f"text {i} of {name}" for i in range(n)],
                "vector": vectors.tolist(),
            }
        ).write_parquet(tmp_path / f"{name}.parquet")
    pl.DataFrame(
        {
            "query": [f"q{i}" for i in pairs[:, 0]],
            "document": [f"d{i}" for i in pairs[:, 1]],
        }
    ).write_csv(tmp_path / "r.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMAND = ["adapt", "--queries", "q.parquet", "--documents", "d.parquet"]
COMMAND += ["--relevance", "r.csv"]


def run(*more: str) -> tuple[int, str]:
    result = CliRunner().invoke(build_app(), [*COMMAND, *more])
    return result.exit_code, result.output


def test_model_report_and_onnx_are_written(folder: Path) -> None:
    code, output = run(
        "-o", "m.safetensors", "--report", "r.html", "--onnx", "q.onnx", "--seed", "1"
    )
    assert code == 0, output
    assert "ndcg@10" in output
    assert "model: m.safetensors" in output
    adapter = load_adapter(folder / "m.safetensors")
    queries, documents, pairs = turned()
    assert adapter.evaluate(queries, documents, pairs)["mrr"].gain > 0.1
    assert "of q" in (folder / "r.html").read_text("utf-8")
    assert (folder / "q.onnx").stat().st_size > 100


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["-o", "q.parquet"], "is the data"),
        (["-o", "m.safetensors", "--report", "m.safetensors"], "the same file"),
        (["-o", "none/m.safetensors"], "no folder"),
        (["-o", "m.safetensors", "--n-components", "3"], "must be None"),
        (["-o", "m.safetensors", "--side", "left"], "side"),
        (["-o", "m.safetensors", "--query-text", "words"], "no column 'words'"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, more: list[str], words: str) -> None:
    code, output = run(*more)
    assert code == 2
    assert words in output
    assert not (folder / "m.safetensors").exists()


def test_names_that_nobody_has_are_refused(folder: Path) -> None:
    pl.DataFrame({"query": ["zz"], "document": ["d1"]}).write_csv(folder / "r.csv")
    code, output = run("-o", "m.safetensors")
    assert code == 2
    assert "names 'zz'" in output
    assert np.isin(["m.safetensors"], [p.name for p in folder.iterdir()]).sum() == 0
