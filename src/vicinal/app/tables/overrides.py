"""What a person says about columns, against what their cells look like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from vicinal.app.tables.dates import check_form
from vicinal.app.tables.names import near

__all__ = ["Overrides"]


@dataclass(frozen=True)
class Overrides:
    """Decisions about columns that are made by a person.

    Attributes
    ----------
    drop : tuple of str
        Columns to leave out.
    categorical : tuple of str
        Columns whose values are names, also where they look like numbers.
    number : tuple of str
        Columns of numbers: a cell that is none counts as missing.
    date : dict of str to str
        Columns of dates: a cell that is none counts as missing. To each belongs a
        format as `datetime.strptime` takes it, or nothing, to have it found.
    decimal : {",", "."}, default=None
        What stands before the fraction of numbers in text; found where nothing is said.

    Examples
    --------
    >>> from vicinal.app.tables.overrides import Overrides
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
            Columns' names.
        date : str, iterable of str or mapping, default=None
            Columns' names, each with ``=`` and a format behind it or not; or a
            dictionary from names to formats.
        decimal : str, default=None
            ``","`` or ``"."``.

        Returns
        -------
        Overrides
            Whose names are not yet checked.
        """
        if decimal not in (None, ",", "."):
            raise ValueError(
                f"The decimal sign is a comma or a point, not {decimal!r}."
            )
        dates = dict(date) if isinstance(date, Mapping) else _formats(_listed(date))
        for name, form in dates.items():
            if not check_form(form):
                raise ValueError(
                    f"{form!r} is no format of dates for {name!r}; write it like "
                    "%d.%m.%Y or %m/%d/%Y %H:%M."
                )
        return cls(_listed(drop), _listed(categorical), _listed(number), dates, decimal)

    def resolved(self, columns: list[str]) -> Overrides:
        """Check the names against a table's columns.

        Parameters
        ----------
        columns : list of str
            All names there are.

        Returns
        -------
        Overrides
            Where ``a,b`` was written for two columns, it has become two names.

        Raises
        ------
        ValueError
            When a column is not there, or has two answers.
        """
        known = set(columns)
        found = replace(
            self,
            drop=_known(self.drop, known),
            categorical=_known(self.categorical, known),
            number=_known(self.number, known),
            date={
                one: form
                for name, form in self.date.items()
                for one in _known([name], known)
            },
        )
        named = [*found.drop, *found.categorical, *found.number, *found.date]
        for name, times in Counter(named).items():
            if times > 1:
                raise ValueError(
                    f"Column {name!r} is named twice; drop it, or say that it holds "
                    "categories, numbers or dates."
                )
        return found

    def kind(self, column: str) -> str | None:
        """Return what a column was said to be, or None."""
        for kind, names in (
            ("dropped", self.drop),
            ("category", self.categorical),
            ("number", self.number),
            ("date", self.date),
        ):
            if column in names:
                return kind
        return None


def _listed(names: str | Iterable[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(map(str, names))


def _formats(names: Iterable[str]) -> dict[str, str]:
    pairs = (name.partition("=%") for name in names)
    return {name: equals[1:] + form for name, equals, form in pairs}


def _known(names: Iterable[str], known: set[str]) -> tuple[str, ...]:
    """Return names that are there; one with commas may be several."""
    found: list[str] = []
    for name in names:
        parts = [name] if name in known else [one.strip() for one in name.split(",")]
        for part in parts:
            if part not in known:
                hint = near(part, list(known))
                raise ValueError(f"There is no column {part!r}{hint or '.'}")
        found += parts
    return tuple(found)
