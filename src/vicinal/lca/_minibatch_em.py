"""The fast form of EM (LCA, section 5): batches of locations, random neighbours."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState
from sklearn.utils.random import sample_without_replacement

from vicinal._typing import FloatArray, IntArray
from vicinal.lca._e_step import (
    Kernel,
    expectation_of,
    log_means,
    mapped,
    to_float32_if_safe,
)
from vicinal.lca._em import Model, OnIteration, Reached, Start, objective

# Up to here all pairs are looked at unless batches are asked for.
N_EXACT = 20_000
# The paper's batches and neighbourhoods (section 6.3), how many locations for each
# feature make a covariance that is far from degenerate, and after how many updates
# another adds little in the same pass.
BATCH_SIZE, N_REFERENCES, LOCATIONS_PER_FEATURE = 100, 3000, 4
UPDATES_PER_PASS = 1000
# How many points the stochastic form judges its progress by.
N_JUDGES = 1000
# How many of them set the final scale, in how many steps at most, and when it is found.
N_RESCALERS, N_RESCALINGS, SAME_SCALE = 500, 10, 0.01

OnePass = Callable[[Kernel, FloatArray, float], tuple[Kernel, FloatArray, float]]
"""Takes a kernel, C_L and its weight through a pass, and returns them updated."""


@dataclass(frozen=True)
class Sampling:
    """How the stochastic form looks at the data (section 5).

    Attributes
    ----------
    batch_size : int
        B, the locations of an update.
    n_references : int
        N, the random neighbours that the locations of an update look at.
    discount : float
        γ: the weight that C_L keeps over a pass through the data (eq. 7).
    rescale : bool, default=True
        Whether the final C_L is scaled to all points as references.
    """

    batch_size: int
    n_references: int
    discount: float
    rescale: bool = True

    def groups(
        self, locations: IntArray, n: int, rng: RandomState
    ) -> Iterator[tuple[IntArray, int]]:
        """Yield groups of at most N locations, each followed by random other rows.

        A group and its other rows are N rows together, all of them references of each
        location in the group. The locations are references of each other, which saves
        mapping other rows.

        Yields
        ------
        rows : ndarray of shape (N,)
            The locations of the group, then the other rows.
        n_locations : int
            The size of the group.
        """
        N = max(min(self.n_references, n), 2)
        for group in np.array_split(locations, -(-len(locations) // N)):
            rows = group
            while len(rows) < N:
                # Drawing few of many rows again is cheaper than a permutation.
                drawn = rng.randint(n, size=N) if n > 2 * N else rng.permutation(n)
                rows = np.concatenate([rows, drawn])
                rows = rows[np.sort(np.unique(rows, return_index=True)[1])]
            yield rows[:N], len(group)

    def batches(self, locations: IntArray) -> list[IntArray]:
        """Return the locations in parts of B or a few less."""
        return np.array_split(locations, -(-len(locations) // self.batch_size))

    def update(
        self,
        model: Model,
        U: FloatArray,
        kernel: Kernel,
        C: FloatArray,
        weight: float,
        locations: IntArray,
        rng: RandomState,
        n_threads: int,
    ) -> tuple[Kernel, FloatArray, float]:
        """Update C_L by locations, a batch at a time; return kernel, C_L and weight.

        The weight says of how much C_L is the average, at most 1, for then this is
        eq. 7. A start that nothing was learned from should count for little: then C_L
        is the mean of what was seen so far, until a pass or two have gone by.
        """
        for batch in self.batches(locations):
            seen = self.scatter(U, kernel, batch, rng, n_threads)
            C, weight = self.averaged(C, weight, seen, len(batch) / len(U))
            kernel = model.fit(C)
        return kernel, C, weight

    def averaged(
        self, C: FloatArray, weight: float, seen: FloatArray, part: float
    ) -> tuple[FloatArray, float]:
        """Return C_L and its weight with a batch's Ĉ_L that is part of a pass."""
        kept = self.discount**part
        before, weight = kept * weight, kept * weight + (1 - kept)
        return (before * C + (1 - kept) * seen) / weight, weight  # eq. 7 at weight 1

    def scatter(
        self,
        U: FloatArray,
        kernel: Kernel,
        batch: IntArray,
        rng: RandomState,
        n_threads: int,
    ) -> FloatArray:
        """Return Ĉ_L, the mean local covariance at a batch of locations."""
        C = np.zeros_like(kernel.map)
        for rows, n_locations in self.groups(batch, len(U), rng):
            Y = to_float32_if_safe(mapped(U[rows], kernel, n_threads))
            seen = expectation_of(Y, kernel, n_threads, np.arange(n_locations))
            C += seen.C * (n_locations / len(batch))
        return C

    def weight_of_start(self, n: int) -> float:
        """Return the weight of a C_L that nothing was learned from: one batch's."""
        return 1 - self.discount ** (min(self.batch_size, n) / n)


