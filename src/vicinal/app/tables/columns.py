"""Decisions about the columns of a table: numbers, categories, or left out.

Missing numbers stay missing (NaN): they are imputed inside each split.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.cells import (
    NO,
    YES,
    as_names,
    days,
    dtype_in_words,
    mixed_cells,
    numbers,
    unnamed,
    vector_length,
    vectors,
    yes_or_no,
)
from vicinal.app.tables.names import TableError, counted, near, printable
from vicinal.app.tables.notation import (
    RARE_DATES,
    check_date_form,
    check_number_form,
    common_date_form,
    date_forms,
    number_form,
    why_no_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from vicinal._typing import FloatArray

__all__ = ["Columns", "Decision", "Overrides", "kind_of"]

_KEPT = ("number", "yes/no", "date", "category", "vector")
_LEFT_OUT = ("constant", "identifier", "text", "empty", "target", "dropped")
_READERS = {"number": numbers, "yes/no": yes_or_no, "date": days}
_IDENTIFIER = re.compile(
    r"(?i:(.*[_\s.-])?(id|uuid|guid|index|idx|rownum)|unnamed: \d+)|.*[a-z]I[dD]"
)
#: Text with more distinct values is not one-hot encoded unless the user says so.
_MAX_CATEGORIES = 50
#: Fewer integers may be in order by chance.
_MIN_ORDERED_ROWS = 20
#: A stored description with more features is refused.
_MAX_FEATURES = 1_000_000


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
    """

    column: str
    kind: str
    reason: str = ""
    form: str = ""
    asked: bool = False
    option: str = field(default="", compare=False)

    @property
    def kept(self) -> bool:
        """Whether the column became features."""
        return self.kind in _KEPT


@dataclass(frozen=True)
class Overrides:
    """Decisions about columns that the user makes.

    Attributes
    ----------
    drop : tuple of str
        Columns to leave out.
    categorical : tuple of str
        Columns of categories, even if their values look like numbers.
    number : tuple of str
        Columns of numbers; other cells count as missing.
    date : dict of str to str
        Columns of dates; other cells count as missing. The values are formats of
        `datetime.strptime`; an empty one is found from the cells.
    decimal : {",", "."}, default=None
        Decimal sign of numbers in text; by default, the cells determine it.

    Examples
    --------
    >>> from vicinal.app.tables.columns import Overrides
    >>> asked = Overrides.of(drop=["a,b"], date=["day=%d/%m/%Y"])
    >>> asked.resolved(["a", "b", "day"])
    Overrides(drop=('a', 'b'), ..., date={'day': '%d/%m/%Y'}, decimal=None)
    """

    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    number: tuple[str, ...] = ()
    date: Mapping[str, str] = field(default_factory=dict)
    decimal: str | None = None

    @classmethod
    def of(
        cls,
        *,
        drop: str | Iterable[str] | None = None,
        categorical: str | Iterable[str] | None = None,
        number: str | Iterable[str] | None = None,
        date: str | Iterable[str] | Mapping[str, str] | None = None,
        decimal: str | None = None,
    ) -> Overrides:
        """Read names as they are written in a command or a call.

        Parameters
        ----------
        drop, categorical, number : str or iterable of str, default=None
            Names of columns.
        date : str, iterable of str or mapping, default=None
            Names of columns, optionally followed by ``=`` and a format; or a
            dictionary from names to formats.
        decimal : str, default=None
            ``","`` or ``"."``.

        Returns
        -------
        Overrides
            Names are not checked yet.
        """
        if decimal not in (None, ",", "."):
            raise ValueError(
                f"The decimal sign is a comma or a point, not {decimal!r}."
            )
        listed = [
            () if x is None else (x,) if isinstance(x, str) else tuple(map(str, x))
            for x in (drop, categorical, number, date)
        ]
        pairs = (name.partition("=%") for name in listed.pop())
        dates = {name: equals[1:] + form for name, equals, form in pairs}
        if isinstance(date, Mapping):
            dates = dict(date)
        for name, form in dates.items():
            if not check_date_form(form):
                raise ValueError(
                    f"{form!r} is not a format of dates for {name!r}; write it like "
                    "%d.%m.%Y or %m/%d/%Y %H:%M."
                )
        return cls(listed[0], listed[1], listed[2], dates, decimal)

    def resolved(self, columns: list[str]) -> Overrides:
        """Check the names against the columns of a table.

        Parameters
        ----------
        columns : list of str
            All names.

        Returns
        -------
        Overrides
            ``a,b`` has become two names unless a column has that name.

        Raises
        ------
        ValueError
            If a column does not exist or is named twice.
        """
        known = set(columns)

        def existing(names: Iterable[str]) -> tuple[str, ...]:
            found: list[str] = []
            for name in names:
                found += [name] if name in known else map(str.strip, name.split(","))
            for name in found:
                if name not in known:
                    hint = near(name, columns) or "."
                    raise TableError(f"There is no column {name!r}{hint}")
            return tuple(found)

        result = replace(
            self,
            drop=existing(self.drop),
            categorical=existing(self.categorical),
            number=existing(self.number),
            date={one: x for name, x in self.date.items() for one in existing([name])},
        )
        named = (*result.drop, *result.categorical, *result.number, *result.date)
        for name, times in Counter(named).items():
            if times > 1:
                raise TableError(
                    f"Column {name!r} is named twice; drop it, or say that it holds "
                    "categories, numbers or dates."
                )
        return result

    def kind(self, column: str) -> str | None:
        """Return the kind of a column by the user's word, or None."""
        kinds = {
            "dropped": self.drop,
            "category": self.categorical,
            "number": self.number,
            "date": self.date,
        }
        return next((kind for kind, names in kinds.items() if column in names), None)


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
    import polars as pl

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
    if dtype == pl.Boolean or _all_yes_or_no(present):
        return Decision(name, "yes/no", missing)
    if dtype.is_temporal():
        return Decision(name, "date", _join("in days", missing))
    if dtype != pl.String:
        words = dtype_in_words(dtype)
        return Decision(name, "text", f"{words}, neither numbers nor categories")
    if forms := date_forms(present.unique(maintain_order=True)):
        written = f"written {forms[0]}" if forms[0] else ""
        written += f", or {forms[1]}" if len(forms) > 1 else ""
        reason = _join("in days", written, missing)
        option = "date" if len(forms) > 1 else ""
        return Decision(name, "date", reason, forms[0], option=option)
    return _kind_of_text(name, present, missing)


