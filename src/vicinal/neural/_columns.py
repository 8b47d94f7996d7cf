"""Columns of a table as a network takes them: scaled numbers, flags, codes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from vicinal._typing import FLOATS, FloatArray, IntArray

# Beyond so many units a number is drawn in: outliers must not rule a column.
_FAR = 3.0
# Beyond this, whole numbers that differ can be the same float.
_MOST_EXACT = 2**53


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows for a network.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_numbers + n_flags)
        Scaled numbers, then 1 where one of the columns that have flags has none.
    codes : ndarray of int64 of shape (n_rows, n_category_columns)
        Categories from 1; 0 is unknown or missing.
    """

    numbers: FloatArray
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> "EncodedRows":
        return EncodedRows(self.numbers[rows], self.codes[rows])


@dataclass(frozen=True, eq=False)
class ColumnEncoder:
    """How columns of a table become numbers, flags and codes.

    Attributes
    ----------
    numeric : list of int
        Positions of the columns of numbers.
    middle, unit : ndarray of shape (n_numbers,)
        What is taken from a number, and what it is then divided by.
    flagged : list of int
        Which of the columns of numbers had missing ones, and so have a flag.
    categorical : list of int
        Positions of the columns of categories.
    categories : list of list
        The categories of each, as strings or numbers, sorted.
    squash : bool
        Whether numbers far out are drawn in, by x / √(1 + (x/3)²).
    """

    numeric: list[int]
    middle: FloatArray
    unit: FloatArray
    flagged: list[int]
    categorical: list[int]
    categories: list[list[Any]]
    squash: bool

    @classmethod
    def fit(cls, columns: "Columns", scale: str) -> Self:
        """Look at the training rows.

        Parameters
        ----------
        columns : Columns
            The rows.
        scale : {"column", "common", "none"}
            Whether each column gets a unit of its own, and numbers far out are drawn
            in; or all get the same unit, as pixels do; or numbers stay as they are.
        """
        numbers = columns.numbers.astype(np.float64)
        missing = np.isnan(numbers)
        middle: FloatArray = np.zeros(numbers.shape[1])
        unit: FloatArray = np.ones(numbers.shape[1])
        if scale != "none":
            with np.errstate(over="ignore", invalid="ignore"):
                middle, unit = _middle_and_unit(numbers, scale == "common")
        return cls(
            columns.numeric,
            middle,
            unit,
            np.flatnonzero(missing.any(axis=0)).tolist(),
            columns.categorical,
            [_sorted_values(column) for column in columns.values],
            scale == "column",
        )

    def transform(self, columns: "Columns", dtype: Any = np.float32) -> EncodedRows:
        """Return rows as a network takes them."""
        numbers = columns.numbers.astype(np.float64)
        missing = np.isnan(numbers)
        with np.errstate(over="ignore"):  # what is too far out becomes infinite
            numbers = (numbers - self.middle) / self.unit
        largest = np.finfo(np.float32).max
        numbers = np.clip(numbers, -largest, largest)
        numbers[missing] = 0.0
        if self.squash:
            numbers /= np.hypot(1, numbers / _FAR)
        joined = np.concatenate([numbers, missing[:, self.flagged]], axis=1)
        codes = np.zeros((len(numbers), len(self.categorical)), dtype=np.int64)
        for c, (values, known) in enumerate(
            zip(columns.values, self.categories, strict=True)
        ):
            places = {value: code for code, value in enumerate(known, start=1)}
            codes[:, c] = [places.get(value, 0) for value in values]
        return EncodedRows(joined.astype(dtype), codes)


@dataclass(frozen=True, eq=False)
class Columns:
    """A table apart: numbers with NaN for missing ones, and lists of categories."""

    numeric: list[int]
    numbers: FloatArray
    categorical: list[int]
    values: list[list[Any]]

    def __getitem__(self, rows: IntArray) -> "Columns":
        values = [[column[row] for row in rows] for column in self.values]
        return Columns(self.numeric, self.numbers[rows], self.categorical, values)

    @classmethod
    def of(cls, X: Any, categorical: list[int]) -> Self:
        """Take a table apart, of which some columns hold categories.

        Parameters
        ----------
        X : ndarray, pandas or polars DataFrame of shape (n_rows, n_columns)
            Validated in its shape, not in its values.
        categorical : list of int
            The columns of categories.

        Raises
        ------
        ValueError
            When a number is infinite, or text or a date is where numbers should be.
        """
        n_columns = X.shape[1]
        numeric = [c for c in range(n_columns) if c not in set(categorical)]
        if is_frame(X):
            _refuse_dates(X, numeric)
        values = [_values(_column(X, c)) for c in categorical]
        if is_frame(X):
            parts = [_numbers(X, c) for c in numeric]
            dtype = np.result_type(*parts) if parts else np.dtype(np.float64)
            numbers = np.empty((len(X), len(numeric)), dtype=dtype)
            for c, part in enumerate(parts):
                numbers[:, c] = part
        else:
            numbers = X[:, numeric] if categorical else X
        if numeric:
            numbers = check_array(
                numbers, dtype=FLOATS, ensure_all_finite="allow-nan", input_name="X"
            )
        else:
            numbers = np.zeros((len(X), 0))
        return cls(numeric, numbers, categorical, values)


