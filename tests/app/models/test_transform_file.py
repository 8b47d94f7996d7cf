from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import vicinal
from vicinal.app.models import SavedModel, transform_file
from vicinal.app.tables.columns import Columns
from vicinal.app.tables.reading import read_table

if TYPE_CHECKING:
    from pathlib import Path

N = 500


def rows() -> pl.DataFrame:
    generator = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "name": [f"n{i}" for i in range(N)],
            "a": generator.normal(size=N),
            "b": [None if i % 7 == 0 else i % 5 for i in range(N)],
            "c": ["rg"[i % 2] for i in range(N)],
            "label": ["xy"[i % 2] for i in range(N)],
        }
    )


def model(frame: pl.DataFrame, n_components: int = 2) -> SavedModel:
    columns = Columns.learn(frame, "label")
    D = len(columns.feature_names)
    return SavedModel(
        method="nca-log",
        task="classification",
        columns=columns,
        median=np.full(D, 2.0),
        mean=np.zeros(D),
        scale=np.ones(D),
        components=np.random.default_rng(1).normal(size=(n_components, D)),
        target="label",
    )


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vicinal.app.tables.reading.PIECE", 60)
    monkeypatch.setattr("vicinal.app.tables.delimited._CHUNK", 300)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("source", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("goal", ["csv", "tsv", "parquet", "arrow", "feather", "ipc"])
def test_every_format(tmp_path: Path, source: str, goal: str) -> None:
    frame = rows()
    path = tmp_path / f"in.{source}"
    getattr(frame, "write_ipc" if source == "arrow" else f"write_{source}")(path)
    learned = model(frame)
    done: list[int] = []
    out = tmp_path / f"out.{goal}"
    n = transform_file(
        learned, str(path), out, keep=["label", "name"], on_rows=done.append
    )
    assert n == done[-1] == N
    assert len(done) > 5
    found = read_table(str(out)).frame
    assert found.columns == ["label", "name", "nca_log0", "nca_log1"]
    assert_frame_equal(found[:, :2], frame.select("label", "name"))
    np.testing.assert_allclose(found[:, 2:].to_numpy(), learned.transform(frame))
    assert sorted(x.name for x in tmp_path.iterdir()) == sorted([path.name, out.name])


def test_names_that_polars_knows(tmp_path: Path) -> None:
    names = {"name": "*", "a": "^.*$", "b": "", "c": "text"}
    frame = rows().rename(names)
    frame.write_parquet(tmp_path / "in.parquet")
    out = tmp_path / "out.parquet"
    transform_file(model(frame), str(tmp_path / "in.parquet"), out, keep=["*", "^.*$"])
    found = pl.read_parquet(out)
    assert found.columns == ["*", "^.*$", "nca_log0", "nca_log1"]
    np.testing.assert_array_equal(
        found.to_numpy()[:, 2:].astype(float), model(rows()).transform(rows())
    )


def test_keep_all_and_none(tmp_path: Path) -> None:
    frame = rows()
    frame.write_parquet(tmp_path / "in.parquet")
    out = tmp_path / "out.parquet"
    transform_file(model(frame), str(tmp_path / "in.parquet"), out, keep_all=True)
    assert_frame_equal(pl.read_parquet(out)[:, :5], frame)
    transform_file(model(frame), str(tmp_path / "in.parquet"), out)
    assert pl.read_parquet(out).columns == ["nca_log0", "nca_log1"]


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("goal", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("n,1,2,r", "Line 502 of in.csv has 4 cells"),
        (
            "n,1,two,r,x",
            "'b' was learned from numbers like 3.5, but line 502 of in.csv has 'two'",
        ),
    ],
)
def test_a_mistake_far_down_leaves_nothing(
    tmp_path: Path, goal: str, line: str, message: str
) -> None:
    frame = rows()
    path = tmp_path / "in.csv"
    path.write_text(frame.write_csv() + line + "\n")
    out = tmp_path / f"out.{goal}"
    out.write_text("as it was")
    with pytest.raises(ValueError, match=message):
        transform_file(model(frame), str(path), out)
    assert out.read_text() == "as it was"
    assert len(list(tmp_path.iterdir())) == 2


