from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vicinal.app.tables.cells import Table, clean, typed
from vicinal.app.tables.columns import Columns, Decision, kind_of

N = 24
ROWS = list(range(N))


def decision(name: str, values: Any, dtype: Any = None) -> Decision:
    frame = pl.DataFrame({name: pl.Series(values, dtype=dtype, strict=False)})
    (one,) = Columns.learn(typed(Table(clean(frame))).frame, None).decisions
    assert one.column == name
    return one


@pytest.mark.parametrize(
    ("name", "values", "kind", "reason"),
    [
        ("x", [1.5, 2.5] * 12, "number", ""),
        ("x", [1.5, None] * 11 + [2, 3], "number", "11 missing"),
        ("x", [1, float("inf"), 2], "number", "1 infinite value as missing"),
        ("x", ["1", " 2.5", "NA"] * 8, "number", "8 missing"),
        ("x", [3, 1, 2, 2] * 6, "number", ""),
        ("x", [True, False, None] * 8, "yes/no", "8 missing"),
        ("x", ["Yes", "no", "?"] * 8, "yes/no", "8 missing"),
        ("x", ["r", "g", None] * 8, "category", "2 values, 8 missing"),
        ("x", [dt.date(2020, 1, 1 + i % 9) for i in ROWS], "date", "in days"),
        ("x", [dt.timedelta(hours=i) for i in ROWS], "date", "in days"),
        ("x", ["2020-01-02", "2021/03/04", None] * 8, "date", "in days, 8 missing"),
        ("x", ["2020-01-02T03:04:05", "2020-01-02 03:04"] * 8, "date", "in days"),
        ("x", [7] * 24, "constant", "always 7"),
        ("x", [7.5, None] * 12, "constant", "always 7.5"),
        ("x", ["<script>"] * 24, "constant", "always <script>"),
        ("x", [True] * 24, "constant", "always True"),
        ("x", [None] * 24, "empty", "no values"),
        ("x", ["?", "", "NaN"] * 8, "empty", "no values"),
        ("x", [float("nan"), float("inf")] * 8, "empty", "no finite values"),
        ("x", [f"name {i}" for i in ROWS], "identifier", "each row has its own value"),
        ("x", ROWS, "identifier", "it counts the rows"),
        ("x", ROWS[12:] + ROWS[:12], "identifier", "it counts the rows"),
        ("x", [i * i for i in ROWS], "identifier", "it only grows, or only falls"),
        ("x", [str(i) for i in ROWS], "identifier", "it counts the rows"),
        ("x", [i / 2 for i in ROWS], "number", ""),
        ("x", [5, 9, 2], "number", ""),
        ("user_id", [5, 9, 2], "identifier", "named like one, and each row has its"),
        ("userId", [5, 9, 2], "identifier", "named like one, and each row has its"),
        ("Unnamed: 0", [5, 9, 2], "identifier", "named like one, and each row has"),
        ("id", [5, 9, 5], "number", ""),
        ("acid", [5, 9, 2], "number", ""),
        ("x", [f"t{i % 60}" for i in range(200)], "text", "60 distinct values, more"),
        ("x", ["a", "b", "c", "a"], "text", "3 distinct values in 4 rows"),
        ("x", [[1, 2], [3]] * 12, "text", "lists of 1 to 2 numbers, not vectors"),
        ("x", [[], []] * 12, "text", "lists, neither numbers"),
        ("x", [["a"], ["b"]] * 12, "text", "lists, neither numbers"),
        ("x", [[1, 2], [3, 4], None] * 8, "vector", "2 components, 8 missing"),
        ("x", ["1,5", "2", "?"] * 8, "number", "8 missing"),
        ("x", ["$1.50", "$2"] * 8, "number", ""),
        ("x", ["31.12.2024", "1.2.2024"] * 8, "date", "in days, written %d.%m.%Y"),
        ("x", ["12/31/2024"] + ["1/2/2024"] * 8, "date", "in days, written %m/%d/%Y"),
        ("x", ["1/2/2024", "2/2/2024"] * 8, "date", "in days, written %m/%d/%Y, or %d"),
    ],
)
def test_kinds(name: str, values: Any, kind: str, reason: str) -> None:
    one = decision(name, values)
    assert one.kind == kind
    assert one.reason.startswith(reason)
    assert (one.reason == "") == (reason == "")


