"""Tables as input of a network: scaled numbers, missing-value flags, category codes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_array
from torch import Tensor

from vicinal._typing import FLOATS, FloatArray, IntArray


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
    """

    numbers: FloatArray
    categorical: list[int]
    values: list[list[Any]]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as a network takes them; training rows have targets and weights.

    Attributes
    ----------
    numbers : Tensor of shape (n_rows, n_numbers + n_flags)
        Scaled numbers, then one missing-value flag per flagged column.
    codes : Tensor (int64) of shape (n_rows, n_category_columns)
        Categories from 1; 0 is unknown or missing.
    target : Tensor of shape (n_rows,) or None
        Class codes (int64) or numbers (float32).
    weights : Tensor (float64) of shape (n_rows,) or None
        Sample weights; rows of weight 0 do not count. None is 1 each.
    n_classes : int
        0 for numbers.
    """

    numbers: Tensor
    codes: Tensor
    target: Any = None
    weights: Any = None
    n_classes: int = 0

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, chosen: Any) -> "Rows":
        held = {k: one for k, one in vars(self).items() if isinstance(one, Tensor)}
        return replace(self, **{name: one[chosen] for name, one in held.items()})

    @property
    def counted(self) -> IntArray:
        """Positions of the rows with a positive weight."""
        if self.weights is None:
            return np.arange(len(self))
        return np.flatnonzero(self.weights.numpy() > 0)

    def log_weights(self, like: Tensor) -> Tensor | None:
        """Return log weights with the device and dtype of a tensor."""
        if self.weights is None:
            return None
        logs: Tensor = self.weights.log().to(like.device, like.dtype)
        return logs

    def mean(self, values: Tensor) -> float:
        """Return the weighted mean of one value per row."""
        if self.weights is None:
            return float(values.mean())
        return float((values * self.weights).sum() / self.weights.sum())

    def equals(self, other: "Rows") -> bool:
        """Return whether both hold the same rows in the same order."""
        names = ("numbers", "codes", "target", "weights")
        return all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    def append(self, new: "Rows") -> "Rows":
        """Return these rows followed by new ones of weight 1."""
        if self.weights is not None:
            new = replace(new, weights=self.weights.new_ones(len(new)))
        held = {k: one for k, one in vars(self).items() if isinstance(one, Tensor)}
        joined = {k: torch.cat([one, getattr(new, k)]) for k, one in held.items()}
        return replace(self, **joined)


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
        Categories of each, as strings or numbers, sorted.
    squash : bool
        Whether outliers are clipped smoothly, by x / √(1 + (x/3)²).
    """

    middle: FloatArray
    unit: FloatArray
    flagged: list[int]
    categorical: list[int]
    categories: list[list[Any]]
    squash: bool

    @classmethod
    def fit(
        cls, raw: RawRows, scale: str, weights: FloatArray | None = None
    ) -> "ColumnEncoder":
        """Learn scales and categories.

        Parameters
        ----------
        raw : RawRows
            The training rows.
        scale : {"column", "common", "none"}
            One unit per column with clipped outliers, one unit for all columns, or no
            scaling.
        weights : ndarray of shape (n_rows,) or None, default=None
            Rows of weight 0 are ignored; other weights are not used.
        """
        chosen = (
            np.arange(len(raw.numbers)) if weights is None else weights.nonzero()[0]
        )
        numbers = raw.numbers[chosen].astype(np.float64)
        middle: FloatArray = np.zeros(numbers.shape[1])
        unit: FloatArray = np.ones(numbers.shape[1])
        if scale != "none":
            middle, unit = _middle_and_unit(numbers, scale == "common")
        categories = [
            sorted(
                {column[row] for row in chosen} - {None},
                key=lambda one: (isinstance(one, str), one),
            )
            for column in raw.values
        ]
        flagged = np.flatnonzero(np.isnan(numbers).any(axis=0)).tolist()
        squash = scale == "column"
        return cls(middle, unit, flagged, raw.categorical, categories, squash)

    def transform(self, raw: RawRows, dtype: Any = np.float32) -> Rows:
        """Return rows as a network takes them."""
        numbers = raw.numbers.astype(np.float64)
        missing = np.isnan(numbers)
        largest = np.finfo(np.float32).max
        with np.errstate(over="ignore"):
            numbers = np.clip((numbers - self.middle) / self.unit, -largest, largest)
        numbers[missing] = 0.0
        if self.squash:
            numbers /= np.hypot(1, numbers / 3)
        numbers = np.concatenate([numbers, missing[:, self.flagged]], axis=1)
        codes = np.zeros((len(numbers), len(self.categorical)), dtype=np.int64)
        for c, known in enumerate(self.categories):
            code_of = {value: code for code, value in enumerate(known, start=1)}
            codes[:, c] = [code_of.get(value, 0) for value in raw.values[c]]
        return Rows(torch.from_numpy(numbers.astype(dtype)), torch.from_numpy(codes))

    @property
    def sizes(self) -> ColumnSizes:
        """Widths of the encoded columns."""
        n_categories = tuple(len(values) for values in self.categories)
        return ColumnSizes(len(self.middle), len(self.flagged), n_categories)


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
        "auto" selects the columns of a data frame that are not numeric.
    """
    n = X.shape[1]
    if wanted is None or (isinstance(wanted, str) and not is_frame(X)):
        return []
    if isinstance(wanted, str):
        _refuse_dates(X, list(range(n)))
        return [
            c for c in range(n) if not _is_numeric(_safe_indexing(X, c, axis=1).dtype)
        ]
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


def split_columns(X: Any, categorical: list[int]) -> RawRows:
    """Split a table into numbers and categories.

    Parameters
    ----------
    X : ndarray, pandas or polars DataFrame of shape (n_rows, n_columns)
        The table; its shape is validated, its values are not.
    categorical : list of int
        Positions of the categorical columns.

    Raises
    ------
    ValueError
        If a number is infinite, or a numeric column holds text or dates.
    """
    numeric = [c for c in range(X.shape[1]) if c not in set(categorical)]
    if is_frame(X):
        _refuse_dates(X, numeric)
        parts = [_numbers(X, c) for c in numeric]
        numbers = np.column_stack(parts) if parts else np.zeros((len(X), 0))
    else:
        numbers = X[:, numeric] if categorical else X
    if numeric:
        numbers = check_array(
            numbers, dtype=FLOATS, ensure_all_finite="allow-nan", input_name="X"
        )
    else:
        numbers = np.zeros((len(X), 0))
    values = []
    for c in categorical:
        column = _safe_indexing(X, c, axis=1)
        listed = column.tolist() if hasattr(column, "tolist") else column.to_list()
        values.append([_category(value) for value in listed])
    return RawRows(numbers, categorical, values)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or the missing value of a data frame."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def _is_numeric(dtype: Any) -> bool:
    """Return whether a column of a data frame holds numbers or booleans."""
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric() or str(dtype) == "Boolean")
    # pandas' nullable numbers have a kind too; its object columns are categories.
    return getattr(dtype, "kind", "O") in "biuf" and str(dtype) != "category"


def _refuse_dates(X: Any, columns: list[int]) -> None:
    """Raise a ValueError if one of the columns holds dates or times."""
    for c in columns:
        dtype = _safe_indexing(X, c, axis=1).dtype
        polars = getattr(dtype, "is_temporal", None)
        if polars() if polars else getattr(dtype, "kind", "") in ("M", "m"):
            raise ValueError(
                f"Column {X.columns[c]!r} holds dates or times. Convert it to numbers "
                "(days since a date, hour of the day), drop it, or name it in "
                "categorical_features if it has few distinct values."
            )


def _numbers(X: Any, c: int) -> NDArray[Any]:
    """Return a column of a data frame as floats, NaN if missing."""
    column = _safe_indexing(X, c, axis=1)
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


def _category(value: Any) -> str | float | None:
    """Return a category as a plain string or number; None if it is missing."""
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, (int, float)) else str(value)
