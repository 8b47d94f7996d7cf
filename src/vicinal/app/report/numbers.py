"""Numbers as people read them: 25,580 and not 2.558e+04."""

from __future__ import annotations

import math

__all__ = ["readable"]


def readable(value: float, digits: int = 4) -> str:
    """Return a number to be read: with thousands, without needless digits.

    Parameters
    ----------
    value : float
        Any.
    digits : int, default=4
        How many significant digits to keep; whole numbers keep all of theirs.

    Examples
    --------
    >>> from vicinal.app.report.numbers import readable
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
