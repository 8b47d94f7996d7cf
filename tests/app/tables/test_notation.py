from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal.app.tables.cells import Table, clean, typed
from vicinal.app.tables.inputs import Overrides
from vicinal.app.tables.names import Note
from vicinal.app.tables.notation import (
    NUMBER_FORM,
    number_form,
    possible_forms,
    read_numbers,
)
from vicinal.app.tables.prepared import prepare
from vicinal.app.tables.reading import read_table

if TYPE_CHECKING:
    from pathlib import Path


def cells(
    data: dict[str, list[Any]], *, decimal: str | None = None, likely: str = "."
) -> Table:
    said = Overrides(decimal=decimal)
    return typed(Table(clean(pl.DataFrame(data)), overrides=said, decimal=likely))


@pytest.mark.parametrize(
    ("values", "form", "numbers"),
    [
        (["3,14", "2", "-0,5"], ",", [3.14, 2, -0.5]),
        (["1.234,5", "1.234.567", "7"], ",", [1234.5, 1234567, 7]),
        (["1,234.5", "1,234,567", "7"], ".", [1234.5, 1234567, 7]),
        (["1 234,5", "1\u202f234", "7"], ",", [1234.5, 1234, 7]),
        (["1'234.50", "2"], ".", [1234.5, 2]),
        (["$12.30", "-$1,000", "$ 7", "($2.50)"], ".$", [12.3, -1000, 7, -2.5]),
        (["12,30 €", "-1.000 €", "7€"], ",€", [12.3, -1000, 7]),
        (["12.5%", "7 %", "−3%"], ".%", [12.5, 7, -3]),
        (["12,5 %", "7 %"], ",%", [12.5, 7]),
        (["USD 1,200.50", "USD 7"], ".USD", [1200.5, 7]),
        (["1,5e3", "2"], ",", [1500, 2]),
        ([",5", "2,"], ",", [0.5, 2]),
    ],
)
def test_numbers_as_people_write_them(
    values: list[str], form: str, numbers: list[float]
) -> None:
    found = cells({"x": [*values, "NA"]})
    assert found.forms == {"x": form}
    assert found.frame["x"].to_list() == [pytest.approx(one) for one in numbers] + [
        None
    ]
    assert NUMBER_FORM.fullmatch(form)


@pytest.mark.parametrize(
    "values",
    [
        ["$1", "€1"],
        ["$1", "1"],
        ["5%", "0.5"],
        ["1,23,456", "1"],
        ["12 34", "5"],
        ["1.2.3", "4.5.6"],
        ["3,14", "1.5"],
        ["$", "%"],
        ["$1$", "$2$"],
        ["1,5", "red"],
        ["52.5,13.4", "1,2"],
        ["192.168.0.1", "10.0.0.1"],
        ["030 1234567", "1"],
        ["ABC 12", "ABC 13"],
        ["100000000000000000001", "100000000000000000002"],
    ],
)
def test_other_text_stays_text(values: list[str]) -> None:
    found = cells({"x": values})
    assert found.forms == {}
    assert found.frame["x"].to_list() == values


def test_one_odd_cell_far_down_is_enough() -> None:
    found = cells({"x": ["7"] * 5000 + ["3,5"]})
    assert found.frame["x"][-1] == 3.5
    assert found.frame["x"].sum() == 35_003.5


@pytest.mark.parametrize(
    ("others", "likely", "expected"),
    [
        ({}, ".", 1234.0),
        ({}, ",", 1.234),
        ({"b": ["3,5", "1"]}, ".", 1.234),
        ({"b": ["3.5", "1"]}, ",", 1234.0),
        ({"b": ["1,234.5", "1"]}, ",", 1234.0),
        ({"b": ["1", "2"]}, ",", 1.234),
    ],
)
def test_other_columns_tell_what_a_comma_means(
    others: dict[str, Any], likely: str, expected: float
) -> None:
    found = cells({"a": ["1,234", "2"], **others}, likely=likely)
    assert found.frame["a"].to_list() == [expected, 2]
    told = [one for values in others.values() for one in values if not one.isdecimal()]
    noted = [
        one for one in found.notes if one.startswith("numbers with a comma in 'a'")
    ]
    assert len(noted) == (not told)


