"""Decisions about the columns of a table: numbers, categories, or left out.

Missing numbers stay missing (NaN): they are imputed inside each split.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from vicinal._typing import FloatArray
from vicinal.app.tables._polars import pl
from vicinal.app.tables.cells import (
    NO,
    YES,
    as_names,
    check_notation,
    dtype_in_words,
    mixed_cells,
    read_cells,
    unnamed,
    vector_length,
    vectors,
)
from vicinal.app.tables.inputs import DATE_FORM, Overrides
from vicinal.app.tables.names import TableError, counted, listed, near, printable
from vicinal.app.tables.notation import (
    NUMBER_FORM,
    RARE_DATES,
    common_date_form,
    date_forms,
    why_no_vectors,
)

_KEPT = ("number", "yes/no", "date", "category", "vector")
_LEFT_OUT = ("constant", "identifier", "text", "empty", "target", "dropped")
_IDENTIFIER = re.compile(
    r"(?i:(.*[_\s.-])?(id|uuid|guid|index|idx|rownum)|unnamed: \d+)|.*[a-z]I[dD]"
)


@dataclass(frozen=True)
class Decision:
    """The use of one column, and the reason.

    Attributes
    ----------
    column : str
        Name of the column.
    kind : str
        "number", "category", "yes/no", "date" or "vector", which are kept;
        "constant", "identifier", "text", "empty", "target" or "dropped", which are
        left out.
    reason : str
        For the user; may be empty.
    form : str
        Notation of numbers or dates in text: see `vicinal.app.tables.notation`.
    asked : bool
        Whether the user made the decision: then cells of another type are missing.
    option : {"number", "date", ""}
        Field of `Overrides` that the user may want: if most cells of a column that is
        left out, or of categories, are numbers or dates; or if dates can be read in two
        ways. It is not stored.
    unread : float
        The share of the other cells in that case. It is not stored.
    """

    column: str
    kind: str
    reason: str = ""
    form: str = ""
    asked: bool = False
    option: str = field(default="", compare=False)
    unread: float = field(default=0.0, compare=False)

    @property
    def kept(self) -> bool:
        """Whether the column became features."""
        return self.kind in _KEPT


def kind_of(column: pl.Series) -> Decision:
    """Decide on a column by its cells.

    Parameters
    ----------
    column : polars.Series
        Any type, from `vicinal.app.tables.cells.typed`.

    Returns
    -------
    Decision
        With the reason.
    """
    name, column = unnamed(column)
    present = column.drop_nulls() if column.null_count() else column
    if len(present) == 0:
        return Decision(name, "empty", "no values")
    dtype = present.dtype
    if dtype.is_numeric():
        return _kind_of_numbers(name, present, len(column))
    missing = _missing(len(column) - len(present))
    if dtype in (pl.List, pl.Array):
        length, reason = vector_length(present)
        components = _join(f"{length:,} components", missing)
        return Decision(name, "vector" if length else "text", reason or components)
    if present.n_unique() == 1 and dtype != pl.Struct:
        return Decision(name, "constant", f"always {printable(present[0])}")
    if dtype == pl.Boolean:
        return Decision(name, "yes/no", missing)
    if dtype.is_temporal():
        return Decision(name, "date", _join("in days", missing))
    if dtype != pl.String:
        reason = f"{dtype_in_words(dtype)}, neither numbers nor categories"
        return Decision(name, "text", reason)
    distinct = present.unique(maintain_order=True)
    words = {*distinct.str.to_lowercase()}
    if any(words == {yes, no} for yes, no in zip(YES, NO, strict=True)):
        return Decision(name, "yes/no", missing)
    if forms := date_forms(distinct):
        written = f"written {forms[0]}" if forms[0] else ""
        written += f", or {forms[1]}" if len(forms) > 1 else ""
        reason = _join("in days", written, missing)
        option = "date" if len(forms) > 1 else ""
        return Decision(name, "date", reason, forms[0], option=option)
    return _kind_of_text(name, present, missing)


def _kind_of_numbers(name: str, present: pl.Series, n_rows: int) -> Decision:
    n_infinite = 0
    if present.dtype.is_float():
        # By NumPy: a call of polars takes longer for a short column.
        values = present.to_numpy()
        if not (finite := np.isfinite(values)).all():
            n_infinite = int(np.isinf(values).sum())
            present = present.filter(pl.Series(finite))
    if len(present) == 0:
        return Decision(name, "empty", "no finite values")
    n_distinct = present.n_unique()
    if n_distinct == 1:
        return Decision(name, "constant", f"always {printable(present[0])}")
    if present.dtype.is_integer() and n_distinct == n_rows:
        reason = "named like one, and each row has its own value"
        if _IDENTIFIER.fullmatch(name.strip()):
            return Decision(name, "identifier", reason)
        # Fewer than 20 integers may be in order by chance.
        span = int(present.max()) - int(present.min()) + 1  # type: ignore[arg-type]
        if n_rows >= 20 and span == n_rows:
            return Decision(name, "identifier", "it counts the rows")
        if n_rows >= 20 and (present.is_sorted() or present.is_sorted(descending=True)):
            reason = "it only grows, or only falls, from row to row"
            return Decision(name, "identifier", reason)
    infinite = f"{counted(n_infinite, 'infinite value')} as missing"
    missing = _missing(n_rows - len(present) - n_infinite)
    return Decision(name, "number", _join(infinite if n_infinite else "", missing))


def _kind_of_text(
    name: str, present: pl.Series, missing: str, max_categories: int = 50
) -> Decision:
    n, n_distinct = len(present), present.n_unique()
    if reason := why_no_vectors(present):
        return Decision(name, "text", reason)
    mixed = mixed_cells(present)
    if n_distinct == n and not mixed:
        return Decision(name, "identifier", "each row has its own value")
    kind, reason = "category", _join(f"{n_distinct} values", missing)
    if n_distinct > max_categories:
        kind, reason = (
            "text",
            f"{n_distinct:,} distinct values, more than {max_categories}",
        )
    elif 2 * n_distinct > n:
        kind, reason = "text", f"{n_distinct:,} distinct values in {n:,} rows"
    if not mixed:
        return Decision(name, kind, reason)
    unread = 1 - mixed.n_read / mixed.n_cells
    reason = _join(reason, str(mixed))
    return Decision(name, kind, reason, option=mixed.kind, unread=unread)


def _missing(n: int) -> str:
    return f"{n:,} missing" if n else ""


def _join(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _asked_kind(  # noqa: C901
    column: pl.Series, kind: str, form: str, max_categories: int = 1_000
) -> Decision:
    """Decide on a column by the user's word; raise TableError if it cannot be so."""
    name, column = unnamed(column)
    present = column.drop_nulls()
    if kind == "dropped":
        return Decision(name, kind, "asked for", asked=True)
    if len(present) == 0:
        return Decision(name, "empty", "no values", asked=True)
    if present.dtype.is_nested():
        words = dtype_in_words(present.dtype)
        said = f"Column {name!r} holds {words}, which cannot be read as a {kind}"
        raise TableError(f"{said}; leave it out.", "drop", name)
    if kind == "category":
        n = as_names(present).n_unique()
        if n > max_categories:
            said = f"Column {name!r} has {n:,} values, more than the {max_categories:,}"
            raise TableError(f"{said} that can be categories.")
        if n > 1:
            return Decision(name, kind, f"asked for, {n} values", asked=True)
        return Decision(name, "constant", f"always {printable(present[0])}", asked=True)
    if kind == "date" and not form and present.dtype.is_integer():
        form = "%Y%m%d"
    elif kind == "date" and not form and present.dtype == pl.String:
        distinct = present.unique(maintain_order=True)
        common = common_date_form(distinct, RARE_DATES) or ""
        form = next(iter(date_forms(distinct, RARE_DATES)), common)
    values = read_cells(column, kind, form, asked=True)
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        first = printable(present[0])
        raise TableError(
            f"No cell of column {name!r} is a {kind}; the first one is {first!r}."
        )
    if (finite == finite[0]).all():
        return Decision(name, "constant", f"always {finite[0]:g}", asked=True)
    lost = len(present) - finite.size
    unread = f"{counted(lost, 'other cell')} as missing" if lost else ""
    reason = _join("asked for", unread, _missing(len(column) - len(present)))
    return Decision(name, kind, reason, form, asked=True)


