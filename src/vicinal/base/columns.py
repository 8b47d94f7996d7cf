"""Columns of a table as numbers and codes, for maps that take tables as they are."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.utils import _safe_indexing, check_array

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.metric import validate_data, warn_caller


class RawRows(NamedTuple):
    """Rows of a table: numbers (NaN if missing) and lists of categories.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_numbers)
        Numeric columns, in the order of the table.
    categorical : list of int
        Positions of the categorical columns.
    values : list of list
        Values of each categorical column: strings or numbers, None if missing.
    ordered : list of (list or None)
        Levels of each numeric column that is an ordered category; its ranks are the
        numbers. None for other columns.
    from_frame : bool
        Whether the rows are those of a data frame.
    dates : list of int
        Numeric columns that are dates.
    """

    numbers: FloatArray
    categorical: list[int]
    values: list[list[Any]]
    ordered: list[list[Any] | None]
    from_frame: bool
    dates: list[int]


class EncodedRows(NamedTuple):
    """Rows as numbers, flags and codes.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_numbers)
        Scaled numbers, 0 if missing.
    flags : ndarray of bool of shape (n_rows, n_flags)
        Whether the number is missing, for each flagged column.
    codes : ndarray of int of shape (n_rows, n_category_columns)
        Categories from 1; 0 is unknown.
    """

    numbers: FloatArray
    flags: NDArray[np.bool_]
    codes: IntArray


class ColumnSizes(NamedTuple):
    """Number of numeric columns, of flags, and of categories per column."""

    n_numbers: int
    n_flags: int
    n_categories: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ColumnEncoder:
    """Map from the columns of a table to numbers, flags and codes.

    Attributes
    ----------
    middle, unit : ndarray of shape (n_numbers,)
        Location and scale of each numeric column.
    flagged : list of int
        Numeric columns with missing values in training, which get a flag.
    categorical : list of int
        Positions of the categorical columns.
    categories : list of list
        Categories of each, as strings or numbers, sorted. None, a missing value, is a
        category if `min_rows` is given; it is the last.
    squash : bool
        Whether outliers are clipped smoothly, by x / √(1 + (x/3)²).
    ordered : list of (list or None)
        Levels of the numeric columns that are ordered categories.
    from_frame : bool
        Whether the training rows were a data frame.
    knots : ndarray of shape (n_knots, n_numbers)
        Quantiles of each numeric column at (i + ½) / n_knots, which give the ranks of
        its values; no knots if ranks are not used.
    dates : list of int
        Numeric columns that are dates, in days since 1970.
    """

    middle: FloatArray
    unit: FloatArray
    flagged: list[int]
    categorical: list[int]
    categories: list[list[Any]]
    squash: bool
    ordered: list[list[Any] | None]
    from_frame: bool
    knots: FloatArray
    dates: list[int]

    @classmethod
    def fit(
        cls,
        raw: RawRows,
        scale: str,
        weights: FloatArray | None = None,
        min_rows: int = 0,
    ) -> "ColumnEncoder":
        """Learn scales and categories.

        Parameters
        ----------
        raw : RawRows
            The training rows.
        scale : {"column", "ranked", "common", "none"}
            One unit per column with clipped outliers; the mean of this and the normal
            score of the rank, Φ⁻¹(rank); one unit for all columns; or no scaling.
        weights : ndarray of shape (n_rows,) or None, default=None
            Numbers of equal rows. Rows of weight 0 are ignored; the scales other than
            "ranked" do not use other weights.
        min_rows : int, default=0
            Rows that a category must have; rarer ones are unknown. 0 takes all, and
            missing values are unknown.
        """
        if weights is None:
            weights = np.ones(len(raw.numbers))
        chosen = weights.nonzero()[0]
        numbers = raw.numbers[chosen].astype(np.float64)
        middle: FloatArray = np.zeros(numbers.shape[1])
        unit: FloatArray = np.ones(numbers.shape[1])
        knots: FloatArray = np.zeros((0, numbers.shape[1]))
        if scale == "ranked":
            middle, unit, knots = _ranked(numbers, weights[chosen])
        elif scale != "none":
            middle, unit = _middle_and_unit(numbers, scale == "common")
        categories = []
        for column in raw.values:
            counts: Counter[Any] = Counter()
            for row, weight in zip(chosen, weights[chosen].tolist(), strict=True):
                counts[column[row]] += weight
            known = {one for one, count in counts.items() if count >= min_rows}
            gap = [None] if min_rows and None in known else []
            known.discard(None)
            categories.append(
                sorted(known, key=lambda one: (isinstance(one, str), one)) + gap
            )
        flagged = np.flatnonzero(np.isnan(numbers).any(axis=0)).tolist()
        squash = scale in ("column", "ranked")
        return cls(
            middle, unit, flagged, raw.categorical, categories, squash, raw.ordered,
            raw.from_frame, knots, raw.dates,
        )  # fmt: skip

    def transform(self, raw: RawRows) -> EncodedRows:
        """Return scaled numbers, flags and codes."""
        numbers = self.scaled(raw.numbers)
        missing = np.isnan(numbers)
        numbers[missing] = 0.0
        codes = np.zeros((len(numbers), len(self.categorical)), dtype=np.int64)
        for c, known in enumerate(self.categories):
            code_of = {value: code for code, value in enumerate(known, start=1)}
            codes[:, c] = [code_of.get(value, 0) for value in raw.values[c]]
        return EncodedRows(numbers, missing[:, self.flagged], codes)

    def scaled(self, numbers: FloatArray) -> FloatArray:
        """Return numbers as they are encoded; NaN stays."""
        largest = np.finfo(np.float32).max
        numbers = numbers.astype(np.float64)
        with np.errstate(over="ignore"):
            found: FloatArray = (numbers - self.middle) / self.unit
            found = np.clip(found, -largest, largest)
        if self.squash:
            found /= np.hypot(1, found / 3)
        n = len(self.knots)
        ranks = (np.arange(n) + 0.5) / max(n, 1)
        for c in range(numbers.shape[1] if n else 0):
            # From both sides: equal knots have the mean of their ranks.
            x, own = numbers[:, c], self.knots[:, c]
            rank = np.interp(x, own, ranks) - np.interp(-x, -own[::-1], -ranks[::-1])
            found[:, c] = (found[:, c] + ndtri(rank / 2)) / 2
        return found

    def split(self, X: Any) -> RawRows:
        """Split new rows of the table."""
        return split_columns(X, self.categorical, self.ordered)

    def check_loaded(self, n_features: int) -> None:
        """Raise ValueError if the parts, from an untrusted file, do not fit."""
        n_numbers = self.sizes.n_numbers
        columns = self.categorical
        scales = self.middle, self.unit
        positions = [*columns, *self.flagged, *self.dates]
        whole = all(type(one) is int for one in positions)
        known = [one for own in self.categories for one in own]
        known += [one for own in self.ordered for one in own or []]
        checks = {
            "the number of columns": n_features == n_numbers + len(columns),
            "the columns": whole and _are_positions(columns, n_features),
            "the flags": whole and _are_positions(self.flagged, n_numbers),
            "the dates": whole and _are_positions(self.dates, n_numbers),
            "the categories": len(self.categories) == len(columns)
            and all(one is None or type(one) in (str, float, int) for one in known),
            "the levels": len(self.ordered) == n_numbers,
            "the frame": type(self.from_frame) is bool,
            "the ranks": self.knots.ndim == 2
            and self.knots.shape[1] == n_numbers
            and bool(np.isfinite(self.knots).all())
            and bool((np.diff(self.knots, axis=0) >= 0).all()),
            "the scales": all(
                one.shape == (n_numbers,) and np.isfinite(one).all() for one in scales
            )
            and bool((self.unit > 0).all()),
        }
        for part, holds in checks.items():
            if not holds:
                raise ValueError(part)

    @property
    def needs_frame(self) -> bool:
        """Whether the columns were those of a frame, and no array can replace them."""
        return self.from_frame and bool(self.categorical or any(self.ordered))

    def warn_of_unknown(self, estimator: Any, raw: RawRows) -> None:
        """Warn if no value of a column is one of training."""
        for c, known, values in zip(
            self.categorical, self.categories, raw.values, strict=True
        ):
            given = set(values) - {None}
            if known and given and not given & set(known):
                names = getattr(estimator, "feature_names_in_", range(c + 1))
                warn_caller(
                    f"No value of column {names[c]!r} was known in training, such as "
                    f"{known[0]!r}; got {next(iter(given))!r}."
                )

    @property
    def sizes(self) -> ColumnSizes:
        """Widths of the encoded columns."""
        n_categories = tuple(len(values) for values in self.categories)
        return ColumnSizes(len(self.middle), len(self.flagged), n_categories)


def _are_positions(columns: list[int], n: int) -> bool:
    """Return whether these are ascending positions below n."""
    return sorted({*columns}) == columns and all(0 <= one < n for one in columns)


def _middle_and_unit(
    numbers: FloatArray, common: bool
) -> tuple[FloatArray, FloatArray]:
    """Return location and scale of each column; unit 1 for a constant column.

    They are the median and the interquartile range, divided by 1.349 so that it
    estimates a normal deviation; mean and deviation if at least half of the numbers
    are equal, or for a common unit (the root mean square of all deviations).
    """
    n_columns = numbers.shape[1]
    middle, unit = np.zeros(n_columns), np.ones(n_columns)
    for c in range(n_columns):
        known = numbers[~np.isnan(numbers[:, c]), c]
        if not len(known):
            continue
        low, middle[c], high = np.quantile(known, [0.25, 0.5, 0.75])
        spread = (high - low) / 1.349
        if common or not spread > 0:
            middle[c], spread = known.mean(), known.std()
        unit[c] = spread if spread > 0 else 1.0
    if common and (unit != 1).any():
        unit[:] = np.sqrt(np.mean(np.square(unit[unit != 1])))
    return middle, unit


def _ranked(
    numbers: FloatArray, weights: FloatArray, n_knots: int = 201
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return location, scale and quantiles of each column.

    A weight is a number of equal rows. Location and scale are those of
    `_middle_and_unit`.
    """
    n_columns = numbers.shape[1]
    middle, unit = np.zeros(n_columns), np.ones(n_columns)
    knots = np.zeros((n_knots, n_columns))
    levels = (np.arange(n_knots) + 0.5) / n_knots
    for c in range(n_columns):
        known = ~np.isnan(numbers[:, c])
        if not known.any():
            continue
        order = np.argsort(numbers[known, c], kind="stable")
        x, mass = numbers[known, c][order], weights[known][order]
        reached = np.cumsum(mass)
        at = np.searchsorted(reached, np.append(levels, [0.25, 0.75]) * reached[-1])
        *knots[:, c], low, high = x[np.minimum(at, len(x) - 1)]
        middle[c], spread = knots[n_knots // 2, c], (high - low) / 1.349
        if not spread > 0:
            middle[c] = np.average(x, weights=mass)
            spread = np.sqrt(np.average(np.square(x - middle[c]), weights=mass))
        unit[c] = spread if spread > 0 else 1.0
    return middle, unit, knots


def is_frame(X: Any) -> bool:
    """Return whether X is a pandas or polars data frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def categorical_columns(X: Any, wanted: str | Sequence[Any] | None) -> list[int]:
    """Return the positions of the categorical columns.

    Parameters
    ----------
    X : ndarray or DataFrame
        The table.
    wanted : "auto", None, or a sequence of positions, names or booleans
        "auto" selects the columns of a data frame that are neither numbers, dates nor
        ordered categories.
    """
    n = X.shape[1]
    if wanted is None or (isinstance(wanted, str) and not is_frame(X)):
        return []
    if isinstance(wanted, str):
        return [c for c in range(n) if not _is_numeric(_safe_indexing(X, c, axis=1))]
    asked = list(wanted)
    if asked and all(isinstance(one, (bool, np.bool_)) for one in asked):
        if len(asked) != n:
            raise ValueError(
                f"categorical_features has {len(asked)} booleans, X {n} columns."
            )
        return [int(c) for c in np.flatnonzero(asked)]
    names = [str(name) for name in X.columns] if is_frame(X) else []
    found = set()
    for one in asked:
        if isinstance(one, str) and one in names:
            found.add(names.index(one))
        elif isinstance(one, (int, np.integer)) and 0 <= one < n:
            found.add(int(one))
        else:
            raise ValueError(
                f"categorical_features contains {one!r}, which is not a column of X. "
                f"Use positions from 0 to {n - 1}" + (" or names." if names else ".")
            )
    return sorted(found)


def split_columns(
    X: Any, categorical: list[int], ordered: list[list[Any] | None] | None = None
) -> RawRows:
    """Split a table into numbers and categories.

    Dates become days, and ordered categories become ranks.

    Parameters
    ----------
    X : ndarray, pandas or polars DataFrame of shape (n_rows, n_columns)
        The table; its shape is validated, its values are not.
    categorical : list of int
        Positions of the categorical columns.
    ordered : list or None, default=None
        Levels of the numeric columns that are ordered categories; None takes those
        of X.

    Raises
    ------
    ValueError
        If a number is infinite, or a numeric column holds text.
    """
    numeric = [c for c in range(X.shape[1]) if c not in set(categorical)]
    levels = ordered or [None] * len(numeric)
    dates: list[int] = []
    if is_frame(X):
        columns = [_safe_indexing(X, c, axis=1) for c in numeric]
        dates = [i for i, one in enumerate(columns) if _is_date(one)]
        if ordered is None:
            dtypes = [one.dtype for one in columns]
            levels = [
                [_category(one) for one in dtype.categories]
                if getattr(dtype, "ordered", False)
                else None
                for dtype in dtypes
            ]
        parts = [_numbers(X, c, own) for c, own in zip(numeric, levels, strict=True)]
        numbers = np.column_stack(parts) if parts else np.zeros((len(X), 0))
    else:
        numbers = X[:, numeric] if categorical else X
    if numeric:
        numbers = check_array(
            numbers, dtype=FLOATS, ensure_all_finite="allow-nan", input_name="X"
        )
    else:
        numbers = np.zeros((len(X), 0))
    values = [_categories(_safe_indexing(X, c, axis=1)) for c in categorical]
    return RawRows(numbers, categorical, values, levels, is_frame(X), dates)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or the missing value of a data frame."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def check_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as a numeric array, or unchanged if it may hold text.

    The columns of a data frame are taken by name: their order does not matter, and
    columns that were not in training are ignored.
    """
    mixed = is_frame(X)
    if not (mixed or isinstance(estimator.categorical_features, str | None)):
        listed = np.asarray(X, dtype=object if isinstance(X, list | tuple) else None)
        mixed = listed.ndim == 2 and listed.dtype.kind in "OU"
        X = listed.astype(object) if mixed else X
    encoder = getattr(estimator, "_encoder", None)
    if not (reset or is_frame(X) or encoder is None) and encoder.needs_frame:
        raise ValueError(
            f"{type(estimator).__name__} was fitted with a data frame with categories "
            "or dates; pass a data frame with the same columns."
        )
    if not mixed:
        return validate_data(
            estimator, X, dtype=FLOATS, ensure_all_finite="allow-nan", reset=reset
        )
    if not all(X.shape):
        raise ValueError(
            f"X has {X.shape[0]} row(s) and {X.shape[1]} column(s), but at least "
            "one of each is required."
        )
    named = is_frame(X) and all(isinstance(one, str) for one in X.columns)
    if is_frame(X) and reset and not named and [*X.columns] != [*range(X.shape[1])]:
        raise ValueError(
            "The names of X's columns must be text, or 0, 1, 2, ... in this order; got "
            f"{list(X.columns)[:5]}."
        )
    names = getattr(estimator, "feature_names_in_", None)
    if not reset and is_frame(X):
        wanted = range(estimator.n_features_in_) if names is None else names.tolist()
        missing = [name for name in wanted if name not in X.columns]
        if missing:
            raise ValueError(
                f"X has no column {', '.join(map(repr, missing[:5]))} of those that "
                f"{type(estimator).__name__} was fitted with."
            )
        X = X[list(wanted)]
    validate_data(estimator, X, skip_check_array=True, reset=reset)
    return X


def _is_numeric(column: Any) -> bool:
    """Return whether a column becomes numbers: numbers, booleans, dates, ranks.

    Of a column of Python objects, the values decide.
    """
    dtype = column.dtype
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(
            dtype.is_numeric() or dtype.is_temporal() or str(dtype) == "Boolean"
        )
    if str(dtype) == "category":
        return bool(dtype.ordered)
    if getattr(dtype, "kind", "O") == "O":
        return _kind_of_objects(column) is not None
    return getattr(dtype, "kind", "O") in "biufmM"


def _is_date(column: Any) -> bool:
    """Return whether a column of numbers is one of dates, as `_days` takes them."""
    named = str(column.dtype).lower().startswith("date")  # of pandas and polars
    return named or _kind_of_objects(column) == "dates"


def _kind_of_objects(column: Any) -> str | None:
    """Return "numbers" or "dates" if all values are such objects; None otherwise."""
    if str(column.dtype) != "object":  # text, or a type of an extension
        return None
    kinds = {type(value) for value in column.tolist() if not is_missing(value)}
    if kinds and all(issubclass(kind, Real | Decimal) for kind in kinds):
        return "numbers"
    return "dates" if kinds and all(issubclass(k, date) for k in kinds) else None


def _numbers(X: Any, c: int, levels: list[Any] | None) -> NDArray[Any]:
    """Return a column of a data frame as floats, NaN if missing."""
    column = _safe_indexing(X, c, axis=1)
    if levels is not None:
        rank = {value: float(i) for i, value in enumerate(levels)}
        return np.array([rank.get(one, np.nan) for one in _categories(column)])
    dates = getattr(column.dtype, "is_temporal", None)
    if dates() if dates else getattr(column.dtype, "kind", "O") in "mM":
        return _days(column)
    if _kind_of_objects(column) == "dates":
        return _days(column.astype("datetime64[us]"))
    narrow = str(column.dtype).lower() in ("float32", "float16")
    dtype = np.dtype(np.float32 if narrow else np.float64)
    try:
        if hasattr(X, "iloc"):
            return np.asarray(column.to_numpy(dtype=dtype, na_value=np.nan))
        return np.asarray(column.cast(float).to_numpy(), dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Column {X.columns[c]!r} holds values that are not numbers. Name it in "
            "categorical_features, or convert it."
        ) from error


def _days(column: Any) -> FloatArray:
    """Return dates as days since 1970, and times and durations as days."""
    if hasattr(column, "dt") and getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert(None)  # pandas: as UTC
    values = column.to_numpy()
    if values.dtype.kind == "O":  # times of a day, of polars
        values = column.cast(int).to_numpy().astype(float) * np.timedelta64(1, "ns")
    missing = np.isnat(values)
    unit = np.timedelta64(1, "s")
    if values.dtype.kind == "M":
        values = values - np.datetime64(0, "s")
    days: FloatArray = (values / unit) / 86400
    days[missing] = np.nan
    return days


def _categories(column: Any) -> list[Any]:
    """Return the values of a column as plain strings or numbers."""
    listed = column.tolist() if hasattr(column, "tolist") else column.to_list()
    return [_category(value) for value in listed]


def _category(value: Any) -> str | float | None:
    """Return a category as a plain string or number; None if it is missing."""
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, (int, float)) else str(value)
