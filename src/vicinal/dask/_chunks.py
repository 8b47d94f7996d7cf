"""Chunks of rows of a Dask array or data frame: checks, counts, means, scatters.

One pass over the data checks them, counts the rows and the classes of each chunk, and
computes the range and the mean of each feature. No rows come to the client.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from typing import Any, NamedTuple

import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import check_classification_targets

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import LARGEST_VALUE
from vicinal.dask._tasks import Handle, Tasks
from vicinal.neighborhood import single_threaded_blas


class Summary(NamedTuple):
    """Summary of a chunk: its labels, their counts, and the range and mean of rows."""

    n_rows: int
    labels: NDArray[Any]
    counts: IntArray
    low: FloatArray
    high: FloatArray
    mean: FloatArray


@dataclass(frozen=True)
class Chunks:
    """Checked chunks, without empty ones.

    Attributes
    ----------
    tasks : Tasks
        Runs functions of them.
    X, y : list
        The delayed chunks; y has None if there are no labels.
    n_rows : ndarray of shape (n_chunks,)
        Number of rows.
    classes : ndarray of shape (n_classes,)
        The sorted labels of all chunks; without labels, [0].
    counts : ndarray of shape (n_chunks, n_classes)
        Number of rows of each class.
    low, high, mean : ndarray of shape (n_features,)
        Of all rows.
    dtype : dtype
        For computations: float32 if X is, else float64.
    names : list of str or None
        Names of the features.
    center : ndarray of shape (n_features,) or None, default=None
        Subtracted from all rows by `map`.
    """

    tasks: Tasks
    X: list[Any]
    y: list[Any]
    n_rows: IntArray
    classes: NDArray[Any]
    counts: IntArray
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    dtype: np.dtype[Any]
    names: list[str] | None
    center: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return int(self.n_rows.sum()), len(self.mean)

    @property
    def offsets(self) -> IntArray:
        """The number of the first row of each chunk."""
        return np.cumsum(self.n_rows) - self.n_rows

    def map(
        self, function: Any, *arguments: Sequence[Any], common: tuple[Any, ...] = ()
    ) -> list[Handle]:
        """Call a function of the rows and class codes of each chunk.

        Parameters
        ----------
        function : callable
            Takes the rows, their classes as integers, and the other arguments.
        *arguments : sequences
            One entry for each chunk.
        common : tuple, default=()
            Further arguments, the same for all chunks.
        """
        fixed = (function, self.classes, self.dtype, self.center)
        return self.tasks.over_chunks(
            _with_rows,
            [
                (*fixed, X, y, *given, *common)
                for X, y, *given in zip(self.X, self.y, *arguments, strict=True)
            ],
        )


def find_chunks(tasks: Tasks, X: Any, y: Any = None, *, labeled: bool) -> Chunks:
    """Check the data in one pass, and return their chunks.

    Parameters
    ----------
    tasks : Tasks
        Runs the pass.
    X : dask array or data frame of shape (n_samples, n_features)
        The rows, chunked along the rows only.
    y : dask array or series of shape (n_samples,) or None
        Their labels, in chunks of the same rows.
    labeled : bool
        Whether labels are required.

    Raises
    ------
    TypeError, ValueError
        If the data are not of this kind or not valid.
    """
    rows, dtype, names = _row_chunks(X)
    labels = _label_chunks(y, X, len(rows)) if labeled else [None] * len(rows)
    looked = tasks.over_chunks(
        _look,
        [(k, dtype, *pair) for k, pair in enumerate(zip(rows, labels, strict=True))],
    )
    seen = tasks.result(looked)
    problems = [one for one in seen if isinstance(one, str)]
    if problems:
        raise ValueError(problems[0])
    full = [k for k, one in enumerate(seen) if one is not None]
    found: list[Summary] = [seen[k] for k in full]
    n_rows = np.array([one.n_rows for one in found], dtype=np.intp)
    if n_rows.sum() < 2:
        raise ValueError(
            f"Found array with {n_rows.sum()} sample(s) in {len(rows)} chunks "
            "while a minimum of 2 is required."
        )
    if len({one.labels.dtype.kind in "US" for one in found}) > 1:
        raise ValueError("y has strings in some chunks and numbers in others.")
    classes = np.unique(np.concatenate([one.labels for one in found]))
    # The client holds a table of counts: a column of identifiers is not for it.
    if len(classes) > 10_000:
        raise ValueError(f"y has {len(classes)} different labels: no classes.")
    if labeled:
        # Twice, as scikit-learn warns if most labels occur once.
        check_classification_targets(np.repeat(classes, 2))
        if len(classes) < 2:
            raise ValueError(
                f"y has only one class, {classes.tolist()[0]!r}: there is nothing to "
                "tell apart."
            )
    counts = np.zeros((len(found), len(classes)), dtype=np.intp)
    for row, one in zip(counts, found, strict=True):
        row[np.searchsorted(classes, one.labels)] = one.counts
    with np.errstate(over="ignore", invalid="ignore"):  # the range is checked later
        mean = (n_rows / n_rows.sum()) @ np.array([one.mean for one in found])
    return Chunks(
        tasks,
        [rows[k] for k in full],
        [labels[k] for k in full],
        n_rows,
        classes,
        counts,
        np.array([one.low for one in found]).min(axis=0),
        np.array([one.high for one in found]).max(axis=0),
        mean,
        dtype,
        names,
    )


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask array or data frame."""
    return isinstance(X, dask.array.Array | dask.dataframe.DataFrame)