def test_encode() -> None:
    frame = pl.DataFrame(
        {
            "n": [1, None, 3, 1],
            "t": ["2", "x", "2", "x"],
            "label": list("abab"),
            "b": [True, False, None, True],
            "d": [dt.date(1970, 1, 3), None, dt.date(1970, 1, 1), None],
            "s": ["1.5", "inf", "NA", "2"],
            "k": [4] * 4,
        }
    )
    frame = typed(Table(clean(frame))).frame
    columns = Columns.learn(frame, "label")
    assert columns.feature_names == ["n", "t=x", "b", "d", "s"]
    nan = np.nan
    expected = [
        [1, 0, 1, 2, 1.5],
        [nan, 1, 0, nan, nan],
        [3, 0, nan, 0, nan],
        [1, 1, 1, nan, 2],
    ]
    encoded = columns.encode(frame)
    assert encoded.dtype == np.float64
    np.testing.assert_array_equal(encoded, expected)
    # As text, as it comes from a CSV in pieces, in another order, with more columns.
    text = frame.reverse().select(
        pl.lit("z").alias("extra"),
        *(pl.col(name).cast(pl.String) for name in reversed(frame.columns)),
    )
    parts = [
        columns.encode(clean(text[:1])),
        columns.encode(clean(text[1:])),
        columns.encode(clean(text[:0])),
    ]
    np.testing.assert_array_equal(np.concatenate(parts)[::-1], expected)


def test_categories_at_encode_time() -> None:
    columns = Columns.learn(pl.DataFrame({"c": list("aabbcc")}), None)
    assert columns.feature_names == ["c=a", "c=b", "c=c"]
    frame = pl.DataFrame({"c": ["b", "new", None, " a "]})
    expected = [[0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]]
    assert columns.encode(clean(frame)).tolist() == expected
    as_categorical = frame.with_columns(pl.col("c").cast(pl.Categorical))
    np.testing.assert_array_equal(
        columns.encode(clean(as_categorical)), columns.encode(clean(frame))
    )


def test_two_categories_are_one_feature() -> None:
    columns = Columns.learn(pl.DataFrame({"c": ["a", "a", "b", "b", None]}), None)
    assert columns.feature_names == ["c=b"]
    frame = pl.DataFrame({"c": ["b", "new", None, "a"]})
    np.testing.assert_array_equal(columns.encode(frame), [[1], [np.nan], [np.nan], [0]])


def test_missing_is_a_category_beside_three() -> None:
    frame = pl.DataFrame({"c": [*"aabbcc", None]})
    columns = Columns.learn(frame, None)
    assert columns.feature_names == ["c=a", "c=b", "c=c", "c missing"]
    # Each row is in one of them: together they are no second constant.
    assert columns.encode(frame).sum(axis=1).tolist() == [1] * 7
    new = columns.encode(pl.DataFrame({"c": ["new", None]}))
    assert new.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("width", [None, 3])
