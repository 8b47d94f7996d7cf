from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from vicinal.app.models import (
    learn,
    nearest_rows,
    neighbor_table,
    predict_file,
    transform_file,
)
from vicinal.app.tables.names import CellError
from vicinal.app.tables.prepared import prepare

if TYPE_CHECKING:
    from pathlib import Path

    from vicinal.app.models import SavedModel


@pytest.fixture
def model(tmp_path: Path) -> SavedModel:
    table(tmp_path / "train.csv")
    return learn(prepare(tmp_path / "train.csv"), "pca", n_components=1)


def table(path: Path, **wrong: str) -> str:
    """Write rows with a blank line and a line break in a cell before the last ones."""
    lines = ['size,day,ok,note,label\n1.5,31.12.2024,yes,"a\nb",p\n\n']
    for i in range(40):
        cells = {
            "size": f"{i}.25",
            "day": f"{i % 28 + 1}.1.2024",
            "ok": ["yes", "no"][i % 2],
        }
        if i == 30:
            cells |= wrong
        lines.append(",".join([*cells.values(), "note", "pq"[i % 2]]) + "\n")
    path.write_text("".join(lines))
    return str(path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"size": '"3,5"'}, "'size' was learned from numbers like 3.5.*'3,5'; write"),
        ({"day": "2024-01-31"}, "'day' was learned from dates like 31.12.2024.*'2024"),
        ({"ok": "perhaps"}, "'ok' was learned from answers like yes and no.*'perhaps'"),
    ],
)
def test_the_line_of_the_file_and_the_cell_are_named(
    tmp_path: Path, model: SavedModel, wrong: dict[str, str], message: str
) -> None:
    path = table(tmp_path / "next.csv", **wrong)
    # The line of names, two of the first row, a blank one, then 30 rows before it.
    place = "line 35 of next.csv"
    out = tmp_path / "out.csv"
    train = str(tmp_path / "train.csv")
    for call in (
        lambda: transform_file(model, path, out),
        lambda: predict_file(model, path, train, out),
        lambda: predict_file(model, train, path, out),
        lambda: neighbor_table(model, path),
        lambda: neighbor_table(model, path, rows=[0, 31]),
        lambda: neighbor_table(model, train, among=path),
        lambda: nearest_rows(model, path, 0),
        lambda: nearest_rows(model, path, 31),
    ):
        with pytest.raises(CellError, match=message) as error:
            call()
        assert place in str(error.value)
    assert not out.exists()


def test_a_frame_has_rows_and_no_lines(tmp_path: Path, model: SavedModel) -> None:
    import polars as pl

    frame = pl.read_csv(tmp_path / "train.csv", infer_schema_length=0)
    frame[3, "size"] = "wide"
    with pytest.raises(CellError, match=r"but row 3 \(from 0\) has 'wide'") as error:
        model.transform(frame)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    frame.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        CellError, match=r"but row 3 \(from 0\) of t.parquet has 'wide'"
    ):
        transform_file(model, str(tmp_path / "t.parquet"), tmp_path / "o.csv")