@dataclass(frozen=True)
class Columns:
    """The columns of a table as features.

    Attributes
    ----------
    decisions : tuple of Decision
        One for each column of the table, in its order.
    categories : dict of str to tuple of str
        Sorted values of each column of categories. Two values are one feature, which
        is 1 for the second; more values are a feature each. An empty string at the end
        stands for missing values, if there were some.
    dtype : str
        "float32" if all numbers were, else "float64".
    lengths : dict of str to int
        Length of the vectors of a column.

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
        """Decide on each column.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows from `vicinal.app.tables.cells.typed`.
        target : str or None
            Column of the label, which is left out.
        forms : mapping of str to str, default=None
            Notation of numbers before `typed` read them.
        overrides : Overrides, default=None
            Decisions of the user, with existing names.

        Returns
        -------
        Columns
            The decisions.
        """
        asked, known = overrides or Overrides(), forms or {}
        decisions, kept = [], []
        categories: dict[str, tuple[str, ...]] = {}
        lengths: dict[str, int] = {}
        for named in frame.iter_columns():
            name, column = unnamed(named)
            form = known.get(name, "")
            if name == target:
                decisions.append(Decision(name, "target"))
                continue
            said = asked.kind(name)
            if said is None:
                one = kind_of(named)
            else:
                one = _asked_kind(named, said, asked.date.get(name, "") or form)
            if one.kind == "number" and not one.form:
                one = replace(one, form=form)
            decisions.append(one)
            if one.kind == "category":
                categories[name] = _values(column)
            if one.kind == "vector":
                lengths[name] = vector_length(column.drop_nulls())[0]
            if one.kept:
                kept.append(getattr(column.dtype, "inner", column.dtype))
        single = bool(kept) and all(dtype == pl.Float32 for dtype in kept)
        dtype = "float32" if single else "float64"
        return cls(tuple(decisions), categories, dtype, lengths)

    @property
    def feature_names(self) -> list[str]:
        """Name of each column of the result of `encode`."""
        found: list[str] = []
        for decision in self.decisions:
            name, kind = decision.column, decision.kind
            if kind == "vector":
                found += [f"{name}[{i}]" for i in range(self.lengths[name])]
            elif kind == "category":
                values = self.categories[name]
                shown = values[1:] if len(values) == 2 else values
                found += [
                    f"{name}={one}" if one else f"{name} missing" for one in shown
                ]
            elif decision.kept:
                found.append(name)
        return found

    @property
    def owners(self) -> list[str]:
        """Column of the table of each column of the result of `encode`."""
        found: list[str] = []
        for decision in self.decisions:
            name, n = decision.column, int(decision.kept)
            if decision.kind == "vector":
                n = self.lengths[name]
            elif decision.kind == "category":
                n_values = len(self.categories[name])
                n = 1 if n_values == 2 else n_values
            found += [name] * n
        return found

    def encode(self, frame: pl.DataFrame) -> FloatArray:
        """Convert rows to numbers.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows cleaned by `vicinal.app.tables.cells.clean`; columns that are not kept
            are not needed.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            NaN if a number, a date or one of two categories is missing. An unknown
            category of three or more is zero in all features of its column; so is a
            missing one, unless some were missing when the columns were learned.

        Raises
        ------
        ValueError
            If a column does not exist or changed its type.
        """
        result = np.empty((frame.height, len(self.feature_names)), dtype=self.dtype)
        start = 0
        for one, values in self.read(frame):
            part = values if values.ndim == 2 else values[:, None]
            if one.kind == "category":
                part = _indicators(values, self.categories[one.column])
            result[:, start : start + part.shape[1]] = part
            start += part.shape[1]
        return result

    def read(self, frame: pl.DataFrame) -> Iterator[tuple[Decision, FloatArray]]:
        """Read the kept columns, each as one array, before they are encoded.

        Parameters
        ----------
        frame : polars.DataFrame
            As for `encode`.

        Yields
        ------
        decision : Decision
            The kind of the column.
        values : ndarray of shape (n_rows,), or (n_rows, length) of vectors
            Numbers, days of dates, 0 and 1 of yes/no, or the position of a category
            in `categories`, -1 if it is unknown. NaN if missing.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"colour": ["red", None, "blue", "red", "blue"]})
        >>> columns = Columns.learn(frame, target=None)
        >>> [(one.kind, values.tolist()) for one, values in columns.read(frame)]
        [('category', [1.0, nan, 0.0, 1.0, 0.0])]
        """
        for one, column in self._kept_columns(frame):
            if one.kind == "category":
                yield one, _codes(column, self.categories[one.column])
            elif one.kind == "vector":
                yield one, vectors(column, self.lengths[one.column])
            else:
                values = read_cells(column, one.kind, one.form, asked=one.asked)
                if one.asked and np.isnan(values).all():
                    # Other cells are missing, but not a column in another notation.
                    check_notation(column, one.kind, one.form)
                yield one, values

    def kept_part(
        self, frame: pl.DataFrame, medians: Mapping[str, float] | None = None
    ) -> pl.DataFrame:
        """Return the columns of a new table that `encode` needs, in their order.

        Warns if numbers have separators of thousands that are probably decimal signs:
        if the numbers would then be nearer to those that the model was learned from or,
        without `medians`, if no number of the table has the decimal sign of the model.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows with these columns and others.
        medians : mapping of str to float, default=None
            The median of each feature that the model was learned from.

        Returns
        -------
        polars.DataFrame
            The same rows.

        Raises
        ------
        ValueError
            If a column does not exist.
        """
        decisions, columns = zip(*self._kept_columns(frame), strict=True)
        result = pl.DataFrame(columns)
        # polars would rename a column without a name to column_0.
        result.columns = [one.column for one in decisions]
        texts = {
            one: unnamed(column)[1].drop_nulls()
            for one, column in zip(decisions, columns, strict=True)
            if one.kind == "number" and column.dtype == pl.String
        }
        for sign, mark, called in ((",", ".", "comma"), (".", ",", "point")):
            # One separator alone: 1.234.567 can only have thousands.
            pattern = rf"^[^{mark}]*\d[{mark}]\d{{3}}(?:[^\d{mark}][^{mark}]*)?$"
            doubtful = {}
            for one, text in texts.items():
                if one.form[:1] != sign:
                    continue
                cells = text.filter(text.str.contains(pattern))
                values = read_cells(cells, "number", one.form, asked=True)
                values = np.abs(values[np.isfinite(values)])
                usual = abs((medians or {}).get(one.column, 0.0))
                if values.size and usual > 0:
                    # Nearer without its factor of 1,000, on a logarithmic scale.
                    doubt = float(np.median(values)) > np.sqrt(1000) * usual
                else:
                    doubt = values.size and not any(
                        x.str.contains(sign, literal=True).any()
                        for other, x in texts.items()
                        if (other.form or ".")[0] == sign
                    )
                if doubt:
                    doubtful[one.column] = printable(cells[0])
            if doubtful:
                cell, names = next(iter(doubtful.values())), listed(doubtful)
                warnings.warn(
                    f"{cell!r} is read as {cell.replace(mark, '')}, because the model "
                    f"was learned from decimal {called}s; if the decimal sign in "
                    f"{names} is another one, write {called}s.",
                    UserWarning,
                    stacklevel=2,
                )
        return result

    def _kept_columns(
        self, frame: pl.DataFrame
    ) -> Iterator[tuple[Decision, pl.Series]]:
        # A dictionary: polars searches all columns for a name.
        columns = dict(zip(frame.columns, frame.iter_columns(), strict=True))
        for one in self.decisions:
            if one.kept and one.column not in columns:
                # Another column that the model uses is not this one misspelled.
                used = {other.column for other in self.decisions if other.kept}
                free = [name for name in columns if name not in used]
                raise TableError(
                    f"The table has no column {one.column!r}, which the model uses"
                    f"{near(one.column, free) or '.'}"
                )
        return ((one, columns[one.column]) for one in self.decisions if one.kept)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it, for `from_dict`."""
        decisions = [asdict(one) for one in self.decisions]
        for one in decisions:
            del one["option"], one["unread"]
        return {
            "decisions": decisions,
            "categories": {name: list(x) for name, x in self.categories.items()},
            "lengths": dict(self.lengths),
            "dtype": self.dtype,
        }

    @classmethod
    def from_dict(cls, stored: Any) -> Columns:
        """Restore and check the result of `to_dict`, which may have been edited.

        Parameters
        ----------
        stored : dict
            From JSON.

        Returns
        -------
        Columns
            The stored columns.

        Raises
        ------
        ValueError
            If it is anything else.
        """
        valid = False
        with suppress(TypeError, LookupError, AttributeError, ValueError):
            decisions = tuple(Decision(**one) for one in stored["decisions"])
            categories = {name: tuple(x) for name, x in stored["categories"].items()}
            result = cls(decisions, categories, stored["dtype"], stored["lengths"])
            texts = [json.dumps(x, sort_keys=True) for x in (stored, result.to_dict())]
            valid = texts[0] == texts[1] and result._is_valid()
        if not valid:
            raise ValueError("The description of the columns is not valid.")
        return result

    def _is_valid(self, max_features: int = 1_000_000) -> bool:
        """Whether `learn` could have made these decisions; all types are JSON's."""
        forms = dict.fromkeys(_KEPT + _LEFT_OUT, NUMBER_FORM) | {"date": DATE_FORM}
        kinds = {one.column: one.kind for one in self.decisions}
        values, lengths = self.categories.values(), self.lengths.values()
        return (
            all(
                isinstance(one.column, str)
                and isinstance(one.reason, str)
                and type(one.asked) is bool
                and forms[one.kind].fullmatch(one.form)
                for one in self.decisions
            )
            and len(kinds) == len(self.decisions)
            and {x for x in kinds if kinds[x] == "category"} == set(self.categories)
            and {x for x in kinds if kinds[x] == "vector"} == set(self.lengths)
            and all(isinstance(one, str) for several in values for one in several)
            and all(1 < len(x) == len(set(x)) and "" not in x[:-1] for x in values)
            and all(type(one) is int and one > 0 for one in lengths)
            and sum(lengths) + sum(map(len, values)) <= max_features
            and self.dtype in ("float32", "float64")
        )


def _values(column: pl.Series) -> tuple[str, ...]:
    """Return the sorted categories, and an empty one if three or more have gaps."""
    values = tuple(as_names(column.drop_nulls()).unique().sort().to_list())
    return (*values, "") if len(values) > 2 and column.null_count() else values


def _codes(column: pl.Series, values: tuple[str, ...]) -> FloatArray:
    """Return the position of each cell among the categories; NaN if missing."""
    names = [value for value in values if value]
    text = as_names(unnamed(column)[1])
    codes = text.replace_strict(
        names, list(range(len(names))), default=-1, return_dtype=pl.Int64
    ).to_numpy()
    return np.where(text.is_null().to_numpy(), np.nan, codes)


def _indicators(codes: FloatArray, values: tuple[str, ...]) -> FloatArray:
    """Return one feature for two categories, and one each for more."""
    if len(values) == 2:
        return np.where(codes >= 0, codes, np.nan)[:, None]
    gap = len(values) - 1 if values[-1] == "" else -1
    return np.asarray(
        np.where(np.isnan(codes), gap, codes)[:, None] == np.arange(len(values)),
        dtype=np.float64,
    )
