"""Tables that are already in memory: frames of polars and of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.names import distinct_names

if TYPE_CHECKING:
    import polars as pl

__all__ = ["is_frame", "to_polars"]


def is_frame(table: object) -> bool:
    """Whether something is a data frame of pandas or polars.

    Parameters
    ----------
    table : object
        Anything.

    Returns
    -------
    bool
        Neither library is imported to find out.
    """
    kind = type(table)
    names = {
        f"{one.__module__.partition('.')[0]}.{one.__name__}" for one in kind.__mro__
    }
    return bool(names & {"pandas.DataFrame", "polars.DataFrame", "polars.LazyFrame"})


def to_polars(table: Any) -> pl.DataFrame:
    """Return a frame of pandas or polars as one of polars.

    Parameters
    ----------
    table : DataFrame
        Columns' names need not be text; pandas' index is left out.

    Returns
    -------
    polars.DataFrame
        With names that are distinct.

    Raises
    ------
    ValueError
        When a column holds what no table does.
    """
    import polars as pl

    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, pl.DataFrame):
        return table
    names = distinct_names([str(name) for name in table.columns])
    # By place: pandas allows several columns of one name.
    columns = [_series(name, table.iloc[:, index]) for index, name in enumerate(names)]
    return pl.DataFrame(columns)


def _series(name: str, column: Any) -> pl.Series:
    """Turn one column of pandas into one of polars, without pyarrow."""
    import polars as pl

    kind = str(column.dtype)
    if kind == "category":
        # Its values are names, whatever they look like.
        values = [None if one != one else str(one) for one in column.tolist()]
        return pl.Series(name, values, dtype=pl.String).cast(pl.Categorical)
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        array = np.ascontiguousarray(column.to_numpy())
        return pl.Series(name, array.astype("f4") if kind == "float16" else array)
    if kind.startswith(("datetime64", "timedelta64")):
        if getattr(column.dt, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        unit = "datetime64[us]" if kind.startswith("datetime") else "timedelta64[us]"
        return pl.Series(name, column.to_numpy().astype(unit))
    missing = column.isna().to_numpy()
    values = [
        None if lost else _plain(one)
        for one, lost in zip(column.tolist(), missing, strict=True)
    ]
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        texts = [None if one is None else str(one) for one in values]
        return pl.Series(name, texts, dtype=pl.String)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value
