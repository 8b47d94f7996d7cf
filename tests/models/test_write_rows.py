"""What stands beside the rows in an .npz file."""

from typing import Any

import pytest

from vicinal.models._write_rows import _array


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        ([1, 2, 3], "i", "[1 2 3]"),
        ([1, 2.5], "f", "[1.  2.5]"),
        ([1, None], "f", "[ 1. nan]"),
        ([True, False], "b", "[ True False]"),
        ([True, None, False], "f", "[ 1. nan  0.]"),
        (["a", None], "U", "['a' '']"),
        ([1, "a", True], "U", "['1' 'a' 'True']"),
    ],
)
def test_columns_without_objects(values: list[Any], kind: str, wanted: str) -> None:
    found = _array(values)
    assert found.dtype.kind == kind
    assert str(found) == wanted
