"""How a network learns: stochastic neighbourhoods, AdamW, and rows held out."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vicinal.neural._loss import NCALoss
from vicinal.neural._predict import embedded, tensors, votes
from vicinal.neural._soft_neighbors import Kernel
from vicinal.neural._target_rows import TargetRows

# A step's share of all steps before the rate is whole.
_WARM_UP = 0.05
# So many references and queries judge an epoch: enough to tell, also of 10⁶ rows.
_JUDGING_REFERENCES = 10_000
_JUDGING_QUERIES = 4_000
# What the likelihood of rows held out counts beside their accuracy.
_SHARE_OF_LIKELIHOOD = 0.1


@dataclass(frozen=True)
class Training:
    """How to train.

    Attributes
    ----------
    objective : str
        As for `NCALoss`.
    distance : str
        As for `NCALoss`.
    batch_size : int
        Rows that a step predicts.
    n_references : int
        Further rows that a step draws as their neighbours.
    learning_rate, weight_decay : float
        Of AdamW. The rate goes up in the first twentieth of the steps, and then down
        by a cosine.
    max_iter : int
        Epochs.
    patience : int
        Epochs without gain on the rows held out, after which training ends.
    decay : bool
        Whether the rate follows that schedule; otherwise it stays.
    """

    objective: str
    distance: str
    batch_size: int
    n_references: int
    learning_rate: float
    weight_decay: float
    max_iter: int
    patience: int
    decay: bool = True

    @property
    def kernel(self) -> Kernel:
        """How distances become exponents."""
        return Kernel(self.distance == "plain")


@dataclass(eq=False)
class Trained:
    """What came out.

    Attributes
    ----------
    network : nn.Module
        With the weights of the best epoch.
    losses : list of float
        The mean loss of each epoch's steps.
    scores : list of float
        How well each epoch predicted the rows held out; higher is better. Empty where
        none were.
    diverged : bool
        Whether a loss was not finite, which ended the training.
    interruption : KeyboardInterrupt or None
        Ctrl-C after at least one epoch, which ended the training.
    """

    network: nn.Module
    losses: list[float]
    scores: list[float]
    diverged: bool = False
    interruption: KeyboardInterrupt | None = None


def train(
    network: nn.Module,
    learned: TargetRows,
    held_out: TargetRows | None,
    how: Training,
    device: Any,
    after_epoch: Callable[[Trained], bool],
    n_queries: int | None = None,
) -> Trained:
    """Train a network.

    The draws of rows go on from where torch's global generator stands, in a generator
    of their own; dropout has the global one.

    Parameters
    ----------
    network : nn.Module
        Changed in place.
    learned : TargetRows
        Rows to learn from; at least two, all of which count.
    held_out : TargetRows or None
        Rows that judge each epoch.
    how : Training
        Settings.
    device : torch.device
        Where to compute.
    after_epoch : callable
        Called after each epoch; True ends the training.
    n_queries : int or None, default=None
        Only the last so many rows are predicted, by all; None is all.

    Returns
    -------
    Trained
    """
    steps = _Steps(network, learned, how, device, n_queries)
    state = Trained(network, [], [])
    best = copy.deepcopy(network.state_dict())
    best_score, best_epoch = -math.inf, 0
    try:
        for epoch in range(how.max_iter):
            loss = steps.epoch()
            score = -loss
            if held_out is not None and math.isfinite(loss):
                score = judged(network, learned, held_out, how.kernel, device)
            if not math.isfinite(score):
                state.diverged = True
                break
            state.losses.append(loss)
            if held_out is not None:
                state.scores.append(score)
            if held_out is None or score > best_score:
                best_score, best_epoch = score, epoch
                best = copy.deepcopy(network.state_dict())
            if after_epoch(state) or epoch - best_epoch >= how.patience:
                break
    except KeyboardInterrupt as error:
        if not state.losses:
            raise
        state.interruption = error
    network.load_state_dict(best)
    network.eval()
    return state


class _Steps:
    """The steps of a training, an epoch at a time; see `train`."""

    def __init__(
        self,
        network: nn.Module,
        learned: TargetRows,
        how: Training,
        device: Any,
        n_queries: int | None,
    ) -> None:
        self._generator = torch.Generator()
        self._generator.set_state(torch.random.get_rng_state())
        # So that dropout does not draw the same numbers.
        torch.manual_seed(torch.initial_seed() + 1)
        self._network, self._learned, self._how = network, learned, how
        self._device = device
        self._n_queries = len(learned) if n_queries is None else n_queries
        self._n_batches = math.ceil(self._n_queries / how.batch_size)
        self._loss = NCALoss(how.objective, distance=how.distance)
        self._numbers, self._codes = tensors(learned.rows, device)
        self._target = learned.target.to(device)
        self._weights: Tensor | None = None
        if learned.weights is not None:
            # In units in which float32 holds them.
            relative = learned.weights / learned.weights[-self._n_queries :].mean()
            self._weights = relative.float().to(device)
        self._optimizer = torch.optim.AdamW(
            _groups(network, how.weight_decay), lr=how.learning_rate
        )
        n_steps = how.max_iter * self._n_batches
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, _warm_cosine(n_steps) if how.decay else lambda _: 1.0
        )

    def epoch(self) -> float:
        """Make the steps of an epoch; return their mean loss, NaN if that broke it."""
        self._network.train()
        n, n_queries = len(self._learned), self._n_queries
        # Those to be predicted first, each part in a random order.
        last = n - n_queries
        order = torch.cat(
            [
                last + torch.randperm(n_queries, generator=self._generator),
                torch.randperm(last, generator=self._generator),
            ]
        )
        total = 0.0
        for batch in torch.tensor_split(torch.arange(n_queries), self._n_batches):
            # In a random order, the rows that follow are a random draw, too.
            others = _outside(batch, self._how.n_references, n, self._generator)
            drawn = order[torch.cat([batch, others])].to(self._device)
            value, share = self._step(drawn, len(batch))
            if not math.isfinite(value):
                return math.nan
            total += value * share / n_queries
        # What the last step has made of the weights no loss has shown yet.
        rows = self._learned.rows[drawn.cpu()]
        largest = embedded(self._network, rows, self._device).square().sum(dim=1).max()
        return total + 0 * float(largest)

    def _step(self, drawn: Tensor, n_queries: int) -> tuple[float, float]:
        """Learn to predict the first of some rows; return the loss and what it counts.

        Nothing is learned from a loss that is not finite.
        """
        asked = drawn[:n_queries]
        points = self._network(self._numbers[drawn], self._codes[drawn])
        weights = self._weights
        loss = self._loss(
            points[:n_queries],
            self._target[asked],
            points,
            self._target[drawn],
            torch.arange(n_queries, device=self._device),
            weights=None if weights is None else weights[asked],
            reference_weights=None if weights is None else weights[drawn],
        )
        value = loss.item()
        if math.isfinite(value):
            self._optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self._optimizer.step()
            self._schedule.step()
        return value, n_queries if weights is None else float(weights[asked].sum())


def _outside(batch: Tensor, n_more: int, n: int, generator: torch.Generator) -> Tensor:
    """Return a cyclic run of positions outside a run of them, from a random one on."""
    free = max(n - len(batch), 1)
    start = torch.randint(free, (), generator=generator)
    steps = start + torch.arange(min(n_more, n - len(batch)))
    return (batch[-1] + 1 + steps % free) % n


def _groups(network: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return parameters with and without decay: matrices, and all others."""
    wanted = [p for p in network.parameters() if p.requires_grad]
    return [
        {"params": [p for p in wanted if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in wanted if p.ndim <= 1], "weight_decay": 0.0},
    ]


