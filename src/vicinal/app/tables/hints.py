"""Hints: decisions about a table that its owner may want to change, one line each."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal.app.tables._polars import pl
from vicinal.app.tables.cells import as_names, unnamed
from vicinal.app.tables.columns import Decision
from vicinal.app.tables.names import Note, listed, printable
from vicinal.app.tables.notation import SCALED

_CODE = re.compile(
    r"(?i)(.*[_\s.-])?(zip|zip ?code|postal|post(al)?[_ ]?code|plz|postleitzahl|phone|"
    r"telephone|fax|isbn|ean|sku|account|customer|id|nr|code)"
)
_RATING = re.compile(
    r"(?i)rating|score|quality|stars|grade|points|satisf|age|count|level"
)


def column_hints(
    frame: pl.DataFrame,
    decisions: Sequence[Decision],
    y: NDArray[Any] | None,
    padded: Collection[str] = (),
) -> list[Note]:
    """Return hints about the columns of a table.

    Parameters
    ----------
    frame : polars.DataFrame
        From `vicinal.app.tables.cells.typed`.
    decisions : sequence of Decision
        One for each column.
    y : ndarray of shape (n_rows,) or None
        The target: class names as text, or numbers.
    padded : collection of str, default=()
        Columns of integers that the file writes with leading zeros.

    Returns
    -------
    list of Note
        With the fields `kind`, `column`, `option` and `value`. Kinds: "sentinel",
        "scaled", "spelling", "leak" and "code".
    """
    notes: list[Note] = []
    for one, named in zip(decisions, frame.iter_columns(), strict=True):
        name, present = one.column, unnamed(named)[1].drop_nulls()
        if one.asked or one.kind in ("target", "constant", "empty", "vector"):
            continue
        shown = repr(printable(name))
        numeric = one.kind == "number" and present.dtype.is_numeric()
        said, kind, option = "", "", ""
        if y is not None and one.kept and _is_leak(unnamed(named)[1], y):
            kind, option = "leak", "drop"
            said = (
                f"column {shown} determines the target: leave it out if it is not "
                "known before the target is"
            )
        elif numeric and (found := _sentinel(present)) is not None:
            kind, option = "sentinel", "drop"
            said = (
                f"column {shown} has {found[0]:g} in {found[1]:,} rows, far from its "
                "other values: if it means missing, empty these cells, or leave the "
                "column out"
            )
        elif numeric and (name in padded or _names_codes(name, present)):
            kind = "code"
            option = "categorical" if present.n_unique() <= 50 else "drop"
            said = (
                f"column {shown} looks like codes but is used as numbers: take it as "
                f"{'categories' if option == 'categorical' else 'an identifier'}"
            )
        elif present.dtype == pl.String:
            scaled = present.str.contains(SCALED)
            if scaled.any() and 2 * scaled.sum() >= len(present):
                kind, option = "scaled", "number"
                cell = printable(present.filter(scaled)[0])
                said = (
                    f"column {shown} has numbers like {cell!r}, taken as text: name "
                    "it as a number to read them"
                )
            elif one.kind == "category" and (alike := _alike(present)):
                kind = "spelling"
                said = (
                    f"column {shown} has categories that differ only in case or "
                    f"spaces, {listed(alike, limit=2)}: write them alike"
                )
        if said:
            notes.append(Note(said, option, name if option else "", kind, name))
    return notes


def target_hints(name: str, column: pl.Series, task: str, asked: bool) -> list[Note]:
    """Return hints about the target.

    Parameters
    ----------
    name : str
        Its column.
    column : polars.Series
        From `vicinal.app.tables.cells.typed`.
    task : {"classification", "regression"}
        The task.
    asked : bool
        Whether the user chose the task.

    Returns
    -------
    list of Note
        Of the kinds "spelling" and "rating".
    """
    notes = []
    present = unnamed(column)[1].drop_nulls()
    if task != "classification":
        return []
    if alike := _alike(as_names(present)):
        said = (
            f"classes that differ only in case or spaces: {listed(alike, limit=4)}; "
            "write them alike"
        )
        notes.append(Note(said, kind="spelling", column=name))
    if present.dtype.is_numeric() and not asked:
        values = present.unique().sort().to_numpy()
        in_order = len(values) > 4 and bool((np.diff(values) == 1).all())
        if in_order and (len(values) > 10 or _RATING.search(name)):
            said = (
                f"the {len(values)} whole numbers {values[0]:g} to {values[-1]:g} of "
                f"{printable(name)!r} are taken as classes; if they are an amount or "
                "a rating, predict numbers"
            )
            notes.append(Note(said, "task", "regression", "rating", name))
    return notes


def _alike(present: pl.Series) -> list[str]:
    """Return values that are equal but for case and spaces."""
    values = present.unique().sort().to_list()
    groups: dict[str, list[str]] = {}
    for one in values:
        groups.setdefault("".join(one.casefold().split()), []).append(one)
    return [one for group in groups.values() if len(group) > 1 for one in group]


def _sentinel(present: pl.Series) -> tuple[float, int] | None:
    """Return a repeated extreme such as -999 or 9999 that is far from the rest."""
    values = present.cast(pl.Float64).to_numpy()
    for extreme in (values.min(), values.max()):
        others = values[values != extreme]
        nines = re.fullmatch(r"-?99+", f"{extreme:.0f}") and extreme == round(extreme)
        count = len(values) - len(others)
        if nines and count > 1 and len(others):
            gap = np.abs(others - extreme).min()
            if gap > np.ptp(others):
                return float(extreme), count
    return None


def _names_codes(name: str, present: pl.Series) -> bool:
    """Whether a column of many different integers is named like codes."""
    many = present.dtype.is_integer() and present.n_unique() > 10
    return many and _CODE.fullmatch(name.strip()) is not None


def _is_leak(column: pl.Series, y: NDArray[Any], min_rows: int = 10) -> bool:
    """Whether a column and the target determine each other."""
    if column.dtype.is_nested():
        return False
    kept = column.is_not_null().to_numpy()
    if kept.sum() < max(min_rows, 0.9 * len(kept)):
        return False
    values, target = column.drop_nulls(), y[kept]
    if y.dtype.kind == "f":
        if not values.dtype.is_numeric():
            return False
        x = values.cast(pl.Float64).to_numpy()
        slope = np.diff(x[np.argsort(target, kind="stable")])
        ties = np.diff(np.sort(target)) == 0
        rising = (slope[~ties] > 0).all() or (slope[~ties] < 0).all()
        return bool(rising and (slope[ties] == 0).all() and ties.size > ties.sum())
    pairs = pl.DataFrame({"value": values, "target": target})
    n = pairs.n_unique()
    return n > 1 and pairs["value"].n_unique() == pairs["target"].n_unique() == n