def _row_chunks(X: Any) -> tuple[list[Any], np.dtype[Any], list[str] | None]:
    """Return the delayed chunks of X, the type to compute in, and the feature names."""
    if not is_collection(X):
        raise TypeError(
            f"X must be a Dask array or data frame, got {type(X).__name__}: pass "
            "dask.array.from_array(X, chunks=(10_000, -1)), or use the estimator of "
            "the same name in vicinal."
        )
    if isinstance(X, dask.dataframe.DataFrame):
        dtypes = X.dtypes.items()
        strange = [f"{name!r} ({one})" for name, one in dtypes if not is_number(one)]
        if strange:
            raise ValueError(
                f"X has columns that are not numbers: {', '.join(strange[:10])}. Leave "
                "them out, as in X[['a', 'b']], or turn them into numbers "
                "(Categorizer and DummyEncoder of dask-ml, or map_partitions)."
            )
        narrow = all(dtype == np.float32 for dtype in X.dtypes)
        names = list(X.columns)
        known = names if all(isinstance(name, str) for name in names) else None
        return partitions(X), np.dtype("f4" if narrow else "f8"), known
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array: reshape X.")
    if not is_number(X.dtype):
        raise ValueError(
            f"X has dtype {X.dtype}, which is not of numbers: X.astype('float32')."
        )
    check_whole_rows(X)
    narrow = X.dtype == np.float32
    return list(X.to_delayed()[:, 0]), np.dtype("f4" if narrow else "f8"), None


def check_whole_rows(X: Any) -> None:
    """Raise ValueError if an array is chunked along its features."""
    if X.numblocks[1] != 1:
        raise ValueError(
            f"X is chunked along its features, in {X.numblocks[1]} parts: a task needs "
            "whole rows. Use X.rechunk({1: -1})."
        )


def partitions(frame: Any) -> list[Any]:
    """Return the `npartitions` delayed partitions of a data frame.

    Dask combines small files if few of their columns are used, for X differently than
    for y, so that their partitions would have different rows.
    """
    parts = list(frame.to_delayed())
    if len(parts) != frame.npartitions:
        parts = list(frame.simplify().to_delayed(optimize_graph=False))
    return parts


def is_number(dtype: Any) -> bool:
    """Return whether a dtype is numeric, also of the dtypes of pandas."""
    return pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c"


def _label_chunks(y: Any, X: Any, n_chunks: int) -> list[Any]:
    """Return the delayed chunks of y, which must have the same rows as those of X."""
    if y is None:
        raise ValueError("This estimator needs y, the labels of the rows.")
    if isinstance(y, dask.dataframe.DataFrame) and len(y.columns) == 1:
        y = y[y.columns[0]]
    if isinstance(y, dask.dataframe.Series):
        delayed = partitions(y)
    elif isinstance(y, dask.array.Array) and y.ndim == 1:
        delayed = list(y.to_delayed())
    else:
        raise TypeError(
            "y must be a Dask array or series of one dimension, got "
            f"{type(y).__name__}: dask.array.from_array(y, chunks=...) with the chunks "
            "of X."
        )
    ours, theirs = (getattr(one, "chunks", ((),))[0] for one in (X, y))
    known = ours and theirs and not np.isnan([*ours, *theirs]).any()
    if len(delayed) != n_chunks or (known and ours != theirs):
        raise ValueError(
            f"y has other chunks than X: {len(delayed)} {theirs[:8]}, and X {n_chunks} "
            f"{ours[:8]}. Use y.rechunk(X.chunks[0]) for arrays of known sizes, or "
            "take both from one data frame."
        )
    return delayed