def sampling_of(
    batch_size: int | str | None,
    n_references: int | str | None,
    discount: float,
    shape: tuple[int, ...],
    rescale: bool = True,
) -> Sampling:
    """Return how to draw batches from points of this shape.

    Parameters
    ----------
    batch_size, n_references, discount, rescale
        As for `LCA`; None is chosen here.
    shape : tuple
        How many points and features.
    """
    n, d = shape
    if batch_size is None:
        # Each update maps its neighbours anew: many locations should share them.
        batch_size = max(BATCH_SIZE, LOCATIONS_PER_FEATURE * d, n // UPDATES_PER_PASS)
    if n_references is None:
        n_references = N_REFERENCES
    B, N = (n if k == "all" else min(int(k), n) for k in (batch_size, n_references))
    return Sampling(B, N, discount, rescale)


def sampled_rows(n: int) -> IntArray | None:
    """Return a random sample of the rows of a large table; None is all of a small."""
    if n <= N_EXACT:
        return None
    return np.random.RandomState(0).choice(n, N_JUDGES, replace=False)


def stochastic_em(
    model: Model,
    U: FloatArray,
    start: Start,
    sampling: Sampling,
    *,
    max_iter: int,
    tol: float,
    rng: RandomState,
    n_threads: int,
    on_iteration: OnIteration,
    one_pass: OnePass | None = None,
) -> Reached:
    """Average the local covariances of mini-batches (eq. 7); an iteration is a pass.

    The curve is the objective at the same random points, against the same random
    neighbours, after each pass. At the end the kernel is scaled to all neighbours.

    Parameters
    ----------
    model, U, max_iter, tol, n_threads, on_iteration
        As for `exact_em`.
    start : Start
        Where to start.
    sampling : Sampling
        Batches and neighbours.
    rng : RandomState
        What is drawn.
    one_pass : callable or None, default=None
        Updates the kernel by a pass; None is over all of U, in random order.
    """

    def through_all(
        kernel: Kernel, C: FloatArray, weight: float
    ) -> tuple[Kernel, FloatArray, float]:
        order = rng.permutation(len(U))
        return sampling.update(model, U, kernel, C, weight, order, rng, n_threads)

    update = through_all if one_pass is None else one_pass
    judges = sample_without_replacement(
        len(U), min(len(U), N_JUDGES), random_state=rng
    ).astype(np.intp)
    judged = [(U[rows], k) for rows, k in sampling.groups(judges, len(U), rng)]

    def height(kernel: Kernel) -> float:
        found = [log_means(V, kernel, n_threads, np.arange(k)) for V, k in judged]
        return objective(np.concatenate(found), kernel)

    kernel, C, learned = start
    curve = [height(kernel)]
    converged = False
    weight = 1.0 if learned else sampling.weight_of_start(len(U))
    for _ in range(max_iter):
        kernel, C, weight = update(kernel, C, weight)
        curve.append(height(kernel))
        converged = curve[-1] - curve[-2] < tol
        reached = Reached(kernel, C, curve, converged=True)
        if on_iteration(reached) or converged:
            converged = True
            break
    if sampling.rescale and sampling.n_references < len(U):
        kernel, C = _rescale(model, U, kernel, C, judges, n_threads)
    return Reached(kernel, C, curve, converged)


def _rescale(
    model: Model,
    U: FloatArray,
    kernel: Kernel,
    C: FloatArray,
    judges: IntArray,
    n_threads: int,
) -> tuple[Kernel, FloatArray]:
    """Fit the size of C_L, and nothing else of it, to all points as neighbours.

    With fewer neighbours the nearest are further away, so that what was learned from
    them is too wide for the density, which is of all points (section 5.2). This is EM
    over a factor of C_L, from a few locations.
    """
    for _ in range(N_RESCALINGS):
        Y = to_float32_if_safe(mapped(U, kernel, n_threads))
        seen = expectation_of(Y, kernel, n_threads, judges[:N_RESCALERS])
        local = kernel.map[: kernel.n_local]
        now, before = (float(np.sum((local @ M) * local)) for M in (seen.C, C))
        if not (now > 0 and before > 0):  # no Parzen directions, or all points twice
            break
        factor = now / before
        C = C * factor
        kernel = model.fit(C)
        if abs(factor - 1) < SAME_SCALE:
            break
    return kernel, C
