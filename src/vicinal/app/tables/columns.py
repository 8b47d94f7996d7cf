"""What becomes of each column of a table: numbers, categories, or left out.

Missing numbers stay missing (NaN): what fills them is learned inside each split.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.column_types import asked_kind, kind_of
from vicinal.app.tables.decisions import (
    FIELDS,
    MOST_FEATURES,
    Decision,
    check_description,
    demand,
)
from vicinal.app.tables.names import near
from vicinal.app.tables.overrides import Overrides
from vicinal.app.tables.values import as_names, days, numbers, vectors, yes_or_no

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from vicinal._typing import FloatArray

__all__ = ["Columns"]

_READERS = {"number": numbers, "yes/no": yes_or_no, "date": days}


@dataclass(frozen=True)
class Columns:
    """The columns of a table as features.

    Attributes
    ----------
    decisions : tuple of Decision
        One for each column of the table, in its order.
    categories : dict of str to tuple of str
        The values of each column of categories, sorted. Two are one feature, which is
        1 for the second of them; more are a feature each. An empty text at the end
        stands for a missing value, where there were some.
    lengths : dict of str to int
        How many components the vectors of a column have.
    dtype : str
        "float32" where all numbers were, else "float64".

    Examples
    --------
    >>> import polars as pl
    >>> from vicinal.app.tables.columns import Columns
    >>> frame = pl.DataFrame({"size": [1.5, None, 2, 4], "colour": list("rgrg")})
    >>> columns = Columns.learn(frame, target=None)
    >>> columns.feature_names
    ['size', 'colour=r']
    >>> columns.encode(frame).tolist()[:2]
    [[1.5, 1.0], [nan, 0.0]]
    """

    decisions: tuple[Decision, ...]
    categories: dict[str, tuple[str, ...]]
    dtype: str = "float64"
    lengths: dict[str, int] = field(default_factory=dict)

    @classmethod
    def learn(
        cls,
        frame: pl.DataFrame,
        target: str | None,
        *,
        forms: Mapping[str, str] | None = None,
        overrides: Overrides | None = None,
    ) -> Columns:
        """Decide what becomes of each column.

        Parameters
        ----------
        frame : polars.DataFrame
            The rows to decide on, as `vicinal.app.tables.cells.typed` returns them.
        target : str or None
            The label's column, which is left out.
        forms : mapping of str to str, default=None
            How numbers were written before `typed` read them.
        overrides : Overrides, default=None
            What a person said, checked against the columns' names.

        Returns
        -------
        Columns
            What was decided.
        """
        import polars as pl

        asked = overrides or Overrides()
        known = forms or {}
        decisions, kept = [], []
        categories: dict[str, tuple[str, ...]] = {}
        lengths: dict[str, int] = {}
        for column in frame.iter_columns():
            name = column.name
            if name == target:
                decisions.append(Decision(name, "target"))
                continue
            said = asked.kind(name)
            if said is None:
                found = kind_of(column)
            else:
                form = asked.date.get(name, "") or known.get(name, "")
                found = asked_kind(column, said, form)
            form = known.get(name, "") if found.kind == "number" else ""
            decision = Decision(
                name, found.kind, found.reason, found.form or form, said is not None
            )
            decisions.append(decision)
            if found.kind == "category":
                categories[name] = _values(column)
            if found.kind == "vector":
                lengths[name] = found.length
            if decision.kept:
                kept.append(getattr(column.dtype, "inner", column.dtype))
        single = bool(kept) and all(dtype == pl.Float32 for dtype in kept)
        dtype = "float32" if single else "float64"
        return cls(tuple(decisions), categories, dtype, lengths)

    @property
    def feature_names(self) -> list[str]:
        """One for each column of what `encode` returns."""
        return [name for name, _ in self._features()]

    @property
    def kept_indexes(self) -> list[int]:
        """Of each feature: its column's index among those that are not the target."""
        return [index for _, index in self._features()]

    def _features(self) -> list[tuple[str, int]]:
        candidates = [one for one in self.decisions if one.kind != "target"]
        return [
            (name, index)
            for index, one in enumerate(candidates)
            if one.kept
            for name in self._names(one)
        ]

    def _names(self, one: Decision) -> list[str]:
        name = one.column
        if one.kind == "vector":
            return [f"{name}[{index}]" for index in range(self.lengths[name])]
        if one.kind != "category":
            return [name]
        values = self.categories[name]
        shown = values[1:] if len(values) == 2 else values
        return [f"{name}={value}" if value else f"{name} missing" for value in shown]

    def encode(self, frame: pl.DataFrame) -> FloatArray:
        """Turn rows into numbers.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows with the columns that were kept, in any order, as
            `vicinal.app.tables.cells.clean` returns them; others are ignored.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            NaN where a number is missing, or which of two categories it is. One of
            more categories that is unknown is zero in all of its column's features;
            so is a missing one, unless some were missing when the columns were learned.

        Raises
        ------
        ValueError
            When a column is not there, or holds something else than it did.
        """
        result = np.empty((frame.height, len(self.kept_indexes)), dtype=self.dtype)
        start = 0
        for one, column in self._kept_columns(frame):
            if one.kind == "category":
                part = _indicators(column, self.categories[one.column])
            elif one.kind == "vector":
                part = vectors(column, self.lengths[one.column])
            else:
                part = _READERS[one.kind](column, one.form, asked=one.asked)[:, None]
            result[:, start : start + part.shape[1]] = part
            start += part.shape[1]
        return result

    def kept_part(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the columns that `encode` needs, in the order of the decisions.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows with these columns and others.

        Returns
        -------
        polars.DataFrame
            As many rows.

        Raises
        ------
        ValueError
            When a column is not there.
        """
        import polars as pl

        decisions, columns = zip(*self._kept_columns(frame), strict=True)
        result = pl.DataFrame(columns)
        # polars would call a column without a name column_0.
        result.columns = [one.column for one in decisions]
        return result

    def _kept_columns(
        self, frame: pl.DataFrame
    ) -> Iterator[tuple[Decision, pl.Series]]:
        # A dictionary: polars finds a column by looking at one after the other.
        columns = dict(zip(frame.columns, frame.iter_columns(), strict=True))
        for one in self.decisions:
            if one.kept and one.column not in columns:
                # A column that the model uses for itself is no other one misspelt.
                used = {other.column for other in self.decisions if other.kept}
                free = [name for name in columns if name not in used]
                raise ValueError(
                    f"The table has no column {one.column!r}, which the model uses"
                    f"{near(one.column, free) or '.'}"
                )
        return ((one, columns[one.column]) for one in self.decisions if one.kept)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it.

        Returns
        -------
        dict
            What `from_dict` takes.
        """
        return {
            "decisions": [
                {key: getattr(one, key) for key in FIELDS} for one in self.decisions
            ],
            "categories": {name: list(x) for name, x in self.categories.items()},
            "lengths": dict(self.lengths),
            "dtype": self.dtype,
        }

    @classmethod
    def from_dict(cls, stored: Any) -> Columns:
        """Check what `to_dict` returned once and somebody may have edited since.

        Parameters
        ----------
        stored : dict
            From JSON.

        Returns
        -------
        Columns
            The same as was stored.

        Raises
        ------
        ValueError
            When it is anything else.
        """
        check_description(stored)
        decisions, categories = stored["decisions"], stored["categories"]
        result = cls(
            tuple(Decision(**one) for one in decisions),
            {name: tuple(values) for name, values in categories.items()},
            stored["dtype"],
            stored["lengths"],
        )
        demand(len(result.kept_indexes) <= MOST_FEATURES, "the number of features")
        return result


def _values(column: pl.Series) -> tuple[str, ...]:
    """Return the categories, sorted, and a place for missing ones beside three."""
    values = tuple(as_names(column.drop_nulls()).unique().sort().to_list())
    return (*values, "") if len(values) > 2 and column.null_count() else values


def _indicators(column: pl.Series, values: tuple[str, ...]) -> FloatArray:
    """Return one feature for two categories, and one each for more of them."""
    import polars as pl

    text = as_names(column)
    names = [value for value in values if value]
    # One pass over the text: which category each row has, or -1 for none of them.
    codes = text.replace_strict(
        names, list(range(len(names))), default=-1, return_dtype=pl.Int64
    ).to_numpy()
    missing = text.is_null().to_numpy()
    if len(values) == 2:
        known = (codes >= 0) & ~missing
        return np.where(known, codes, np.nan)[:, None]
    codes = np.where(missing, len(values) - 1 if values[-1] == "" else -1, codes)
    result = np.zeros((len(codes), len(values)))
    (rows,) = np.nonzero(codes >= 0)
    result[rows, codes[rows].astype(np.intp)] = 1
    return result
