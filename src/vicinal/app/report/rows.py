"""The rows of the page: which are shown, their columns, cells, names and images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.comparison.data import stratified_rows
from vicinal.app.methods.linear_map import feature_shares
from vicinal.app.report.text import packed, readable, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.comparison import Setting
    from vicinal.app.report.fitted import FittedMetric


@dataclass(frozen=True, eq=False)
class Pixels:
    """Rows as pictures.

    Attributes
    ----------
    thumbnails : ndarray of uint8 of shape (n_shown, height, width)
        Black is the least value of all, white the largest.
    shape : tuple of int
        Height and width of the pictures as they were given.
    of_features : ndarray of int of shape (n_features,) or None
        The pixel of each feature, if features are pixels.
    """

    thumbnails: NDArray[np.uint8]
    shape: tuple[int, int]
    of_features: IntArray | None


@dataclass(frozen=True, eq=False)
class DisplayedRows:
    """The rows of the page: held-out rows, and the training rows of its metrics.

    Attributes
    ----------
    X : ndarray of shape (n_shown, n_features)
        The features of the rows to click; missing values are NaN.
    target : ndarray of shape (n_shown,) or None
        Classes as integers from 0, numbers as float64.
    classes : list of str
        Names of the classes.
    numbers : ndarray of int of shape (n_shown,)
        The numbers of the rows among those given to the comparison.
    pixels : Pixels or None
        The images, if rows are images.
    positions : ndarray of int of shape (n_shown,)
        The positions of the rows among the compared ones.
    crowd, crowd_target : ndarray of shape (n_crowd, n_features) and (n_crowd,)
        The held-out rows of the maps. `shown` are the positions of `X` among them.
    train, train_target : ndarray of shape (n_train, n_features) and (n_train,)
        The rows that the metrics of the page learn from.
    n_held_out : int
        The number of held-out rows.
    """

    X: FloatArray
    target: IntArray | FloatArray | None
    classes: list[str]
    numbers: IntArray
    pixels: Pixels | None
    positions: IntArray
    shown: IntArray
    crowd: FloatArray
    crowd_target: IntArray | FloatArray | None
    train: FloatArray
    train_target: IntArray | FloatArray | None
    n_held_out: int


def select_rows(
    setting: Setting,
    max_points: int,
    image_shape: tuple[int, int] | None,
    images: ArrayLike | None,
    *,
    max_crowd: int = 100_000,
    max_train: int = 1500,
) -> DisplayedRows:
    """Choose the rows of the page: test rows of the first split, and training rows.

    Parameters
    ----------
    setting : Setting
        Of the comparison.
    max_points : int
        The largest number of rows to click, except that two of each class are always
        among them.
    image_shape : tuple of two int or None
        Height and width, if rows are images.
    images : array-like of shape (n_samples, height * width) or None
        Their pixels; by default the features are.
    max_crowd : int, default=100_000
        The largest number of rows on the maps.
    max_train : int, default=1500
        The largest number of rows to learn from.

    Raises
    ------
    ValueError
        If pixels and shape do not fit each other.
    """
    target = setting.target
    pixels = _pixels(setting, image_shape, images)

    def part(rows: IntArray, size: int) -> IntArray:
        codes = target[rows] if setting.classes and target is not None else None
        return rows[stratified_rows(len(rows), size, codes)]

    held_out = setting.tests[0] if setting.tests else next(setting.splits(1))[1]
    held_out = np.sort(held_out)
    crowd = part(held_out, max_crowd)
    kept = part(crowd, max_points)
    train = part(np.setdiff1d(np.arange(len(setting.X)), held_out), max_train)
    X = setting.X[kept]
    return DisplayedRows(
        X=X,
        target=None if target is None else target[kept],
        classes=list(setting.classes),
        numbers=setting.rows[kept],
        pixels=None if pixels is None else _thumbnails(pixels[kept], X),
        positions=kept,
        shown=np.searchsorted(crowd, kept),
        crowd=setting.X[crowd],
        crowd_target=None if target is None else target[crowd],
        train=setting.X[train],
        train_target=None if target is None else target[train],
        n_held_out=len(held_out),
    )


def _pixels(
    setting: Setting, image_shape: tuple[int, int] | None, images: ArrayLike | None
) -> FloatArray | None:
    """Return all rows as pictures, of shape (n_samples, height, width)."""
    if image_shape is None:
        if images is not None:
            raise ValueError("images need an image_shape: their height and width.")
        return None
    height, width = image_shape
    pixels = setting.X if images is None else np.asarray(images, dtype=np.float64)
    wanted = (len(setting.X), height * width)
    if min(height, width) < 1 or pixels.shape != wanted:
        source = "X" if images is None else "images"
        raise ValueError(
            f"image_shape {height}x{width} needs {source} of shape {wanted}, "
            f"got {pixels.shape}."
        )
    return pixels.reshape(-1, height, width)


def _thumbnails(pictures: FloatArray, X: FloatArray, max_side: int = 32) -> Pixels:
    """Return images of at most `max_side` pixels: larger ones make the page heavy."""
    n, height, width = pictures.shape
    values = np.nan_to_num(pictures.astype(np.float64))
    low, high = values.min(), values.max()
    # Every few pixels become one: a picture of 100 × 60 becomes one of 25 × 15.
    step = -(-max(height, width) // max_side)
    rows, columns = np.arange(0, height, step), np.arange(0, width, step)
    sums = np.add.reduceat(np.add.reduceat(values, rows, axis=1), columns, axis=2)
    counts = np.outer(np.diff([*rows, height]), np.diff([*columns, width]))
    gray = 255 * (sums / counts - low) / ((high - low) or 1)
    return Pixels(
        thumbnails=gray.round().clip(0, 255).astype(np.uint8),
        shape=(height, width),
        of_features=_pixel_of_features(pictures.reshape(n, -1), X),
    )


def _pixel_of_features(pixels: FloatArray, X: FloatArray) -> IntArray | None:
    """Return which pixel each feature is; some may have been left out before."""
    indexes: dict[bytes, list[int]] = {}
    for index, column in enumerate(pixels.astype(X.dtype).T):
        indexes.setdefault(column.tobytes(), []).append(index)
    found = [indexes.get(np.ascontiguousarray(column).tobytes()) for column in X.T]
    # Equal columns one after the other: each is taken once.
    taken = [own.pop(0) if own else None for own in found]
    return None if None in taken else np.array(taken, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class SourceColumns:
    """The columns behind the features.

    Attributes
    ----------
    names : list of str
        Of the columns, in the order of their first features.
    of_features : ndarray of int of shape (n_features,)
        The column of each feature, by position.
    values : list of str or None
        The value that each feature stands for, if a column of text became several
        features.
    """

    names: list[str]
    of_features: IntArray
    values: list[str | None]

    def summed(self, values: FloatArray) -> FloatArray:
        """Return the sums of the features' values, one for each column.

        Parameters
        ----------
        values : ndarray of shape (n_features,)
            One number for each feature.
        """
        sums: FloatArray = np.zeros(len(self.names))
        np.add.at(sums, self.of_features, values)
        return sums

    def features(self, column: int) -> IntArray:
        """Return the features that came from a column."""
        return np.flatnonzero(self.of_features == column)


def find_source_columns(
    feature_names: Sequence[str],
    X: FloatArray,
    split: Iterable[str] | None = None,
    given: Sequence[str] | None = None,
) -> SourceColumns:
    """Group the features by the column that they came from.

    Parameters
    ----------
    feature_names : sequence of str
        A category's is ``column=value``.
    X : ndarray of shape (n_samples, n_features)
        The features.
    split : iterable of str, optional
        The columns that have become features called ``column=value``, ``column
        missing`` or ``column[0]``, if they are known. Otherwise features called
        ``column=…`` belong together if each row has at most one of them.
    given : sequence of str, optional
        The column of each feature, if it is known.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.report.rows import find_source_columns
    >>> X = np.array([[22.0, 1, 0], [38, 0, 1]])
    >>> found = find_source_columns(["age", "port=C", "port=S"], X)
    >>> found.names, found.of_features.tolist(), found.values
    (['age', 'port'], [0, 1, 1], [None, 'C', 'S'])
    """
    if given is not None:
        owners = [str(name) for name in given]
    elif split is None:
        owners = _by_values(feature_names, X)
    else:
        # The longest first: a column's name may begin with another's.
        columns = sorted(map(str, split), key=len, reverse=True)
        owners = [
            next((one for one in columns if _belongs(name, one)), name)
            for name in feature_names
        ]
    names = list(dict.fromkeys(owners))
    index = {name: i for i, name in enumerate(names)}
    values = [
        feature[len(owner) + 1 :]
        if feature.startswith(f"{owner}=") or feature == f"{owner} missing"
        else None
        for feature, owner in zip(feature_names, owners, strict=True)
    ]
    return SourceColumns(names, np.array([index[one] for one in owners]), values)


def _belongs(feature: str, column: str) -> bool:
    return feature == f"{column} missing" or feature.startswith(
        (f"{column}=", f"{column}[")
    )


def _by_values(feature_names: Sequence[str], X: FloatArray) -> list[str]:
    groups: dict[str, list[int]] = {}
    for j, name in enumerate(feature_names):
        column, equals, _ = name.partition("=")
        if equals:
            groups.setdefault(column, []).append(j)
    owners = list(feature_names)
    for column, features in groups.items():
        part = X[:, features]
        is_one_hot = np.isin(part, (0, 1)).all() and (part.sum(axis=1) <= 1).all()
        if len(features) > 1 and is_one_hot and column not in feature_names:
            for j in features:
                owners[j] = column
    return owners


def column_data(
    rows: DisplayedRows,
    columns: SourceColumns,
    metric: FittedMetric,
    frame: Any,
    *,
    max_columns: int = 40,
) -> list[dict[str, Any]]:
    """Return the values of the rows by column, for the script of the page.

    Parameters
    ----------
    rows : DisplayedRows
        The rows of the page.
    columns : SourceColumns
        The columns of the features.
    metric : FittedMetric
        Columns are ordered by their contribution to this metric.
    frame : mapping, data frame or None
        The original values of the compared rows; None shows the features.
    max_columns : int, default=40
        The largest number of columns. Those that contribute least are left out.

    Returns
    -------
    list of dict
        With a name, the distinct values as text, their codes by row, and positions in
        standard deviations: a number for each row (``at``, in 128ths), or a weight
        for each value (``weights``), which is added if two rows differ.
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
        if len(found) == max_columns:
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
    *,
    max_length: int = 80,
) -> list[str] | None:
    """Return the names of the shown rows, if the table has some.

    Parameters
    ----------
    rows : DisplayedRows
        The rows of the page.
    given : array-like of shape (n_samples,) or None
        A name for each compared row. None searches for a column of names or
        identifiers among those that are not features.
    frame : mapping, data frame or None
        The table of the compared rows.
    decisions : sequence of objects with attributes column and kind
        The kinds of its columns.
    max_length : int, default=80
        The largest mean length of names; longer texts are no names.
    """
    if given is not None:
        return [short(one) for one in np.asarray(given)[rows.positions].tolist()]
    known = set(_names(frame))
    candidates: list[tuple[tuple[bool, bool, float], list[str]]] = []
    for one in decisions:
        if one.kind not in ("identifier", "text") or one.column not in known:
            continue
        texts = [_cell(value) for value in _column(frame, one.column, rows.positions)]
        if np.mean([len(text) for text in texts]) > max_length:
            continue
        distinct = len(set(texts)) / len(texts)
        called = any(word in one.column.lower() for word in ("name", "title", "label"))
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
