from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from vicinal.app.tables.inputs import check_features, check_numbers
from vicinal.app.tables.prepared import prepare

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("sign", [1, -1])
def test_features_up_to_1e150(sign: int) -> None:
    X = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, sign * 1e150]])
    check_features(X, ["a", "b"])
    X[2, 1] = sign * 1.01e150
    with pytest.raises(ValueError, match=r"Column 'b' has numbers beyond 1e\+150"):
        check_features(X, ["a", "b"])


def test_float32_and_columns_without_numbers() -> None:
    check_features(np.full((2, 1), np.finfo(np.float32).max, np.float32), ["a"])
    check_features(np.full((2, 1), np.nan), ["a"])


def test_targets_whose_squares_are_numbers() -> None:
    check_numbers(np.array([-1e150, 1e150]), "It")
    check_numbers(np.array([0.0, 1e-150]), "It")
    with pytest.raises(ValueError, match=r"It has numbers beyond 1e\+150"):
        check_numbers(np.array([0.0, -1.01e150]), "It")
    with pytest.raises(ValueError, match="It varies by less than 1e-150"):
        check_numbers(np.array([0.0, 0.99e-150]), "It")


@pytest.mark.parametrize(
    ("column", "target", "message"),
    [
        ("1.01e150", None, "Column 'x' has numbers beyond"),
        ("1e-151", "x", "Column 'x' varies by less than"),
        ("1.01e150", "x", "Column 'x' has numbers beyond"),
    ],
)
def test_a_table_is_checked(
    tmp_path: Path, column: str, target: str | None, message: str
) -> None:
    path = tmp_path / "t.csv"
    lines = [f"0,0.5\n{column},1.5\n{column[:-1]}3,2.5\n0,4.5\n"]
    path.write_text("x,z\n" + "".join(lines))
    with pytest.raises(ValueError, match=message):
        prepare(
            str(path),
            target=target,
            no_target=target is None,
            task="regression" if target else None,
        )


def test_a_table_with_large_numbers_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,z\n1e150,0.5\n-1e150,1.5\n0,2.5\n")
    assert prepare(str(path), no_target=True).X.shape == (3, 2)


def test_tables_larger_than_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", lambda _: 1, raising=False)
    with pytest.raises(ValueError, match="iris is larger than the memory"):
        prepare("iris")
