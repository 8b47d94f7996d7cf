"""Vectors that are written as text: `[0.1, 0.2, 0.3]`, as CSV files hold embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vicinal.app.tables.names import printable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["looks_like_vectors", "read_vectors", "why_no_vectors"]

# A list in brackets, its numbers apart by commas, semicolons or blanks.
_BRACKETS = r"(?s)^\[.*\]$"
_BETWEEN = r"[\s,;]+"


def looks_like_vectors(cells: list[str]) -> bool:
    """Whether all of some cells stand in brackets.

    Parameters
    ----------
    cells : list of str
        Some cells of a column, without blanks around them.

    Returns
    -------
    bool
        Whether it is worth reading all of them.
    """
    return bool(cells) and all(
        one.startswith("[") and one.endswith("]") for one in cells
    )


def read_vectors(column: pl.Series) -> pl.Series:
    """Read cells like ``[0.1, 0.2]`` or ``[0.1 0.2]`` as lists of numbers.

    Parameters
    ----------
    column : polars.Series
        Of text, as `vicinal.app.tables.cells.clean` leaves it.

    Returns
    -------
    polars.Series
        Of lists of float64; null where a cell is no such list.

    Examples
    --------
    >>> import polars as pl
    >>> from vicinal.app.tables.text_vectors import read_vectors
    >>> read_vectors(pl.Series(["[1, 2.5]", "[ 1. 2e-3]", "[1, red]"])).to_list()
    [[1.0, 2.5], [1.0, 0.002], None]
    """
    import polars as pl

    text = pl.col("text")
    bare = text.str.strip_chars("[] \t\r\n").str.replace_all(_BETWEEN, ",")
    numbers = bare.str.split(",").list.eval(pl.element().cast(pl.Float64, strict=False))
    gaps = numbers.list.eval(pl.element().is_null()).list.any()
    whole = text.str.contains(_BRACKETS) & ~gaps
    read = pl.DataFrame({"text": column}).select(pl.when(whole).then(numbers))
    return read.to_series().rename(column.name)


def why_no_vectors(present: pl.Series) -> str:
    """Say why cells that look like vectors are none.

    Parameters
    ----------
    present : polars.Series
        Cells that are not missing, of a column of text.

    Returns
    -------
    str
        For a person; empty where they look like something else.
    """
    if not looks_like_vectors(present.head(20).to_list()):
        return ""
    read = read_vectors(present)
    wrong = present.filter(read.is_null())
    if len(wrong):
        cell = str(wrong[0])
        if "..." in cell or "…" in cell:
            return (
                "lists of numbers that were shortened with … when they were written; "
                "write all of them, as Parquet or JSON"
            )
        return (
            f"like lists of numbers, but {printable(cell)!r} is none; mend it, or use "
            "Parquet or JSON"
        )
    lengths = sorted(read.list.len().unique().to_list())
    return f"lists of {lengths[0]:,} to {lengths[-1]:,} numbers, no vectors"
