"""`vicinal bridge` as a person runs it."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import vicinal
from tests.adapters.test_bridge import models
from vicinal.adapters import EmbeddingBridge
from vicinal.app.cli import build_app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, vectors in zip(("n", "o"), models(), strict=True):
        frame = pl.DataFrame(
            {"id": [f"t{i}" for i in range(len(vectors))], "vector": vectors.tolist()}
        )
        frame.write_parquet(tmp_path / f"{name}.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(build_app(), arguments)
    return result.exit_code, result.output


def bridge(*more: str, new: str = "n.parquet") -> tuple[int, str]:
    files = ("--new", new, "--old", "o.parquet", "-o", "bridge.safetensors")
    return run("bridge", *files, *more)


def test_the_bridge_is_written_and_maps_tables(folder: Path) -> None:
    code, output = bridge("--seed", "1")
    assert code == 0, output
    new, old = models()
    expected = EmbeddingBridge(random_state=1).fit(new, old)
    assert str(expected.certificate_) in output
    assert str(expected.inverse_certificate_) in output
    assert "model: bridge.safetensors" in output
    code, output = run("transform", "bridge.safetensors", "n.parquet", "-o", "m.npy")
    assert (code, "old0 to old5" in output) == (0, True), output
    np.testing.assert_allclose(np.load(folder / "m.npy"), expected.transform(new))


def test_rows_are_matched_by_their_ids(folder: Path) -> None:
    assert bridge()[0] == 0
    in_order = vicinal.load(folder / "bridge.safetensors")
    frame = pl.read_parquet("n.parquet")
    other = frame.head(1).with_columns(id=pl.lit("another text"))
    pl.concat([other, frame]).write_parquet("more.parquet")
    assert bridge(new="more.parquet")[0] == 0
    by_id = vicinal.load(folder / "bridge.safetensors")
    np.testing.assert_array_equal(by_id.coef_, in_order.coef_)


def test_the_report_has_both_certificates(folder: Path) -> None:
    code, output = bridge("--seed", "1", "--report", "bridge.html")
    assert code == 0, output
    assert "report: bridge.html" in output
    page = (folder / "bridge.html").read_text()
    fitted = EmbeddingBridge(random_state=1).fit(*models())
    for one in (fitted.certificate_, fitted.inverse_certificate_):
        assert f"{one.recall.low:.3f} to {one.recall.high:.3f}" in page
        assert f"{one.recall_at_twice:.3f}" in page
    assert f"New queries find {100 * fitted.certificate_.recall.value:.0f} %" in page
    assert "<script" not in page
    assert "seem to be of different texts" not in page
    code, output = bridge("--report", "bridge.safetensors")
    assert code == 2
    assert bridge("--report", "o.parquet")[0] == 2


def test_errors_name_the_tables(folder: Path) -> None:
    frame = pl.read_parquet("n.parquet")
    frame.drop("id").head(150).write_parquet("short.parquet")
    code, output = bridge(new="short.parquet")
    assert code == 2
    assert "150 vectors and o 200" in " ".join(output.split())
    frame.with_columns(id=pl.concat_str(pl.lit("x"), "id")).write_parquet("x.parquet")
    code, output = bridge(new="x.parquet")
    assert code == 2
    assert "no id in common" in output
    assert not (folder / "bridge.safetensors").exists()


def test_other_texts_are_reported(folder: Path) -> None:
    frame = pl.read_parquet("n.parquet").drop("id")
    frame.sample(fraction=1, shuffle=True, seed=0).write_parquet("other.parquet")
    code, output = bridge("--report", "<b>.html", new="other.parquet")
    assert code == 0
    assert "seem to be of different texts" in (folder / "<b>.html").read_text()
    assert "in different orders" in " ".join(output.split())
    assert "NOT MATCHED" in output


def test_other_commands_say_that_it_is_a_bridge(folder: Path) -> None:
    bridge()
    file = "bridge.safetensors"
    for arguments in (
        ("neighbors", file, "n.parquet", "--among", "o.parquet", "-o", "x.csv"),
        ("predict", file, "n.parquet", "--among", "o.parquet", "-o", "x.csv"),
        ("transform", file, "n.parquet", "--as", "queries", "-o", "x.csv"),
    ):
        code, output = run(*arguments)
        assert code == 2
        assert "is a bridge" in " ".join(output.split())
        assert not (folder / "x.csv").exists()
