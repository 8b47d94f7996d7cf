"""Each hint on a small CSV file: its kind, its column, and the option."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from vicinal.app.tables.inputs import Overrides
from vicinal.app.tables.names import Note
from vicinal.app.tables.prepared import Prepared, prepare

if TYPE_CHECKING:
    from pathlib import Path

N = 60
RNG = np.random.default_rng(0)
LABELS = [["yes", "no", "maybe"][i] for i in RNG.integers(3, size=N)]
SIZES = [f"{one:.2f}" for one in RNG.normal(20, 3, size=N)]


def read(
    path: Path, overrides: Overrides | None = None, **cells: list[str]
) -> Prepared:
    """Write a file with a column of labels, one of sizes, and others; read it."""
    table = {"size": SIZES, "kind": LABELS} | cells
    rows = zip(*table.values(), strict=True)
    lines = [";".join(table), *(";".join(row) for row in rows)]
    (path / "t.csv").write_text("\n".join(lines))
    return prepare(path / "t.csv", target="kind", overrides=overrides)


def hints(prepared: Prepared) -> list[tuple[str, str, str, str]]:
    notes = (one for one in prepared.notes if isinstance(one, Note) and one.kind)
    return [(one.kind, one.column, one.option, one.value) for one in notes]


def test_an_ordinary_table_gives_no_hint(tmp_path: Path) -> None:
    years = [str(1999 - i % 40) for i in range(N)]
    colours = [("red", "green", "Blue")[i % 3] for i in range(N)]
    assert hints(read(tmp_path, year=years, colour=colours)) == []
    assert [hints(prepare(one)) for one in ("wine", "iris", "digits")] == [[]] * 3


@pytest.mark.parametrize("code", ["-999", "9999", "-99.0"])
def test_a_code_for_missing(tmp_path: Path, code: str) -> None:
    ages = [code if i % 9 == 0 else str(20 + i % 31) for i in range(N)]
    found = read(tmp_path, age=ages)
    assert hints(found) == [("sentinel", "age", "drop", "age")]
    assert f"has {float(code):g} in 7 rows" in found.notes[-1]


def test_several_codes_for_missing(tmp_path: Path) -> None:
    ages = [("-999", "-998")[i % 2] if i % 9 == 0 else str(20 + i) for i in range(N)]
    found = read(tmp_path, age=ages)
    assert hints(found) == [("sentinel", "age", "drop", "age")]
    assert "has -999 and -998 in 7 rows" in found.notes[-1]


def test_a_negative_code_among_large_numbers(tmp_path: Path) -> None:
    prices = ["-99" if i % 9 == 0 else str(40 * i % 977) for i in range(N)]
    assert hints(read(tmp_path, price=prices))[0][:2] == ("sentinel", "price")
    prices[1] = "-3"
    assert hints(read(tmp_path, price=prices)) == []


def test_an_age_of_99_is_no_code(tmp_path: Path) -> None:
    ages = ["99" if i % 9 == 0 else str(18 + i % 70) for i in range(N)]
    assert hints(read(tmp_path, age=ages)) == []


def test_thousands_and_millions(tmp_path: Path) -> None:
    prices = ["1.5M" if i == 3 else f"{i + 0.5}k" for i in range(N - 1)] + ["800"]
    assert hints(read(tmp_path, price=prices)) == [
        ("scaled", "price", "number", "price")
    ]
    said = Overrides.of(number="price")
    mended = read(tmp_path, said, price=prices)
    assert hints(mended) == []
    assert mended.X[[0, 3, 59], 1].tolist() == [500, 1.5e6, 800]
    german = [one.replace(".", ",") for one in prices]
    assert (
        read(tmp_path, said, price=german).X[:, 1].tolist() == mended.X[:, 1].tolist()
    )


def test_a_few_thousands_among_plain_numbers(tmp_path: Path) -> None:
    cells = [f"${i / 10 + 1}k" if i % 3 == 0 else f"${i + 0.5}" for i in range(N)]
    assert hints(read(tmp_path, price=cells)) == [
        ("scaled", "price", "number", "price")
    ]
    X = read(tmp_path, Overrides.of(number="price"), price=cells).X
    assert X[[0, 1, 30], 1].tolist() == [1000, 1.5, 4000]


@pytest.mark.parametrize("letter", ["b", "M"])
def test_rooms_and_sizes_are_no_billions(tmp_path: Path, letter: str) -> None:
    cells = [f"{30 + i % 9}{letter}" for i in range(N)]
    assert hints(read(tmp_path, room=cells)) == []
    with pytest.raises(ValueError, match="No cell of column 'room' is a number"):
        read(tmp_path, Overrides.of(number="room"), room=cells)


def test_classes_and_categories_that_differ_in_case(tmp_path: Path) -> None:
    labels = ["No" if one == "no" and i % 2 else one for i, one in enumerate(LABELS)]
    colours = [("red", "dark  blue", "Dark blue")[i % 3] for i in range(N)]
    found = read(tmp_path, kind=labels, colour=colours)
    assert [one[:2] for one in hints(found)] == [
        ("spelling", "kind"),
        ("spelling", "colour"),
    ]
    assert "'No', 'no'" in str(found.notes)


@pytest.mark.parametrize("copy", [LABELS, [str(len(one)) for one in LABELS]])
def test_a_column_that_determines_the_classes(tmp_path: Path, copy: list[str]) -> None:
    assert hints(read(tmp_path, copy=copy)) == [("leak", "copy", "drop", "copy")]
    almost = [*copy[:-1], next(one for one in copy if one != copy[-1])]
    assert hints(read(tmp_path, copy=almost)) == []


def test_a_column_that_determines_the_numbers(tmp_path: Path) -> None:
    cents = [f"{100 * float(one):.0f}" for one in SIZES]
    found = read(tmp_path, kind=cents, other=[str(i * i % 17) for i in range(N)])
    assert found.task == "regression"
    assert hints(found) == [("leak", "size", "drop", "size")]


@pytest.mark.parametrize(
    ("name", "cells", "option"),
    [
        ("zip code", [str(10_000 + i * 7919 % 80_000) for i in range(N)], "drop"),
        ("city", [f"{(i % 12) * 517:05d}" for i in range(N)], "categorical"),
        ("postal code", [str(10_115 + i % 4 * 9000) for i in range(N)], "categorical"),
    ],
)
def test_codes_as_numbers(
    tmp_path: Path, name: str, cells: list[str], option: str
) -> None:
    assert hints(read(tmp_path, None, **{name: cells})) == [
        ("code", name, option, name)
    ]


def test_padded_months_are_no_codes(tmp_path: Path) -> None:
    assert hints(read(tmp_path, month=[f"{1 + i % 12:02d}" for i in range(N)])) == []


def test_a_rating_as_classes(tmp_path: Path) -> None:
    found = read(tmp_path, kind=[str(i % 11) for i in range(N)])
    assert found.task == "classification"
    assert hints(found) == [("rating", "kind", "task", "regression")]
    assert hints(prepare(tmp_path / "t.csv", target="kind", task="regression")) == []


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("rating", [1, 2, 3, 4, 5, 7], ["rating"]),
        ("visits", [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13], ["rating"]),
        ("language", [1, 2, 3, 4, 5], []),
        ("glass", [1, 2, 3, 5, 6, 7], []),
    ],
)
def test_amounts_with_gaps(
    tmp_path: Path, name: str, values: list[int], expected: list[str]
) -> None:
    cells = [str(values[i % len(values)]) for i in range(N)]
    read(tmp_path, None, **{name: cells})
    found = prepare(tmp_path / "t.csv", target=name)
    assert [one[0] for one in hints(found)] == expected


def test_one_token_that_fills_most_cells(tmp_path: Path) -> None:
    prices = [f"{i},25" if i % 3 == 0 else "k. A." for i in range(N)]
    found = read(tmp_path, price=prices)
    assert "20 of 60 cells are numbers, but not 'k. A.'" in found.decisions[2].reason
    (note,) = (one for one in found.notes if "Not used as numbers" in one)
    assert "up to 67% of the cells are not numbers: price" in note
    assert isinstance(note, Note)
    assert (note.option, note.value) == ("number", "price")
    mended = read(tmp_path, Overrides.of(number="price"), price=prices)
    assert np.nansum(mended.X[:, 1]) == sum(range(0, N, 3)) + 20 * 0.25


def test_a_stated_sign_that_the_cells_contradict(tmp_path: Path) -> None:
    prices = [f"{i},25" for i in range(N)]
    found = read(tmp_path, Overrides.of(decimal="."), price=prices)
    assert ("decimal", "price", "", "") in hints(found)
    assert found.X[4, 1] == 4.25
    assert ("decimal", "price", "", "") not in hints(
        read(tmp_path, Overrides.of(decimal=","), price=prices)
    )


def test_a_stated_sign_where_the_cells_do_not_tell(tmp_path: Path) -> None:
    clear, other = [f"{i},25" for i in range(N)], [f"{i + 1},125" for i in range(N)]
    found = read(tmp_path, Overrides.of(decimal="."), clear=clear, other=other)
    said = "'clear' is clearly a comma, and is read so; the other commas and points, in"
    assert any(f"{said} 'other', as you say" in note for note in found.notes)
    assert found.X[4, 2] == 5125


def test_points_that_a_model_of_commas_takes_for_thousands(tmp_path: Path) -> None:
    commas = [f"{1 + i / 1000:.3f}".replace(".", ",") for i in range(N)]
    columns = read(tmp_path, size=commas, price=[f"{i},5" for i in range(N)]).columns
    points = pl.DataFrame({"size": ["1.001", "2"], "price": ["1.250", "7"]})
    with pytest.warns(UserWarning, match=r"'1.001' is read as 1001.*'size', 'price'"):
        columns.kept_part(points)
    # A comma in another cell settles it.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        columns.kept_part(points.with_columns(price=pl.Series(["1,5", "7"])))


@pytest.mark.parametrize(("sign", "mark"), [(",", "."), (".", ",")])
def test_numbers_far_from_those_of_the_model(
    tmp_path: Path, sign: str, mark: str
) -> None:
    sizes = [f"{1 + i / 1000:.3f}".replace(".", sign) for i in range(N)]
    sales = [f"{1 + i},000".replace(",", mark) + f"{sign}50" for i in range(N)]
    kept = read(tmp_path, size=sizes, sales=sales).columns
    medians = {"size": 1.1, "sales": 100_000.0}
    # The sign of another column does not settle it, nor is its absence a doubt.
    new = pl.DataFrame({"size": [f"1{mark}376"], "sales": [f"99{mark}000{sign}5"]})
    if sign == ",":  # plain numbers are read with a point only
        with pytest.warns(UserWarning, match=r"is read as 1376.*'size' is another"):
            kept.kept_part(new, medians)
    new = pl.DataFrame({"size": ["1"], "sales": [f"99{mark}000"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept.kept_part(new, medians)
        # Cells that cannot be read are the concern of `encode`.
        kept.kept_part(new.with_columns(size=pl.lit(f"€1{mark}376")), medians)
    with pytest.warns(UserWarning, match=r"is read as 12125.*'sales' is another"):
        kept.kept_part(new.with_columns(sales=pl.lit(f"12{mark}125")), {"sales": 9.0})