def is_frame(X: Any) -> bool:
    """Return whether X is a pandas or polars data frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def categorical_columns(X: Any, wanted: str | Sequence[Any] | None) -> list[int]:
    """Return the positions of the columns of categories.

    Parameters
    ----------
    X : ndarray or DataFrame
        The table.
    wanted : "auto", None, or a sequence of positions, names or booleans
        "auto" is the columns of a data frame that hold no numbers.
    """
    n = X.shape[1]
    if wanted is None:
        return []
    if isinstance(wanted, str):
        if not is_frame(X):
            return []
        _refuse_dates(X, range(n))
        return [c for c in range(n) if not _is_numeric(_column(X, c))]
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
                f"categorical_features names {one!r}, which is no column of X: give "
                f"positions from 0 to {n - 1}" + (", or names." if names else ".")
            )
    return sorted(found)


def _column(X: Any, c: int) -> Any:
    if not is_frame(X):
        return X[:, c]
    return X.iloc[:, c] if hasattr(X, "iloc") else X[X.columns[c]]


def _is_numeric(column: Any) -> bool:
    dtype = column.dtype
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric() or str(dtype) == "Boolean")
    # pandas' own types of numbers have a letter, too; object columns are categories.
    return getattr(dtype, "kind", "O") in "biuf" and str(dtype) != "category"


def _refuse_dates(X: Any, columns: Iterable[int]) -> None:
    for c in columns:
        dtype = _column(X, c).dtype
        polars = getattr(dtype, "is_temporal", None)
        if polars() if polars else getattr(dtype, "kind", "") in ("M", "m"):
            raise ValueError(
                f"Column {X.columns[c]!r} holds dates or times. Turn it into numbers, "
                "such as days since a date or the hour of the day, leave it out, or "
                "name it in categorical_features if few values recur."
            )


def _numbers(X: Any, c: int) -> NDArray[Any]:
    """Return a column of a data frame as floats, NaN for missing."""
    column = _column(X, c)
    narrow = str(column.dtype) in ("float32", "Float32", "float16", "Float16")
    dtype = np.dtype(np.float32 if narrow else np.float64)
    try:
        if hasattr(column, "to_numpy") and hasattr(X, "iloc"):
            found = column.to_numpy(dtype=dtype, na_value=np.nan)
        else:
            found = column.cast(float).to_numpy()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Column {X.columns[c]!r} holds values that are no numbers. Name it in "
            "categorical_features, or convert it."
        ) from error
    return np.asarray(found, dtype=dtype)


def _values(column: Any) -> list[Any]:
    """Return categories as strings or numbers; None where one is missing."""
    listed = column.tolist() if hasattr(column, "tolist") else column.to_list()
    return [_plain(value) for value in listed]


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or what data frames have for them."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def _plain(value: Any) -> str | float | None:
    if is_missing(value):
        return None
    if isinstance(value, (np.integer, np.bool_, np.floating)):
        value = value.item()  # which is then equal to the same number without NumPy
    if isinstance(value, int) and abs(value) > _MOST_EXACT:
        return value
    if isinstance(value, (bool, int, float)):
        return float(value)
    return str(value)


def _sorted_values(values: list[Any]) -> list[Any]:
    found = {value for value in values if value is not None}
    return sorted(found, key=lambda value: (isinstance(value, str), value))


def _middle_and_unit(
    numbers: FloatArray, common: bool
) -> tuple[FloatArray, FloatArray]:
    """Return medians and spreads; 1 for a column that does not vary.

    The spread is that of the quartiles, as a normal column's deviation; where half of
    the numbers are equal, the deviation.
    """
    n_columns = numbers.shape[1]
    middle, unit = np.zeros(n_columns), np.ones(n_columns)
    for c in range(n_columns):
        known = numbers[:, c][~np.isnan(numbers[:, c])]
        if not len(known):
            continue
        low, middle[c], high = np.quantile(known, [0.25, 0.5, 0.75])
        spread = (high - low) / 1.349
        if common or not spread > 0:
            spread = known.std()
            middle[c] = known.mean()
        if spread > 0 and np.isfinite(spread):
            unit[c] = spread
    if common:
        # Pixels: one unit for all, so that dark corners are not made loud.
        unit[:] = (
            np.sqrt(np.mean(np.square(unit[unit != 1]))) if (unit != 1).any() else 1
        )
    return middle, unit
