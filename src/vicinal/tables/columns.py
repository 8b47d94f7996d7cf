"""What becomes of each column of a table: numbers, categories, or left out.

Missing numbers stay missing (NaN): what fills them is learned inside each split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.tables.column_types import days, kind_of, numbers, yes_or_no
from vicinal.tables.names import near

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from vicinal._typing import FloatArray

__all__ = ["Columns", "Decision"]

_READERS = {"number": numbers, "yes/no": yes_or_no, "date": days}
_KINDS = (*_READERS, "category")
_LEFT_OUT = ("constant", "identifier", "text", "empty", "target")
_MOST_FEATURES = 1_000_000


@dataclass(frozen=True)
class Decision:
    """What became of one column, and why.

    Attributes
    ----------
    column : str
        Its name in the table.
    kind : str
        "number", "category", "yes/no" or "date", which are kept; "constant",
        "identifier", "text", "empty" or "target", which are left out.
    reason : str
        For a person; may be empty.
    """

    column: str
    kind: str
    reason: str = ""

    @property
    def kept(self) -> bool:
        """Whether the column became features."""
        return self.kind in _KINDS


@dataclass(frozen=True)
class Columns:
    """The columns of a table as features.

    Attributes
    ----------
    decisions : tuple of Decision
        One for each column of the table, in its order.
    categories : dict of str to tuple of str
        The values of each column that is one-hot encoded, sorted.
    dtype : str
        "float32" where all numbers were, else "float64".

    Examples
    --------
    >>> import polars as pl
    >>> from vicinal.tables.columns import Columns
    >>> frame = pl.DataFrame({"size": [1.5, None, 2, 4], "colour": list("rgrg")})
    >>> columns = Columns.learn(frame, target=None)
    >>> columns.feature_names
    ['size', 'colour=g', 'colour=r']
    >>> columns.encode(frame).tolist()[:2]
    [[1.5, 0.0, 1.0], [nan, 1.0, 0.0]]
    """

    decisions: tuple[Decision, ...]
    categories: dict[str, tuple[str, ...]]
    dtype: str = "float64"

    @classmethod
    def learn(cls, frame: pl.DataFrame, target: str | None) -> Columns:
        """Decide what becomes of each column.

        Parameters
        ----------
        frame : polars.DataFrame
            The rows to decide on, as `vicinal.tables.cells.clean` returns them.
        target : str or None
            The label's column, which is left out.

        Returns
        -------
        Columns
            What was decided.
        """
        import polars as pl

        decisions = []
        categories = {}
        kept = []
        for column in frame.iter_columns():
            if column.name == target:
                decisions.append(Decision(column.name, "target"))
                continue
            decision = Decision(column.name, *kind_of(column))
            decisions.append(decision)
            if decision.kind == "category":
                values = column.drop_nulls().unique().sort()
                categories[column.name] = tuple(values.to_list())
            if decision.kept:
                kept.append(column.dtype)
        single = bool(kept) and all(dtype == pl.Float32 for dtype in kept)
        return cls(tuple(decisions), categories, "float32" if single else "float64")

    @property
    def feature_names(self) -> list[str]:
        """One for each column of what `encode` returns."""
        return [
            name if value is None else f"{name}={value}"
            for name, value, _ in self._features()
        ]

    @property
    def kept_indexes(self) -> list[int]:
        """Of each feature: its column's place among those that are not the target."""
        return [index for _, _, index in self._features()]

    def _features(self) -> list[tuple[str, str | None, int]]:
        candidates = [one for one in self.decisions if one.kind != "target"]
        return [
            (one.column, value, index)
            for index, one in enumerate(candidates)
            if one.kept
            for value in self.categories.get(one.column, (None,))
        ]

    def encode(self, frame: pl.DataFrame) -> FloatArray:
        """Turn rows into numbers.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows with the columns that were kept, in any order, as
            `vicinal.tables.cells.clean` returns them; others are ignored.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            NaN where a number is missing. An unknown or missing category is zero in
            all of its column's features.

        Raises
        ------
        ValueError
            When a column is not there, or holds something else than it did.
        """
        import polars as pl

        result = np.empty((frame.height, len(self.kept_indexes)), dtype=self.dtype)
        start = 0
        for one, column in self._kept_columns(frame):
            if one.kind == "category":
                text = column.cast(pl.String)
                values = self.categories[one.column]
                for index, value in enumerate(values, start=start):
                    result[:, index] = (text == value).fill_null(False).to_numpy()
                start += len(values)
                continue
            read = _READERS[one.kind]
            result[:, start] = read(column)
            start += 1
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
                raise ValueError(
                    f"The table has no column {one.column!r}"
                    f"{near(one.column, list(columns)) or ', which the model needs.'}"
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
                {"column": one.column, "kind": one.kind, "reason": one.reason}
                for one in self.decisions
            ],
            "categories": {name: list(x) for name, x in self.categories.items()},
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
        _demand(_keys(stored) == {"decisions", "categories", "dtype"}, "its keys")
        decisions, categories = stored["decisions"], stored["categories"]
        _demand(isinstance(decisions, list), "decisions")
        for one in decisions:
            _demand(_keys(one) == {"column", "kind", "reason"}, "a decision's keys")
            _demand(all(isinstance(x, str) for x in one.values()), "a decision")
            _demand(one["kind"] in _KINDS + _LEFT_OUT, "a column's kind")
        names = [one["column"] for one in decisions]
        _demand(len(set(names)) == len(names), "repeated columns")
        one_hot = {one["column"] for one in decisions if one["kind"] == "category"}
        _demand(_keys(categories) == one_hot, "the columns with categories")
        for values in categories.values():
            _demand(isinstance(values, list) and len(values) > 0, "categories")
            _demand(all(isinstance(value, str) for value in values), "categories")
            _demand(len(set(values)) == len(values), "repeated categories")
        _demand(stored["dtype"] in ("float32", "float64"), "dtype")
        result = cls(
            tuple(Decision(**one) for one in decisions),
            {name: tuple(values) for name, values in categories.items()},
            stored["dtype"],
        )
        _demand(len(result.kept_indexes) <= _MOST_FEATURES, "the number of features")
        return result


def _keys(value: Any) -> set[str] | None:
    return set(value) if isinstance(value, dict) else None


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"The description of the columns is not valid: {what}.")