def test_vectors_become_their_components(width: int | None) -> None:
    values = [[1.0, 2.0, 3.0], None, [4.0, float("inf"), None]]
    inner = pl.Float32
    kind = pl.List(inner) if width is None else pl.Array(inner, width)
    frame = pl.DataFrame({"e": pl.Series(values, dtype=kind)})
    columns = Columns.learn(frame, None)
    assert columns.feature_names == ["e[0]", "e[1]", "e[2]"]
    nan = np.nan
    expected = [[1, 2, 3], [nan] * 3, [4, nan, nan]]
    encoded = columns.encode(frame)
    assert encoded.dtype == np.float32
    np.testing.assert_array_equal(encoded, expected)
    again = Columns.from_dict(json.loads(json.dumps(columns.to_dict())))
    as_lists = frame.cast(pl.List(pl.Float64))
    np.testing.assert_array_equal(again.encode(as_lists), expected)
    nothing = pl.DataFrame({"e": [None, None]})
    assert np.isnan(again.encode(nothing)).all()
    with pytest.raises(
        ValueError, match="held vectors of 3 numbers, but now holds vec"
    ):
        again.encode(pl.DataFrame({"e": [[1.0, 2.0]]}))
    with pytest.raises(
        ValueError, match=r"with 3 numbers, but row 0 \(from 0\) has 'x'"
    ):
        again.encode(pl.DataFrame({"e": ["x"]}))


def test_what_is_learned_of_numbers_and_dates_is_kept() -> None:
    text = pl.DataFrame(
        {"n": ["1.234,5 €", "2 €"], "d": ["31.12.2024", "1.1.2025"], "s": ["1", "2"]}
    )
    cells = typed(Table(clean(text)))
    columns = Columns.learn(cells.frame, None, forms=cells.forms)
    assert [one.form for one in columns.decisions] == [",€", "%d.%m.%Y", ""]
    again = Columns.from_dict(json.loads(json.dumps(columns.to_dict())))
    np.testing.assert_array_equal(again.encode(text), columns.encode(cells.frame))
    np.testing.assert_array_equal(again.encode(text)[:, 0], [1234.5, 2])
    assert np.ptp(again.encode(text)[:, 1]) == 1
    for wrong in ({"n": ["1.5 $"]}, {"d": ["12/31/2024"]}, {"s": ["1,5"]}):
        row = {name: [text[name][0]] for name in text.columns} | wrong
        with pytest.raises(
            ValueError, match=r"was learned from .* but row 0 .*; write it so, leave"
        ):
            again.encode(pl.DataFrame(row))


def test_float32_stays() -> None:
    frame = pl.DataFrame(
        {"a": [1.5, 2.5], "b": [0.0, 1.0]},
        schema_overrides={"a": pl.Float32, "b": pl.Float32},
    )
    assert Columns.learn(frame, None).encode(frame).dtype == np.float32
    mixed = frame.with_columns(pl.col("b").cast(pl.Float64))
    assert Columns.learn(mixed, None).encode(mixed).dtype == np.float64


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            {"Petal width": [1]},
            r"no column 'petal width', which the model uses; did you mean 'Petal w",
        ),
        ({"zzz": [1]}, "no column 'petal width', which the model uses."),
        (
            {"petal width": ["wide"]},
            "'petal width' was learned from numbers like 3.5, .*'wide'",
        ),
        ({"petal width": [[1]]}, "held numbers and now holds lists; write num"),
        ({"petal width": [1], "day": ["soon"]}, "from dates like 2024-12-31, .*'soon'"),
        ({"petal width": [1], "day": [3]}, "'day' held dates and now holds numbers"),
        (
            {"petal width": [1], "day": ["2020-01-01"], "ok": ["perhaps"]},
            "'ok' was learned from answers like yes and no.*'perhaps'",
        ),
    ],
)
def test_rows_that_do_not_fit(frame: dict[str, Any], message: str) -> None:
    learned = pl.DataFrame(
        {
            "petal width": [1.5, 2.5],
            "day": ["2020-01-01", "2020-01-02"],
            "ok": ["yes", "no"],
        }
    )
    columns = Columns.learn(learned, None)
    given = {"day": ["2020-01-01"], "ok": ["no"], **frame}
    with pytest.raises(ValueError, match=message):
        columns.encode(clean(pl.DataFrame(given, strict=False)))


