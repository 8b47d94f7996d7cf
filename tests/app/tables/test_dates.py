from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from vicinal.app.tables.inputs import DATE_FORM
from vicinal.app.tables.notation import (
    RARE_DATES,
    date_forms,
    read_dates,
)


def moments(values: list[str], form: str) -> list[dt.datetime | None]:
    return read_dates(pl.Series(values), form).to_list()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2024-12-31", ""),
        ("2024-12-31T00:00", ""),
        ("31.12.2024", "%d.%m.%Y"),
        ("31.12.24", "%d.%m.%y"),
        ("12/31/2024", "%m/%d/%Y"),
        ("31/12/2024", "%d/%m/%Y"),
        ("12/31/24", "%m/%d/%y"),
        ("31-12-2024", "%d-%m-%Y"),
        ("31 Dec 2024", "%d %B %Y"),
        ("31 December 2024", "%d %B %Y"),
        ("31-Dec-2024", "%d-%b-%Y"),
        ("Dec 31, 2024", "%B %d, %Y"),
        ("December 31, 2024", "%B %d, %Y"),
        ("31.12.2024 00:00", "%d.%m.%Y %H:%M"),
        ("31.12.2024, 00:00:00", "%d.%m.%Y %H:%M:%S"),
        ("12/31/2024 12:00 AM", "%m/%d/%Y %I:%M %p"),
    ],
)
def test_dates_as_people_write_them(text: str, form: str) -> None:
    assert date_forms(pl.Series([text])) == [form]
    assert moments([text], form) == [dt.datetime(2024, 12, 31)]
    assert DATE_FORM.fullmatch(form)


def test_a_day_that_may_be_a_month() -> None:
    assert date_forms(pl.Series(["1/2/2024", "3/4/2024"])) == ["%m/%d/%Y", "%d/%m/%Y"]
    assert not date_forms(pl.Series(["1/2/2024", "31/4/2024", "30/4/2024"]))
    assert date_forms(pl.Series(["1/2/2024", "30/4/2024"])) == ["%d/%m/%Y"]


@pytest.mark.parametrize(
    "values",
    [
        ["1.2.10", "1.3.4"],
        ["10.4.13", "9.1.2"],
        ["31.12.2024", "soon"],
        ["31.12.24", "31.12.2024"],
        ["99/99/2024"],
        ["2024"],
        ["20241231"],
        ["12:30"],
        ["1/2", "3/4"],
    ],
)
def test_no_dates(values: list[str]) -> None:
    assert not date_forms(pl.Series(values))


@pytest.mark.parametrize(
    ("text", "form"), [("20241201", "%Y%m%d"), ("2024-12", "%Y-%m"), ("2024", "%Y")]
)
def test_dates_only_where_they_are_asked_for(text: str, form: str) -> None:
    assert date_forms(pl.Series([text]), RARE_DATES) == [form]
    month = 1 if form == "%Y" else 12
    assert moments([text, "x"], form) == [dt.datetime(2024, month, 1), None]


@pytest.mark.parametrize("form", ["%s", "%Q", "x", "%d" * 30, "%", "%+", "%d\n", "$d"])
def test_forms_that_nobody_wrote(form: str) -> None:
    assert not DATE_FORM.fullmatch(form)