def test_mistakes_before_any_work(tmp_path: Path) -> None:
    frame = rows()
    path = tmp_path / "in.csv"
    frame.write_csv(path)
    learned, source = model(frame), str(path)
    clash = replace(learned, method="a", components=learned.components[:1])
    taken = frame.with_columns(a0=pl.lit(1))
    taken.write_csv(tmp_path / "taken.csv")
    frame.head(0).write_csv(tmp_path / "none.csv")
    cases: list[tuple[Any, str, Any, dict[str, Any], str]] = [
        (learned, source, path, {}, "is the table itself"),
        (learned, source, tmp_path / "out.xlsx", {}, "must end in one of .csv, .tsv"),
        (learned, source, tmp_path / "no" / "out.csv", {}, "There is no folder"),
        (learned, source, tmp_path / "out.csv", {"keep": ["labl"]}, "mean 'label'"),
        (learned, source, tmp_path / "out.csv", {"keep": ["q"]}, "it has name, a"),
        (clash, str(tmp_path / "taken.csv"), tmp_path / "out.csv", {"keep_all": True},
         "a new column has its name"),
        (learned, str(tmp_path / "none.csv"), tmp_path / "out.csv", {}, "no rows"),
        (learned, "iris", tmp_path / "out.csv", {}, "no column 'a', which the model"),
    ]  # fmt: skip
    (tmp_path / "folder.csv").mkdir()
    cases.append((learned, source, tmp_path / "folder.csv", {}, "is a folder"))
    before = sorted(tmp_path.iterdir())
    for learned_, source_, goal, options, message in cases:
        with pytest.raises((ValueError, OSError), match=message):
            transform_file(learned_, source_, goal, **options)
    assert sorted(tmp_path.iterdir()) == before


LIMITED = """
import resource, sys
import vicinal
from vicinal.app.models import transform_file
resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
try:
    transform_file(vicinal.load("m.safetensors"), "in.parquet", sys.argv[1])
except OSError as error:
    print(error)
    sys.exit(7)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of size are POSIX")
@pytest.mark.parametrize("goal", ["out.csv", "out.parquet", "out.arrow"])
def test_a_full_disk_leaves_nothing(tmp_path: Path, goal: str) -> None:
    frame = pl.concat([rows()] * 10)
    frame.write_parquet(tmp_path / "in.parquet")
    vicinal.save(tmp_path / "m.safetensors", model(rows()))
    outcome = subprocess.run(
        [sys.executable, "-c", LIMITED, goal],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 7, outcome.stderr
    assert "could not be written" in outcome.stdout
    assert outcome.stdout.count("\n") == 1
    assert sorted(x.name for x in tmp_path.iterdir()) == ["in.parquet", "m.safetensors"]


MEASURED = """
import resource
import vicinal
from vicinal.app.models import transform_file

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

model = vicinal.load("m.safetensors")
transform_file(model, "small.parquet", "out.parquet")
before = peak()
transform_file(model, "large.parquet", "out.parquet")
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss in kilobytes")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    D, n = 16, 1_000_000
    X = np.random.default_rng(0).random((n, D))
    large = pl.DataFrame(X, schema=[f"x{i}" for i in range(D)])
    large.write_parquet(
        tmp_path / "large.parquet", row_group_size=20_000, compression="uncompressed"
    )
    large.head(200_000).write_parquet(
        tmp_path / "small.parquet", row_group_size=20_000, compression="uncompressed"
    )
    vicinal.save(tmp_path / "m.safetensors", model(large.head(100)))
    outcome = subprocess.run(
        [sys.executable, "-c", MEASURED],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    table_in_mb = n * D * 8 / 2**20
    assert float(outcome.stdout) < 0.8 * table_in_mb
    written = pl.scan_parquet(tmp_path / "out.parquet")
    assert written.select(pl.len()).collect().item() == n


@pytest.mark.parametrize("name", ["X.npy", "X.npy\0", "../../x", "a/b", "a\\b"])
def test_names_that_no_member_of_an_archive_can_have(tmp_path: Path, name: str) -> None:
    frame = rows()
    learned = model(frame)
    path = tmp_path / "in.parquet"
    frame.with_columns(pl.lit("u").alias(name)).write_parquet(path)
    with pytest.raises(ValueError, match=r"cannot be kept in o\.npz"):
        transform_file(learned, str(path), tmp_path / "o.npz", keep_all=True)
    assert [one.name for one in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.usefixtures("small_pieces")
def test_an_archive_has_one_temporary_file_for_its_owner_only(tmp_path: Path) -> None:
    frame = rows()
    path = tmp_path / "in.parquet"
    frame.write_parquet(path)
    seen: set[tuple[str, int]] = set()

    def look(_: int) -> None:
        beside = [one for one in tmp_path.iterdir() if one != path]
        seen.update((one.name, one.stat().st_mode & 0o777) for one in beside)

    out = tmp_path / "o.npz"
    transform_file(model(frame), str(path), out, keep=["name"], on_rows=look)
    # `remove_unfinished` knows the file of `atomic_write`, and no other.
    assert [mode for _, mode in seen] == [0o600]
    with np.load(out) as found:
        assert sorted(found) == ["X", "name", "names"]
        np.testing.assert_allclose(found["X"], model(frame).transform(frame))
