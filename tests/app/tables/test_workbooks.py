from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from vicinal.app.tables.reading import read_table

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [[f"{i}.5", f"{i % 7}", "xy"[i % 2]] for i in range(30)]


def message(path: Path, content: bytes | None = None) -> str:
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r".") as error:
        read_table(path)
    assert "\n" not in str(error.value)
    return str(error.value)


def workbook(
    path: Path,
    rows: list[list[str]],
    sheets: int = 1,
    empty: int = 0,
    more: str = "",
) -> Path:
    """Write the least that is an Excel file, each cell as text or a number."""

    def cell(text: str) -> str:
        if not text:
            return "<c/>"
        if text.replace(".", "").isdecimal():
            return f"<c><v>{text}</v></c>"
        return f'<c t="inlineStr"><is><t>{text}</t></is></c>'

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows) + more
    numbers = range(1, sheets + 1)
    listed = "".join(
        f'<sheet name="S{i}" sheetId="{i}" r:id="rId{i}"/>' for i in numbers
    )
    links = "".join(
        f'<Relationship Id="rId{i}" Type="{office}/worksheet" '
        f'Target="worksheets/sheet{i}.xml"/>'
        for i in numbers
    )
    content = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship '
        f'Id="r" Type="{office}/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>",
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        f"{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f"{links}</Relationships>",
        **{
            f"xl/worksheets/sheet{i}.xml": f'<worksheet xmlns="{main}"><sheetData>'
            f"{body if i > empty else ''}</sheetData></worksheet>"
            for i in numbers
        },
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    return path


def test_excel_without_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook(tmp_path / "t.xlsx", [["a"], ["1"]])
    monkeypatch.setattr(
        "vicinal.app.tables.isolated.find_spec",
        lambda name: None if name == "fastexcel" else True,
    )
    assert "pip install 'vicinal[excel]'" in message(path)


def test_excel(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    rows = [["size", "kind"], ["1.5", "x"], ["2.5", "y"], ["7", "x"]]
    table = read_table(workbook(tmp_path / "t.xlsx", rows, sheets=2))
    assert table.frame.rows() == [(1.5, "x"), (2.5, "y"), (7, "x")]
    assert table.notes == ["sheet 'S1', the first of 2"]
    assert "cannot be read as a workbook" in message(tmp_path / "t.xls", b"nonsense")
    wrong = b"\xd0\xcf\x11\xe0" + b"nonsense"
    assert "cannot be read as a workbook" in message(tmp_path / "t.xls", wrong)


def test_excel_that_fills_a_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastexcel")
    monkeypatch.setattr("vicinal.app.tables.delimited._MIN_BOMB", 10_000)
    path = workbook(tmp_path / "t.xlsx", [["a"], *[["1"]] * 100_000])
    assert "possible decompression bomb" in message(path)


def test_a_large_workbook_of_different_cells_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastexcel")
    monkeypatch.setattr("vicinal.app.tables.delimited._MIN_BOMB", 10_000)
    rows = [["a"], *[[str(i * i % 9973)] for i in range(1000)]]
    assert read_table(workbook(tmp_path / "t.xlsx", rows)).frame.height == 1000


def test_a_title_above_the_table_is_left_out(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    rows = [["Report", "", ""], ["", "", ""], ["size", "", "kind"], *ROWS]
    table = read_table(workbook(tmp_path / "t.xlsx", rows))
    assert table.frame.columns == ["size", "Unnamed: 1", "kind"]
    assert table.frame.height == 30
    assert table.notes == [
        "the 2 rows above the table left out",
        "empty or repeated column names became 'Unnamed: 1'",
    ]


def test_a_sheet_without_a_row_of_names(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    table = read_table(workbook(tmp_path / "t.xlsx", ROWS))
    assert table.frame.columns == ["x0", "x1", "x2"]
    assert table.frame.height == 30
    assert table.frame["x1"].dtype.is_integer()
    assert table.frame["x0"].dtype.is_numeric()
    assert "no row of names" in table.notes[0]


def test_empty_sheets_are_passed_over(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    rows = [["size", "n", "kind"], *ROWS]
    path = workbook(tmp_path / "t.xlsx", rows, sheets=3, empty=1)
    table = read_table(path)
    assert table.frame.height == 30
    assert table.notes == ["sheet 'S2', the first with cells, of 3"]
    assert "is empty" in message(workbook(tmp_path / "e.xlsx", [], sheets=2))


def test_numbers_beside_a_total_are_reported(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    from vicinal.app.tables.prepared import prepare

    rows = [["size", "n", "kind"], *ROWS, ["total", "99", "x"]]
    decisions = prepare(workbook(tmp_path / "t.xlsx", rows), target="kind").decisions
    assert "30 of 31 cells are numbers, but not 'total'" in decisions[0].reason


def test_small_numbers_keep_their_digits(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    rows = [["size", "n"], *[[f"0.00000000012{i}", str(i)] for i in range(9)]]
    table = read_table(workbook(tmp_path / "t.xlsx", rows))
    assert table.frame["size"][3] == 1.23e-10
    assert table.frame["n"].dtype.is_integer()


def test_a_header_without_rows(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    assert "no rows" in message(workbook(tmp_path / "t.xlsx", [["size", "n"]]))


@pytest.mark.parametrize("place", ["XFD1048576", "ZZZZ1", "A99999999999"])
def test_a_cell_far_from_the_table_does_not_end_the_process(
    tmp_path: Path, place: str
) -> None:
    pytest.importorskip("fastexcel")
    far = f'<row><c r="{place}"><v>1</v></c></row>'
    path = workbook(tmp_path / "t.xlsx", [["size", "n"], ["1", "2"]], more=far)
    assert path.stat().st_size < 3000
    assert "cannot be read as a workbook" in message(path)