def _with_rows(
    function: Any,
    classes: NDArray[Any],
    dtype: np.dtype[Any],
    center: FloatArray | None,
    X: Any,
    y: Any,
    *given: Any,
) -> Any:
    """Call a function of the rows of a chunk as an array, and its labels as codes."""
    rows = np.ascontiguousarray(np.asarray(X, dtype=dtype))
    if center is not None:
        rows = rows - center
    if y is None:
        return function(rows, np.zeros(len(rows), dtype=np.intp), *given)
    return function(rows, np.searchsorted(classes, as_labels(y)), *given)


def as_labels(y: Any) -> NDArray[Any]:
    """Return labels as an array of numbers, booleans or strings.

    Raises
    ------
    ValueError
        If some are missing or of mixed types. The message continues after the name of
        the chunk.
    """
    # np.asarray would turn NaN into "nan" among strings; pandas' NA has no order.
    if np.any(pd.isna(y)):
        raise ValueError("has labels that are missing")
    labels = np.asarray(y)
    if labels.dtype.kind != "O":
        return labels
    if all(isinstance(label, str) for label in labels):
        return labels.astype(str)
    if all(isinstance(label, Real | np.bool_) for label in labels):
        return np.array(labels.tolist())
    kinds = sorted({type(label).__name__ for label in labels})
    raise ValueError(
        f"has labels of mixed types ({', '.join(kinds[:5])}), which must be strings "
        "only or numbers only"
    )


def _look(k: int, dtype: np.dtype[Any], X: Any, y: Any) -> Summary | str | None:
    """Check and summarize one chunk; return the problem, or None without rows."""
    rows = np.asarray(X, dtype=dtype)
    n, chunk = len(rows), f"Chunk {k} of X (the first is 0)"
    if y is not None and len(y) != n:
        return f"{chunk} has {n} rows, but that of y has {len(y)}."
    if not n:
        return None
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        what = "NaN" if np.isnan(rows[i, j]) else "infinity"
        return f"{chunk} contains {what}, first in its row {i}, feature {j}."
    labels, counts = np.zeros(1, dtype=int), np.array([n])
    if y is not None:
        try:
            labels, counts = np.unique(as_labels(y), return_counts=True)
        except ValueError as error:
            return f"{chunk.replace('X', 'y')} {error}."
    with np.errstate(over="ignore", invalid="ignore"):  # the range is checked later
        mean = rows.mean(axis=0, dtype=np.float64)
    return Summary(n, labels, counts, rows.min(axis=0), rows.max(axis=0), mean)


@dataclass(frozen=True)
class Centering:
    """Subtracts the mean of all rows; features that do not vary become 0.

    Attributes
    ----------
    origin : ndarray of shape (n_features,)
        The mean.
    varies : ndarray of bool of shape (n_features,)
        Which features vary by more than rounding.
    """

    origin: FloatArray
    varies: NDArray[np.bool_]

    @classmethod
    def of(cls, chunks: Chunks) -> "Centering":
        """Center all chunks at their mean."""
        low, high = chunks.low, chunks.high
        rounding = (
            4 * np.finfo(chunks.dtype).eps * np.maximum(np.abs(low), np.abs(high))
        )
        varies = high - low > np.maximum(rounding, 1 / LARGEST_VALUE)
        return cls(np.where(varies, chunks.mean, low).astype(chunks.dtype), varies)

    def __call__(self, X: FloatArray) -> FloatArray:
        return np.where(self.varies, X - self.origin, X.dtype.type(0))

    def scatter(self, chunks: Chunks) -> FloatArray:
        """Return Σ xxᵀ of all centered rows, in float64."""
        parts = chunks.map(_own_scatter, common=(self,))
        [total] = chunks.tasks.reduce(add_each, parts)
        scatter: FloatArray = total
        return scatter


def row_blocks(n: int) -> Iterator[slice]:
    """Return the rows that a task copies at a time."""
    return gen_batches(n, 8192)


def _own_scatter(X: FloatArray, _: IntArray, centering: Centering) -> tuple[FloatArray]:
    """Return Σ xxᵀ of a chunk."""
    total = np.zeros((X.shape[1], X.shape[1]))
    with single_threaded_blas():
        for block in row_blocks(len(X)):
            wide = centering(X[block]).astype(np.float64)
            total += wide.T @ wide
    return (total,)


def add_each(*parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add tuples up in their order, entry by entry."""
    return tuple(reduce(np.add, terms) for terms in zip(*parts, strict=True))
