"""Data that arrive in pieces: `partial_fit`, and what it remembers between them."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context, clone
from sklearn.utils.multiclass import check_classification_targets

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.validation import validate_data
from vicinal.nca._class_metric import ClassMetric
from vicinal.nca._data import ClassificationData
from vicinal.nca._fit import Run
from vicinal.nca._model_selection import strongest
from vicinal.nca._preconditioner import Preconditioner
from vicinal.nca._stochastic import BATCH_SIZE, N_REFERENCES, StochasticOptimizer
from vicinal.nca._trials import MOST_ROWS
from vicinal.neighborhood import single_threaded_blas

_USUAL: dict[str, tuple[Any, ...]] = {
    "anneal": (False,),
    "early_stopping": (False,),
    "neighbors": ("all",),
}
"""What `partial_fit` goes with."""
RESERVOIR_SIZE = 8192
"""How many rows are remembered, at most."""
# Of a first piece for each feature, before any direction is left out.
_ENOUGH_ROWS = 10
# How many times each row of a piece looks for its neighbours, and the steps of one
# iteration, the least that a piece gets.
_EPOCHS, _STEPS = 30, 25
# Smaller pieces borrow rows from memory, and make smaller steps.
_FULL_PIECE = 512


@dataclass(frozen=True)
class Reservoir:
    """A random sample of all rows seen so far, and the coordinates to learn in.

    Each row draws a number when it arrives, and those with the least are remembered:
    any row is as likely to be among them as any other.
    """

    preconditioner: Preconditioner
    X: FloatArray
    codes: IntArray
    keys: FloatArray
    n_seen: int = 0
    n_framed: int = 0

    @classmethod
    def begin(cls, preconditioner: Preconditioner, X: FloatArray) -> Self:
        """Return a memory of nothing, for rows like these."""
        return cls(
            preconditioner, X[:0], np.empty(0, dtype=int), np.empty(0), n_framed=len(X)
        )

    def with_piece(self, X: FloatArray, codes: IntArray, rng: Generator) -> Self:
        """Return the memory with all of a piece added."""
        return replace(
            self,
            X=np.concatenate([self.X, X.astype(self.X.dtype, copy=False)]),
            codes=np.concatenate([self.codes, codes]),
            keys=np.concatenate([self.keys, rng.random(len(X))]),
            n_seen=self.n_seen + len(X),
        )

    def trimmed(self) -> Self:
        """Return the memory without what is too much."""
        if len(self.keys) <= RESERVOIR_SIZE:
            return self
        kept = np.sort(np.argpartition(self.keys, RESERVOIR_SIZE)[:RESERVOIR_SIZE])
        return replace(
            self, X=self.X[kept], codes=self.codes[kept], keys=self.keys[kept]
        )

    def optimizer(
        self, n_new: int, sizes: tuple[int | None, int | None], alpha: float, seed: int
    ) -> StochasticOptimizer:
        """Return how to learn from a piece of so many rows, the last that were added.

        Only new rows are queries, and where they are few, some before them. Rows of
        the reservoir are references only, to avoid overfitting them. Steps
        get shorter as more has been seen; until then, g finds the place for f, which
        goes on from there.
        """
        much = self.n_seen / (4 * RESERVOIR_SIZE)
        return StochasticOptimizer(
            self.preconditioner,
            *sizes,
            max_iter=int(np.ceil(_EPOCHS * n_new / (_STEPS * BATCH_SIZE))),
            alpha=alpha,
            seed=seed,
            step=float(np.sqrt(min(1, n_new / _FULL_PIECE) / (1 + much))),
            warmup_fraction=1.0 if much < 1 else 0.0,
            pool=slice(max(0, len(self.X) - max(n_new, _FULL_PIECE)), None),
            steps=(_STEPS, _STEPS),
            largest=(BATCH_SIZE, N_REFERENCES),
        )


class PartialFitMixin(ClassMetric):
    """Base of the metrics for classes that have `partial_fit`."""

    alpha_: float
    init_: str
    _pieces: Reservoir
    _all_classes: NDArray[Any]
    classes_: NDArray[Any]
    _codes: IntArray

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None
    ) -> Self:
        """Go on learning, from a piece of data that do not come all at once.

        Each piece is a short stochastic fit from the map so far, among the piece's
        rows and a random sample of up to 8192 of all rows before it. That sample is
        what the fitted attributes speak of, and what :class:`vicinal.NCAClassifier`
        then predicts from. `solver`, `max_iter`, `tol`, `callback` and `verbose` play
        no part; after `fit`, the first piece starts anew unless `warm_start` is on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points of this piece.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like of shape (n_classes,) or None, default=None
            All classes there will be, for the first call; None is those in y.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            begun = hasattr(self, "_pieces")
            points, labels = validate_data(self, X, y, dtype=FLOATS, reset=not begun)
            check_classification_targets(labels)
            for name, usual in _USUAL.items():
                if getattr(self, name) not in usual:
                    raise ValueError(
                        f"partial_fit does not go with {name}={getattr(self, name)!r}."
                    )
            if self.n_components == "auto":
                raise ValueError("partial_fit does not go with n_components='auto'.")
            if begun:
                known = self._all_classes
            else:
                known = np.unique(labels if classes is None else np.asarray(classes))
            unknown = np.setdiff1d(labels, known)
            if len(unknown):
                raise ValueError(
                    f"y has the labels {unknown.tolist()[:5]}, which are not among the "
                    "classes that the first call of partial_fit was told of; give all "
                    "of them there, as classes=."
                )
            self._learn_piece(points, np.searchsorted(known, labels), known)
        return self

    def _learn_piece(
        self, X: FloatArray, codes: IntArray, classes: NDArray[Any]
    ) -> None:
        """Optimise among the piece and what is remembered; remember some of it."""
        pieces: Reservoir | None = getattr(self, "_pieces", None)
        rng = np.random.default_rng([self._seed(), pieces.n_seen if pieces else 0])
        diagonal = self.form == "diagonal"
        curve: list[float] = []
        start: FloatArray | None = None
        if pieces is None:
            preconditioner = self._coordinates(X, codes, len(classes), rng)
            pieces = Reservoir.begin(preconditioner, X).with_piece(X, codes, rng)
        else:
            start = np.diag(self.components_) if diagonal else self.components_
            curve = list(self.objective_curve_)
            pieces = pieces.with_piece(X, codes, rng)
            if pieces.n_seen >= 2 * pieces.n_framed:  # by now one knows better
                known = pieces.X, pieces.codes
                preconditioner = self._coordinates(*known, len(classes), rng)
                pieces = replace(
                    pieces, preconditioner=preconditioner, n_framed=pieces.n_seen
                )
        data = self._remembered(pieces, classes)
        objective = self._objective(data)
        found, selected = self._penalty(data, pieces.n_seen)
        sizes = self._part_sizes(len(data.X))
        alpha = found.get("alpha_", self.alpha)
        optimizer = pieces.optimizer(len(X), sizes, alpha, int(rng.integers(2**31)))
        if start is None:
            start = selected
        if start is None:
            start = self._first_map(data, objective, optimizer)
        reached = optimizer.maximize(objective, start, lambda *_: False)
        pieces = pieces.trimmed()
        data = self._remembered(pieces, classes)
        curve += reached.curve[1:] if curve else reached.curve
        so_far = replace(reached, n_iter=len(curve) - 1, curve=curve)
        run = Run(data, self._objective(data), optimizer, start, found)
        self._finish(run, so_far)
        self._pieces, self._all_classes = pieces, classes
        if hasattr(self, "classes_"):  # a classifier's columns do not come and go
            self.classes_, self._codes = classes, pieces.codes

    def _penalty(
        self, data: ClassificationData, n_seen: int
    ) -> tuple[dict[str, Any], FloatArray | None]:
        """Return what alpha="auto" chooses, and the map that it was chosen with.

        It chooses anew each time twice as many rows have been seen, until there are
        enough. A piece is learned from all the same where no learned map beats the
        start: the penalty is then the strongest that was tried.
        """
        if self.alpha != "auto":
            return {}, None
        known = getattr(self, "_n_selected", 0)
        if known and (known >= MOST_ROWS or n_seen < 2 * known):
            kept = {"alpha_": self.alpha_, "init_": self.init_}
            return {**kept, "_n_selected": known}, None
        selected = clone(self)._try_out(data)
        alpha = min(selected.alpha, strongest(selected.components))
        found = {"alpha_": alpha, "init_": selected.init, "_n_selected": n_seen}
        return found, selected.components

    def _coordinates(
        self, X: FloatArray, codes: IntArray, n_classes: int, rng: Generator
    ) -> Preconditioner:
        """Find the coordinates by what has been seen so far."""
        n, D = X.shape
        d = self.n_components if isinstance(self.n_components, Integral) else D
        typical = len(np.unique(codes)) == n_classes and n >= _ENOUGH_ROWS * D
        return Preconditioner.find(
            X, codes, int(d), self.form == "diagonal", rng, not typical
        )

    def _remembered(
        self, pieces: Reservoir, classes: NDArray[Any]
    ) -> ClassificationData:
        """Return the rows of all pieces that are remembered, as a problem."""
        n = len(pieces.X)
        present, codes = np.unique(pieces.codes, return_inverse=True)
        weights = np.ones(n)
        return ClassificationData(
            pieces.X,
            codes,
            weights,
            self._prior(classes, present, codes, weights),
            classes[present],
            np.ones(n, dtype=bool),
            (pieces.X, classes[pieces.codes]),
        )
