"""What becomes of each column of a table: numbers, categories, or left out.

Missing numbers stay missing (NaN): what fills them is learned inside each split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.tables.cells import cells
from vicinal.tables.column_types import days, kind_of, numbers, yes_or_no
from vicinal.tables.names import near

if TYPE_CHECKING:
    import polars as pl

    from vicinal._typing import FloatArray

__all__ = ["Columns", "Decision"]

_KINDS = ("number", "category", "yes/no", "date")
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
            The rows to decide on.
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
                values = cells(column).drop_nulls().unique().sort()
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
            Rows with the columns that were kept, in any order; others are ignored.

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

        kept = [one for one in self.decisions if one.kept]
        for one in kept:
            if one.column not in frame.columns:
                raise ValueError(
                    f"The table has no column {one.column!r}"
                    f"{near(one.column, frame.columns) or ', which the model needs.'}"
                )
        dtype = pl.Float32 if self.dtype == "float32" else pl.Float64
        features: list[pl.Series] = []
        for one in kept:
            column = cells(frame[one.column])
            if one.kind == "category":
                text = column.cast(pl.String)
                encoded = [
                    (text == value).fill_null(False)
                    for value in self.categories[one.column]
                ]
            elif one.kind == "number":
                encoded = [numbers(column)]
            elif one.kind == "date":
                encoded = [days(column)]
            else:
                encoded = [yes_or_no(column)]
            features += [part.cast(dtype) for part in encoded]
        result = np.empty((frame.height, len(features)), dtype=self.dtype)
        for index, feature in enumerate(features):
            result[:, index] = feature.fill_null(float("nan")).to_numpy()
        return result

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
