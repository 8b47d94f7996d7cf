from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from vicinal.app.tables.mixed_cells import mixed_cells
from vicinal.app.tables.overrides import Overrides
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
    assert found == (kind, form, n_read, len(cells), others)
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
    assert "--number 'price' takes these as missing" in price.reason
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
    with pytest.raises(ValueError, match="--date 'day' takes these as missing"):
        prepare(path, target="y")
    asked = prepare(path, target="y", overrides=Overrides.of(date="day"))
    (day, _) = asked.decisions
    assert (day.kind, day.form) == ("date", "%d.%m.%Y")
    assert "1 cell that is none counts" in day.reason
