"""Local discriminative Gaussians on a cluster: sums over chunks.

Neighbors come from a sample, or exactly from all chunks. With a sample, each chunk is
one task. Exactly, each pair of chunks is, after small consecutive ones were joined: the
candidates of all chunks for some queries are merged, then the chosen ones are added up
on the workers that hold them, so that rows are sent with their chunk only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

import vicinal.ldg
from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import axes_of_scatter
from vicinal.base.metric import LinearMetric
from vicinal.dask._chunks import BLOCK_ROWS, Chunks, Frame, add, scatter_of
from vicinal.dask._estimator import DaskMixin, init_like
from vicinal.dask._sampling import POOL_BYTES, Rows, draw_sample, join
from vicinal.dask._tasks import Handle, combined, summed
from vicinal.ldg.eigenproblem import EigenProblem
from vicinal.ldg.local_gaussians import ClassPoints, Scatters, scatters, squared_norms
from vicinal.ldg.selection import MOST_ROWS, Sample, warn_of_small_classes
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.neighborhood.nearest import capped
from vicinal.objectives.nca import check_class_prior

N_EXACT, N_REFERENCES, MOST_TASKS = 20_000, 2**14, 4096
"""n_references="auto" is "all" up to N_EXACT rows and MOST_TASKS tasks."""
JOINED_ROWS = 4096
"""Consecutive chunks are joined up to this many rows for exact neighbors."""


class LDG(DaskMixin, LinearMetric):
    """Local discriminative Gaussians of rows in a Dask array or data frame.

    Solves the eigenproblem of :class:`vicinal.LDG`. Its two matrices are sums over the
    rows: each chunk computes its own, and they are added up in a fixed order. The
    result is the same, bit for bit, for any number of workers.

    Parameters
    ----------
    n_components, n_neighbors, gamma, class_prior, var_floor, verbose, random_state, \
n_jobs
        As for :class:`vicinal.LDG`; "auto" chooses on about 3,000 rows.
    n_references : int, "all" or "auto", default="auto"
        The rows that can be neighbors. "all" finds the exact neighbors by merging the
        candidates of all chunks: all pairs of rows are compared, by a task for each
        pair of chunks, and the data are held on the cluster. A number draws that many
        rows, stratified by class, with one task for each chunk. "auto" is "all" up to
        20,000 rows and 4,096 tasks, else 16,384.
    client : distributed.Client or None, default=None
        As for :class:`vicinal.dask.NCA`.

    Attributes
    ----------
    components_, eigenvalues_, n_components_, n_neighbors_, gamma_, classes_, n_iter_, \
