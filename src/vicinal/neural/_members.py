"""A trained network with the points that it votes by; how one is made."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vicinal._typing import IntArray
from vicinal.neighborhood import effective_n_threads
from vicinal.neural._columns import EncodedRows
from vicinal.neural._predict import embedded, votes
from vicinal.neural._soft_neighbors import Kernel
from vicinal.neural._training import TargetRows, Training

# Temperatures that calibration tries, between which it then looks again.
_TEMPERATURES = np.geomspace(0.05, 8, 17)
_FEWEST_HELD_OUT = 5


@dataclass(frozen=True, eq=False)
class Member:
    """One network of an estimator.

    Attributes
    ----------
    network : nn.Module
        Rows to points.
    points : Tensor of shape (n_samples, n_components)
        The training rows' points.
    kernel : Kernel
        How distances become exponents, with the temperature that was found.
    """

    network: nn.Module
    points: Tensor
    kernel: Kernel

    @classmethod
    def of(
        cls,
        network: nn.Module,
        known: TargetRows,
        held_out: IntArray,
        how: Training,
        calibrate: bool,
        device: Any,
    ) -> "Member":
        """Return a network with the points of all rows, held-out ones included."""
        points = embedded(network, known.rows, device)
        kernel = how.kernel
        if calibrate and len(held_out):
            kernel = _calibrated(points, known, held_out, kernel)
        return cls(network, points, kernel)

    def map(self, rows: EncodedRows) -> Tensor:
        """Return the points of new rows, in the rows' type."""
        network = self.network
        if rows.numbers.dtype == np.float64:
            # The network's own weights stay as they are.
            network = copy.deepcopy(network).double()
        return embedded(network, rows, self.points.device)

    def votes(self, rows: EncodedRows, values: Tensor) -> Tensor:
        """Return what the neighbours of new rows vote for."""
        values = values.to(self.points.device)
        return votes(self.map(rows), self.points, values, self.kernel)


def hold_out(keys: Any, fraction: float, rng: np.random.Generator) -> IntArray:
    """Return rows to hold out, spread evenly over classes or over targets.

    The first row of each class always stays, so that no class is lost.
    """
    n = len(keys)
    order = np.lexsort((rng.random(n), keys))
    places = np.arange(rng.random(), n * fraction, 1.0) / fraction
    chosen = np.zeros(n, dtype=bool)
    chosen[np.minimum(places.astype(int), n - 1)] = True
    if np.asarray(keys).dtype.kind in "iu":
        firsts = np.unique(np.asarray(keys)[order], return_index=True)[1]
        chosen[firsts] = False
    found = order[chosen]
    return np.sort(found) if len(found) >= _FEWEST_HELD_OUT else found[:0]


def _calibrated(
    points: Tensor, known: TargetRows, held_out: IntArray, kernel: Kernel
) -> Kernel:
    """Return the kernel with the temperature that predicts rows held out best."""
    inside = np.setdiff1d(np.arange(len(known)), held_out)
    values = known.values.to(points.device)
    queries, references = points[held_out], points[inside]

    def loss(temperature: float) -> float:
        found = votes(
            queries,
            references,
            values[inside],
            replace(kernel, temperature=temperature),
        )
        if known.n_classes:
            # A row that nobody speaks for must not decide alone.
            floor = 1 / len(known)
            right = (found * values[held_out]).sum(dim=1)
            return -float(((1 - floor) * right + floor / known.n_classes).log().mean())
        return float(((found - values[held_out]) ** 2).mean())

    step = float(_TEMPERATURES[1] / _TEMPERATURES[0])
    best = min(_TEMPERATURES, key=loss)
    near = [best * step**part for part in (-0.67, -0.33, 0.0, 0.33, 0.67)]
    return replace(kernel, temperature=float(min(near, key=loss)))


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads to use; None is one, as in scikit-learn.

    The steps of a table's training are so small that threads mostly wait for each
    other; where the processor is shared, they wait for long.
    """
    return 1 if n_jobs is None else effective_n_threads(n_jobs)


@contextmanager
def torch_state(seed: int, threads: int) -> Iterator[None]:
    """Seed torch and hold its threads; both are as before when this ends."""
    before = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
