"""Chunks of rows: what a Dask array or data frame must be, and what it holds.

One pass over the data checks them, counts the rows and the classes of each chunk, and
measures the features; its results, not the rows, come back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

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


@dataclass(frozen=True)
class Summary:
    """What chunks hold, in the order of the chunks.

    Attributes
    ----------
    n_rows : ndarray of shape (n_chunks,)
        How many rows each chunk has.
    labels, counts : list of ndarray
        The labels of each chunk, sorted, and how many rows have each.
    low, high, mean : ndarray of shape (n_features,)
        Of all rows; the mean in float64.
    problem : str or None
        What is wrong with the first chunk of which something is.
    """

    n_rows: IntArray
    labels: list[NDArray[Any]]
    counts: list[IntArray]
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    problem: str | None = None


@dataclass(frozen=True)
class Chunks:
    """Checked chunks that have rows, with what is known of all of them.

    Attributes
    ----------
    tasks : Tasks
        Runs functions of them.
    X, y : list
        The delayed chunks; the y are None where there are no labels.
    n_rows : ndarray of shape (n_chunks,)
        How many rows each has.
    classes : ndarray of shape (n_classes,)
        The labels of all chunks, sorted; one of them, 0, where there are none.
    counts : ndarray of shape (n_chunks, n_classes)
        How many rows of each class each has.
    low, high, mean : ndarray of shape (n_features,)
        Of all rows.
    dtype : dtype
        What tasks compute in: float32 where X is, else float64.
    names : list of str or None
        Of the features.
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
        """How many rows and features there are."""
        return int(self.n_rows.sum()), len(self.mean)

    @property
    def offsets(self) -> IntArray:
        """The number of the first row of each chunk."""
        return np.cumsum(self.n_rows) - self.n_rows

    def map(self, function: Any, *arguments: Sequence[Any]) -> list[Handle]:
        """Call a function of each chunk's rows and codes.

        Parameters
        ----------
        function : callable
            Takes the rows, their classes as codes, and what is given for the chunk.
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
    """Check the data in one pass over them, and return their chunks.

    Parameters
    ----------
    tasks : Tasks
        Runs the pass.
    X : dask array or data frame of shape (n_samples, n_features)
        The rows, chunked along the rows only.
    y : dask array or series of shape (n_samples,) or None
        Their labels, in chunks of the same rows.
    labeled : bool
        Whether there must be labels.

    Raises
    ------
    TypeError, ValueError
        When the data are of another kind, or cannot be learned from.
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
    if found.n_rows.sum() < 2:
        raise ValueError(
            f"Found array with {found.n_rows.sum()} sample(s) in {len(rows)} chunks "
            "while a minimum of 2 is required."
        )
    full = np.flatnonzero(found.n_rows)
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
        found.n_rows[full],
        classes,
        counts,
        found.low,
        found.high,
        found.mean,
        dtype,
        names,
    )


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask array or data frame, and not of this process."""
    return isinstance(X, dask.array.Array | dask.dataframe.DataFrame)


def _row_chunks(X: Any) -> tuple[list[Any], np.dtype[Any], list[str] | None]:
    """Return X's delayed chunks, the type to compute in, and the features' names."""
    if not is_collection(X):
        raise TypeError(
            f"X must be a Dask array or data frame, got {type(X).__name__}. For data "
            "in memory use the estimator of the same name in vicinal; or make it one: "
            "dask.array.from_array(X, chunks=(10_000, -1))."
        )
    if isinstance(X, dask.dataframe.DataFrame):
        strange = [
            f"{name!r} ({dtype})"
            for name, dtype in X.dtypes.items()
            if not is_number(dtype)
        ]
        if strange:
            raise ValueError(
                f"X has columns that are not numbers: {', '.join(strange[:10])}. Leave "
                "them out, as in X[['a', 'b']], or turn them into numbers "
                "(Categorizer and DummyEncoder of dask-ml, or map_partitions)."
            )
        dtypes = list(X.dtypes)
        narrow = all(dtype == np.float32 for dtype in dtypes)
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
    """Return a data frame's delayed partitions, as many as it says that it has.

    Dask reads small files together where few of their columns are asked for, X's
    otherwise than y's, and so makes partitions of other rows of them.
    """
    parts = list(frame.to_delayed())
    if len(parts) != frame.npartitions:
        parts = list(frame.simplify().to_delayed(optimize_graph=False))
    return parts


def is_number(dtype: Any) -> bool:
    """Return whether a column's values are numbers, also of pandas' own types."""
    plain = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", "O")
    return np.dtype(plain).kind in "fiub"


def _label_chunks(y: Any, X: Any, n_chunks: int) -> list[Any]:
    """Return y's delayed chunks, which must be of the same rows as X's."""
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
    """Return how many rows each chunk of an array has; nothing where unknown."""
    chunks = getattr(collection, "chunks", None)
    if chunks is None or np.isnan(chunks[0]).any():
        return []
    return list(chunks[0])


def _shown(sizes: list[int], n_chunks: int) -> str:
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
    """Do a chunk's task: its rows become an array, and its labels codes."""
    rows = np.ascontiguousarray(np.asarray(X, dtype=dtype))
    if y is None:
        return function(rows, np.zeros(len(rows), dtype=np.intp), *given)
    return function(rows, np.searchsorted(classes, as_labels(y)), *given)


