"""Local discriminative Gaussians on a cluster: sums over chunks."""

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

import vicinal.ldg
from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import axes_of_scatter
from vicinal.base.metric import LinearMetric, init_like
from vicinal.dask._chunks import Centering, add_each, row_blocks
from vicinal.dask._estimator import DaskMixin
from vicinal.dask._sampling import Rows, draw_sample
from vicinal.ldg.eigenproblem import EigenProblem
from vicinal.ldg.local_gaussians import ClassPoints, Scatters, scatters
from vicinal.ldg.selection import (
    MOST_ROWS,
    Sample,
    choose_n_neighbors,
    warn_of_small_classes,
)
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.neighborhood.nearest import capped
from vicinal.objectives.nca import check_class_prior


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
        The rows that can be neighbors, drawn at random and stratified by class. Each
        worker holds them. "all" finds the exact neighbors: all pairs of rows are
        compared. "auto" is "all" up to 20,000 rows, else 16,384.
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
        vicinal.ldg.LDG,
        without=("refine", "max_iter", "tol"),
        n_references="auto",
        client=None,
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
        with self._fitting(X, y) as (local, chunks):
            random_state = check_random_state(self.random_state)
            n, n_features = chunks.shape
            wanted = local._wanted(n_features)
            sizes = chunks.counts.sum(axis=0)
            priors = check_class_prior(self.class_prior, sizes)
            warn_of_small_classes(chunks.classes, sizes, self.n_neighbors, itself=1)
            centering = Centering.of(chunks)
            scatter = centering.scatter(chunks)
            floor = self.var_floor * float(np.trace(scatter)) / n or 1.0

            rng = np.random.default_rng(random_state.randint(2**31 - 1))
            drawn = draw_sample(chunks, MOST_ROWS, rng, centering)
            rows = sorted_by_class(chunks.tasks.result(drawn))
            sample = Sample(
                rows.X, rows.codes, priors, floor, n_features, random_state,
                effective_n_threads(self.n_jobs),
            )  # fmt: skip
            k = choose_n_neighbors(sample, self.n_neighbors)
            n_references = self.n_references
            if n_references == "auto":
                n_references = "all" if n <= 20_000 else 2**14
            n_wanted = n if n_references == "all" else n_references
            drawn = draw_sample(chunks, n_wanted, rng, centering)
            [references] = chunks.tasks.map(sorted_by_class, [(drawn,)])
            parts = chunks.map(
                scatters_of_chunk,
                chunks.offsets.tolist(),
                common=(references, centering, k, priors, floor),
            )
            V, A = chunks.tasks.reduce(add_each, parts)

            varies = centering.varies
            axes = np.eye(n_features)[:, varies]
            if varies.any():
                inside, ones = scatter[np.ix_(varies, varies)], np.ones(varies.sum())
                kept = axes_of_scatter(inside, ones, chunks.shape, chunks.dtype)
                axes = axes if kept is None else axes @ kept
            local._solve(
                EigenProblem.build(axes, V, A),
                sample,
                k,
                wanted,
                lambda directions: directions.T.astype(np.float64),
            )
            local.classes_ = chunks.classes
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


def scatters_of_chunk(
    X: FloatArray,
    codes: IntArray,
    offset: int,
    references: Rows,
    centering: Centering,
    n_neighbors: int,
    priors: FloatArray,
    least_spread: float,
) -> Scatters:
    """Return V and A of the rows of a chunk, with their neighbors in a sample.

    Parameters
    ----------
    X, codes, offset
        The chunk, and the number of its first row.
    references : Rows
        The rows that can be neighbors: centered, sorted by class.
    centering : Centering
        Centers the chunk.
    n_neighbors, priors, least_spread
        k, p(j), and the floor of d σ².
    """
    n_classes = len(priors)
    subset = ClassPoints.build(references.X, references.codes, least_spread, n_classes)
    by_number = np.argsort(references.numbers)
    ks = [capped(n_neighbors, size, True) for size in np.diff(subset.bounds).tolist()]
    parts = []
    with single_threaded_blas():
        for block in row_blocks(len(X)):
            rows = block.start + np.argsort(codes[block], kind="stable")
            queries = ClassPoints.build(
                centering(X[rows]), codes[rows], least_spread, n_classes
            )
            own = _positions(rows + offset, references.numbers, by_number)
            found = subset.nearest(n_neighbors + 1, queries.points, 1)
            neighbors = [
                _without(own, nearest, k) for nearest, k in zip(found, ks, strict=True)
            ]
            parts.append(scatters(subset, neighbors, priors, X.shape[1], 1, queries))
    return Scatters(*add_each(*parts))


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
