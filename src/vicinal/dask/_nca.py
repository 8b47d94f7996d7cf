"""Neighbourhood components analysis on a cluster."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils.validation import check_is_fitted

import vicinal.nca
from vicinal._typing import FloatArray
from vicinal.dask._chunks import Chunks, is_collection
from vicinal.dask._estimator import OnChunks
from vicinal.dask._nca_steps import StepsOnShares
from vicinal.dask._pool import Pool
from vicinal.dask._sampling import Basis, Rows, draw_sample
from vicinal.nca.parts import (
    ClassificationData,
    Run,
    StochasticOptimizer,
    fitted_scale,
    queries_of_all,
    sample_size,
    squared_length,
)
from vicinal.neighborhood import single_threaded_blas
from vicinal.objectives import NCAObjective
from vicinal.objectives.nca import check_class_prior

QUERIES_PER_TASK = 1024
"""There is a share for about so many queries of a step, at its largest."""
N_REFRESHES = 5
"""How often other rows are drawn in a fit, where the pool does not hold all."""
N_VOTERS = 2**16
"""How many rows at most set the final scale, and vote where there are votes."""
# And no more than fit in here.
_VOTERS_BYTES = 2**27
_ONLY = {
    "solver": ("auto", "stochastic"),
    "neighbors": ("all",),
    "anneal": (False,),
    "early_stopping": (False,),
}


@dataclass(frozen=True)
class SampledData(ClassificationData):
    """A sample of the rows in memory, and the chunks that all of them are in."""

    chunks: Chunks
    rng: Generator


class NCA(OnChunks, vicinal.nca.NCA):
    """Neighbourhood components analysis of rows in a Dask array or data frame.

    What :class:`vicinal.NCA` learns by its stochastic solver, learned by tasks on a
    cluster: a pool of rows stays there in shares, each share takes the steps of an
    iteration by itself, and the maps that it and the others reach are averaged in a
    fixed order, so that the result is the same, bit for bit, for any number of workers.

    Parameters
    ----------
    n_components, objective, form, init, alpha, class_prior, warm_start, max_iter, \
callback, verbose, random_state, n_jobs
        As for :class:`vicinal.NCA`; n_components is a number or None, and n_jobs is for
        what this process computes.
    solver : {"auto", "stochastic"}, default="auto"
        Both are the stochastic solver.
    batch_size : int or "auto", default="auto"
        Queries of a step, of all tasks together, as for :class:`vicinal.NCA`; but each
        task has at most as many as references. There is a task for about 1,024 of
        them; "auto" makes two.
    n_references : int or "auto", default="auto"
        As for :class:`vicinal.NCA`, for each task.
    neighbors, anneal, early_stopping, validation_fraction, n_iter_no_change, tol
        There so that the parameters are those of :class:`vicinal.NCA`; other values
        than the defaults of the first three are an error.
    client : distributed.Client or None, default=None
        The cluster to learn on. None is the current client's, and without one this
        process, chunk by chunk.

    Attributes
    ----------
    components_, n_iter_, objective_curve_, feature_weights_, alpha_, init_, \
