from __future__ import annotations

from vicinal.app.cli.display import column_lines
from vicinal.app.tables.columns import Decision


def test_grouped_by_kind_and_reason() -> None:
    decisions = [
        Decision("a", "constant", "always 0"),
        Decision("b", "number"),
        Decision("c", "category", "3 values"),
        Decision("d", "constant", "always 0"),
        Decision("e", "constant", "always 1"),
        Decision("f", "number", "2 missing"),
        Decision("y", "target", "as asked"),
    ]
    assert column_lines(decisions) == [
        "category: c (3 values)",
        "constant: a, d (always 0)",
        "constant: e (always 1)",
        "number: f (2 missing)",
    ]


def test_many_columns_are_counted() -> None:
    decisions = [Decision(f"x{i}", "empty") for i in range(50)]
    assert column_lines(decisions) == [
        "empty: x0, x1, x2, x3, x4, x5 and 44 more",
    ]


def test_names_that_would_break_the_line() -> None:
    lines = column_lines(
        [Decision("a\nb\x1b[31m", "empty"), Decision("z" * 99, "text")]
    )
    assert lines == ["empty: a�b�[31m", f"text: {'z' * 39}…"]
