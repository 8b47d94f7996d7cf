"""Incremental learning: `NCA.partial_fit`."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult
from sklearn.base import clone

from vicinal._typing import FloatArray, IntArray
from vicinal.nca._initialization import first_map, seed_of
from vicinal.nca._problems import MOST_ROWS, ClassProblem, class_prior
from vicinal.nca._selection import Selected, alpha_max, select
from vicinal.nca._stochastic import (
    BATCH_SIZE,
    N_REFERENCES,
    Preconditioner,
    StochasticOptimizer,
    part_sizes,
)
from vicinal.neighborhood import center_float32

RESERVOIR_SIZE = 8192
"""Maximum number of rows in the reservoir."""


@dataclass(frozen=True)
class Reservoir:
    """Random sample of all rows seen so far, and the coordinates to learn in.

    Each row draws a random key when it arrives, and the rows with the smallest keys are
    kept, so that the sample is uniform.
    """

    preconditioner: Preconditioner
    X: FloatArray
    codes: IntArray
    keys: FloatArray
    classes: NDArray[Any]
    n_seen: int = 0
    n_framed: int = 0
    n_selected: int = 0

    @classmethod
    def begin(
        cls, preconditioner: Preconditioner, X: FloatArray, classes: NDArray[Any]
    ) -> Self:
        """Return an empty reservoir for rows like these."""
        none = np.empty(0)
        return cls(
            preconditioner, X[:0], none.astype(int), none, classes, n_framed=len(X)
        )

    def with_piece(self, X: FloatArray, codes: IntArray, rng: Generator) -> Self:
        """Return the reservoir with all rows of a piece added."""
        return replace(
            self,
            X=np.concatenate([self.X, X.astype(self.X.dtype, copy=False)]),
            codes=np.concatenate([self.codes, codes]),
            keys=np.concatenate([self.keys, rng.random(len(X))]),
            n_seen=self.n_seen + len(X),
        )

    def trimmed(self) -> Self:
        """Return the reservoir, reduced to its maximum size."""
        if len(self.keys) <= RESERVOIR_SIZE:
            return self
        kept = np.sort(np.argpartition(self.keys, RESERVOIR_SIZE)[:RESERVOIR_SIZE])
        return replace(
            self, X=self.X[kept], codes=self.codes[kept], keys=self.keys[kept]
        )

    def optimizer(
        self, n_new: int, sizes: tuple[int | None, int | None], alpha: float, seed: int
    ) -> StochasticOptimizer:
        """Return the optimizer for a piece, the rows that were added last.

        The queries are the new rows and, if there are few, some rows before them. The
        rows of the reservoir are only references, to avoid overfitting them. Each new
        row is a query about `n_epochs` times. Steps get shorter with the number of rows
        seen, and for pieces of fewer than `full` rows. At first, g is maximized as a
        surrogate for f.
        """
        much = self.n_seen / (4 * RESERVOIR_SIZE)
        n_epochs, n_steps, full = 30, 25, 512
        return StochasticOptimizer(
            self.preconditioner,
            *sizes,
            max_iter=int(np.ceil(n_epochs * n_new / (n_steps * BATCH_SIZE))),
            alpha=alpha,
            seed=seed,
            step=float(np.sqrt(min(1, n_new / full) / (1 + much))),
            warmup_fraction=1.0 if much < 1 else 0.0,
            pool=slice(max(0, len(self.X) - max(n_new, full)), None),
            steps=(n_steps, n_steps),
            largest=(BATCH_SIZE, N_REFERENCES),
        )


def learn_piece(
    est: Any, X: FloatArray, codes: IntArray, classes: NDArray[Any]
) -> tuple[
    Reservoir, ClassProblem, StochasticOptimizer, Selected | None, OptimizeResult
]:
    """Learn from a piece and the reservoir, and add the piece to the reservoir.

    Parameters
    ----------
    est : NCA
        The estimator.
    X, codes : ndarray
        The piece, and its class codes as indices into `classes`.
    classes : ndarray
        All classes.

    Returns
    -------
    pieces : Reservoir
        The reservoir with the piece.
    problem : ClassProblem
        Its rows.
    optimizer : StochasticOptimizer
        The optimizer.
    selected : Selected or None
        Start and penalty, with alpha="auto".
    result : OptimizeResult
        The map, with the curve of all pieces.
    """
    pieces: Reservoir | None = getattr(est, "_pieces", None)
    rng = np.random.default_rng([seed_of(est), pieces.n_seen if pieces else 0])
    curve: list[float] = []
    start: FloatArray | None = None
    if pieces is None:
        preconditioner = _coordinates(est, X, codes, len(classes), rng)
        pieces = Reservoir.begin(preconditioner, X, classes).with_piece(X, codes, rng)
    else:
        diagonal = est.form == "diagonal"
        start = np.diag(est.components_) if diagonal else est.components_
        curve = list(est.objective_curve_)
        pieces = pieces.with_piece(X, codes, rng)
        if pieces.n_seen >= 2 * pieces.n_framed:  # update the coordinates
            known = pieces.X, pieces.codes
            preconditioner = _coordinates(est, *known, len(classes), rng)
            pieces = replace(
                pieces, preconditioner=preconditioner, n_framed=pieces.n_seen
            )
    problem = _remembered(est, pieces)
    objective = problem.objective()
    selected, n_selected = _penalty(est, problem, pieces)
    alpha = est.alpha if selected is None else selected.alpha
    sizes = part_sizes(est, len(problem.X))
    optimizer = pieces.optimizer(len(X), sizes, alpha, int(rng.integers(2**31)))
    if start is None and selected is not None:
        start = selected.components
    if start is None:
        start = first_map(est, problem, objective, optimizer, alpha, 1.0)
    result = optimizer.maximize(objective, start, lambda *_: False)
    pieces = replace(pieces.trimmed(), n_selected=n_selected)
    result.curve = curve + (result.curve[1:] if curve else result.curve)
    result.nit = len(result.curve) - 1
    return pieces, _remembered(est, pieces), optimizer, selected, result


def _penalty(
    est: Any, problem: ClassProblem, pieces: Reservoir
) -> tuple[Selected | None, int]:
    """Return the penalty for alpha="auto", and the number of rows it was chosen on.

    It is chosen again each time the number of rows has doubled, up to `MOST_ROWS`. If
    no learned map is better than the start, the strongest penalty of the path is used.
    """
    if est.alpha != "auto":
        return None, 0
    known = pieces.n_selected
    if known and (known >= MOST_ROWS or pieces.n_seen < 2 * known):
        return Selected(est.init_, est.alpha_, est.components_), known
    selected = select(clone(est), problem)
    alpha = min(selected.alpha, alpha_max(selected.components))
    return replace(selected, alpha=alpha), pieces.n_seen


def _coordinates(
    est: Any, X: FloatArray, codes: IntArray, n_classes: int, rng: Generator
) -> Preconditioner:
    """Find the coordinates from the rows seen so far."""
    n, D = X.shape
    d = int(est.n_components) if isinstance(est.n_components, Integral) else D
    # With fewer rows per feature, all directions are kept.
    typical = len(np.unique(codes)) == n_classes and n >= 10 * D
    return Preconditioner.find(X, codes, d, est.form == "diagonal", rng, not typical)


def _remembered(est: Any, pieces: Reservoir) -> ClassProblem:
    """Return the rows of the reservoir as a problem."""
    n, classes = len(pieces.X), pieces.classes
    present, codes = np.unique(pieces.codes, return_inverse=True)
    weights = np.ones(n)
    points, offset = center_float32(pieces.X)
    return ClassProblem(
        points,
        weights,
        np.ones(n, dtype=bool),
        (pieces.X, classes[pieces.codes]),
        est.objective,
        est.n_jobs,
        offset,
        codes=codes,
        prior=class_prior(est, classes, present, codes, weights),
        classes=classes[present],
    )