n_features_in_, feature_names_in_
        As for :class:`vicinal.LDG`.

    See Also
    --------
    vicinal.LDG : Rows in memory.

    Notes
    -----
    Cost: the distances of all rows to the rows that can be neighbors, and O(n C D²) for
    the scatters of C classes, chunk by chunk.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from vicinal.dask import LDG
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = da.from_array(X, (600, -1)), da.from_array(y, 600)
    >>> ldg = LDG(n_components=9, n_neighbors=8, gamma=0.6).fit(X, y)
    >>> ldg.transform(X)
    dask.array<_apply, shape=(1797, 9), ...>
    """

    _local = vicinal.ldg.LDG
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **vicinal.ldg.LDG._parameter_constraints,
        "n_references": [
            Interval(Integral, 2, None, closed="left"),
            StrOptions({"all", "auto"}),
        ],
        "client": "no_validation",
    }

    __init__ = init_like(
        vicinal.ldg.LDG, without=("refine", "max_iter", "tol"), n_references="auto"
    )

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the map.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The points, in chunks of whole rows of any sizes, known or not.
        y : dask array or series of shape (n_samples,)
            Their classes, in chunks of the same rows.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            random_state = check_random_state(self.random_state)
            chunks = self._look(X, y)
            local = self._as_local()
            n, n_features = chunks.shape
            wanted = local._wanted(n_features)
            sizes = chunks.counts.sum(axis=0)
            priors = check_class_prior(self.class_prior, sizes)
            warn_of_small_classes(chunks.classes, sizes, self.n_neighbors, itself=1)
            frame = Frame.of(chunks)
            reach = frame.reach(chunks)
            scatter = scatter_of(chunks, frame, reach)
            there = reach > 0
            total = float(np.diagonal(scatter) @ np.square(reach[there])) / n
            floor = self.var_floor * total or 1.0

            rng = np.random.default_rng(random_state.randint(2**31 - 1))
            drawn = draw_sample(chunks, min(n, MOST_ROWS), rng, frame.place)
            rows = sorted_by_class(chunks.tasks.result(drawn))
            sample = Sample(
                rows.X, rows.codes, priors, floor, n_features, random_state,
                effective_n_threads(self.n_jobs),
            )  # fmt: skip
            k = local._chosen_n_neighbors(sample)
            asked = Neighborhoods(k, sizes, priors, floor, n_features)
            n_references = self.n_references
            if n_references == "auto":
                few = n <= N_EXACT and n_exact_tasks(chunks) <= MOST_TASKS
                n_references = "all" if few else N_REFERENCES
            if n_references == "all":
                own, every = exact_scatters(chunks, frame, asked)
            else:
                drawn = draw_sample(chunks, int(n_references), rng, frame.place)
                [references] = chunks.tasks.map(sorted_by_class, [(drawn,)])
                given = ([one] * len(chunks.X) for one in (references, frame, asked))
                parts = chunks.map(scatters_against, chunks.offsets.tolist(), *given)
                own, every = summed(chunks.tasks, add_scatters, parts)
            axes = np.eye(n_features)[:, there]
            if there.any():
                kept = axes_of_scatter(
                    scatter, reach[there], chunks.shape, chunks.dtype
                )
                axes = axes if kept is None else axes @ kept
            local._solve(
                EigenProblem.build(axes, own, every),
                sample,
                k,
                wanted,
                lambda directions: directions.T.astype(np.float64),
            )
            local.classes_ = chunks.classes
            self._adopt(local)
        return self

    def set_n_components(self, n_components: int) -> Self:
        """Change the dimension of the fitted map, as :class:`vicinal.LDG` does.

        Parameters
        ----------
        n_components : int
            Number of dimensions.

        Returns
        -------
        self
        """
        self._adopt(self.to_local().set_n_components(n_components))
        return self


def sorted_by_class(rows: Rows) -> Rows:
    """Return rows sorted by class."""
    return rows[np.argsort(rows.codes, kind="stable")]


def add_scatters(*parts: Scatters) -> Scatters:
    """Add both matrices up in their order."""
    return Scatters(*(add(*both) for both in zip(*parts, strict=True)))


@dataclass(frozen=True)
class Neighborhoods:
    """The neighbors that each query has.

    Attributes
    ----------
    n_neighbors : int
        k.
    sizes : ndarray of shape (n_classes,)
        Number of points of each class that can be neighbors.
    priors : ndarray of shape (n_classes,)
        p(j).
    least_spread : float
        The floor of d σ².
    n_features : int
        d.
    """

    n_neighbors: int
    sizes: IntArray
    priors: FloatArray
    least_spread: float
    n_features: int

    def k_of(self, code: int) -> int:
        """Return the number of neighbors of this class that each query has."""
        return capped(self.n_neighbors, int(self.sizes[code]), leave_one_out=True)


def scatters_against(
    X: FloatArray,
    codes: IntArray,
    offset: int,
    sample: Rows,
    frame: Frame,
    asked: Neighborhoods,
) -> Scatters:
    """Return V and A of the rows of a chunk, with their neighbors in a sample.

    Parameters
    ----------
    X, codes, offset
        The chunk, and the number of its first row.
    sample : Rows
        The points that can be neighbors, in the frame, sorted by class.
    frame, asked
        The coordinates, and the neighborhoods.
    """
    n_classes = len(asked.priors)
    subset = ClassPoints.build(sample.X, sample.codes, asked.least_spread, n_classes)
    by_number = np.argsort(sample.numbers)
    sizes = np.diff(subset.bounds).tolist()
    parts = []
    with single_threaded_blas():
        for start in range(0, len(X), BLOCK_ROWS):
            rows = np.arange(start, min(start + BLOCK_ROWS, len(X)))
            rows = rows[np.argsort(codes[rows], kind="stable")]
            queries = ClassPoints.build(
                frame.place(X[rows]), codes[rows], asked.least_spread, n_classes
            )
            own = _positions(rows + offset, sample.numbers, by_number)
            found = subset.nearest(asked.n_neighbors + 1, queries.points, 1)
            neighbors = [
                _without(own, nearest, capped(asked.n_neighbors, size, True))
                for nearest, size in zip(found, sizes, strict=True)
            ]
            parts.append(
                scatters(subset, neighbors, asked.priors, asked.n_features, 1, queries)
            )
    return add_scatters(*parts)


def _positions(numbers: IntArray, known: IntArray, by_number: IntArray) -> IntArray:
    """Return the positions of rows among known ones, −1 for unknown ones."""
    at = np.searchsorted(known, numbers, sorter=by_number)
    positions = by_number[np.minimum(at, len(known) - 1)]
    return np.where(known[positions] == numbers, positions, -1)


def _without(own: IntArray, nearest: NDArray[np.int32], k: int) -> NDArray[np.int32]:
    """Return the k nearest other points of each query."""
    chosen = nearest[:, :k].copy()
    rows = np.flatnonzero((nearest == own[:, None]).any(axis=1))
    itself = nearest[rows] == own[rows, None]
    others = np.argsort(itself, axis=1, kind="stable")[:, :k]
    chosen[rows] = np.take_along_axis(nearest[rows], others, axis=1)
    return chosen


class Candidates(NamedTuple):
    """For each class, the nearest points to some queries, nearest first."""

    squares: list[FloatArray]
    """Squared distances, float64; infinity if a point is missing."""
    numbers: list[IntArray]
    """Row numbers; −1 if a point is missing."""


def place(X: FloatArray, codes: IntArray, offset: int, frame: Frame) -> Rows:
    """Return a chunk in the frame."""
    return Rows(frame.place(X), codes, np.arange(len(X)) + offset)


def candidates(
    asking: Rows, rows: slice, asked: Rows, wanted: Neighborhoods
) -> Candidates:
    """Return the points of one chunk that are nearest to queries of another."""
    Q, own = asking.X[rows], asking.numbers[rows]
    bounds = np.searchsorted(asked.codes, np.arange(len(wanted.priors) + 1))
    squares, numbers = [], []
    with single_threaded_blas():
        for j in range(len(wanted.priors)):
            start, stop = bounds[j : j + 2]
            k = wanted.k_of(j)
            near = np.full((len(Q), k), np.inf)
            which = np.full((len(Q), k), -1, dtype=np.intp)
            if stop > start:
                part = ClassPoints.build(
                    asked.X[start:stop], np.zeros(stop - start, dtype=np.intp), 1.0
                )
                found = part.nearest(k + 1, Q, 1)[0]
                own_place = np.where(asked.numbers[start:stop][found] == own[:, None],
                                     found, -1).max(axis=1)  # fmt: skip
                there = min(k, stop - start)
                found = _without(own_place, found, there)
                positions = start + found
                which[:, :there] = asked.numbers[positions]
                near[:, :there] = _squares(Q, asked.X, positions)
                itself = which == own[:, None]  # the only point of its class here
                near[itself], which[itself] = np.inf, -1
            squares.append(near)
            numbers.append(which)
    return Candidates(squares, numbers)


def _squares(Q: FloatArray, points: FloatArray, positions: IntArray) -> FloatArray:
    """Return squared distances from differences: equal for equal points."""
    found = np.empty(positions.shape)
    for column, place_of in enumerate(positions.T):
        found[:, column] = squared_norms(points[place_of] - Q)
    return found


def merge(*parts: Candidates) -> Candidates:
    """Return the nearest candidates of several chunks; of equals, the first row."""
    squares, numbers = [], []
    for near, which in zip(
        zip(*(part.squares for part in parts), strict=True),
        zip(*(part.numbers for part in parts), strict=True),
        strict=True,
    ):
        k = near[0].shape[1]
        all_near, all_which = np.hstack(near), np.hstack(which)
        order = np.lexsort((all_which, all_near), axis=1)[:, :k]
        squares.append(np.take_along_axis(all_near, order, axis=1))
        numbers.append(np.take_along_axis(all_which, order, axis=1))
    return Candidates(squares, numbers)


def neighbor_sums(
    asking: Rows, rows: slice, asked: Rows, chosen: Candidates
) -> FloatArray:
    """Return Σ (x_n − x_i) over the chosen neighbors n in one chunk.

    Returns
    -------
    ndarray of shape (n_classes, n_queries, n_features)
    """
    Q = asking.X[rows]
    order = np.argsort(asked.numbers)
    sums = np.zeros((len(chosen.numbers), *Q.shape))
    for j, numbers in enumerate(chosen.numbers):
        positions = _positions(numbers.ravel(), asked.numbers, order).reshape(
            numbers.shape
        )
        i, column = np.nonzero((positions >= 0) & (numbers >= 0))
        ones = np.ones(len(i), dtype=Q.dtype)
        shape = (len(Q), len(asked.X))
        near = csr_array((ones, (i, positions[i, column])), shape=shape)
        counts = np.bincount(i, minlength=len(Q)).astype(Q.dtype)
        sums[j] = near @ asked.X - counts[:, None] * Q
    return sums


def scatters_of(
    asking: Rows,
    rows: slice,
    chosen: Candidates,
    sums: FloatArray,
    asked: Neighborhoods,
) -> Scatters:
    """Return V and A of some queries from the sums over their neighbors."""
    mine = asking.codes[rows]
    d = sums.shape[2]
    V, A = np.zeros((d, d)), np.zeros((d, d))
    with single_threaded_blas():
        for j, (total, squares, numbers) in enumerate(
            zip(sums, chosen.squares, chosen.numbers, strict=True)
        ):
            known = numbers >= 0
            n = np.maximum(known.sum(axis=1), 1)
            delta = total / n[:, None]
            spreads = np.where(known, squares, 0.0).sum(axis=1) / n
            spreads = np.maximum(spreads - squared_norms(delta), asked.least_spread)
            delta *= np.sqrt(asked.n_features / spreads)[:, None]
            A += asked.priors[j] * (delta.T @ delta)
            own = delta[mine == j]
            V += own.T @ own
    return Scatters(V, A)


def n_exact_tasks(chunks: Chunks) -> int:
    """Return the number of tasks that search a chunk for candidates."""
    groups = _groups(chunks)
    return len(groups) * len(list(_blocks(chunks, groups)))


def exact_scatters(chunks: Chunks, frame: Frame, asked: Neighborhoods) -> Scatters:
    """Return V and A with the nearest of all rows as neighbors.

    A copy of the data stays on the cluster meanwhile, with the candidates and sums of
    at most two blocks of queries.
    """
    tasks = chunks.tasks
    groups = _groups(chunks)
    apart = chunks.map(place, chunks.offsets.tolist(), [frame] * len(chunks.X))
    joined = [combined(tasks, join, apart[group]) for group in groups]
    placed = tasks.map(sorted_by_class, [(one,) for one in joined])
    del apart, joined
    total: Handle = None
    before: list[Handle] = []
    for k, rows in _blocks(chunks, groups):
        asking = placed[k]
        near = tasks.map(candidates, [(asking, rows, one, asked) for one in placed])
        chosen = combined(tasks, merge, near)
        parts = tasks.map(
            neighbor_sums, [(asking, rows, one, chosen) for one in placed]
        )
        sums = combined(tasks, add, parts)
        [one] = tasks.map(scatters_of, [(asking, rows, chosen, sums, asked)])
        [total] = [one] if total is None else tasks.map(add_scatters, [(total, one)])
        # Otherwise workers do the first tasks of all blocks, and hold their results.
        tasks.result(before)
        before = tasks.map(_is_there, [(total,)])
    found: Scatters = tasks.result(total)
    return found


def _is_there(result: object) -> bool:
    """Return a small result once a large one has been computed."""
    return result is not None


def _groups(chunks: Chunks) -> list[slice]:
    """Return the consecutive chunks that are joined."""
    row_bytes = chunks.shape[1] * chunks.dtype.itemsize
    most = min(JOINED_ROWS, POOL_BYTES // row_bytes)
    starts, size = [0], 0
    for k, n_rows in enumerate(chunks.n_rows.tolist()):
        if size and size + n_rows > most:
            starts.append(k)
            size = 0
        size += n_rows
    return [slice(*ends) for ends in pairwise([*starts, len(chunks.n_rows)])]


def _blocks(chunks: Chunks, groups: list[slice]) -> Iterator[tuple[int, slice]]:
    """Return blocks of queries: some rows of a group, with sums of limited size."""
    width = len(chunks.classes) * chunks.shape[1] * 8
    size = max(16, POOL_BYTES // (2 * width))
    for k, group in enumerate(groups):
        n_rows = int(chunks.n_rows[group].sum())
        for start in range(0, n_rows, size):
            yield k, slice(start, min(start + size, n_rows))
