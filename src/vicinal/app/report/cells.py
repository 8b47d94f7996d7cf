"""What a person reads of a row: what it is called, and the values of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.methods.linear_map import feature_shares
from vicinal.app.report.numbers import readable
from vicinal.app.report.sanitize import packed, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.report.displayed import DisplayedRows
    from vicinal.app.report.fitted import FittedMetric
    from vicinal.app.report.source_columns import SourceColumns

__all__ = ["column_data", "names_of_rows"]

# More make the page heavy; those that count least under the metric are left out.
_MOST_COLUMNS = 40
# Longer texts are no names.
_LONGEST_NAME = 80
_CALLED_NAMES = ("name", "title", "label")


def column_data(
    rows: DisplayedRows, columns: SourceColumns, metric: FittedMetric, frame: Any
) -> list[dict[str, Any]]:
    """Return the values of the rows, column by column, as the page's script wants them.

    Parameters
    ----------
    rows : DisplayedRows
        The rows of the page.
    columns : SourceColumns
        Where their features came from.
    metric : FittedMetric
        Columns come in the order of what they contribute to it.
    frame : mapping, data frame or None
        The values as they came, for the compared rows; else the features are shown.

    Returns
    -------
    list of dict
        With a name, the distinct values as text, which of them each row has, and how
        far they are apart in standard deviations: a number for each row (``at``, in
        128ths), or for each value what it adds where it is one of two that differ
        (``weights``).
    """
    share = columns.summed(np.nan_to_num(feature_shares(metric.components)))
    known = set(_names(frame))
    found = []
    for column in np.argsort(-share, kind="stable"):
        features = columns.features(int(column))
        if len(features) > 1 and columns.values[features[0]] is None:
            continue  # a vector has no value that can be read
        name = columns.names[column]
        texts = None
        if name in known:
            texts = [_cell(value) for value in _column(frame, name, rows.positions)]
        values = [str(columns.values[j]) for j in features]
        if len(features) > 1:
            one = _categories(rows.X[:, features], values, texts)
        else:
            x = rows.X[:, features[0]]
            if texts is None and columns.values[features[0]] is not None:
                texts = _either(x, values[0])
            one = _numbers(x, texts)
        found.append({"name": short(name, 40), **one})
        if len(found) == _MOST_COLUMNS:
            break
    return found


def _numbers(x: FloatArray, texts: list[str] | None) -> dict[str, Any]:
    missing = np.isnan(x)
    if texts is None:
        texts = [_cell(float(value)) for value in x]
    known = x[~missing].astype(np.float64)
    middle = float(np.median(known)) if known.size else 0.0
    filled = np.where(missing, middle, x.astype(np.float64))
    spread = float(filled.std()) or 1.0
    apart = (filled - middle) / spread
    # Beyond 255 standard deviations, far is far.
    return {**_coded(texts), "at": packed((apart * 128).clip(-32767, 32767), "i2")}


def _either(x: FloatArray, value: str) -> list[str]:
    """Return a value or its absence: of two values, one has become a feature."""
    said = np.where(x > 0.5, value, f"not {value}")
    return np.where(np.isnan(x), "missing", said).tolist()


def _categories(
    X: FloatArray, values: Sequence[str], texts: list[str] | None
) -> dict[str, Any]:
    has = X > 0.5
    own = np.where(has.any(axis=1), has.argmax(axis=1), len(values))
    if texts is None:
        texts = [values[i] if i < len(values) else "missing" for i in own]
    coded = _coded(texts)
    spread = np.append(X.std(axis=0, dtype=np.float64), np.inf)
    with np.errstate(divide="ignore"):
        weights = np.where(spread > 0, 1 / spread, 0.0)
    of_text: dict[str, float] = {}
    for text, i in zip(texts, own.tolist(), strict=True):
        of_text.setdefault(short(text, 40), round(float(weights[i]), 3))
    return {**coded, "weights": [of_text[text] for text in coded["values"]]}


def _coded(texts: Iterable[str]) -> dict[str, Any]:
    values, codes = np.unique([short(text, 40) for text in texts], return_inverse=True)
    return {"values": values.tolist(), "codes": packed(codes, "u2")}


def names_of_rows(
    rows: DisplayedRows,
    given: ArrayLike | None,
    frame: Any,
    decisions: Sequence[Any],
) -> list[str] | None:
    """Return what the shown rows are called, where the table says it.

    Parameters
    ----------
    rows : DisplayedRows
        The rows of the page.
    given : array-like of shape (n_samples,) or None
        A name for each compared row; else a column of names or identifiers is looked
        for among those that no feature was made of.
    frame : mapping, data frame or None
        The table of the compared rows.
    decisions : sequence of objects with attributes column and kind
        What became of its columns.
    """
    if given is not None:
        return [short(one) for one in np.asarray(given)[rows.positions].tolist()]
    known = set(_names(frame))
    candidates: list[tuple[tuple[bool, bool, float], list[str]]] = []
    for one in decisions:
        if one.kind not in ("identifier", "text") or one.column not in known:
            continue
        texts = [_cell(value) for value in _column(frame, one.column, rows.positions)]
        if np.mean([len(text) for text in texts]) > _LONGEST_NAME:
            continue
        distinct = len(set(texts)) / len(texts)
        called = any(word in one.column.lower() for word in _CALLED_NAMES)
        if distinct > 0.5:
            key = (called, one.kind == "identifier", distinct)
            candidates.append((key, texts))
    if not candidates:
        return None
    return [short(text) for text in max(candidates, key=lambda one: one[0])[1]]


def _names(frame: Any) -> list[str]:
    if frame is None:
        return []
    return list(frame) if isinstance(frame, Mapping) else list(frame.columns)


def _column(frame: Any, name: str, positions: IntArray) -> list[Any]:
    """Return some values of a column: of a mapping, or a pandas or polars frame."""
    column = frame[name]
    if hasattr(column, "to_list"):
        column = column.to_list()
    return [column[i] for i in positions.tolist()]


def _cell(value: Any) -> str:
    """Return a cell's text."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        # Whole numbers without a comma: they may be years.
        number = float(value)
        whole = number.is_integer() and abs(number) < 1e12
        return str(int(number)) if whole else readable(number, 6)
    text = str(value)
    return "missing" if value is None or text in ("NaT", "<NA>") else text