def _kind_of_numbers(name: str, present: pl.Series, n_rows: int) -> Decision:
    import polars as pl

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
        span = int(present.max()) - int(present.min()) + 1  # type: ignore[arg-type]
        if n_rows >= _MIN_ORDERED_ROWS and span == n_rows:
            return Decision(name, "identifier", "it counts the rows")
        in_order = present.is_sorted() or present.is_sorted(descending=True)
        if n_rows >= _MIN_ORDERED_ROWS and in_order:
            reason = "it only grows, or only falls, from row to row"
            return Decision(name, "identifier", reason)
    infinite = f"{counted(n_infinite, 'infinite value')} as missing"
    missing = _missing(n_rows - len(present) - n_infinite)
    return Decision(name, "number", _join(infinite if n_infinite else "", missing))


def _kind_of_text(name: str, present: pl.Series, missing: str) -> Decision:
    n, n_distinct = len(present), present.n_unique()
    if reason := why_no_vectors(present):
        return Decision(name, "text", reason)
    mixed = mixed_cells(present)
    option = mixed.kind if mixed else ""
    if n_distinct == n and not mixed:
        return Decision(name, "identifier", "each row has its own value")
    kind, reason = "category", _join(f"{n_distinct} values", missing)
    if n_distinct > _MAX_CATEGORIES:
        kind = "text"
        reason = f"{n_distinct:,} distinct values, more than {_MAX_CATEGORIES}"
    elif 2 * n_distinct > n:
        kind, reason = "text", f"{n_distinct:,} distinct values in {n:,} rows"
    return Decision(name, kind, _join(reason, str(mixed or "")), option=option)


def _all_yes_or_no(present: pl.Series) -> bool:
    import polars as pl

    if present.dtype != pl.String:
        return False
    words = present.unique().str.to_lowercase().unique().to_list()
    return any({yes, no} == set(words) for yes, no in zip(YES, NO, strict=True))


def _missing(n: int) -> str:
    return f"{n:,} missing" if n else ""


