"""Chunks of rows of a Dask array or data frame: checks, counts, means, scatters.

One pass over the data checks them, counts the rows and the classes of each chunk, and
computes the range and the mean of each feature. No rows come to the client.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from vicinal._typing import FloatArray, IntArray
from vicinal.dask._tasks import Handle, Tasks, combined, summed
from vicinal.neighborhood import single_threaded_blas

MOST_CLASSES = 10_000
"""Maximum number of classes; more different labels are an error."""
BLOCK_ROWS = 8192
"""Rows of a chunk that a task copies at a time."""


class Summary(NamedTuple):
    """Summary of some consecutive chunks.

    Attributes
    ----------
    n_rows : list of int
        Number of rows of each chunk.
    labels, counts : list of ndarray
        The sorted labels of each chunk, and the number of rows of each.
    low, high, mean : ndarray of shape (n_features,) or None
        Of all rows, the mean in float64; None without rows.
    problem : str or None
        The first error.
    """

    n_rows: list[int]
    labels: list[NDArray[Any]]
    counts: list[IntArray]
    low: Any = None
    high: Any = None
    mean: Any = None
    problem: str | None = None


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

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return int(self.n_rows.sum()), len(self.mean)

    @property
    def offsets(self) -> IntArray:
        """The number of the first row of each chunk."""
        return np.cumsum(self.n_rows) - self.n_rows

    def map(self, function: Any, *arguments: Sequence[Any]) -> list[Handle]:
        """Call a function of the rows and class codes of each chunk.

        Parameters
        ----------
        function : callable
            Takes the rows, their classes as integers, and the other arguments.
        *arguments : sequences
            One entry for each chunk.
        """
        common = (function, self.classes, self.dtype)
        return self.tasks.over_chunks(
            _with_rows,
            [
                (*common, X, y, *given)
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
    found: Summary = tasks.result(combined(tasks, _joined, looked))
    if found.problem is not None:
        raise ValueError(found.problem)
    n_rows = np.array(found.n_rows)
    if n_rows.sum() < 2:
        raise ValueError(
            f"Found array with {n_rows.sum()} sample(s) in {len(rows)} chunks "
            "while a minimum of 2 is required."
        )
    full = np.flatnonzero(n_rows)
    classes, counts = _classes_of(
        [found.labels[k] for k in full], [found.counts[k] for k in full]
    )
    if labeled:
        check_classification_targets(classes)
        if len(classes) < 2:
            raise ValueError(
                f"y has only one class, {classes.tolist()[0]!r}: there is nothing to "
                "tell apart."
            )
    return Chunks(
        tasks,
        [rows[k] for k in full],
        [labels[k] for k in full],
        n_rows[full],
        classes,
        counts,
        found.low,
        found.high,
        found.mean,
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
            f"X must be a Dask array or data frame, got {type(X).__name__}. For data "
            "in memory use the estimator of the same name in vicinal; or make it one: "
            "dask.array.from_array(X, chunks=(10_000, -1))."
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
    if X.dtype.kind not in "fiub":
        raise ValueError(
            f"X has dtype {X.dtype}, which is not of numbers: X.astype('float32')."
        )
    if X.numblocks[1] != 1:
        raise ValueError(
            f"X is chunked along its features, in {X.numblocks[1]} parts: a task needs "
            "whole rows. Use X.rechunk({1: -1}), or X.rechunk({0: 'auto', 1: -1})."
        )
    narrow = X.dtype == np.float32
    return list(X.to_delayed()[:, 0]), np.dtype("f4" if narrow else "f8"), None


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
    plain = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", "O")
    return np.dtype(plain).kind in "fiub"


def _label_chunks(y: Any, X: Any, n_chunks: int) -> list[Any]:
    """Return the delayed chunks of y, which must have the same rows as those of X."""
    if y is None:
        raise ValueError("This estimator needs y, the labels of the rows.")
    if isinstance(y, dask.dataframe.DataFrame):
        if len(y.columns) != 1:
            raise ValueError(f"y must be one column, got {len(y.columns)}.")
        y = y[y.columns[0]]
    if isinstance(y, dask.dataframe.Series):
        delayed = partitions(y)
    elif isinstance(y, dask.array.Array):
        if y.ndim != 1:
            raise ValueError(f"y must have one dimension, got {y.ndim}: use y[:, 0].")
        delayed = list(y.to_delayed())
    else:
        raise TypeError(
            f"y must be a Dask array or series like X, got {type(y).__name__}: "
            "dask.array.from_array(y, chunks=...) with the chunks of X."
        )
    ours, theirs = _sizes(X), _sizes(y)
    if len(delayed) != n_chunks or (ours and theirs and ours != theirs):
        raise ValueError(
            f"y has other chunks than X: {_shown(theirs, len(delayed))}, and X "
            f"{_shown(ours, n_chunks)}. Use y.rechunk(X.chunks[0]) for arrays of known "
            "sizes, or take both from one data frame."
        )
    return delayed


def _sizes(collection: Any) -> list[int]:
    """Return the number of rows of each chunk of an array; empty if unknown."""
    chunks = getattr(collection, "chunks", None)
    if chunks is None or np.isnan(chunks[0]).any():
        return []
    return list(chunks[0])


def _shown(sizes: list[int], n_chunks: int) -> str:
    """Describe the chunks for an error message."""
    if not sizes:
        return f"{n_chunks} chunks of unknown sizes"
    more = ", …" if len(sizes) > 8 else ""
    return f"{n_chunks} chunks of {', '.join(map(str, sizes[:8]))}{more} rows"


def _with_rows(
    function: Any,
    classes: NDArray[Any],
    dtype: np.dtype[Any],
    X: Any,
    y: Any,
    *given: Any,
) -> Any:
    """Call a function of the rows of a chunk as an array, and its labels as codes."""
    rows = np.ascontiguousarray(np.asarray(X, dtype=dtype))
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
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "O":
        kinds = sorted({type(label).__name__ for label in labels})
        raise ValueError(
            f"has labels of mixed types ({', '.join(kinds[:5])}), which must be "
            "strings only or numbers only"
        )
    return labels


def _look(k: int, dtype: np.dtype[Any], X: Any, y: Any) -> Summary:
    """Check and summarize one chunk."""

    def bad(what: str, name: str = "X") -> Summary:
        problem = f"Chunk {k} of {name} (the first is 0) {what}."
        return Summary([0], [], [], problem=problem)

    try:
        rows = np.asarray(X, dtype=dtype)
    except (TypeError, ValueError) as error:
        return bad(f"does not hold numbers only: {error}")
    if rows.ndim != 2:
        return bad(f"has {rows.ndim} dimensions, not 2")
    n = len(rows)
    if y is not None and len(y) != n:
        return bad(f"has {n} rows, but that of y has {len(y)}")
    if not n:
        return Summary([0], [np.array([])], [np.array([], dtype=int)])
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        what = "NaN" if np.isnan(rows[i, j]) else "infinity"
        return bad(f"contains {what}, first in its row {i}, feature {j}")
    labels, counts = np.zeros(1, dtype=int), np.array([n])
    if y is not None:
        try:
            labels, counts = np.unique(as_labels(y), return_counts=True)
        except ValueError as error:
            return bad(str(error), "y")
        if len(labels) > MOST_CLASSES:
            return bad(f"has {len(labels)} different labels: no classes", "y")
    with np.errstate(over="ignore", invalid="ignore"):
        mean = rows.mean(axis=0, dtype=np.float64)
    return Summary([n], [labels], [counts], rows.min(axis=0), rows.max(axis=0), mean)


def _joined(*parts: Summary) -> Summary:
    """Join the summaries of consecutive chunks."""
    full = [part for part in parts if part.low is not None]
    widths = {len(part.low) for part in full}
    problem = next((part.problem for part in parts if part.problem), None)
    if problem is None and len(widths) > 1:
        problem = f"Chunks of X have different numbers of features: {sorted(widths)}."
    if problem is not None:
        return Summary([0], [], [], problem=problem)
    found = Summary(
        [n for part in parts for n in part.n_rows],
        [labels for part in parts for labels in part.labels],
        [counts for part in parts for counts in part.counts],
    )
    if not full:
        return found
    n = np.array([sum(part.n_rows) for part in full], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # `Frame.of` reports it
        mean = (n / n.sum()) @ np.array([part.mean for part in full])
    low = np.min([part.low for part in full], axis=0)
    high = np.max([part.high for part in full], axis=0)
    return found._replace(low=low, high=high, mean=mean)


def _classes_of(
    labels: list[NDArray[Any]], counts: list[IntArray]
) -> tuple[NDArray[Any], IntArray]:
    """Return the sorted labels, and the number of rows of each in each chunk."""
    if len({label.dtype.kind in "US" for label in labels}) > 1:
        raise ValueError("y has strings in some chunks and numbers in others.")
    classes = np.unique(np.concatenate(labels))
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"y has {len(classes)} different labels: no classes.")
    table = np.zeros((len(labels), len(classes)), dtype=np.intp)
    for row, chunk_labels, chunk_counts in zip(table, labels, counts, strict=True):
        row[np.searchsorted(classes, chunk_labels)] = chunk_counts
    return classes, table


@dataclass(frozen=True)
class Frame:
    """Coordinates in which distances do not overflow.

    Attributes
    ----------
    origin : ndarray of shape (n_features,)
        The mean of all rows.
    unit : float
        A power of two, in which no square overflows.
    varies : ndarray of bool of shape (n_features,)
        Which features vary by more than rounding.
    """

    origin: FloatArray
    unit: float
    varies: NDArray[np.bool_]

    @classmethod
    def of(cls, chunks: Chunks) -> "Frame":
        """Center all chunks at their mean."""
        low, high, dtype = chunks.low, chunks.high, chunks.dtype
        largest = np.maximum(np.abs(low), np.abs(high))
        with np.errstate(over="ignore", invalid="ignore"):
            varies = high - low > 4 * np.finfo(dtype).eps * largest
            origin = np.where(varies, chunks.mean.astype(dtype), low)
            reach = np.maximum(high - origin, origin - low)
        if not np.isfinite(reach).all():
            raise ValueError("X has values too large to compute with. Scale the data.")
        size = float(reach[varies].max(initial=0))
        unit = 2.0 ** (np.frexp(size)[1] - 1) if size else 1.0
        return cls(origin, unit, varies)

    def reach(self, chunks: Chunks) -> FloatArray:
        """Return the largest coordinate of each feature, 0 if it is constant."""
        reach = np.maximum(chunks.high - self.origin, self.origin - chunks.low)
        return np.where(self.varies, reach / self.unit, 0.0)

    def place(self, X: FloatArray) -> FloatArray:
        """Return rows in these coordinates."""
        moved = X - self.origin.astype(X.dtype)
        moved /= X.dtype.type(self.unit)
        moved[:, ~self.varies] = 0
        return moved


def own_scatter(
    X: FloatArray,
    codes: IntArray,  # noqa: ARG001
    frame: Frame,
    reach: FloatArray,
) -> FloatArray:
    """Return Σ xxᵀ of a chunk, each varying feature in its own unit."""
    there = reach > 0
    total = np.zeros((there.sum(), there.sum()))
    with single_threaded_blas():
        for start in range(0, len(X), BLOCK_ROWS):
            wide = frame.place(X[start : start + BLOCK_ROWS])[:, there] / reach[there]
            total += wide.T @ wide
    return total


def add(*terms: FloatArray) -> FloatArray:
    """Add arrays up in their order."""
    total = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total


def scatter_of(chunks: Chunks, frame: Frame, reach: FloatArray) -> FloatArray:
    """Return Σ xxᵀ of all rows in a frame, each varying feature in its own unit.

    Parameters
    ----------
    chunks, frame : Chunks, Frame
        The data, and their coordinates.
    reach : ndarray of shape (n_features,)
        The units; features with 0 are left out.
    """
    n = len(chunks.X)
    parts = chunks.map(own_scatter, [frame] * n, [reach] * n)
    total: FloatArray = summed(chunks.tasks, add, parts)
    return total
