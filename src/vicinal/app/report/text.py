"""Text and numbers for a page: short, printable, and harmless."""

from __future__ import annotations

import json
import math
import unicodedata
from base64 import b64encode
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Characters that could end the element of the text, or start another.
_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}
# Control, format (among them those that turn the direction of writing), surrogate.
_UNPRINTABLE = ("Cc", "Cf", "Cs")
# Of these, the joiners: Persian, Hindi and emoji are written with them.
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"


def short(text: object, limit: int = 48) -> str:
    """Return a text on one line, without control characters, and not too long.

    Parameters
    ----------
    text : object
        Any object.
    limit : int, default=48
        The largest number of characters; longer texts lose their middle.

    Returns
    -------
    str
        The text, which the template escapes.

    Examples
    --------
    >>> from vicinal.app.report.text import short
    >>> short("a column" + chr(7) + "name", limit=10)
    'a col…name'
    """
    kept = str(text)
    if len(kept) > limit:
        # Before looking at each character: cells may have ten million.
        head = limit // 2
        kept = f"{kept[:head]}…{kept[len(kept) - (limit - head - 1) :]}"
    return "".join(
        "\N{REPLACEMENT CHARACTER}"
        if unicodedata.category(c) in _UNPRINTABLE and c not in _JOINERS
        else c
        for c in kept.replace("\n", " ").replace("\t", " ")
    )


def as_json(value: Any) -> str:
    """Return a value as JSON that can stand inside a script element.

    Parameters
    ----------
    value : object
        Made of dictionaries, lists, strings, and finite numbers.

    Returns
    -------
    str
        ASCII, without ``<``, ``>`` and ``&``: HTML reads no markup in it.

    Examples
    --------
    >>> from vicinal.app.report.text import as_json
    >>> "<" in as_json("</script>")
    False
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPED)


def packed(array: NDArray[Any], kind: str) -> str:
    """Return the numbers of an array as base64 of their little-endian bytes.

    Parameters
    ----------
    array : ndarray
        Numbers that fit.
    kind : {"u1", "u2", "u4", "i2", "f4"}
        The type: unsigned or signed integers, or floating point, and their bytes.
    """
    return b64encode(array.astype(f"<{kind}").tobytes()).decode("ascii")


def readable(value: float, digits: int = 4) -> str:
    """Format a number with separated thousands and without needless digits.

    Parameters
    ----------
    value : float
        Any.
    digits : int, default=4
        The number of significant digits; whole numbers keep all of theirs.

    Examples
    --------
    >>> from vicinal.app.report.text import readable
    >>> [readable(x) for x in (25580.0, 0.123456, -1234.5, 1e-9, 2.5e14)]
    ['25,580', '0.1235', '-1,234', '1e-09', '2.5e+14']
    """
    if not math.isfinite(value):
        return "missing" if math.isnan(value) else str(value)
    size = abs(value)
    if size >= 1e12 or 0 < size < 1e-4:
        return f"{value:.{digits}g}"
    decimals = 0
    if not float(value).is_integer():
        before = math.floor(math.log10(size)) + 1
        decimals = max(0, digits - before)
    text = f"{value:,.{decimals}f}"
    # "-0" and trailing zeros say nothing.
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
