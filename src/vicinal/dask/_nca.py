"""Neighborhood components analysis on a cluster: local SGD on shares of a pool."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from scipy.optimize import OptimizeResult
from sklearn.base import ClassifierMixin, _fit_context, is_classifier
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

import vicinal.nca
from vicinal._typing import FloatArray
from vicinal.base.metric import LinearMetric, init_like
from vicinal.dask._estimator import DaskMixin
from vicinal.dask._sampling import (
    POOL_BYTES,
    QUERIES_PER_TASK,
    Basis,
    Pool,
    Rows,
    Share,
    draw_sample,
)
from vicinal.dask._tasks import freed_memory_kept
from vicinal.nca import (
    ClassProblem,
    Run,
    class_prior,
    fitted_scale,
    learn,
    queries_of_all,
    sample_size,
    seed_of,
    warn_unless_learned,
)
from vicinal.neighborhood import center_float32, single_threaded_blas
from vicinal.objectives import MinibatchSampler, NCAObjective
from vicinal.optimize import Adam, Progress, average, take_steps

_NEEDS_ALL_ROWS = (
    "solver", "n_neighbors", "anneal", "early_stopping", "validation_fraction",
    "n_iter_no_change", "tol", "n_init",
)  # fmt: skip
N_REFRESHES = 5
"""Pools that are drawn in a fit, unless one holds all rows."""
N_VOTERS = 2**16
"""Maximum number of rows that set the final scale, and vote in the classifier."""


class NCA(DaskMixin, LinearMetric):
    """Neighborhood components analysis of rows in a Dask array or data frame.

    Learns as :class:`vicinal.NCA` does with its stochastic solver, by tasks on a
    cluster: a pool of rows stays there in shares, each share takes the steps of an
    iteration by itself, and the resulting maps are averaged in a fixed order. The
    result is the same, bit for bit, for any number of workers.

    Parameters
    ----------
    n_components : int or None, default=None
        Dimensions of the map; None is the number of features.
    objective, form, init, alpha, class_prior, warm_start, max_iter, callback, \
verbose, random_state
        As for :class:`vicinal.NCA`.
    batch_size : int or "auto", default="auto"
        Queries of a step, of all tasks together; each task has at most as many queries
        as references. There is a task for about 1,024 of them; "auto" makes two.
    n_references : int or "auto", default="auto"
        As for :class:`vicinal.NCA`, for each task.
    n_jobs : int or None, default=None
        Threads of the work in this process.
    client : distributed.Client or None, default=None
        The cluster to learn on. None is the current client's, and without one this
        process, chunk by chunk.

    Attributes
    ----------
    components_, n_iter_, objective_curve_, feature_weights_, alpha_, init_, \
n_features_in_, feature_names_in_
        As for :class:`vicinal.NCA`.
    effective_neighbors_ : ndarray of shape (n_rows,)
        The effective number of neighbors of some rows, among the at most 65,536 random
        rows that set the scale of the map; NaN for the others of these.

    See Also
    --------
    vicinal.NCA : Rows in memory.
    vicinal.dask.NCAClassifier : Predicts, too.

    Notes
    -----
    Cost: the work of a step does not depend on the number of rows; a few passes over
    the data draw the sample, the pool and the rows that set the scale.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from vicinal.dask import NCA
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = da.from_array(X, (600, -1)), da.from_array(y, 600)
    >>> nca = NCA(n_components=8, max_iter=5, random_state=0).fit(X, y)
    >>> nca.transform(X)
    dask.array<_apply, shape=(1797, 8), ...>
    >>> type(nca.to_local())
    <class 'vicinal.nca.nca.NCA'>
    """

    _local = vicinal.nca.NCA
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **vicinal.nca.NCA._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_references": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "client": "no_validation",
    }

    __init__ = init_like(vicinal.nca.NCA, without=_NEEDS_ALL_ROWS, client=None)

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
        with self._fitting(X, y) as (local, given):
            local.set_params(solver="stochastic")
            # As in memory: far from the origin, float32 rows are centered first.
            center = center_float32(np.stack([given.low, given.high]))[1]
            chunks = replace(given, center=center)
            rng = np.random.default_rng(seed_of(local))
            n, n_features = chunks.shape
            n_sample = sample_size(n, n_features, chunks.dtype.itemsize)
            sample: Rows = chunks.tasks.result(draw_sample(chunks, n_sample, rng))
            sizes = chunks.counts.sum(axis=0, dtype=np.float64)
            every = np.arange(len(sizes))
            prior = class_prior(local, chunks.classes, every, every, sizes)
            problem = ClassProblem(
                sample.X,
                np.ones(len(sample)),
                np.ones(len(sample), dtype=bool),
                (X, y),
                local.objective,
                local.n_jobs,
                center,
                codes=sample.codes,
                prior=prior,
                classes=chunks.classes,
            )
            local._check_settings(sample.X)

            def on_cluster(
                local: Any, problem: Any, objective: Any, optimizer: Any, *more: Any
            ) -> ClusterRun:
                if optimizer.alpha is not None:  # otherwise the start is kept
                    batch_size = optimizer.batch_size or optimizer.largest[0]
                    basis = optimizer.preconditioner
                    pool = Pool(
                        chunks,
                        None if basis.projection is None else Basis(basis.projection),
                        basis.whitening.shape[0],
                        max(1, round(batch_size / QUERIES_PER_TASK)),
                        optimizer.n_references or optimizer.largest[1],
                        -(-local.max_iter // N_REFRESHES),
                        rng,
                        basis.whitening,
                    )
                    optimizer = replace(optimizer, take=LocalSGD(pool, sizes, prior))
                run = ClusterRun(local, problem, objective, optimizer, *more)
                return replace(run, chunks=chunks, rng=rng)

            result = learn(local, problem, on_cluster)
        warn_unless_learned(self, result)
        return self


class NCAClassifier(DaskMixin, ClassifierMixin, LinearMetric):
    """Classifier by the NCA rule, learned from a Dask array or data frame.

    Learns as :class:`vicinal.dask.NCA` and predicts as :class:`vicinal.NCAClassifier`.
    At most 65,536 random rows vote, stratified by class.

    Parameters
    ----------
    n_components, form, init, batch_size, n_references, warm_start, max_iter, \
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
    Cost: as of :class:`vicinal.dask.NCA`. Predicting a row takes its distances to the
    rows that vote, at most 65,536.

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
    _parameter_constraints: ClassVar[dict[str, Any]] = NCA._parameter_constraints

    __init__ = init_like(
        vicinal.nca.NCAClassifier, without=_NEEDS_ALL_ROWS, client=None
    )

    fit = NCA.fit

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
        check_is_fitted(self)
        return self._apply(
            "predict_proba", X, len(self.classes_), self.components_.dtype
        )

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
        check_is_fitted(self)
        return self._apply("predict", X, dtype=self.classes_.dtype)


