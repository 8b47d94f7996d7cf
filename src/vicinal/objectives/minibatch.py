"""Mini-batches of an objective that sums over pairs of points."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from vicinal._typing import FloatArray, IntArray
from vicinal.objectives.nca import PairObjective
from vicinal.optimize import Objective, Reparametrized, Ridge


@dataclass(frozen=True)
class MinibatchSampler:
    """Sampler of mini-batches: random queries and random references.

    The queries are some of the references, and both are drawn for each mini-batch.
    Since a mini-batch has fewer points than the data, neighbors are farther apart, and
    a map learned from mini-batches alone has a scale that is too small for all data.

    Parameters
    ----------
    objective : PairObjective
        Objective on all data.
    batch_size : int
        Number of queries in a mini-batch; at most the number of references.
    n_references : int
        Number of references in a mini-batch; at most all points.
    alpha : float, default=0.0
        Penalty: alpha · ‖A‖² per point is subtracted from the value.
    basis : ndarray or None, default=None
        Coordinates of the maps; see `vicinal.optimize.Reparametrized`.
    report : callable, optional
        Function of the objective's terms whose results are summed to the value.
    pool : ndarray of int or None, default=None
        Positions of the points from which queries are drawn; None is all.

    See Also
    --------
    vicinal.NCA : Uses mini-batches if there are many rows.

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
        n_points = self.objective.n_points
        subset, queries = self.objective.draw(
            rng, self.batch_size, self.n_references, self.pool
        )
        part: Objective = Minibatch(subset, queries, n_points, self.report)
        if self.alpha:
            part = Ridge(part, self.alpha * n_points)
        return part if self.basis is None else Reparametrized(part, self.basis)


@dataclass(frozen=True)
class Minibatch:
    """Terms of some points, scaled to the number of all points."""

    objective: PairObjective
    queries: IntArray
    n_points: float
    report: Callable[[FloatArray], FloatArray]

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Estimate value and gradient on all data at a map."""
        whole = self.objective
        everyone = np.array_equal(self.queries, np.arange(whole.n_rows))
        queries = None if everyone else self.queries
        terms, gradient = whole.terms_and_gradient(components, queries)
        counts = whole.counts if queries is None else whole.counts[queries]
        scale = self.n_points / counts.sum()
        total = (self.report(terms).astype(np.float64) * counts).sum()
        return float(scale * total), gradient.astype(np.float64) * scale
