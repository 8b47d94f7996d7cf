from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from vicinal.app.tables.columns import Columns
from vicinal.app.tables.inputs import Overrides
from vicinal.app.tables.prepared import Prepared, prepare

FRAME = pl.DataFrame(
    {
        "zip": ["01234", "56789", "01234", "00001"] * 6,
        "time": range(100, 124),
        "mixed": ["1,5", "many", "2,5", "?"] * 6,
        "when": [20240101, 20240102, 20240103, 99] * 6,
        "day": ["1/2/2024", "2/2/2024"] * 12,
        "a,b": [1.5, 2.5, 1.5, 3.5] * 6,
        "kind": ["x", "y"] * 12,
    }
)


def prepared(**said: Any) -> Prepared:
    return prepare(FRAME, target="kind", overrides=Overrides.of(**said))


def column(found: Prepared, name: str) -> Any:
    return found.X[:, found.feature_names.index(name)]


def test_without_a_word() -> None:
    found = {one.column: one.kind for one in prepared().decisions}
    assert found == {
        "zip": "number",
        "time": "identifier",
        "mixed": "category",
        "when": "number",
        "day": "date",
        "a,b": "number",
        "kind": "target",
    }


def test_every_decision_can_be_overruled() -> None:
    found = prepared(
        drop=["a,b"],
        categorical="zip",
        number=["time", "mixed"],
        date=["when", "day=%d/%m/%Y"],
    )
    assert found.feature_names == [
        "zip=00001",
        "zip=01234",
        "zip=56789",
        "time",
        "mixed",
        "when",
        "day",
    ]
    decisions = {one.column: one for one in found.decisions}
    assert decisions["a,b"].kind == "dropped"
    assert all(decisions[name].asked for name in ("zip", "time", "mixed", "day"))
    assert decisions["mixed"].reason == (
        "asked for, 6 other cells as missing, 6 missing"
    )
    nan = np.nan
    np.testing.assert_array_equal(column(found, "mixed")[:4], [1.5, nan, 2.5, nan])
    np.testing.assert_array_equal(np.diff(column(found, "when")[:4]), [1, 1, nan])
    # February and not January.
    assert np.diff(column(found, "day")[:2]) == 1
    again = Columns.from_dict(json.loads(json.dumps(found.columns.to_dict())))
    np.testing.assert_array_equal(again.encode(FRAME), found.X)
    # From a text file in pieces, every cell comes as text.
    np.testing.assert_array_equal(again.encode(FRAME.cast(pl.String)), found.X)


def test_numbers_as_categories_are_the_same_from_any_file() -> None:
    codes = pl.DataFrame({"c": [1.0, 2.5, 3.0] * 4, "kind": ["x", "y"] * 6})
    said = Overrides.of(categorical=["c"])
    found = prepare(codes, target="kind", overrides=said)
    assert found.feature_names == ["c=1", "c=2.5", "c=3"]
    whole = pl.DataFrame({"c": [3, 1]})
    expected = [[0, 0, 1], [1, 0, 0]]
    assert found.columns.encode(whole).tolist() == expected
    assert found.columns.encode(whole.cast(pl.Float32)).tolist() == expected
    assert found.columns.encode(whole.cast(pl.String)).tolist() == expected


def test_the_decimal_sign() -> None:
    frame = pl.DataFrame({"a": ["1,234", "2,345"] * 5, "kind": ["x", "y"] * 5})
    for decimal, expected in ((",", 1.234), (".", 1234)):
        said = Overrides.of(decimal=decimal)
        assert prepare(frame, target="kind", overrides=said).X[0, 0] == expected


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"drop": ["Time"]}, "The table has no column 'Time'; did you mean 'time'?"),
        (
            {"number": ["time,zap"]},
            "has no column 'zap'; did you mean 'zip'?",
        ),
        ({"drop": ["zip"], "number": ["zip"]}, "'zip' is named twice"),
        ({"drop": ["kind"]}, "'kind' is the target"),
        ({"number": ["kind"]}, "'kind' is the target"),
        ({"decimal": ";"}, "a comma or a point, not ';'"),
        ({"date": ["day=%Q"]}, "'%Q' is not a format of dates for 'day'"),
        ({"date": {"day": "%Q"}}, "'%Q' is not a format of dates for 'day'"),
        ({"date": ["zip"]}, "No cell of column 'zip' is a date; the first one is '012"),
        ({"number": ["day"]}, "No cell of column 'day' is a number"),
    ],
)
def test_what_cannot_be_done(said: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        prepared(**said)


def test_lists_and_too_many_categories() -> None:
    frame = pl.DataFrame(
        {"v": [[1, 2]] * 2002, "n": range(2002), "kind": ["x", "y"] * 1001}
    )
    for said, message in (
        ({"number": "v"}, "which cannot be read as a number; leave it out"),
        ({"categorical": "n"}, "has 2,002 values, more than the 1,000"),
    ):
        with pytest.raises(ValueError, match=message):
            prepare(frame, target="kind", overrides=Overrides.of(**said))


def test_what_is_asked_for_may_be_constant_or_empty() -> None:
    frame = pl.DataFrame(
        {
            "c": ["u"] * 4,
            "n": ["7", "x", "7", "7"],
            "e": [None] * 4,
            "x": [1.5, 2, 3, 4],
            "kind": ["x", "y"] * 2,
        }
    )
    said = Overrides.of(categorical="c", number="n,e")
    found = prepare(frame, target="kind", overrides=said)
    kinds = [one.kind for one in found.decisions]
    assert kinds == ["constant", "constant", "empty", "number", "target"]


def test_a_column_in_another_notation_is_not_missing() -> None:
    found = prepared(number="mixed", date="day=%d/%m/%Y", drop=["when", "time"])
    points = FRAME.with_columns(mixed=pl.Series(["?", "1.5", "many", "2.5"] * 6))
    with pytest.raises(ValueError, match=r"numbers like 1\.234,5, but row 1 .* '1\.5'"):
        found.columns.encode(points)
    days = FRAME.with_columns(day=pl.Series(["soon", "2024-02-01"] * 12))
    with pytest.raises(ValueError, match=r"dates like 31/12/2024, but row 1 "):
        found.columns.encode(days)
    # Cells that are no numbers are missing, even if all are.
    others = found.columns.encode(FRAME.with_columns(mixed=pl.lit("many")))
    assert np.isnan(others[:, found.feature_names.index("mixed")]).all()
