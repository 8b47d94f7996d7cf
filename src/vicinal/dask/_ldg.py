"""Local discriminative Gaussians on a cluster."""

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

import vicinal.ldg
from vicinal.base.linalg import axes_of_scatter
from vicinal.dask._chunks import Chunks
from vicinal.dask._estimator import OnChunks
from vicinal.dask._ldg_scatters import (
    Neighborhoods,
    add_scatters,
    exact_scatters,
    n_exact_tasks,
    scatters_against,
)
from vicinal.dask._moments import Frame, scatter_of
from vicinal.dask._sampling import Rows, draw_sample
from vicinal.dask._tasks import summed
from vicinal.ldg.eigenproblem import EigenProblem, Matrix
from vicinal.ldg.local_gaussians import Scatters
from vicinal.ldg.selection import MOST_ROWS, Sample, warn_of_small_classes
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.objectives.nca import check_class_prior

N_EXACT, N_REFERENCES = 20_000, 2**14
"""Up to so many rows all can be neighbours by default, and of more so many."""
MOST_TASKS = 4096
"""And up to so many tasks, one for each two chunks or more."""


class LDG(OnChunks, vicinal.ldg.LDG):
    """Local discriminative Gaussians of rows in a Dask array or data frame.

    The eigenproblem of :class:`vicinal.LDG`, whose two matrices are sums over the
    rows: each chunk gives its own, and they are added up in a fixed order, so that the
    result is the same, bit for bit, for any number of workers.

    Parameters
    ----------
    n_components, n_neighbors, gamma, class_prior, var_floor, max_iter, tol, verbose, \
random_state, n_jobs
        As for :class:`vicinal.LDG`; what is chosen is chosen on about 3,000 rows.
    refine : False
        There so that the parameters are those of :class:`vicinal.LDG`.
    n_references : int, "all" or "auto", default="auto"
        The rows that can be neighbours. "all" finds the exact neighbours by merging
        the candidates of all chunks: all pairs of rows are compared, and the data are
        held on the cluster; a task for each two chunks, of which small neighbouring
        ones are joined. A number draws so many rows, each class with its share: one
        task for each chunk. "auto" is "all" up to 20,000 rows, unless these are so wide
        or of so many classes that it would need thousands of tasks, else 16,384.
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
    Cost: the pairs of all rows with the rows that neighbours are sought among, and O(n
    C D²) for the scatters of C classes, chunk by chunk.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from vicinal.dask import LDG
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = da.from_array(X, (600, -1)), da.from_array(y, 600)
    >>> ldg = LDG(n_components=9, n_neighbors=8, gamma=0.6).fit(X, y)
    >>> ldg.transform(X)
    dask.array<_of_chunk, shape=(1797, 9), ...>
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

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        n_neighbors: int | str = "auto",
        gamma: float | str = "auto",
        refine: bool = False,
        class_prior: ArrayLike | str | None = "empirical",
        var_floor: float = 1e-3,
        max_iter: int = 50,
        tol: float = 1e-5,
        verbose: int = 0,
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
        n_references: int | str = "auto",
        client: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            n_neighbors=n_neighbors,
            gamma=gamma,
            refine=refine,
            class_prior=class_prior,
            var_floor=var_floor,
            max_iter=max_iter,
            tol=tol,
            verbose=verbose,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.n_references = n_references
        self.client = client

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the map.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The points, in chunks of whole rows; of any sizes, also unknown ones.
        y : dask array or series of shape (n_samples,)
            Their classes, in chunks of the same rows.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            if self.refine:
                raise ValueError(
                    "refine=True is not for chunks of rows: it needs all neighbours at "
                    "once. Leave it False, or use vicinal.LDG on a sample in memory."
                )
            random_state = check_random_state(self.random_state)
            chunks = self._look(X, y)
            n, n_features = chunks.shape
            wanted = self._wanted(n_features)
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
            rows = self._placed(chunks, min(n, MOST_ROWS), frame, rng)
            sample = Sample(
                rows.X, rows.codes, priors, floor, n_features, random_state,
                effective_n_threads(self.n_jobs),
            )  # fmt: skip
            k = self._chosen_n_neighbors(sample)
            asked = Neighborhoods(k, sizes, priors, floor, n_features)
            own, every = self._scatters(chunks, frame, asked, rng)
            axes = np.eye(n_features)[:, there]
            if there.any():
                kept = axes_of_scatter(
                    scatter, reach[there], (n, n_features), chunks.dtype
                )
                axes = axes if kept is None else axes @ kept
            problem = EigenProblem.build(axes, own, every)
            self._solve(problem, sample, k, wanted, _as_rows)
            self.classes_ = chunks.classes
        return self

    def _placed(
        self, chunks: Chunks, n: int, frame: Frame, rng: np.random.Generator
    ) -> Rows:
        """Return a sample in memory, in the frame, sorted by class."""
        rows: Rows = chunks.tasks.result(draw_sample(chunks, n, rng, frame.place))
        return sorted_by_class(rows)

    def _scatters(
        self,
        chunks: Chunks,
        frame: Frame,
        asked: Neighborhoods,
        rng: np.random.Generator,
    ) -> Scatters:
        """Return V and A: of all rows as neighbours, or of a sample of them."""
        n_references = self.n_references
        if n_references == "auto":
            few = chunks.shape[0] <= N_EXACT and n_exact_tasks(chunks) <= MOST_TASKS
            n_references = "all" if few else N_REFERENCES
        if n_references == "all":
            return exact_scatters(chunks, frame, asked)
        n = len(chunks.X)
        drawn = draw_sample(chunks, int(n_references), rng, frame.place)
        [sample] = chunks.tasks.map(sorted_by_class, [(drawn,)])
        parts = chunks.map(
            scatters_against, chunks.offsets.tolist(), [sample] * n, [frame] * n,
            [asked] * n,
        )  # fmt: skip
        found: Scatters = summed(chunks.tasks, add_scatters, parts)
        return found


def sorted_by_class(rows: Rows) -> Rows:
    """Return rows sorted by class."""
    return rows[np.argsort(rows.codes, kind="stable")]


def _as_rows(directions: Matrix) -> Matrix:
    return directions.T.astype(np.float64)
