"""Names of columns and files: made distinct, suggested when mistaken, printable."""

import difflib

__all__ = ["counted", "distinct_names", "near", "printable"]


def counted(n: int, noun: str) -> str:
    """Return how many there are of something, in the singular or the plural.

    Parameters
    ----------
    n : int
        How many.
    noun : str
        One of them; its plural ends in an s.

    Examples
    --------
    >>> counted(1, "cell"), counted(2000, "cell")
    ('1 cell', '2,000 cells')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def distinct_names(names: list[str]) -> list[str]:
    """Name columns that have no name, and number those that share one.

    Parameters
    ----------
    names : list of str
        As they are in the header.

    Returns
    -------
    list of str
        As many, all distinct and none empty.

    Examples
    --------
    >>> distinct_names(["", "a", "a", "a_2"])
    ['Unnamed: 0', 'a', 'a_3', 'a_2']
    """
    taken = set(names)
    seen: set[str] = set()
    result = []
    for index, name in enumerate(names):
        new = name
        if not new or new in seen:
            stem, number = (f"{name}_", 2) if name else ("Unnamed: ", index)
            while (new := f"{stem}{number}") in taken:
                number += 1
            taken.add(new)
        seen.add(new)
        result.append(new)
    return result


def near(name: str, known: list[str]) -> str:
    """Suggest names that look like one that does not exist.

    Parameters
    ----------
    name : str
        What was asked for.
    known : list of str
        What there is.

    Returns
    -------
    str
        A clause that begins with a semicolon, or nothing.

    Examples
    --------
    >>> near("speces", ["species", "width"])
    "; did you mean 'species'?"
    """
    by_lower = {one.lower(): one for one in reversed(known)}
    found = difflib.get_close_matches(name.lower(), list(by_lower), 3, 0.6)
    names = " or ".join(repr(by_lower[one]) for one in found)
    return f"; did you mean {names}?" if names else ""


def printable(text: object, limit: int | None = 40) -> str:
    """Return a text on one line that a terminal takes for nothing but text.

    Parameters
    ----------
    text : object
        A name or a cell of a file; it may hold commands to a terminal.
    limit : int or None, default=40
        At most how many characters.

    Returns
    -------
    str
        With � for each character that cannot be printed.

    Examples
    --------
    >>> printable("a name" + chr(27) + "[2J")
    'a name�[2J'
    >>> printable("x" * 99, limit=5)
    'xxxx…'
    """
    shown = str(text)
    if limit is not None and len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    return "".join(letter if letter.isprintable() else "�" for letter in shown)
