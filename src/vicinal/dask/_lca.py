"""Local component analysis on a cluster."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

import vicinal.lca
from vicinal._typing import FloatArray
from vicinal.base.metric import LinearMetric, init_like
from vicinal.dask._chunks import Centering, add_each
from vicinal.dask._estimator import DaskMixin
from vicinal.dask._sampling import QUERIES_PER_TASK, Pool, Share, draw_sample
from vicinal.dask._tasks import freed_memory_kept
from vicinal.lca.data import ScaledData, Scaler
from vicinal.lca.em import (
    N_EXACT,
    N_REFERENCES,
    EMResult,
    Kernel,
    MStep,
    OnIteration,
    Sampling,
    expectation,
    stochastic_em,
)
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.objectives.nca import sample_indices

N_KERNELS = N_EXACT
"""Maximum number of rows that have a kernel in the density."""
LOCATIONS_PER_ITERATION = 2**18
"""An iteration is a pass over the rows, but over at most this many."""


@dataclass(frozen=True, eq=False)
class ChunkedData(ScaledData):
    """The rows that have a kernel, in units of all rows, and all chunks."""

    chunks: Any = None
    rng: Any = None


class ClusterLCA(vicinal.lca.LCA):
    """LCA whose mini-batches are computed by tasks if there are many rows."""

    def _em(
        self,
        data: ScaledData,
        m_step: MStep,
        start: EMResult,
        on_iteration: OnIteration | None = None,
        seed: Any = None,
    ) -> EMResult:
        if not isinstance(data, ChunkedData):
            return super()._em(data, m_step, start, on_iteration, seed)
        tasks = data.chunks.tasks
        sizes = self.batch_size, self.n_references
        batch_size, n_references = (
            default if size == "auto" else int(size)
            for size, default in zip(
                sizes, (4 * QUERIES_PER_TASK, N_REFERENCES), strict=True
            )
        )
        sampling = Sampling(
            batch_size, n_references, self.discount, self.rescale, self.debias
        )
        n_locations = min(data.chunks.shape[0], LOCATIONS_PER_ITERATION)
        n_updates = -(-n_locations // batch_size)
        pool = Pool(
            data.chunks,
            data.units.transform,
            data.U.shape[1],
            max(1, round(batch_size / QUERIES_PER_TASK)),
            n_references,
            4 * n_updates,  # other rows are drawn every fourth iteration
            data.rng,
        )
        seed = int(data.rng.integers(2**31))

        def one_pass(state: EMResult) -> EMResult:
            for _ in range(n_updates):
                shares = pool.next()
                size, step = -(-batch_size // len(shares)), (seed, pool.n_calls)
                parts = tasks.map(
                    local_scatter,
                    [
                        (share, size, n_references, (*step, k), state.kernel)
                        for k, share in enumerate(shares)
                    ],
                )
                total, n = tasks.reduce(add_each, parts)
                state = sampling.step(m_step, state, total / n, 1 / n_updates)
            return state

        return stochastic_em(
            m_step,
            data.U,
            start,
            sampling,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=check_random_state(seed),
            n_threads=data.n_threads,
            on_iteration=on_iteration,
            one_pass=one_pass,
        )


def local_scatter(
    share: Share,
    n_locations: int,
    n_references: int,
    seed: tuple[int, ...],
    kernel: Kernel,
) -> tuple[FloatArray, int]:
    """Sum the local covariances at some rows of a share (eq. 4): a task of an update.

    Neighbors are the locations and random other rows.

    Returns
    -------
    total : ndarray of shape (n_features, n_features)
        The sum.
    n : int
        Number of locations.
    """
    X = share.rows.X
    locations, others = (
        sample_indices(np.random.default_rng((*seed, k)), len(X), size)
        for k, size in enumerate((n_locations, n_references))
    )
    n, others = len(locations), others[~np.isin(others, locations)]
    with freed_memory_kept(), single_threaded_blas():
        points = X[np.concatenate([locations, others])]
        C = expectation(points, kernel, 1, np.arange(n), narrow=True).C
    return n * C, n


class LCA(DaskMixin, OutlierMixin, LinearMetric):
    """Local component analysis of rows in a Dask array or data frame.

    Runs the fast form of EM of :class:`vicinal.LCA`: tasks compute the local
    covariances of some locations, with random rows as their neighbors (section 5 of the
    paper). They are added up in a fixed order, so that the result is the same, bit for
    bit, for any number of workers. Data of at most 20,000 rows are fetched and fitted
    as by :class:`vicinal.LCA`.

    Parameters
    ----------
    covariance, alpha, n_components, discount, rescale, debias, contamination, cv, \