def stored() -> dict[str, Any]:
    frame = pl.DataFrame({"n": [1.5, 2], "c": ["a", "a"], "l": [1, 2]})
    other = pl.DataFrame(
        {
            "n": [1.5, 2] * 3,
            "c": list("abcabc"),
            "l": [1, 2] * 3,
            "v": [[1.0, 2.0]] * 6,
            "d": ["31.12.2024", "1.2.2024"] * 3,
        }
    )
    assert Columns.learn(frame, "l").feature_names == ["n"]
    result: dict[str, Any] = Columns.learn(other, "l").to_dict()
    return result


def test_round_trip() -> None:
    plain = json.loads(json.dumps(stored()))
    columns = Columns.from_dict(plain)
    assert columns.to_dict() == plain
    names = ["n", "c=a", "c=b", "c=c", "v[0]", "v[1]", "d"]
    assert columns.feature_names == names


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d.pop("dtype"),
        lambda d: d.update(extra=1),
        lambda d: d.update(dtype="object"),
        lambda d: d.update(dtype=["float32"]),
        lambda d: d.update(decisions={}),
        lambda d: d["decisions"].append(d["decisions"][0]),
        lambda d: d["decisions"].append("n"),
        lambda d: d["decisions"][0].update(kind="pickle"),
        lambda d: d["decisions"][0].update(kind=["number"]),
        lambda d: d["decisions"][0].update(column=3),
        lambda d: d["decisions"][0].pop("reason"),
        lambda d: d["categories"].update(n=["a"]),
        lambda d: d["categories"].clear(),
        lambda d: d.update(categories=[["c", ["a"]]]),
        lambda d: d["categories"].update(c="ab"),
        lambda d: d["categories"].update(c=[]),
        lambda d: d["categories"].update(c=["a", "a"]),
        lambda d: d["categories"].update(c=["a", 1]),
        lambda d: d["categories"].update(c=[str(i) for i in range(1_000_001)]),
        lambda d: d["categories"].update(c=["a"]),
        lambda d: d["categories"].update(c=["", "a"]),
        lambda d: d["lengths"].clear(),
        lambda d: d["lengths"].update(n=2),
        lambda d: d["lengths"].update(v=2.0),
        lambda d: d["lengths"].update(v=True),
        lambda d: d["lengths"].update(v=0),
        lambda d: d["lengths"].update(v=10**9),
        lambda d: d.update(lengths=[2]),
        lambda d: d["decisions"][0].update(form="%Q"),
        lambda d: d["decisions"][0].update(form=["."]),
        lambda d: d["decisions"][4].update(form="%d" * 99),
        lambda d: d["decisions"][4].update(form="%s"),
        lambda d: d["decisions"][0].update(asked=1),
    ],
)
def test_edited_descriptions(edit: Any) -> None:
    plain = stored()
    edit(plain)
    with pytest.raises(ValueError, match="description of the columns is not valid"):
        Columns.from_dict(plain)


@pytest.mark.parametrize("junk", [None, 3, "x", [], [1]])
def test_descriptions_of_other_types(junk: Any) -> None:
    with pytest.raises(ValueError, match="not valid"):
        Columns.from_dict(junk)


NUMBER = st.floats(-1e300, 1e300) | st.sampled_from([np.nan, np.inf, -np.inf])
NAME = st.text(max_size=5) | st.sampled_from(["*", "^.*$", "text", "missing", "count"])
COLUMN = st.one_of(
    st.lists(st.none() | NUMBER, min_size=6, max_size=6),
    st.lists(st.none() | st.integers(-9, 9), min_size=6, max_size=6),
    st.lists(st.none() | st.booleans(), min_size=6, max_size=6),
    st.lists(st.none() | st.sampled_from(["a", "b", "<b>"]), min_size=6, max_size=6),
    st.lists(st.none() | st.dates(), min_size=6, max_size=6),
    st.lists(st.none() | st.text(max_size=3), min_size=6, max_size=6),
    st.lists(
        st.none() | st.text("0123456789.,€%$-", max_size=6), min_size=6, max_size=6
    ),
    st.lists(
        st.none() | st.lists(NUMBER, min_size=2, max_size=2), min_size=6, max_size=6
    ),
)