@dataclass(frozen=True)
class ClusterRun(Run):
    """A run whose final scale is set by more rows than the sample."""

    chunks: Any = None
    rng: Any = None

    def finish(self, result: OptimizeResult) -> None:
        """Set the fitted attributes, all at once."""
        est, chunks, rng, A = self.est, self.chunks, self.rng, result.x
        basis = A.T if A.ndim == 2 else np.diag(A)
        d = basis.shape[1]
        most = max(1000, 2 * POOL_BYTES // (d * chunks.dtype.itemsize))
        drawn = draw_sample(chunks, min(N_VOTERS, most), rng, Basis(basis))
        rows: Rows = chunks.tasks.result(drawn)
        voters = replace(
            self.problem, X=rows.X, codes=rows.codes, weights=np.ones(len(rows))
        )
        objective = voters.objective()
        factor, alpha = 1.0, self.optimizer.alpha
        if alpha is not None:  # otherwise the start is kept as it is
            size = float(np.square(A).sum())
            factor = fitted_scale(objective, np.ones(d), rng, alpha, size)
        perplexities = objective.effective_neighbors(
            np.full(d, factor), queries_of_all(objective, rng)
        )
        found = {
            "effective_neighbors_": perplexities,
            "n_iter_": result.nit,
            "objective_curve_": np.array(result.curve),
        }
        if is_classifier(est):
            points = rows.X * rows.X.dtype.type(factor)
            found |= est._attributes_of(voters, factor * A, points)
        else:
            found |= est._attributes_of(self.problem, factor * A)
        if self.selected is not None:
            found |= {"init_": self.selected.init, "alpha_": self.selected.alpha}
        for name in est._optional_attributes:
            vars(est).pop(name, None)
        vars(est).update(found)


def steps_of_share(
    share: Share,
    sampler: MinibatchSampler,
    settings: dict[str, Any],
    components: FloatArray,
    adam: Adam,
    etas: Sequence[float],
    seed: Any,
) -> Progress:
    """Take steps on mini-batches of a share, as in memory: a task.

    `sampler` has the sizes of the mini-batches, and `settings` are those of the
    objective. Values are scaled to all of the data.
    """
    rows = share.rows
    with freed_memory_kept(), single_threaded_blas():
        objective = NCAObjective(
            rows.X, rows.codes, sample_weight=np.ones(len(rows)), n_jobs=1,
            check_input=False, **settings,
        )  # fmt: skip
        sampler = replace(sampler, objective=objective, basis=share.basis)
        rng = np.random.default_rng(seed)
        reached = take_steps(sampler, components, adam, etas, rng)
    scale = float(settings["class_sizes"].sum()) / len(rows)
    values = [scale * value for value in reached.batch_values]
    return reached._replace(batch_values=values)


@dataclass(frozen=True)
class LocalSGD:
    """Takes the steps of an iteration in all shares of a pool at once.

    A round trip to the cluster takes longer than a step. Each share therefore takes all
    steps from the same map, with its part of the queries; then the maps and the moments
    of Adam are averaged. If a value in one share is not finite, no step is taken.

    Attributes
    ----------
    pool : Pool
        The shares.
    sizes, prior : ndarray of shape (n_classes,)
        Number of rows of each class, and p(c); None if the objective has no prior.
    """

    pool: Pool
    sizes: FloatArray
    prior: FloatArray | None

    def __call__(
        self,
        sampler: MinibatchSampler,
        components: FloatArray,
        adam: Adam,
        etas: Sequence[float],
        rng: Generator,
    ) -> Progress:
        """Take a step of each size, on mini-batches like the sampler's."""
        shares, tasks = self.pool.next(), self.pool.chunks.tasks
        settings = {
            "kind": sampler.objective.kind,  # type: ignore[attr-defined]
            "class_prior": self.prior,
            "class_sizes": self.sizes,
        }
        sampler = replace(
            sampler,
            objective=None,  # type: ignore[arg-type]  # each task makes its own
            basis=None,
            batch_size=-(-sampler.batch_size // len(shares)),
        )
        seed = int(rng.integers(2**63))
        handles = tasks.map(
            steps_of_share,
            [
                (share, sampler, settings, components, adam, etas, (seed, k))
                for k, share in enumerate(shares)
            ],
        )
        reached: Progress = tasks.reduce(average, handles)
        if not reached.finite:
            return Progress(components, adam, reached.batch_values, finite=False)
        return reached
