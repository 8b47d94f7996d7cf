"""What was decided about a column; and whether a stored description of it is valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vicinal.app.tables.dates import check_form
from vicinal.app.tables.notation import FORMS

__all__ = [
    "FIELDS",
    "MOST_FEATURES",
    "Decision",
    "check_description",
    "demand",
]

KINDS = ("number", "yes/no", "date", "category", "vector")
"""What a column that is kept may be."""
_LEFT_OUT = ("constant", "identifier", "text", "empty", "target", "dropped")
MOST_FEATURES = 1_000_000
"""A description that names more of them is refused."""
FIELDS = ("column", "kind", "reason", "form", "asked")
"""Of a decision, as they are stored."""
_DESCRIPTION = {"decisions", "categories", "lengths", "dtype"}


@dataclass(frozen=True)
class Decision:
    """What became of one column, and why.

    Attributes
    ----------
    column : str
        Its name in the table.
    kind : str
        "number", "category", "yes/no", "date" or "vector", which are kept;
        "constant", "identifier", "text", "empty", "target" or "dropped", which are
        left out.
    reason : str
        For a person; may be empty.
    form : str
        How its cells spell numbers (`vicinal.app.tables.notation`) or dates
        (`vicinal.app.tables.dates`).
    asked : bool
        Whether a person said so: then a cell that is something else is missing.
    """

    column: str
    kind: str
    reason: str = ""
    form: str = ""
    asked: bool = False

    @property
    def kept(self) -> bool:
        """Whether the column became features."""
        return self.kind in KINDS


def check_description(stored: Any) -> None:
    """Raise ValueError where it is not what `Columns.to_dict` returns.

    Parameters
    ----------
    stored : dict
        From JSON, which somebody may have edited.
    """
    demand(_keys(stored) == _DESCRIPTION, "its keys")
    decisions, categories = stored["decisions"], stored["categories"]
    demand(isinstance(decisions, list), "decisions")
    for one in decisions:
        _check_decision(one)
    names = [one["column"] for one in decisions]
    demand(len(set(names)) == len(names), "repeated columns")
    one_hot = {one["column"] for one in decisions if one["kind"] == "category"}
    demand(_keys(categories) == one_hot, "the columns with categories")
    for values in categories.values():
        demand(isinstance(values, list) and len(values) > 0, "categories")
        demand(all(isinstance(value, str) for value in values), "categories")
        demand(len(set(values)) == len(values), "repeated categories")
        demand("" not in values[:-1] and len(values) > 1, "categories")
    lengths = stored["lengths"]
    wide = {one["column"] for one in decisions if one["kind"] == "vector"}
    demand(_keys(lengths) == wide, "the columns with vectors")
    for length in lengths.values():
        demand(type(length) is int and 0 < length <= MOST_FEATURES, "lengths")
    total = sum(lengths.values()) + sum(map(len, categories.values()))
    demand(total <= MOST_FEATURES, "the number of features")
    demand(stored["dtype"] in ("float32", "float64"), "dtype")


def _check_decision(one: Any) -> None:
    """Raise ValueError where a column's description is not what `to_dict` wrote."""
    demand(_keys(one) == set(FIELDS), "a decision's keys")
    texts = [one[key] for key in FIELDS if key != "asked"]
    demand(all(isinstance(x, str) for x in texts), "a decision")
    demand(isinstance(one["asked"], bool), "a decision")
    demand(one["kind"] in KINDS + _LEFT_OUT, "a column's kind")
    if one["kind"] == "date":
        demand(check_form(one["form"]), "a date's form")
    else:
        demand(FORMS.fullmatch(one["form"]) is not None, "a number's form")


def _keys(value: Any) -> set[str] | None:
    return set(value) if isinstance(value, dict) else None


def demand(holds: bool, what: str) -> None:
    """Raise ValueError where a description is not valid.

    Parameters
    ----------
    holds : bool
        Whether it is.
    what : str
        What of it.
    """
    if not holds:
        raise ValueError(f"The description of the columns is not valid: {what}.")