rtol, warm_start, max_iter, tol, callback, verbose, random_state, n_jobs
        As for :class:`vicinal.LCA`, without covariance="local", which needs all rows in
        memory; contamination is a share of the rows that have a kernel.
    batch_size : int or "auto", default="auto"
        The locations of an update, in tasks of about 1,024; "auto" is 4,096.
    n_references : int or "auto", default="auto"
        The neighbors of each location; "auto" is the paper's 3,000.
    client : distributed.Client or None, default=None
        As for :class:`vicinal.dask.NCA`.

    Attributes
    ----------
    components_, covariance_, alpha_, background_weight_, n_iter_, objective_curve_, \
offset_, n_features_in_, feature_names_in_
        As for :class:`vicinal.LCA`. An iteration is a pass over the rows, of at most
        262,144 locations.
    loo_score_samples_ : ndarray of shape (n_rows,)
        Log-densities of the at most 20,000 rows, drawn at random, that have a kernel
        in the density, each left out.

    See Also
    --------
    vicinal.LCA : Rows in memory.
    vicinal.dask.NCA : Learns from labels.

    Notes
    -----
    Cost: an iteration takes at most 262,144 locations, each with `n_references`
    neighbors, for any number of rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.dask import LCA
    >>> X = da.from_array(load_iris().data, chunks=(50, -1))
    >>> LCA().fit(X[::2]).score_samples(X)
    dask.array<_apply, shape=(150,), ...>
    """

    _local = vicinal.lca.LCA
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **vicinal.lca.LCA._parameter_constraints,
        "covariance": [StrOptions({"full", "diagonal", "spherical", "low-rank"})],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "batch_size": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "n_references": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "client": "no_validation",
    }

    __init__ = init_like(vicinal.lca.LCA, without=("smoothing",), client=None)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Learn the metric and the density.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The points, in chunks of whole rows of any sizes, known or not.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        with self._fitting(X, labeled=False, kind=ClusterLCA) as (local, chunks):
            n, isotropic = chunks.shape[0], local._isotropic
            rng = np.random.default_rng(
                check_random_state(self.random_state).randint(2**31 - 1)
            )
            drawn = chunks.tasks.result(draw_sample(chunks, min(n, N_KERNELS), rng))
            if n <= N_KERNELS:
                data = ScaledData.build(
                    drawn.X, isotropic, self.n_jobs, (X, y), self.alpha == "auto"
                )
            else:
                centering = Centering.of(chunks)
                covariance = centering.scatter(chunks) / n
                units = Scaler.of_moments(
                    centering.origin.astype(np.float64),
                    np.sqrt(np.diagonal(covariance)),
                    isotropic,
                    chunks.dtype,
                )
                data = ChunkedData(
                    units,
                    units.transform(drawn.X),
                    covariance / np.outer(units.scale, units.scale),
                    effective_n_threads(self.n_jobs),
                    (X, y),
                    chunks=chunks,
                    rng=rng,
                )
            local._learn(data)
        return self

    def score_samples(self, X: Any) -> Any:
        """Return the log-density of each point; of a Dask collection lazily.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
            The points.

        Returns
        -------
        dask array or ndarray of shape (n_samples,)
        """
        return self._apply("score_samples", X, dtype=np.dtype("f8"))

    def predict(self, X: Any) -> Any:
        """Return −1 for outliers and 1 for others; of a Dask collection lazily.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
            The points.

        Returns
        -------
        dask array or ndarray of shape (n_samples,)
        """
        _ = self.offset_  # computed once here, not by each task
        return self._apply("predict", X, dtype=np.dtype(int))

    def decision_function(self, X: Any) -> Any:
        """Return the log-density minus `offset_`; of a Dask collection lazily.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
            The points.

        Returns
        -------
        dask array or ndarray of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def score(self, X: Any, y: None = None) -> float:  # noqa: ARG002
        """Return the mean log-density of the points.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
            The points.
        y : None
            Ignored.

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> FloatArray:
        """Draw new points from the density.

        Parameters
        ----------
        n_samples : int, default=1
            Number of points.
        random_state : int, RandomState or None, default=None
            Seed.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The points.
        """
        points: FloatArray = self.to_local().sample(n_samples, random_state)
        return points

    def modes(self, X: ArrayLike, **options: Any) -> FloatArray:
        """Return the mode of the density that each point ascends to by mean shift.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The starting points.
        **options : dict
            `width`, `max_iter` and `tol`, as for :meth:`vicinal.LCA.modes`.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The modes.
        """
        found: FloatArray = self.to_local().modes(X, **options)
        return found

    @property
    def loo_score_samples_(self) -> FloatArray:
        """Log-density of each row that has a kernel, given the others; float64."""
        scores: FloatArray = self.to_local().loo_score_samples_
        return scores

    @property
    def offset_(self) -> float:
        """The log-density below which a point is an outlier."""
        return float(self.to_local().offset_)