def test_points_between_thousands_beside_decimal_commas() -> None:
    found = cells({"a": ["12.500", "800"], "b": ["1,5", "2"], "c": ["1.5", "2"]})
    assert found.frame["a"].to_list() == [12500, 800]
    assert found.frame["c"].to_list() == [1.5, 2]
    assert cells({"a": ["12.500", "800"]}).frame["a"].to_list() == [12.5, 800]
    asked = cells({"a": ["12.500", "800"]}, decimal=",")
    assert asked.frame["a"].to_list() == [12500, 800]


def test_a_file_with_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = [f"{i % 5},{i % 7};1.{i:03d};{'ab'[i % 2]}" for i in range(40)]
    path.write_text("\n".join(["width;sum;kind", *lines]))
    prepared = prepare(path, target="kind")
    assert prepared.feature_names == ["width", "sum"]
    assert prepared.notes == ["decimal commas in 'width', 'sum'"]
    assert prepared.X[3].tolist() == [3.3, 1003]
    assert prepare(path, target="width").task == "regression"
    path.write_text("a;b\n1,234;2\n5,678;3\n")
    table = read_table(path)
    assert table.frame["a"].to_list() == [1.234, 5.678]
    (note,) = table.notes
    assert note.startswith("numbers with a comma in 'a': 1,234 is 1.234; if not, state")
    path.write_text("\n".join(["1,5;2,5", "3,25;4,5", "2,5;1,5"]))
    assert read_table(path).frame.rows() == [(1.5, 2.5), (3.25, 4.5), (2.5, 1.5)]


@given(
    st.floats(-1e12, 1e12).map(lambda x: round(x, 2)),
    st.sampled_from(["", "$", "€", "%", "CHF"]),
)
def test_what_is_written_is_read(number: float, unit: str) -> None:
    american = f"{unit}{number:,.2f}"
    german = american.translate(str.maketrans(",.", ".,"))
    for text, decimal in ((american, "."), (german, ",")):
        assert decimal + unit in possible_forms(text)
        frame = pl.DataFrame({"x": [text]})
        read = frame.select(read_numbers(pl.col("x"), decimal + unit)).item()
        assert read == pytest.approx(number, abs=1e-9, rel=1e-12)
        found = number_form([text])
        assert found is not None
        assert found.sign == decimal


@pytest.mark.parametrize(("form", "cell"), [(",", "0.376"), (".", "0,376")])
def test_no_thousands_begin_with_a_zero(form: str, cell: str) -> None:
    """A model of decimal commas does not read 0.376 as 376, nor the other way round."""
    values = pl.DataFrame({"a": [cell]}).select(read_numbers(pl.col("a"), form))
    assert values["a"].to_list() == [None]


def test_three_digits_after_a_point_in_a_file_of_semicolons(tmp_path: Path) -> None:
    """They may be thousands or decimals; the note says which, and the option helps."""
    path = tmp_path / "t.csv"
    lines = (f"{1000 + 37 * i:_};{'ab'[i % 2]}".replace("_", ".") for i in range(40))
    path.write_text("\n".join(["size;target", *lines]))
    found = prepare(path)
    assert found.X[0, 0] == 1000
    (note,) = (one for one in found.notes if isinstance(one, Note))
    assert str(note).startswith("numbers with a point in 'size': 1.234 is 1234; if not")
    assert (note.option, note.value) == ("decimal", ".")
    stated = prepare(path, overrides=Overrides.of(decimal="."))
    assert stated.X[0, 0] == 1
    assert not any(isinstance(one, Note) for one in stated.notes)