@settings(deadline=None)
@given(st.dictionaries(NAME, COLUMN, min_size=1, max_size=4))
def test_any_frame(data: dict[str, list[Any]]) -> None:
    """Whatever is learned can be stored, and encodes its own rows without infinity."""
    text = clean(pl.DataFrame(data))
    cells = typed(Table(text))
    frame = cells.frame
    columns = Columns.learn(frame, None, forms=cells.forms)
    again = Columns.from_dict(json.loads(json.dumps(columns.to_dict())))
    assert again == columns
    encoded = columns.encode(frame)
    assert encoded.shape == (6, len(columns.feature_names))
    assert not np.isinf(encoded).any()
    np.testing.assert_array_equal(
        np.concatenate([again.encode(frame[:2]), again.encode(frame[2:])]), encoded
    )
    # From a file in pieces, cells come as text.
    np.testing.assert_array_equal(again.encode(text), encoded)
    # Every feature that was kept tells some rows apart; but for those of vectors.
    single = [i for i, one in enumerate(columns.feature_names) if "[" not in one]
    values = encoded[:, single]
    spread = np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
    assert (spread > 0).all()


def test_wide_tables_take_no_call_of_polars_for_each_column_of_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time to read a wide table grows as its columns, not as their square."""
    names = [f"x{index}" for index in range(200)]
    text = pl.DataFrame({name: [" 1.5", "2", "n/a"] for name in names})
    asked = []
    columns = pl.DataFrame.columns
    collect = pl.LazyFrame.collect

    def counted(self: pl.LazyFrame, **options: Any) -> Any:
        asked.append("collect")
        return collect(self, **options)

    def listed(self: pl.DataFrame) -> list[str]:
        asked.append("columns")
        return columns.fget(self)  # type: ignore[attr-defined]

    monkeypatch.setattr(pl.LazyFrame, "collect", counted)
    monkeypatch.setattr(pl.DataFrame, "columns", property(listed, columns.fset))  # type: ignore[attr-defined]
    frame = typed(Table(clean(text))).frame
    assert len(asked) < 20
    assert set(frame.dtypes) == {pl.Float64}
    learned = Columns.learn(frame, None)
    asked.clear()
    assert learned.encode(frame)[:2].tolist() == [[1.5] * 200, [2.0] * 200]
    assert len(asked) < 20


@pytest.mark.parametrize("make", [lambda i: i, lambda i: i * i, lambda i: -i * i])
def test_twenty_rows_in_order_are_no_chance(make: Any) -> None:
    assert decision("x", [make(i) for i in range(19)]).kind == "number"
    assert decision("x", [make(i) for i in range(20)]).kind == "identifier"


def test_twenty_rows_that_are_counted_are_no_chance() -> None:
    assert decision("x", [(i + 5) % 19 for i in range(19)]).kind == "number"
    assert decision("x", [(i + 5) % 20 for i in range(20)]).kind == "identifier"


@pytest.mark.parametrize(("n_rows", "kind"), [(19, "number"), (20, "identifier")])
def test_a_few_numbers_may_be_in_order_by_chance(n_rows: int, kind: str) -> None:
    assert kind_of(pl.Series("x", range(n_rows))).kind == kind
    assert kind_of(pl.Series("x", [i * i for i in range(n_rows)])).kind == kind


def test_a_column_that_the_model_uses_itself_is_not_suggested() -> None:
    learned = pl.DataFrame({"width 1": [1.5, 2.5], "width 2": [3.5, 5.5]})
    columns = Columns.learn(learned, None)
    with pytest.raises(ValueError, match=r"'width 1', which the model uses\.$"):
        columns.kept_part(pl.DataFrame({"width 2": [1.0]}))
    with pytest.raises(ValueError, match=r"uses; did you mean 'width_1'\?$"):
        columns.kept_part(pl.DataFrame({"width_1": [1.0], "width 2": [1.0]}))
