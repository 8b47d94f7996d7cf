"""`vicinal adapt` as a person runs it."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import vicinal
import vicinal.app.models
from tests.adapters.data import turned
from vicinal.adapters import RetrievalAdapter, load_adapter, save_adapter
from vicinal.app.cli import build_app


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


def test_rows_without_texts_are_called_by_their_ids(folder: Path) -> None:
    for name in ("q", "d"):
        path = folder / f"{name}.parquet"
        pl.read_parquet(path).drop("text").write_parquet(path)
    code, output = run("-o", "m.safetensors", "--report", "r.html")
    assert code == 0, output
    page = (folder / "r.html").read_text("utf-8")
    assert re.search(r"query q\d+\b", page)
    assert re.search(r"document d\d+\b", page)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["-o", "q.parquet"], "is the data"),
        (["-o", "m.safetensors", "--report", "m.safetensors"], "the same file"),
        (["-o", "none/m.safetensors"], "no folder"),
        (
            ["-o", "m.safetensors", "--n-components", "3"],
            "--n-components is for --side both or two",
        ),
        (
            ["-o", "m.safetensors", "--n-components", "0", "--side", "two"],
            "Invalid value for",
        ),
        (
            ["-o", "m.safetensors", "--side", "docs"],
            "'docs' is not one of 'query', 'both', 'two'",
        ),
        (
            ["-o", "m.safetensors", "--metric", "dot"],
            "'dot' is not one of 'auto', 'cosine', 'euclidean'",
        ),
        (["-o", "m.safetensors", "--drop", "txt"], "did you mean 'text'"),
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
    assert "names 'zz', which q does not have; its first id is 'q0'." in output
    assert np.isin(["m.safetensors"], [p.name for p in folder.iterdir()]).sum() == 0


def test_the_columns_that_were_taken_are_printed(folder: Path) -> None:
    code, output = run("-o", "m.safetensors")
    assert code == 0, output
    first, second, third = output.splitlines()[:3]
    assert first.startswith("q: ")
    assert "vectors of 8 numbers from 'vector'; ids from 'id'; texts from" in first
    assert "documents;" in second
    assert third.endswith(
        "pairs; queries from 'query'; documents from 'document'; all grades 1"
    )


def test_a_column_beside_the_vectors_can_be_dropped(folder: Path) -> None:
    for name in "qd":
        frame = pl.read_parquet(folder / f"{name}.parquet")
        parts = frame["vector"].to_numpy().T
        wide = {f"e{i}": one for i, one in enumerate(np.vstack(parts.tolist()).T)}
        year = pl.Series("year", np.arange(len(frame)) + 2000)
        pl.DataFrame({"id": frame["id"], "year": year, **wide}).write_parquet(
            folder / f"{name}.parquet"
        )
    code, output = run("-o", "m.safetensors")
    assert code == 0, output
    assert (
        "vectors of 9 numbers from 'year', 'e0', 'e1', 'e2', 'e3' and 4 more" in output
    )
    code, output = run("-o", "m.safetensors", "--drop", "year")
    assert code == 0, output
    assert "vectors of 8 numbers from 'e0', 'e1', 'e2', 'e3', 'e4' and 3 more" in output
    assert "not used: 'year'" in output
    assert load_adapter(folder / "m.safetensors").n_features_in_ == 8


@pytest.mark.parametrize("role", ["queries", "documents"])
def test_an_adapter_maps_a_table(folder: Path, role: str) -> None:
    assert run("-o", "m.safetensors", "--side", "two")[0] == 0
    arguments = ["transform", "m.safetensors", "q.parquet", "-o", "out.parquet"]
    arguments += ["--keep", "id", "--as", role]
    result = CliRunner().invoke(build_app(), arguments)
    assert result.exit_code == 0, result.output
    out = pl.read_parquet(folder / "out.parquet")
    assert out.columns[0] == "id"
    adapter = load_adapter(folder / "m.safetensors")
    expected = getattr(adapter, f"transform_{role}")(turned()[0])
    np.testing.assert_allclose(out[:, 1:].to_numpy(), expected)


@pytest.mark.parametrize("side", ["query", "both", "two"])
def test_documents_are_ranked_for_queries(folder: Path, side: str) -> None:
    save_adapter("m.safetensors", RetrievalAdapter(side=side, alpha=0.1).fit(*turned()))
    arguments = ["neighbors", "m.safetensors", "q.parquet", "--among", "d.parquet"]
    arguments += ["--id", "id", "--show", "text", "-k", "4"]
    result = CliRunner().invoke(build_app(), [*arguments, "-o", "ranked.csv"])
    assert result.exit_code == 0, result.output
    queries, documents, _ = turned()
    n = len(queries)
    assert f"{4 * n:,} neighbours of {n} rows: ranked.csv" in result.output
    adapter = load_adapter(folder / "m.safetensors")
    positions, _ = adapter.rank(queries, documents, 4)
    out = pl.read_csv(folder / "ranked.csv")
    assert out["row"].to_list() == positions.ravel().tolist()
    assert out["query_id"].to_list() == [f"q{i // 4}" for i in range(4 * n)]
    assert out["row_id"].to_list() == [f"d{i}" for i in positions.ravel()]
    assert out["text"].to_list() == [f"text {i} of d" for i in positions.ravel()]
    # One query, on the terminal.
    result = CliRunner().invoke(build_app(), [*arguments, "--query", "q3"])
    assert result.exit_code == 0, result.output
    assert f"d{positions[3, 0]}" in result.output


def test_columns_beside_the_vectors_are_left_out(folder: Path) -> None:
    save_adapter("m.safetensors", RetrievalAdapter(alpha=0.1).fit(*turned()))
    for name in "qd":
        frame = pl.read_parquet(f"{name}.parquet")
        vectors = np.array(frame["vector"].to_list())
        fields = pl.DataFrame({f"e{j}": vectors[:, j] for j in range(8)})
        numbers = pl.int_range(frame.height, eager=True)
        columns = {"sku": numbers, "year": numbers + 2000}
        fields.with_columns(**columns).write_csv(folder / f"{name}.csv")
    arguments = ["neighbors", "m.safetensors", "q.csv", "--among", "d.csv"]
    arguments += ["--id", "sku", "--drop", "year", "-k", "1", "-o", "ranked.csv"]
    result = CliRunner().invoke(build_app(), arguments)
    assert result.exit_code == 0, result.output
    queries, documents, _ = turned()
    positions, _ = load_adapter("m.safetensors").rank(queries, documents, 1)
    out = pl.read_csv("ranked.csv")
    assert out["row_sku"].to_list() == positions.ravel().tolist()


def test_what_was_chosen_is_printed(folder: Path) -> None:
    pairs = pl.read_csv("r.csv").with_columns(grade=2, note=pl.lit("x"))
    pairs.select("note", "grade", "document", "query").write_csv("r.csv")
    code, output = run("-o", "m.safetensors")
    assert code == 0, output
    adapter = load_adapter(folder / "m.safetensors")
    assert "pairs; queries from 'query'; documents from 'document'; grades" in output
    assert "grades from 'grade'; not used: 'note'" in output
    assert "learned a map of the queries (side query); metric " in output
    assert f"metric {adapter.metric_}; penalty {adapter.alpha_:g}, temp" in output
    # The evidence is in the file.
    assert str(adapter.evaluation_) in output


def test_an_adapter_is_named_as_such_by_all_else(folder: Path) -> None:
    assert run("-o", "m.safetensors")[0] == 0
    for arguments, words in (
        ("transform m.safetensors q.parquet -o o.csv", "--as queries or --as doc"),
        (
            "transform m.safetensors q.parquet -o o.csv --as query",
            "'query' is not one of",
        ),
        ("neighbors m.safetensors q.parquet --query 0", "documents with --among TABLE"),
        (
            "predict m.safetensors q.parquet --among d.parquet -o o.csv",
            "is an adapter that `vicinal",
        ),
    ):
        result = CliRunner().invoke(build_app(), arguments.split())
        assert result.exit_code == 2
        assert words in result.output
    with pytest.raises(ValueError, match=r"vicinal\.adapters\.load_adapter reads it"):
        vicinal.app.models.load(folder / "m.safetensors")
    adapter = vicinal.load(folder / "m.safetensors")
    assert isinstance(adapter, RetrievalAdapter)


def test_a_model_of_a_table_has_no_use_for_it(folder: Path) -> None:
    fit = ["fit", "iris", "--method", "pca", "-o", "p.st"]
    assert CliRunner().invoke(build_app(), fit).exit_code == 0
    arguments = "transform p.st iris -o o.csv --as queries"
    result = CliRunner().invoke(build_app(), arguments.split())
    assert result.exit_code == 2
    assert "--as and --drop are for adapters" in result.output
    arguments = "neighbors p.st iris --query 0 --drop a"
    result = CliRunner().invoke(build_app(), arguments.split())
    assert "--drop is for adapters" in result.output