n_features_in_, feature_names_in_
        As for :class:`vicinal.NCA`.
    effective_neighbors_ : ndarray of shape (n_rows,)
        How many neighbours some rows have among the at most 65,536, drawn at random,
        that set the scale of the map; NaN for the others of these.

    See Also
    --------
    vicinal.NCA : Rows in memory.
    vicinal.dask.NCAClassifier : Predicts, too.

    Notes
    -----
    Cost: each step's work does not depend on the number of rows; a few passes over the
    data draw the sample, the pool and the scale.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from vicinal.dask import NCA
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = da.from_array(X, (600, -1)), da.from_array(y, 600)
    >>> nca = NCA(n_components=8, max_iter=5, random_state=0).fit(X, y)
    >>> nca.transform(X)
    dask.array<_of_chunk, shape=(1797, 8), ...>
    >>> type(nca.to_local())
    <class 'vicinal.nca._nca.NCA'>
    """

    _local = vicinal.nca.NCA
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **vicinal.nca.NCA._parameter_constraints,
        "client": "no_validation",
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        objective: str = "expected",
        form: str = "full",
        init: str | ArrayLike = "auto",
        solver: str = "auto",
        neighbors: int | str = "all",
        batch_size: int | str = "auto",
        n_references: int | str = "auto",
        alpha: float | str = 0.0,
        anneal: bool | str = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 25,
        class_prior: ArrayLike | str | None = None,
        warm_start: bool = False,
        max_iter: int = 50,
        tol: float = 1e-5,
        callback: Callable[[FloatArray, int], object] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        client: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            objective=objective,
            form=form,
            init=init,
            solver=solver,
            neighbors=neighbors,
            batch_size=batch_size,
            n_references=n_references,
            alpha=alpha,
            anneal=anneal,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            class_prior=class_prior,
            warm_start=warm_start,
            max_iter=max_iter,
            tol=tol,
            callback=callback,
            verbose=verbose,
            random_state=random_state,
            n_jobs=n_jobs,
        )
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
            self._check_for_cluster()
            chunks = self._look(X, y)
            data = self._sample(chunks, (X, y))
            self._check_settings(data.X)
            run = self._prepared(data)
            if isinstance(run.optimizer, StochasticOptimizer):
                optimizer = self._on_cluster(run.optimizer, data)
                run = replace(run, optimizer=optimizer)
            solution = self._optimize(run)
            self._finish(run, solution)
        self._warn_unless_learned(solution)
        return self

    def _check_for_cluster(self) -> None:
        """Raise an error where a setting needs all rows in one place."""
        for name, allowed in _ONLY.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is not for chunks of rows: leave "
                    f"it at {allowed[0]!r}, or use vicinal.{type(self).__name__} on a "
                    "sample in memory."
                )
        if self.n_components == "auto" or self.n_references == "all":
            raise ValueError(
                "n_components='auto' and n_references='all' are not for chunks of "
                "rows: give numbers."
            )

    def _sample(self, chunks: Chunks, given: tuple[Any, Any]) -> SampledData:
        """Return rows in memory that start, coordinates and penalty come from."""
        rng = np.random.default_rng(self._seed())
        n = sample_size(*chunks.shape, chunks.dtype.itemsize)
        rows: Rows = chunks.tasks.result(draw_sample(chunks, n, rng))
        return SampledData(
            rows.X,
            rows.codes,
            np.ones(len(rows)),
            check_class_prior(self.class_prior, chunks.counts.sum(axis=0)),
            chunks.classes,
            np.ones(len(rows), dtype=bool),
            given,
            chunks,
            rng,
        )

    def _chosen_solver(self, n: int, D: int, d: int) -> str:  # noqa: ARG002
        return "stochastic"

    def _on_cluster(
        self, optimizer: StochasticOptimizer, data: SampledData
    ) -> StochasticOptimizer:
        """Return the optimizer with iterations that are tasks."""
        batch_size = optimizer.batch_size or optimizer.largest[0]
        basis = optimizer.preconditioner
        pool = Pool(
            data.chunks,
            None if basis.projection is None else Basis(basis.projection),
            basis.whitening.shape[0],
            max(1, round(batch_size / QUERIES_PER_TASK)),
            optimizer.n_references or optimizer.largest[1],
            -(-self.max_iter // N_REFRESHES),
            data.rng,
            basis.whitening,
        )
        sizes = data.chunks.counts.sum(axis=0)
        return replace(optimizer, take=StepsOnShares(pool, sizes, data.prior))

    def _finish(self, run: Run, reached: Any) -> None:
        """Make the estimator fitted, with the scale that suits many rows."""
        data, A = run.data, reached.components
        basis = A.T if A.ndim == 2 else np.diag(A)
        most = max(1000, _VOTERS_BYTES // (basis.shape[1] * data.X.itemsize))
        drawn = draw_sample(data.chunks, min(N_VOTERS, most), data.rng, Basis(basis))
        rows: Rows = data.chunks.tasks.result(drawn)
        ones = np.ones(len(rows))
        objective = NCAObjective.from_codes(
            rows.X, rows.codes, self.objective, ones, data.prior, self.n_jobs
        )
        factor, alpha = 1.0, getattr(run.optimizer, "alpha", None)
        if alpha is not None:  # the start is not kept
            size = squared_length(A)
            unit = np.ones(basis.shape[1])
            factor = fitted_scale(objective, unit, data.rng, alpha, size)
        points = rows.X * rows.X.dtype.type(factor)
        scales = np.full(basis.shape[1], factor)
        perplexities = objective.effective_neighbors(
            scales, queries_of_all(objective, data.rng)
        )
        voters = replace(data, codes=rows.codes, weights=ones)
        self._store(
            reached,
            {
                **run.attributes,
                "effective_neighbors_": perplexities,
                **self._attributes_of(data, factor * A),
                **self._voters(voters, points),
            },
        )

    def _voters(
        self,
        data: ClassificationData,  # noqa: ARG002
        points: FloatArray,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return the attributes that predictions need: none."""
        return {}


