"""Hints: decisions about a table that its owner may want to change, one line each."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal.app.tables._polars import pl
from vicinal.app.tables.cells import as_names, sample, unnamed
from vicinal.app.tables.columns import Decision
from vicinal.app.tables.names import Note, listed, printable
from vicinal.app.tables.notation import number_form

_CODE = re.compile(
    r"(?i)(.*[_\s.-])?(zip|zip ?code|postal|post(al)?[_ ]?code|plz|postleitzahl|phone|"
    r"telephone|fax|isbn|ean|sku|account|customer|id|nr|code)"
)
_RATING = re.compile(
    r"(?i)rating|score|quality|stars|grade|points|satisf|(?<![a-z])age|count|level"
)
# Common codes for missing values: -999, 9999, -99.9; and for others, 998 or 888.
_SENTINEL = re.compile(r"-?(99+(\.(0|9+))?|9+[78]\.0|88+\.0|77+\.0)")


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
    codes = None
    if y is not None:
        codes = y if y.dtype.kind == "f" else np.unique(y, return_inverse=True)[1]
    hints = (
        _column_hint(one, unnamed(column)[1], codes, padded)
        for one, column in zip(decisions, frame.iter_columns(), strict=True)
        if not (one.asked or one.kind in ("target", "constant", "empty", "vector"))
    )
    return [hint for hint in hints if hint is not None]


def _column_hint(
    one: Decision,
    column: pl.Series,
    codes: NDArray[Any] | None,
    padded: Collection[str],
) -> Note | None:
    name, said = one.column, f"column {printable(one.column)!r}"
    present = column.drop_nulls() if column.null_count() else column
    numeric = one.kind == "number" and present.dtype.is_numeric()
    if codes is not None and one.kept and _is_leak(column, codes):
        said += " determines the target: leave it out if it is not known before"
        return Note(said, "drop", name, "leak", name)
    if numeric and (sentinels := _sentinels(present)):
        shown = " and ".join(f"{x:g}" for x in sentinels)
        count = sum(sentinels.values())
        said += f" has {shown} in {count:,} rows, far from its other values: "
        said += "if it means missing, empty these cells, or leave the column out"
        return Note(said, "drop", name, "sentinel", name)
    named = present.dtype.is_integer() and bool(_CODE.fullmatch(name.strip()))
    if numeric and named:
        # A code of few values may be a step on a scale, if it is small.
        named = present.n_unique() > 10 or bool((present >= 1000).all())
    if numeric and (name in padded or named):
        said += " looks like codes but is used as numbers: take it as "
        if present.n_unique() <= 50:
            return Note(f"{said}categories", "categorical", name, "code", name)
        return Note(f"{said}an identifier", "drop", name, "code", name)
    if present.dtype != pl.String:
        return None
    cells = sample(present)
    found = number_form(cells)
    if found and found.form.endswith("k") and 2 * found.n_read >= len(cells):
        shown = next(one for one in cells if re.search(r"(?i)\d\s?[kmb]", one))
        said += f" has numbers like {printable(shown)!r}, taken as text: name it "
        return Note(f"{said}as a number to read them", "number", name, "scaled", name)
    if one.kind == "category" and (alike := _alike(present)):
        shown = listed(alike, limit=2)
        said += f" has categories that differ only in case or spaces, {shown}: "
        return Note(f"{said}write them alike", kind="spelling", column=name)
    return None


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
        said = f"classes that differ only in case or spaces: {listed(alike, limit=4)}"
        notes.append(Note(f"{said}; write them alike", kind="spelling", column=name))
    if present.dtype.is_numeric() and not asked:
        values = present.unique().sort().to_numpy()
        # Some of the numbers may be missing, but most are there.
        in_order = bool(values[-1] - values[0] < 1.5 * len(values))
        n_min = 5 if _RATING.search(name) else 11
        if in_order and len(values) >= n_min:
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


def _sentinels(present: pl.Series) -> dict[float, int]:
    """Return repeated codes, such as -999 or 9999, that are far from the rest."""
    values = present.to_numpy().astype(np.float64)
    values = values[np.isfinite(values)]

    def is_code(value: float) -> bool:
        return _SENTINEL.fullmatch(repr(float(value))) is not None

    # Most columns end here, before their values are sorted.
    if not (values.size and (is_code(values.min()) or is_code(values.max()))):
        return {}
    distinct, counts = np.unique(values, return_counts=True)
    start, stop = 0, len(distinct)
    while start < stop and is_code(distinct[start]):
        start += 1
    while start < stop and is_code(distinct[stop - 1]):
        stop -= 1
    others = distinct[start:stop]
    codes = [*range(start), *range(stop, len(distinct))] if others.size else []
    return {
        float(distinct[i]): int(counts[i])
        for i in codes
        if counts[i] > 1
        and (
            np.abs(others - distinct[i]).min() > np.ptp(others)
            or distinct[i] < 0 <= others[0]
        )
    }


def _is_leak(column: pl.Series, y: NDArray[Any], min_rows: int = 10) -> bool:
    """Whether a column and the target, numbers or codes, determine each other."""
    if len(y) < min_rows or column.null_count() > 0.1 * len(y):
        return False
    # The first rows alone settle it for most columns.
    for n in dict.fromkeys((min(200, len(y)), len(y))):
        head = column.head(n)
        target, cells = y[:n], head
        if head.null_count():
            target, cells = target[head.is_not_null().to_numpy()], head.drop_nulls()
        if y.dtype.kind != "f":
            _, x = np.unique(cells.to_numpy(), return_inverse=True)
            pairs = np.unique(x * (1 + int(y.max())) + target).size
            same = pairs == np.unique(x).size == np.unique(target).size
        elif not cells.dtype.is_numeric():
            return False
        else:
            order = np.argsort(target, kind="stable")
            steps = np.diff(cells.to_numpy().astype(np.float64)[order])
            ties = np.diff(target[order]) == 0
            rising = (steps[~ties] > 0).all() or (steps[~ties] < 0).all()
            same = bool(rising and (steps[ties] == 0).all())
        if not same:
            return False
    return True
