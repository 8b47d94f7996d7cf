"""What to say of names that no method has, or none that can do the task."""

from __future__ import annotations

from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["mistaken"]

_FOR = {
    "classification": "for classes",
    "regression": "for a numeric target",
    "none": "for data without a target",
}
_BESIDE = {"none": " without a target", "regression": " for a numeric target"}


def mistaken(
    unknown: list[Any],
    able: list[str],
    task: str,
    elsewhere: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> str:
    """Say which names are wrong, and which were meant.

    Parameters
    ----------
    unknown : list
        Names that are not in `able`; none where nothing was asked for.
    able : list of str
        Methods that can do the task.
    task : str
        "classification", "regression" or "none".
    elsewhere : mapping of str to tuple of str, optional
        Methods, and the tasks that each of them can do.

    Returns
    -------
    str
        A sentence.

    Examples
    --------
    >>> from vicinal.app.methods.mistaken import mistaken
    >>> print(mistaken(["ldaa"], ["lda", "nca"], "classification"))
    methods must be some of lda, nca, or all; got 'ldaa': did you mean 'lda'?
    """
    got = []
    for one in unknown:
        meant = get_close_matches(str(one).lower(), able, 1, 0.6)
        said = f": did you mean {meant[0]!r}?" if meant else ""
        known = elsewhere.get(str(one).lower(), ())
        if known:
            said = f", which is {' or '.join(_FOR[other] for other in known)}"
        got.append(f"{one!r}{said}")
    listed = ", ".join(got) or "none"
    end = "" if listed.endswith("?") else "."
    beside = _BESIDE.get(task, "")
    return (
        f"methods must be some of {', '.join(able)}{beside}, or all; got {listed}{end}"
    )
