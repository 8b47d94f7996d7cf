"""What NCA does with classes: rows and objective, starts to choose from, the result."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.callers import warn_caller
from vicinal.base.monitor import Monitor
from vicinal.base.n_components import enough_components, ordered_by_size
from vicinal.base.validation import check_sample_weight, validate_data
from vicinal.nca._annealing import Annealing, least_row
from vicinal.nca._data import ClassificationData
from vicinal.nca._early_stopping import EarlyStopping, held_out_accuracy, hold_out
from vicinal.nca._fit import Run, attributes_of_map
from vicinal.nca._initialization import (
    candidate_diagonals,
    candidate_starts,
)
from vicinal.nca._model_selection import scaled_starts
from vicinal.nca._optimizer import Optimizer
from vicinal.nca._scale import data_unit
from vicinal.nca._selecting import SelectingMetric
from vicinal.nca._sparse import as_rows, check_settings
from vicinal.nca._trials import Trial, class_objective, class_trials
from vicinal.neighborhood import effective_n_threads
from vicinal.objectives import NCAObjective, Penalized, TruncatedNCA
from vicinal.objectives.change_of_basis import InUnit
from vicinal.objectives.nca import check_class_prior
from vicinal.solvers import Solution


class ClassMetric(SelectingMetric):
    """Base of the metrics that learn from classes by NCA's objectives."""

    objective: str
    form: str
    neighbors: int | str
    anneal: bool | str
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    class_prior: ArrayLike | str | None

    def _validated(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> ClassificationData:
        """Return the rows that count, with their classes as integers."""
        points, labels = validate_data(
            self,
            X,
            y,
            dtype=FLOATS,
            accept_sparse=self._accept_sparse,
            ensure_min_samples=2,
        )
        points = as_rows(points)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        weights = check_sample_weight(sample_weight, points)
        kept = weights > 0
        if not kept.all():  # a row of weight 0 is as good as not there
            points, codes, weights = points[kept], codes[kept], weights[kept]
        if len(points) < 2:
            raise ValueError("Fewer than two rows have a weight above 0.")
        present, codes = np.unique(codes, return_inverse=True)
        if len(present) == 1:
            warn_caller(
                f"y has one class only, {classes[present[0]]!s}: there is nothing to "
                "tell apart, and nothing is learned."
            )
        prior = self._prior(classes, present, codes, weights)
        return ClassificationData(
            points, codes, weights, prior, classes[present], kept, (X, y)
        )

    def _prior(
        self,
        classes: NDArray[Any],
        present: IntArray,
        codes: IntArray,
        weights: FloatArray,
    ) -> FloatArray:
        """Return p(c) of the classes that are present, from what is said of all."""
        sizes = np.bincount(codes, weights=weights).astype(np.float64)
        if self.class_prior is None or isinstance(self.class_prior, str):
            return check_class_prior(self.class_prior, sizes)
        given = check_class_prior(self.class_prior, np.ones(len(classes)))[present]
        return given / given.sum()

    def _check_settings(self, X: FloatArray) -> None:
        """Raise an error where settings exclude each other, before any work."""
        check_settings(self, X)
        if self.solver == "stochastic":
            for name, usual in (("anneal", False), ("neighbors", "all")):
                if getattr(self, name) != usual:
                    raise ValueError(
                        f"solver='stochastic' does not go with {name}="
                        f"{getattr(self, name)!r}; leave the solver at 'auto'."
                    )
        if self.objective == "squared-error" and self.neighbors != "all":
            raise ValueError(
                "objective='squared-error' needs the votes of all points; leave "
                "neighbors at 'all'."
            )
        fixed = self._is_diagonal or self.anneal
        if self.n_components == "auto" and fixed and not self._is_warm(X):
            raise ValueError(
                "n_components='auto' goes neither with form='diagonal', which keeps "
                "all features, nor with anneal, which must know where to go."
            )
        self._check_diagonal(X.shape[1])
        if self._is_diagonal and self.anneal:
            raise ValueError("form='diagonal' keeps all features: use anneal=False.")

    def _prepared(self, data: ClassificationData) -> Run:
        """Return what to maximise, how, and from where; start and penalty are chosen.

        With early stopping, the rows that are held out take no part but to judge.
        """
        part, held = data, None
        if self.early_stopping:
            rows, others = hold_out(
                data.codes, self.validation_fraction, self.random_state
            )
            part, held = data.part(rows), data.part(others)
        selected = self._select(part)
        alpha = float(self.alpha) if selected is None else selected.alpha
        objective = self._objective(part)
        optimizer = self._make_optimizer(part.X, part.codes, alpha)
        if selected is None:
            start = self._first_map(part, objective, optimizer, alpha)
        else:
            start = self._selected_start(data, selected)
        stopper = None
        if held is not None:
            judge = partial(self._held_out_score, objective, held)
            if optimizer.is_stochastic:
                judge = partial(held_out_accuracy, part, held)
            stopper = EarlyStopping(judge, self.n_iter_no_change, start)
        attributes = {} if selected is None else selected.attributes
        return Run(data, objective, optimizer, start, attributes, stopper)

    def _objective(self, data: ClassificationData) -> NCAObjective:
        if self.neighbors == "all":
            return class_objective(data, self.objective, self.n_jobs)
        return TruncatedNCA(
            data.X,
            data.codes,
            self.objective,
            neighbors=self.neighbors,
            seed=self._seed(),
            sample_weight=data.weights,
            class_prior=data.prior,
            n_jobs=self.n_jobs,
        )

    def _trials(self, data: ClassificationData) -> list[Trial[ClassificationData]]:
        return class_trials(data, self.objective, self.n_jobs)

    def _reduces(self, X: FloatArray) -> bool:
        return not self.anneal and super()._reduces(X)

    def _candidates(self, data: ClassificationData) -> dict[str, FloatArray]:
        """Return the starts to try, by name, each at the scale that suits it."""
        d, init = self.n_components, self.init
        if self._is_warm(data.X):
            return {"warm": self._warm_map()}
        objective = class_objective(data, self.objective, self.n_jobs)
        if self._is_diagonal:
            starts = candidate_diagonals(init, data.X)
        elif d == "auto":
            starts = {"full rank": self._shortened(data)}
        elif self.anneal:
            starts = {"annealed": self._annealed(data, objective, 0.0)}
        else:
            random_state = check_random_state(self.random_state)
            starts = candidate_starts(
                init,
                data.X,
                data.codes,
                d,
                random_state,
                weights=data.weights,
                n_threads=effective_n_threads(self.n_jobs),
            )
        if not isinstance(init, str):
            return starts
        return scaled_starts(objective, starts)

    def _first_map(
        self,
        data: ClassificationData,
        objective: NCAObjective,
        optimizer: Optimizer,
        alpha: float = 0.0,
    ) -> FloatArray:
        """Return the map to start from, as `init`, `form`, `anneal` and so on say."""
        X, d = data.X, self.n_components
        if self._is_diagonal:
            return self._diagonal_start(objective, optimizer)
        if d == "auto" and not self._is_warm(X):
            return self._shortened(data)
        d = None if d == "auto" else d
        if self.anneal and not self._is_warm(X):
            return self._annealed(data, objective, alpha)
        return self._start(objective, data.codes, d, optimizer.preconditioner)

    def _annealed(
        self, data: ClassificationData, objective: NCAObjective, alpha: float
    ) -> FloatArray:
        """Return a map of n_components rows that is annealed from one of full rank."""
        X, d = data.X, self.n_components
        if d is None or d >= X.shape[1]:
            raise ValueError(
                f"anneal={self.anneal!r} goes down from {X.shape[1]} dimensions: give "
                "an n_components below that."
            )
        full = self._start(objective, data.codes, None)
        if len(full) < d:
            raise ValueError(f"init has {len(full)} rows, fewer than n_components={d}.")
        annealing = Annealing(partial(least_row, X, self.anneal))
        penalized = Penalized(objective, alpha * objective.n_points)
        unit = 1 / data_unit(objective)
        return unit * annealing.reduce(InUnit(penalized, unit), full / unit, d)

    def _shortened(self, data: ClassificationData) -> FloatArray:
        """Return the rows of a map of full rank that n_components="auto" keeps."""
        full = clone(self).set_params(n_components=None, callback=None, verbose=0)
        full.set_params(warm_start=False, early_stopping=False, class_prior=data.prior)
        full.fit(data.X, data.codes, data.weights)
        ordered = ordered_by_size(full.components_)
        return ordered[: enough_components(data.X, data.codes, ordered)]

    def _warm_map(self) -> FloatArray:
        """Return the map of the last fit, or its diagonal, as `form` has it."""
        A = self.components_
        return np.diag(A).copy() if self._is_diagonal and len(A) == A.shape[1] else A

    @property
    def _in_two_phases(self) -> bool:
        return self.objective not in ("log", "squared-error")

    @property
    def _is_diagonal(self) -> bool:
        return self.form == "diagonal"

    def _chosen_solver(self, n: int, D: int, d: int) -> str:
        if self.solver == "auto" and (self.anneal or self.neighbors != "all"):
            return "lbfgs"
        return super()._chosen_solver(n, D, d)

    def _held_out_score(
        self, objective: NCAObjective, held: ClassificationData, components: FloatArray
    ) -> float:
        """Return the mean of p_i, or of log p_i, of points that were held out."""
        proba = objective.class_probabilities(components, held.X)
        p = proba[np.arange(len(held.X)), held.codes].astype(np.float64)
        if self.objective == "log":
            p = np.log(np.maximum(p, np.finfo(held.X.dtype).tiny))
        return float(np.average(p, weights=held.weights))

    def _attributes_of(
        self, data: ClassificationData, components: FloatArray
    ) -> dict[str, Any]:
        """Return the fitted attributes that follow from a map."""
        return attributes_of_map(data.X.dtype, components)

    def _finish(self, run: Run, reached: Solution | Monitor) -> None:
        """Make the estimator fitted with the map that was reached."""
        data, objective, A = run.data, run.objective, reached.components
        found = dict(run.attributes)
        if run.stopper is not None:
            objective, A = self._objective(data), run.stopper.best
            objective.refresh(A)
            A = run.optimizer.rescaled(objective, A)
            found["validation_curve_"] = np.array(run.stopper.curve)
        perplexities = np.full(len(data.kept), np.nan, dtype=data.X.dtype)
        perplexities[data.kept] = objective.effective_neighbors(
            A, run.optimizer.queries(objective)
        )
        found |= {"effective_neighbors_": perplexities, **self._attributes_of(data, A)}
        if isinstance(objective, TruncatedNCA):
            found["truncated_mass_"] = objective.lost_mass(A)
        self._store(reached, found)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
