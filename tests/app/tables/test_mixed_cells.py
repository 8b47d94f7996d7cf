from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from vicinal.app.tables.cells import mixed_cells
from vicinal.app.tables.inputs import Overrides
from vicinal.app.tables.names import TableError
from vicinal.app.tables.prepared import prepare

if TYPE_CHECKING:
    from pathlib import Path

PRICES = [f"{10 + 0.37 * i:.2f}" for i in range(98)]


@pytest.mark.parametrize(
    ("cells", "kind", "form", "n_read", "others"),
    [
        ([*PRICES, "n/a?", "n/a?"], "number", "", 98, "'n/a?'"),
        ([*PRICES, "a", "b", "c", "d"], "number", "", 98, "'a', 'b' and 2 more"),
        ([f"{i},5 €" for i in range(30)] + ["free"], "number", ",€", 30, "'free'"),
        (
            [f"{i % 28 + 1}.12.2024" for i in range(30)] + ["soon"],
            "date",
            "%d.%m.%Y",
            30,
            "'soon'",
        ),
        (
            [f"2024-01-{i % 28 + 1:02}" for i in range(30)] + ["soon"],
            "date",
            "",
            30,
            "'soon'",
        ),
        (
            ["soon"] + [f"12/{i % 28 + 1}/2024" for i in range(30)],
            "date",
            "%m/%d/%Y",
            30,
            "'soon'",
        ),
    ],
)
def test_most_cells_are_numbers_or_dates(
    cells: list[str], kind: str, form: str, n_read: int, others: str
) -> None:
    found = mixed_cells(pl.Series(cells))
    assert found is not None
    assert found[:5] == (kind, form, n_read, len(cells), others)
    assert str(found).startswith(f"{n_read} of {len(cells)} cells are {kind}s, but")


@pytest.mark.parametrize(
    "cells",
    [
        ["red", "green", "blue"] * 9,
        ["1", "2", "a"],
        ["a1", "7", "b2", "c3"] * 3,
        PRICES,
    ],
)
def test_other_text_is_not_mixed(cells: list[str]) -> None:
    assert mixed_cells(pl.Series(cells)) is None


@pytest.mark.parametrize(("bad", "kind"), [("n/a?", "text"), ("x", "text")])
def test_one_bad_cell_is_reported_with_what_to_do(
    tmp_path: Path, bad: str, kind: str
) -> None:
    path = tmp_path / "shop.csv"
    rows = "".join(f"{p},{i % 2},{i * 0.5}\n" for i, p in enumerate([*PRICES, bad]))
    path.write_text(f"price,y,z\n{rows}")
    (price, *_) = prepare(path).decisions
    assert price.kind == kind
    assert f"98 of 99 cells are numbers, but not {bad!r}" in price.reason
    assert price.option == "number"
    asked = prepare(path, overrides=Overrides.of(number="price"))
    assert asked.decisions[0].kind == "number"
    assert asked.feature_names == ["price", "z"]


def test_few_values_stay_categories_and_say_so(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = "".join(f"{'0123'[i % 4] if i % 5 else '3+'},{i % 3}\n" for i in range(60))
    path.write_text(f"dependents,y\n{rows}")
    found = prepare(path, target="y").decisions[0]
    assert found.kind == "category"
    assert "48 of 60 cells are numbers, but not '3+'" in found.reason


def test_dates_with_a_bad_cell_can_be_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    days = [f"{i % 28 + 1}.{i % 12 + 1}.2024" for i in range(60)] + ["soon"]
    path.write_text("day,y\n" + "".join(f"{d},{i % 3}\n" for i, d in enumerate(days)))
    with pytest.raises(TableError, match="60 of 61 cells are dates, but not 'soon'"):
        prepare(path, target="y")
    asked = prepare(path, target="y", overrides=Overrides.of(date="day"))
    (day, _) = asked.decisions
    assert (day.kind, day.form) == ("date", "%d.%m.%Y")
    assert "1 other cell as missing" in day.reason


def semicolons(path: Path, digits: int, *, plain: str = "", bad: int = 3) -> str:
    """Write a German table; a few cells of the last column are no numbers."""
    lines = ["kind;size;price"]
    for i in range(60):
        price = "k.A." if i < bad else f"{2 + i / 10:.{digits}f}".replace(".", ",")
        lines.append(f"{'ab'[i % 2]};{plain or i % 7 + 1};{price}")
    path.write_text("\n".join(lines))
    return str(path)


@pytest.mark.parametrize("decimal", [None, ","])
@pytest.mark.parametrize("as_target", [False, True])
def test_three_decimals_are_read_like_two(
    tmp_path: Path, decimal: str | None, as_target: bool
) -> None:
    found = []
    for digits in (2, 3):
        path = semicolons(tmp_path / "t.csv", digits)
        if as_target:
            said = Overrides.of(decimal=decimal)
            y = prepare(path, target="price", task="regression", overrides=said).y
            assert y is not None
            found.append(y.tolist())
        else:
            said = Overrides.of(number="price", decimal=decimal)
            table = prepare(path, target="kind", overrides=said)
            found.append(table.X[3:, -1].tolist())
    assert found[0] == found[1] == pytest.approx([2 + i / 10 for i in range(3, 60)])


def ambiguous(path: Path, other: str) -> str:
    """Write a table with commas, whose price may mean two numbers."""
    lines = ["kind,size,price"]
    for i in range(60):
        price = "unknown" if i < 3 else f'"{i},125"'
        lines.append(f"{'ab'[i % 2]},{other},{price}")
    lines[5] = lines[5].replace(other, '"2"')
    path.write_text("\n".join(lines))
    return str(path)


@pytest.mark.parametrize(
    ("other", "decimal", "price", "noted"),
    [
        ('"1"', None, 3125, True),
        ('"1"', ",", 3.125, False),
        ('"1"', ".", 3125, False),
        ('"1,5"', None, 3.125, False),
        ('"1.5"', None, 3125, False),
        ('"1.5"', ",", 3.125, False),
    ],
)
def test_the_decimal_sign_of_a_column_asked_for(
    tmp_path: Path, other: str, decimal: str | None, price: float, noted: bool
) -> None:
    path = ambiguous(tmp_path / "t.csv", other)
    said = Overrides.of(number="price", decimal=decimal)
    table = prepare(path, target="kind", overrides=said)
    assert table.X[3, -1] == price
    notes = [one for one in table.notes if "'price': 1,234 is 1234" in one]
    assert len(notes) == noted


def test_one_spoiled_column_tells_the_sign_of_another(tmp_path: Path) -> None:
    lines = ["kind,size,price"]
    for i in range(60):
        bad = i < 3
        size, price = ("?!", "?!") if bad else (f'"{i},5"', f'"{i},125"')
        lines.append(f"{'ab'[i % 2]},{size},{price}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    said = Overrides.of(number="size,price")
    assert prepare(path, target="kind", overrides=said).X[5].tolist() == [5.5, 5.125]


def test_points_between_thousands_in_a_column_asked_for(tmp_path: Path) -> None:
    lines = ["kind;size;price", "a;1,5;unknown"]
    lines += [f"{'ab'[i % 2]};{i % 4},5;{i}.125" for i in range(1, 40)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    said = Overrides.of(number="price")
    assert prepare(path, target="kind", overrides=said).X[3, 1] == 3125


def test_the_sign_outlasts_rows_without_a_target(tmp_path: Path) -> None:
    lines = ["kind;price", *(f"{'ab'[i % 2]};{i},125" for i in range(1, 41)), ";total"]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    assert prepare(path, target="kind").X[3, 0] == 4.125