def as_labels(y: Any) -> NDArray[Any]:
    """Return labels as an array of numbers, booleans or strings.

    Raises
    ------
    ValueError
        When some are missing, or of other or mixed types; the message goes on after
        the name of the chunk.
    """
    # An array of strings would hold "nan", and comparing pandas' NA is an error.
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
    """Check and count one chunk."""
    try:
        rows = np.asarray(X, dtype=dtype)
    except (TypeError, ValueError) as error:
        return _bad(k, f"does not hold numbers only: {error}")
    if rows.ndim != 2:
        return _bad(k, f"has {rows.ndim} dimensions, not 2")
    n, n_features = rows.shape
    if y is not None and len(y) != n:
        return _bad(k, f"has {n} rows, but that of y has {len(y)}")
    if not n:
        none = np.full(n_features, np.nan)
        return Summary(np.array([0]), [np.array([])], [np.array([], dtype=int)],
                       none, none, none)  # fmt: skip
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        what = "NaN" if np.isnan(rows[i, j]) else "infinity"
        return _bad(k, f"contains {what}, first in its row {i}, feature {j}")
    labels, counts = np.zeros(1, dtype=int), np.array([n])
    if y is not None:
        try:
            given = as_labels(y)
        except ValueError as error:
            return _bad(k, str(error), "y")
        labels, counts = np.unique(given, return_counts=True)
        if len(labels) > MOST_CLASSES:
            return _bad(k, f"has {len(labels)} different labels: no classes", "y")
    with np.errstate(over="ignore", invalid="ignore"):
        mean = rows.mean(axis=0, dtype=np.float64)
    return Summary(
        np.array([n]), [labels], [counts], rows.min(axis=0), rows.max(axis=0), mean
    )


def _bad(k: int, what: str, name: str = "X") -> Summary:
    nothing = np.zeros(0)
    return Summary(
        np.array([0]), [nothing], [nothing.astype(int)], nothing, nothing, nothing,
        f"Chunk {k} of {name} (the first is 0) {what}.",
    )  # fmt: skip


def _joined(*parts: Summary) -> Summary:
    """Join the summaries of consecutive chunks."""
    problem = next((part.problem for part in parts if part.problem), None)
    sizes = {len(part.low) for part in parts if part.n_rows.sum()}
    if problem is None and len(sizes) > 1:
        problem = f"Chunks of X have different numbers of features: {sorted(sizes)}."
    full = [part for part in parts if part.n_rows.sum()] if not problem else []
    one = full[0] if full else parts[0]
    low, high, mean = one.low, one.high, one.mean
    if full:
        n = np.array([part.n_rows.sum() for part in full], dtype=np.float64)
        low = np.min([part.low for part in full], axis=0)
        high = np.max([part.high for part in full], axis=0)
        with np.errstate(over="ignore", invalid="ignore"):  # found out later
            mean = (n / n.sum()) @ np.array([part.mean for part in full])
    return Summary(
        np.concatenate([part.n_rows for part in parts]),
        [labels for part in parts for labels in part.labels],
        [counts for part in parts for counts in part.counts],
        low,
        high,
        mean,
        problem,
    )


def _classes_of(
    labels: list[NDArray[Any]], counts: list[IntArray]
) -> tuple[NDArray[Any], IntArray]:
    """Return the labels of all chunks, and the rows of each class in each chunk."""
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
    """The coordinates that distances are computed in.

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
        """Put the origin into the middle of all chunks."""
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
        """Return the largest coordinate of each feature, 0 where it does not vary."""
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
    """Return Σ xxᵀ of a chunk, with each varying feature in a unit of its own."""
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
    """Return Σ xxᵀ of all rows in a frame, each varying feature in a unit of its own.

    Parameters
    ----------
    chunks, frame : Chunks, Frame
        The data, and their coordinates.
    reach : ndarray of shape (n_features,)
        The units; features of which it is 0 are left out.
    """
    n = len(chunks.X)
    parts = chunks.map(own_scatter, [frame] * n, [reach] * n)
    total: FloatArray = summed(chunks.tasks, add, parts)
    return total
