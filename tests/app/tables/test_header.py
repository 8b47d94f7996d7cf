from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vicinal.app.tables.delimited import has_header
from vicinal.app.tables.prepared import prepare
from vicinal.app.tables.reading import read_table

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("lines", "header"),
    [
        ("a,b|1,2", True),
        ("a,b", True),
        ("1.5,2", False),
        ("0,1,2|5,6,7", True),
        ("1,2,3|5,6,7", True),
        ("5,6|1,2", False),
        (",0,1|0,2.5,3.5", True),
        ("land,2019,2020|Chad,1.5,2.5", True),
        ("5.1,3.5,setosa|4.9,3.0,setosa", False),
        ("M,15,F,20|F,20,M,21", False),
        ("?,15|3,20", False),
        ("p,x,s,n|e,x,s,y|p,b,s,w", False),
        ("kind,size|a,b|b,b", True),
        ("kind|a|kind", True),
        ("name,1|x,2|y,three", True),
        ("$1,$2|$3,$4", False),
        ('"3,5";"1"|"2,5";"7"', False),
    ],
)
def test_names_or_values(lines: str, header: bool) -> None:
    cut = ";" if ";" in lines else ","
    rows = [[cell.strip('"') for cell in line.split(cut)] for line in lines.split("|")]
    assert has_header(rows) == header


def test_a_file_without_names(tmp_path: Path) -> None:
    path = tmp_path / "iris.data"
    lines = [f"{i % 7}.5,{i % 5}.1,{'xyz'[i % 3]}" for i in range(30)]
    path.write_text("\n".join(lines))
    table = read_table(path)
    assert table.frame.columns == ["x0", "x1", "x2"]
    assert table.frame.height == 30
    assert table.notes == [
        "no line of names: the first line holds values, and the columns are called "
        "x0 to x2"
    ]
    assert prepare(path, target="x2").feature_names == ["x0", "x1"]


def test_a_ragged_second_line_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2,3\n4,5\n")
    with pytest.raises(ValueError, match=r"Line 2 of t\.csv has 3 cells"):
        read_table(path)
