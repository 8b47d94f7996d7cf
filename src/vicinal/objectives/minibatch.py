"""Mini-batches of an objective: some points' terms, with sums over some others."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from vicinal._typing import FloatArray, IntArray
from vicinal.objectives.base import PairObjective, sample_indices
from vicinal.optimize import Objective, Reparametrized, Ridge

__all__ = ["Minibatch", "MinibatchSampler", "sample_indices"]


@dataclass(frozen=True)
class MinibatchSampler:
    """Draws mini-batches of an objective: random queries against random references.

    The queries are some of the references, and both are new for each mini-batch. Since
    it has fewer points than the whole, neighbours are farther apart, and a map learned
    from mini-batches alone has a scale that is too small for all of the data.

    Parameters
    ----------
    objective : PairObjective
        The whole.
    batch_size : int
        Queries in a mini-batch; at most as many as there are references.
    n_references : int
        References in a mini-batch; at most all points.
    alpha : float, default=0.0
        For each point, alpha · ‖A‖² is taken from the value.
    basis : ndarray or None, default=None
        The coordinates that maps are given in; see `InBasis`.
    report : callable, optional
        The terms that the value is the sum of, as a function of those of the objective.
    pool : ndarray of int or None, default=None
        The positions of the points that queries are drawn from; None is all.

    See Also
    --------
    vicinal.NCA : Takes steps on mini-batches where rows are many.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import MinibatchSampler, NCAObjective
    >>> rng = np.random.default_rng(0)
    >>> whole = NCAObjective(rng.normal(size=(100, 3)), rng.integers(2, size=100))
    >>> batches = MinibatchSampler(whole, batch_size=10, n_references=20)
    >>> value, gradient = batches.draw(rng).value_and_gradient(np.eye(2, 3))
    >>> gradient.shape
    (2, 3)
    """

    objective: PairObjective
    batch_size: int
    n_references: int
    alpha: float = 0.0
    basis: FloatArray | None = None
    report: Callable[[FloatArray], FloatArray] = np.asarray
    pool: IntArray | None = None

    def draw(self, rng: Generator) -> Objective:
        """Return a random mini-batch."""
        part = self._part(rng)
        if self.alpha:
            part = Ridge(part, self.alpha * self._n_points)
        return part if self.basis is None else Reparametrized(part, self.basis)

    @property
    def _n_points(self) -> float:
        """How many points the terms are scaled up to."""
        return self.objective.n_points

    def _part(self, rng: Generator) -> Objective:
        """Return a random mini-batch without a penalty, of the points as they are."""
        subset, queries = self.objective.draw(
            rng, self.batch_size, self.n_references, self.pool
        )
        return Minibatch(subset, queries, self._n_points, self.report)


@dataclass(frozen=True)
class Minibatch:
    """The terms of some points, scaled up to the number of all points."""

    objective: PairObjective
    queries: IntArray
    n_points: float
    report: Callable[[FloatArray], FloatArray]

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Estimate the whole's value and gradient at a map."""
        whole = self.objective
        everyone = np.array_equal(self.queries, np.arange(whole.n_rows))
        queries = None if everyone else self.queries
        terms, gradient = whole.terms_and_gradient(components, queries)
        counts = whole.counts if queries is None else whole.counts[queries]
        scale = self.n_points / counts.sum()
        total = (self.report(terms).astype(np.float64) * counts).sum()
        return float(scale * total), gradient.astype(np.float64) * scale
