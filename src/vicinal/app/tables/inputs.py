"""Choices of the user, and checks of arrays; nothing here needs polars."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray
from vicinal.app.tables.names import TableError, check_column

#: Formats of dates that a file or a user may state.
DATE_FORM = re.compile(r"(?:%[dmyYbBHIMSpjfT]|%\.f|[ .,:/TZ-]){0,20}")


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
    >>> from vicinal.app.tables.inputs import Overrides
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
            if not DATE_FORM.fullmatch(form):
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

        def split(names: Iterable[str]) -> tuple[str, ...]:
            parts = ([x] if x in columns else re.split(r"\s*,\s*", x) for x in names)
            return tuple(name for several in parts for name in several)

        result = replace(
            self,
            drop=split(self.drop),
            categorical=split(self.categorical),
            number=split(self.number),
            date={one: x for name, x in self.date.items() for one in split([name])},
        )
        named = (*result.drop, *result.categorical, *result.number, *result.date)
        for name in named:
            check_column(name, columns)
            if named.count(name) > 1:
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


def is_frame(table: object) -> bool:
    """Whether an object is a data frame of pandas or polars, without importing them.

    Parameters
    ----------
    table : object
        Anything.
    """
    names = {
        f"{one.__module__.partition('.')[0]}.{one.__name__}"
        for one in type(table).__mro__
    }
    return bool(names & {"pandas.DataFrame", "polars.DataFrame", "polars.LazyFrame"})


def names_classes(
    values: NDArray[Any],
    max_classes: int = 20,
    min_count: int = 5,
    min_share: float = 0.1,
) -> bool:
    """Whether labels are classes rather than numbers to predict.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The labels, none of them missing.
    max_classes : int, default=20
        More distinct whole numbers are not classes, unless they are codes.
    min_count : int, default=5
        Minimum count of the rarest code.
    min_share : float, default=0.1
        Minimum count of the rarest code as a share of that of the most common one.

    Returns
    -------
    bool
        True for text, for booleans, for two distinct numbers, for up to `max_classes`
        distinct whole numbers with two rows each on average, and for codes: whole
        numbers from 0 or 1 without a gap, none of them rare.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.tables.inputs import names_classes
    >>> names_classes(np.array([3, 5, 3, 5])), names_classes(np.array([0.5, 2.5, 7]))
    (True, False)
    >>> names_classes(np.repeat(np.arange(26), 10)), names_classes(np.arange(90))
    (True, False)
    """
    if values.dtype.kind not in "fiu":
        return True
    distinct, counts = np.unique(values, return_counts=True)
    if values.dtype.kind == "f" and not np.array_equal(distinct, np.rint(distinct)):
        return distinct.size == 2
    if distinct.size <= max(2, min(max_classes, len(values) // 2)):
        return True
    codes = distinct[0] in (0, 1) and distinct[-1] - distinct[0] == distinct.size - 1
    return bool(codes and counts.min() >= max(min_count, min_share * counts.max()))


def check_features(X: FloatArray, names: Sequence[str], largest: float = 1e150) -> None:
    """Raise TableError if squares of a column's numbers overflow.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        NaN for missing values.
    names : sequence of str
        One for each column.
    largest : float, default=1e150
        The largest magnitude.
    """
    # One column at a time: a copy of all of X would double the memory.
    for name, column in zip(names, X.T, strict=True):
        if float(np.fmax.reduce(np.abs(column), initial=0)) > largest:
            raise TableError(
                f"Column {name!r} has numbers beyond {largest:.0e}, whose squares "
                "overflow; use larger units, or leave it out."
            )


def check_numbers(values: NDArray[Any], name: str, largest: float = 1e150) -> None:
    """Raise TableError if the squared errors of a target cannot be computed.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Finite numbers, not all equal.
    name : str
        Subject of the message.
    largest : float, default=1e150
        The largest magnitude; the inverse of the smallest spread.
    """
    if np.abs(values).max() > largest:
        raise TableError(
            f"{name} has numbers beyond {largest:.0e}, whose squares overflow; use "
            "larger units."
        )
    if np.ptp(values) < 1 / largest:
        raise TableError(
            f"{name} varies by less than {1 / largest:.0e}, and squares of such "
            "differences underflow; use smaller units."
        )
