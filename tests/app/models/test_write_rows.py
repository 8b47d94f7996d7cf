"""Parts of Parquet files, and what stands beside the rows in an .npz file."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vicinal.app.models.files import _array, write_rows


def described(path: Path) -> int:
    """Return how many bytes describe the parts of a Parquet file."""
    content = path.read_bytes()
    assert content[-4:] == b"PAR1"
    return int.from_bytes(content[-8:-4], "little")


def test_pieces_of_a_parquet_file_become_few_parts(
    tmp_path: Path,
) -> None:
    source, one, many = (
        tmp_path / name for name in ("a.csv", "1.parquet", "n.parquet")
    )
    text = pl.Series(range(600_000)).cast(str).str.zfill(20)
    pl.DataFrame({"a": text, "b": text, "c": text}).write_csv(source)

    def write(path: Path, **options: int) -> None:
        write_rows(
            str(source), path, lambda rows: rows, keep=(), keep_all=False, **options
        )

    write(one)
    # 30 row groups of 20,000 rows of three texts.
    write(many, row_group_bytes=20_000 * 80)
    assert described(many) > 6 * described(one)
    assert pl.read_parquet(one).equals(pl.read_parquet(many))


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
