"""A trained network with the points that it votes by; how one is made."""

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import effective_n_threads
from vicinal.neural._columns import EncodedRows
from vicinal.neural._network import TableNetwork
from vicinal.neural._predict import embedded, votes, votes_by_factor
from vicinal.neural._soft_neighbors import Kernel
from vicinal.neural._target_rows import TargetRows
from vicinal.neural._training import Training

# Temperatures that calibration tries, between which it then looks again.
_TEMPERATURES = np.geomspace(0.05, 8, 17)
# A temperature costs so many pairs, at most, unless that leaves too few queries.
_MOST_CALIBRATING_PAIRS = 2**26
# Votes that are held at a time, of all temperatures.
_MOST_VOTES = 2**22
_FEWEST_CALIBRATING = 500
_FEWEST_HELD_OUT = 5
# So many must stay to learn from.
_FEWEST_INSIDE = 2
# Torch's seed and number of threads are the process's: one training at a time has them.
_ALONE = threading.RLock()


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
    held_out : ndarray of int
        Training rows that no step has seen yet, for `warm_start`; none if not known.
    """

    network: nn.Module
    points: Tensor
    kernel: Kernel
    held_out: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    @classmethod
    def of(
        cls,
        network: nn.Module,
        known: TargetRows,
        held_out: IntArray,
        how: Training,
        calibrate: bool,
        device: Any,
        before: "Member | None" = None,
        validation: TargetRows | None = None,
    ) -> "Member":
        """Return a network with the points of all rows, held-out ones included.

        The temperature is found by the rows held out or by those for `validation`, or
        is that of the network `before` this training, or 1.
        """
        points = embedded(network, known.rows, device)
        kernel = how.kernel
        if calibrate and validation is not None:
            queries = embedded(network, validation.rows, device)
            kernel = _calibrated(queries, validation, points, known, kernel)
        elif calibrate and len(held_out):
            inside = np.setdiff1d(np.arange(len(known)), held_out)
            kernel = _calibrated(
                points[held_out], known[held_out], points[inside], known[inside], kernel
            )
        elif before is not None and before.kernel.plain == kernel.plain:
            kernel = before.kernel
        return cls(network, points, kernel, held_out)

    def map(self, rows: EncodedRows) -> Tensor:
        """Return the points of new rows, in the rows' type."""
        network, dtype = self.network, rows.numbers.dtype
        if not isinstance(network, TableNetwork):
            # Code of others may be for the type that it was trained in, and no other.
            rows = EncodedRows(rows.numbers.astype(np.float32), rows.codes)
        elif dtype == np.float64:
            # The network's own weights stay as they are.
            network = copy.deepcopy(network).double()
        wide = torch.float64 if dtype == np.float64 else torch.float32
        return embedded(network, rows, self.points.device).to(wide)

    def votes(self, rows: EncodedRows, known: TargetRows) -> Tensor:
        """Return what the neighbours of new rows vote for, in the rows' type.

        Distances are computed in float64: the root of what float32 leaves of a small
        one would be felt in the votes.
        """
        points = self.map(rows)
        found = votes(points.double(), self.points, known, self.kernel)
        return found.to(points.dtype)


def hold_out(keys: Any, fraction: float, rng: np.random.Generator) -> IntArray:
    """Return rows to hold out, spread evenly over classes or over targets.

    The first row of each class always stays, so that no class is lost, and two rows
    stay in any case.
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
    if n - len(found) < _FEWEST_INSIDE:
        found = rng.permutation(found)[: max(n - _FEWEST_INSIDE, 0)]
    return np.sort(found) if len(found) >= _FEWEST_HELD_OUT else found[:0]


def _calibrated(
    queries: Tensor,
    asked: TargetRows,
    references: Tensor,
    known: TargetRows,
    kernel: Kernel,
) -> Kernel:
    """Return the kernel with the temperature by which known rows predict best."""
    # Among all references, whose density decides, but by a part of many queries.
    most = max(_MOST_CALIBRATING_PAIRS // len(known), _FEWEST_CALIBRATING)
    if len(asked) > most:
        rng = np.random.default_rng(0)
        some = np.sort(rng.choice(len(asked), most, replace=False))
        queries, asked = queries[some], asked[some]
    truth = asked.target[:, None]
    # A row that nobody speaks for must not decide alone.
    floor = 1 / (len(known.counted) + len(asked))

    def best_of(temperatures: FloatArray) -> float:
        """Return the temperature with the least loss."""
        factors, parts = temperatures.tolist(), []
        step = max(1, _MOST_VOTES // (len(factors) * max(known.n_classes, 1)))
        for some in (slice(i, i + step) for i in range(0, len(queries), step)):
            found = votes_by_factor(queries[some], references, known, kernel, factors)
            # Of the classes only the true one counts; of targets there is one column.
            column = truth[some].long() * (known.n_classes > 0)
            parts.append(found.cpu().gather(2, column.expand(len(factors), -1, 1)))
        found = torch.cat(parts, dim=1)[:, :, 0]
        if known.n_classes:
            faint = floor / known.n_classes
            losses = [-asked.mean(((1 - floor) * p + faint).log()) for p in found]
        else:
            losses = [asked.mean((mean - truth[:, 0]) ** 2) for mean in found]
        return float(temperatures[np.argmin(losses)])

    step = _TEMPERATURES[1] / _TEMPERATURES[0]
    coarse = best_of(_TEMPERATURES)
    near = coarse * step ** np.array([-0.67, -0.33, 0.0, 0.33, 0.67])
    return replace(kernel, temperature=best_of(near))


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads to use; None is one, as in scikit-learn.

    The steps of a table's training are so small that threads mostly wait for each
    other; where the processor is shared, they wait for long.
    """
    return 1 if n_jobs is None else effective_n_threads(n_jobs)


@contextmanager
def torch_state(seed: int, threads: int) -> Iterator[None]:
    """Seed torch and hold its threads; both are as before when this ends.

    Weights at the start and dropout draw from the one generator of the process, so a
    training waits here until one in another thread has ended.
    """
    with _ALONE, torch.random.fork_rng(devices=[]):
        before = torch.get_num_threads()
        torch.manual_seed(seed)
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