class NCAClassifier(NCA, vicinal.nca.NCAClassifier):
    """Classifier by the NCA rule, learned from a Dask array or data frame.

    At most 65,536 rows vote, drawn at random, each class with its share: as many as a
    model can be served with. Otherwise as :class:`vicinal.NCAClassifier`, learned as
    :class:`vicinal.dask.NCA` learns.

    Parameters
    ----------
    n_components, form, init, solver, neighbors, batch_size, n_references, anneal, \
early_stopping, validation_fraction, n_iter_no_change, warm_start, max_iter, tol, \
callback, verbose, random_state, n_jobs, client
        As for :class:`vicinal.dask.NCA`.
    objective, alpha, class_prior
        As for :class:`vicinal.NCAClassifier`; alpha="auto" is chosen on a sample.

    Attributes
    ----------
    classes_, alpha_, init_
        As for :class:`vicinal.NCAClassifier`.

    See Also
    --------
    vicinal.NCAClassifier : Rows in memory.
    vicinal.dask.NCA : The map alone.

    Notes
    -----
    Cost: as of :class:`vicinal.dask.NCA`; predicting a row looks at the rows that vote,
    at most 65,536.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from vicinal.dask import NCAClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = da.from_array(X, (600, -1)), da.from_array(y, 600)
    >>> model = NCAClassifier(n_components=8, max_iter=5, random_state=0).fit(X, y)
    >>> bool((model.predict(X) == y).mean().compute() > 0.9)
    True
    """

    _local = vicinal.nca.NCAClassifier

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        objective: str = "log",
        form: str = "full",
        init: str | ArrayLike = "auto",
        solver: str = "auto",
        neighbors: int | str = "all",
        batch_size: int | str = "auto",
        n_references: int | str = "auto",
        alpha: float | str = "auto",
        anneal: bool | str = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 25,
        class_prior: ArrayLike | str | None = None,
        warm_start: bool = False,
        max_iter: int = 50,
        tol: float = 1e-5,
        callback: Callable[[FloatArray, int], object] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        client: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            objective=objective,
            form=form,
            init=init,
            solver=solver,
            neighbors=neighbors,
            batch_size=batch_size,
            n_references=n_references,
            alpha=alpha,
            anneal=anneal,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            class_prior=class_prior,
            warm_start=warm_start,
            max_iter=max_iter,
            tol=tol,
            callback=callback,
            verbose=verbose,
            random_state=random_state,
            n_jobs=n_jobs,
            client=client,
        )

    def predict_proba(self, X: Any) -> Any:
        """Return p(c | x) of each class; of a Dask collection lazily.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
            New points.

        Returns
        -------
        dask array or ndarray of shape (n_samples, n_classes)
        """
        if not is_collection(X):
            return super().predict_proba(X)
        check_is_fitted(self)
        dtype = self.components_.dtype
        return self._lazily("predict_proba", X, len(self.classes_), dtype)

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each point; of a Dask collection lazily.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
            New points.

        Returns
        -------
        dask array or ndarray of shape (n_samples,)
        """
        if not is_collection(X):
            return super().predict(X)
        check_is_fitted(self)
        return self._lazily("predict", X, dtype=self.classes_.dtype)

    def _voters(self, data: ClassificationData, points: FloatArray) -> dict[str, Any]:
        return vicinal.nca.NCAClassifier._voters(self, data, points)