def _join(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _asked_kind(
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
        raise TableError(
            f"Column {name!r} holds {dtype_in_words(present.dtype)}, which cannot be "
            f"read as a {kind}; leave it out.",
            option="drop",
            value=name,
        )
    if kind == "category":
        n = as_names(present).n_unique()
        if n == 1:
            reason = f"always {printable(present[0])}"
            return Decision(name, "constant", reason, asked=True)
        if n > max_categories:
            raise TableError(
                f"Column {name!r} has {n:,} values, more than the "
                f"{max_categories:,} that can be categories."
            )
        return Decision(name, kind, f"asked for, {n} values", asked=True)
    form = form or _find_form(present, kind)
    values = _READERS[kind](column, form, asked=True)
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        raise TableError(
            f"No cell of column {name!r} is a {kind}; the first one is "
            f"{printable(present[0])!r}."
        )
    if (finite == finite[0]).all():
        return Decision(name, "constant", f"always {finite[0]:g}", asked=True)
    lost = len(present) - finite.size
    unread = f"{counted(lost, 'other cell')} as missing" if lost else ""
    reason = _join("asked for", unread, _missing(len(column) - len(present)))
    return Decision(name, kind, reason, form, asked=True)


def _find_form(present: pl.Series, kind: str) -> str:
    """Find the notation of a column that the user calls numbers or dates."""
    import polars as pl

    if kind == "date" and present.dtype.is_integer():
        return "%Y%m%d"
    if present.dtype != pl.String:
        return ""
    distinct = present.unique(maintain_order=True)
    if kind == "number":
        return (number_form(distinct.head(1000).to_list()) or ("",))[0]
    forms = date_forms(distinct, RARE_DATES)
    return forms[0] if forms else common_date_form(distinct, RARE_DATES) or ""


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
        import polars as pl

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
        return [name for name, _ in self._features()]

    @property
    def kept_indexes(self) -> list[int]:
        """Index of each feature's column among those that are not the target."""
        return [index for _, index in self._features()]

    def _features(self) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        candidates = (one for one in self.decisions if one.kind != "target")
        for index, decision in enumerate(candidates):
            name, kind = decision.column, decision.kind
            names = [name] if decision.kept else []
            if kind == "vector":
                names = [f"{name}[{i}]" for i in range(self.lengths[name])]
            if kind == "category":
                values = self.categories[name]
                shown = values[1:] if len(values) == 2 else values
                names = [f"{name}={one}" if one else f"{name} missing" for one in shown]
            found += [(one, index) for one in names]
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
            The same rows.

        Raises
        ------
        ValueError
            If a column does not exist.
        """
        import polars as pl

        decisions, columns = zip(*self._kept_columns(frame), strict=True)
        result = pl.DataFrame(columns)
        # polars would rename a column without a name to column_0.
        result.columns = [one.column for one in decisions]
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
            del one["option"]
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
        _check_description(stored)
        result = cls(
            tuple(Decision(**one) for one in stored["decisions"]),
            {name: tuple(values) for name, values in stored["categories"].items()},
            stored["dtype"],
            stored["lengths"],
        )
        _demand(len(result.kept_indexes) <= _MAX_FEATURES, "the number of features")
        return result


def _check_description(stored: Any) -> None:
    """Raise ValueError unless `Columns.to_dict` could have returned it."""
    keys = {"decisions", "categories", "lengths", "dtype"}
    _demand(isinstance(stored, dict) and set(stored) == keys, "its keys")
    decisions, categories = stored["decisions"], stored["categories"]
    _demand(isinstance(decisions, list), "decisions")
    for one in decisions:
        fields = {"column": str, "kind": str, "reason": str, "form": str, "asked": bool}
        _demand(isinstance(one, dict) and set(one) == set(fields), "a decision's keys")
        for key, expected in fields.items():
            _demand(isinstance(one[key], expected), "a decision")
        _demand(one["kind"] in _KEPT + _LEFT_OUT, "a column's kind")
        check = check_date_form if one["kind"] == "date" else check_number_form
        _demand(check(one["form"]), "a form")
    names = [one["column"] for one in decisions]
    _demand(len(set(names)) == len(names), "repeated columns")
    lengths = stored["lengths"]
    for kind, found in (("category", categories), ("vector", lengths)):
        own = {one["column"] for one in decisions if one["kind"] == kind}
        _demand(isinstance(found, dict) and set(found) == own, f"the {kind} columns")
    for values in categories.values():
        _demand(isinstance(values, list) and len(values) > 1, "categories")
        _demand(all(isinstance(value, str) for value in values), "categories")
        _demand(len(set(values)) == len(values), "repeated categories")
        _demand("" not in values[:-1], "categories")
    for length in lengths.values():
        _demand(type(length) is int and 0 < length <= _MAX_FEATURES, "lengths")
    total = sum(lengths.values()) + sum(map(len, categories.values()))
    _demand(total <= _MAX_FEATURES, "the number of features")
    _demand(stored["dtype"] in ("float32", "float64"), "dtype")


def _demand(holds: bool, part: str) -> None:
    if not holds:
        raise ValueError(f"The description of the columns is not valid: {part}.")


def _values(column: pl.Series) -> tuple[str, ...]:
    """Return the sorted categories, and an empty one if three or more have gaps."""
    values = tuple(as_names(column.drop_nulls()).unique().sort().to_list())
    return (*values, "") if len(values) > 2 and column.null_count() else values


def _indicators(column: pl.Series, values: tuple[str, ...]) -> FloatArray:
    """Return one feature for two categories, and one each for more."""
    import polars as pl

    text = as_names(unnamed(column)[1])
    names = [value for value in values if value]
    # One pass over the text: the category of each row, or -1.
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
