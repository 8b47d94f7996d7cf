from __future__ import annotations

import polars as pl
import pytest

from vicinal.app.tables.cells import Table
from vicinal.app.tables.names import NoTargetError
from vicinal.app.tables.prepared import choose_target, likely_targets, prepare


def table(*names: str, target: str | None = None) -> Table:
    return Table(pl.DataFrame({name: [1, 2] for name in names}), "t", target)


@pytest.mark.parametrize(
    ("names", "target", "asked", "expected"),
    [
        (["a", "label"], None, "a", "a"),
        (["a", "label"], "a", "label", "label"),
        (["a", "label"], "a", None, "a"),
        (["a", "label"], None, None, "label"),
        (["y", "Target", "class"], None, None, "Target"),
        (["y", "Y"], None, None, "y"),
        (["a", "b"], None, None, None),
    ],
)
def test_choose(
    names: list[str], target: str | None, asked: str | None, expected: str | None
) -> None:
    assert choose_target(table(*names, target=target), asked) == expected


def test_unknown_target() -> None:
    with pytest.raises(ValueError, match=r"t has no column 'Specie'; did you mean 'sp"):
        choose_target(table("species", "width"), "Specie")
    with pytest.raises(ValueError, match="no column 'q'; it has species, width"):
        choose_target(table("species", "width"), "q")
    names = [f"x{i}" for i in range(10)]
    with pytest.raises(ValueError, match=r"it has x0, .*, x9\.$"):
        choose_target(table(*names), "q")
    with pytest.raises(ValueError, match=r"it has x0, .*, x9, …\.$"):
        choose_target(table(*names, "x10"), "q")


def test_likely_targets() -> None:
    frame = pl.DataFrame(
        {
            "number": [1, 2, 5, 3] * 6,
            "id": range(24),
            "House_Price": [1.5, 2.5, 3.5, 4.5] * 6,
            "day": ["2024-01-01", "2024-01-02"] * 12,
            "same": ["x"] * 24,
            "colour": ["r", "g", "b"] * 8,
            "last": [1, 0] * 12,
        }
    )
    expected = ["House_Price", "last", "number", "colour"]
    assert likely_targets(frame) == expected
    with pytest.raises(NoTargetError, match=r"name the target \('House_Price', 'last'"):
        prepare(frame)
    many = frame.select(pl.col("number").alias(f"x{i}") for i in range(9))
    assert likely_targets(many) == ["x8", "x0", "x1", "x2", "x3"]