def _warm_cosine(n_steps: int) -> Callable[[int], float]:
    """Return the factor of the rate at each step."""

    def factor(step: int) -> float:
        part = (step + 1) / max(n_steps, 1)
        if part < _WARM_UP:
            return part / _WARM_UP
        return 0.5 * (1 + math.cos(math.pi * min(1.0, part)))

    return factor


def judged(
    network: nn.Module,
    learned: TargetRows,
    held_out: TargetRows,
    kernel: Kernel,
    device: Any,
) -> float:
    """Return how well rows held out are predicted; higher is better.

    For numbers, minus the mean squared error. For classes, the accuracy, and a bit of
    the likelihood, which decides among equals.
    """
    generator = np.random.default_rng(0)
    references, queries = (
        part[_some(len(part), most, generator)]
        for part, most in [
            (learned, _JUDGING_REFERENCES),
            (held_out, _JUDGING_QUERIES),
        ]
    )
    found = votes(
        embedded(network, queries.rows, device),
        embedded(network, references.rows, device),
        references,
        kernel,
    ).cpu()
    if not learned.n_classes:
        return -queries.mean((found[:, 0] - queries.target) ** 2)
    likelihood = found.gather(1, queries.target[:, None]).clamp(min=1e-6).log()
    right = (found.argmax(dim=1) == queries.target).float()
    return queries.mean(right) + _SHARE_OF_LIKELIHOOD * queries.mean(likelihood[:, 0])


def _some(n: int, most: int, generator: np.random.Generator) -> Any:
    if n <= most:
        return np.arange(n)
    return np.sort(generator.choice(n, most, replace=False))
