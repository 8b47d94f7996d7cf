"""Training of one network: random neighborhoods, AdamW, early stopping."""

import copy
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
import torch
from torch import Tensor, nn

from vicinal.base.metric import say
from vicinal.neural._loss import Kernel, NCALoss
from vicinal.neural._members import embed, prediction_loss, votes
from vicinal.neural._rows import Rows
from vicinal.objectives.nca import sample_indices

# PyTorch's seed and number of threads belong to the process: one training at a time.
_TORCH_LOCK = threading.RLock()


@dataclass(eq=False)
class TrainingState:
    """State of a training, passed to callbacks after each epoch.

    Attributes
    ----------
    network : nn.Module
        The network; with the weights of the best epoch after the training.
    losses : list of float
        Mean loss of the steps of each epoch.
    scores : list of float
        Score of each epoch on the validation rows; higher is better. Empty without
        such rows.
    diverged : bool
        Whether the training ended because a loss was not finite.
    interruption : KeyboardInterrupt or None
        Ctrl-C after at least one epoch.
    """

    network: nn.Module
    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    diverged: bool = False
    interruption: KeyboardInterrupt | None = None


def train(
    est: Any,
    network: nn.Module,
    rows: Rows,
    validation: Rows | None,
    batch_size: int,
    after_epoch: Callable[[TrainingState], bool],
    n_new: int | None = None,
) -> TrainingState:
    """Train a network.

    Parameters
    ----------
    est : NeuralEstimator
        Settings of the training.
    network : nn.Module
        Trained in place.
    rows : Rows
        Training rows: at least two, all of positive weight.
    validation : Rows or None
        Rows that score each epoch.
    batch_size : int
        Rows that a step predicts.
    after_epoch : callable
        Called after each epoch; True ends the training.
    n_new : int or None, default=None
        Train for one epoch on the last `n_new` rows only, at a constant learning rate.

    Returns
    -------
    TrainingState
    """
    state = TrainingState(network)
    best = copy.deepcopy(network.state_dict())
    best_score, best_epoch = -math.inf, 0
    kernel = Kernel(plain=est.distance == "plain")
    epochs = _epochs(est, network, rows, batch_size, n_new)
    try:
        for epoch, mean_loss in enumerate(epochs):
            score = -mean_loss
            if validation is not None and math.isfinite(mean_loss):
                score = validation_score(network, rows, validation, kernel, est.device)
            if not math.isfinite(score):
                state.diverged = True
                break
            state.losses.append(mean_loss)
            if validation is not None:
                state.scores.append(score)
            if validation is None or score > best_score:
                best_score, best_epoch = score, epoch
                best = copy.deepcopy(network.state_dict())
            if after_epoch(state) or epoch - best_epoch >= est.n_iter_no_change:
                break
    except KeyboardInterrupt as error:
        if not state.losses:
            raise
        state.interruption = error
    network.load_state_dict(best)
    network.eval()
    return state


def _epochs(
    est: Any, network: nn.Module, rows: Rows, batch_size: int, n_new: int | None
) -> Iterator[float]:
    """Make the steps of an epoch and yield their mean loss, NaN if it diverged.

    A step predicts `batch_size` rows by these and `n_references` further random rows,
    with AdamW and weight decay on matrices. Row draws continue from the state of
    torch's global generator, in a generator of their own; dropout uses the global one.
    """
    generator = torch.Generator()
    generator.set_state(torch.random.get_rng_state())
    torch.manual_seed(torch.initial_seed() + 1)  # dropout draws other numbers
    n, n_queries = len(rows), len(rows) if n_new is None else n_new
    n_batches = math.ceil(n_queries / batch_size)
    device = torch.device(est.device)
    numbers, codes = rows.numbers.to(device), rows.codes.to(device)
    target, weights = rows.target.to(device), torch.ones(n)
    weighted = rows.weights is not None
    if weighted:  # relative, so that float32 can hold them
        weights = (rows.weights / rows.weights[-n_queries:].mean()).float()
    weights = weights.to(device)
    loss = NCALoss(est._objective, distance=est.distance)
    trained = [one for one in network.parameters() if one.requires_grad]
    groups = [
        {"params": [one for one in trained if one.ndim > 1]},
        {"params": [one for one in trained if one.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(
        groups, lr=est.learning_rate, weight_decay=est.weight_decay
    )
    max_iter = est.max_iter if n_new is None else 1
    n_steps = max_iter * n_batches
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: warm_cosine(step, n_steps) if n_new is None else 1.0
    )
    for _ in range(max_iter):
        network.train()
        # Queries first; each part in a random order.
        first = n - n_queries
        queries = first + torch.randperm(n_queries, generator=generator)
        order = torch.cat([queries, torch.randperm(first, generator=generator)])
        total = 0.0
        for batch in torch.tensor_split(torch.arange(n_queries), n_batches):
            # As the order is random, the rows that follow are a random draw.
            more = draw_others(batch, est.n_references, n, generator)
            drawn = order[torch.cat([batch, more])].to(device)
            asked = drawn[: len(batch)]
            points = network(numbers[drawn], codes[drawn])
            batch_loss = loss(
                points[: len(batch)],
                target[asked],
                points,
                target[drawn],
                torch.arange(len(batch), device=device),
                weights=weights[asked] if weighted else None,
                reference_weights=weights[drawn] if weighted else None,
            )
            value = batch_loss.item()
            total += value * float(weights[asked].sum()) / n_queries
            if not math.isfinite(value):
                break
            optimizer.zero_grad(set_to_none=True)
            batch_loss.backward()
            optimizer.step()
            schedule.step()
        # The last step may have diverged, which no loss has shown yet.
        points = embed(network, rows[drawn.cpu()], device)
        yield total + 0 * float(points.square().sum(dim=1).max())


def warm_cosine(step: int, n_steps: int, warm_up: float = 0.05) -> float:
    """Return the factor of the learning rate: a linear rise, then half a cosine."""
    part = (step + 1) / max(n_steps, 1)
    if part < warm_up:
        return part / warm_up
    return 0.5 * (1 + math.cos(math.pi * min(1.0, part)))


def draw_others(
    batch: Tensor, n_more: int, n: int, generator: torch.Generator
) -> Tensor:
    """Return a cyclic run of positions outside a run, from a random one on."""
    free = max(n - len(batch), 1)
    start = torch.randint(free, (), generator=generator)
    steps = start + torch.arange(min(n_more, n - len(batch)))
    return (batch[-1] + 1 + steps % free) % n


def validation_score(
    network: nn.Module,
    rows: Rows,
    validation: Rows,
    kernel: Kernel,
    device: Any,
    *,
    max_references: int = 10_000,
    max_queries: int = 4_000,
) -> float:
    """Return the score of the predictions for validation rows; higher is better.

    For numbers, minus the mean squared error. For classes, the accuracy plus a tenth
    of the mean log-likelihood, which breaks ties. Larger tables are sampled.
    """
    rng = np.random.default_rng(0)
    references = rows[sample_indices(rng, len(rows), max_references)]
    queries = validation[sample_indices(rng, len(validation), max_queries)]
    Q, R = (embed(network, one, device) for one in (queries, references))
    found = votes(Q, R, references, kernel).cpu()
    error = prediction_loss(found, queries, least=1e-6)
    if not rows.n_classes:
        return -error
    right = (found.argmax(dim=1) == queries.target).float()
    return queries.mean(right) - 0.1 * error


@contextmanager
def torch_state(seed: int, n_jobs: int | None) -> Iterator[None]:
    """Seed torch and set its number of threads; restore both at the end.

    Initial weights and dropout use the global generator of the process, so trainings in
    several threads wait for each other.
    """
    with _TORCH_LOCK, torch.random.fork_rng(devices=[]):
        before = torch.get_num_threads()
        torch.manual_seed(seed)
        torch.set_num_threads(joblib.effective_n_jobs(n_jobs))
        try:
            yield
        finally:
            torch.set_num_threads(before)


class EpochMonitor:
    """Prints progress and calls callbacks after each epoch of all networks of a fit.

    Parameters
    ----------
    estimator : estimator with `verbose` and `callback`
        The estimator that is fitted.
    X, y : array-likes
        The training data, passed on to scikit-learn's callbacks.
    fitted_attributes : callable
        Returns the fitted attributes for a network in training.
    n_epochs : int
        Maximum number of epochs of all networks.

    Attributes
    ----------
    stopped : bool
        Whether a callback has asked to stop.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        fitted_attributes: Callable[[nn.Module], dict[str, Any]],
        n_epochs: int,
    ) -> None:
        self.stopped = False
        self._n_networks = 0
        self._estimator = estimator
        self._fitted_attributes = fitted_attributes
        self._data = {"estimator": estimator, "X": X, "y": y}
        self._context = estimator._init_callback_context(max_subtasks=n_epochs)
        self._latest: Callable[[], dict[str, Any]] | None = None
        self._start = time.perf_counter()
        self._context.call_on_fit_task_begin(**self._data)
        self._print("network", "epoch", "loss", "score", "seconds")

    def __call__(self, state: TrainingState) -> bool:
        """Report an epoch; return True to stop."""
        epoch = len(state.losses)
        self._n_networks += epoch == 1
        score = f"{state.scores[-1]:.5g}" if state.scores else ""
        seconds = f"{time.perf_counter() - self._start:.1f}"
        self._print(self._n_networks, epoch, f"{state.losses[-1]:.5g}", score, seconds)
        self._latest = lambda: self._fitted_attributes(state.network)
        task = self._context.subcontext(task_name="epoch")
        task.call_on_fit_task_begin(**self._data)
        latest = {"reconstruction_attributes": self._latest}
        stop = bool(task.call_on_fit_task_end(**self._data, **latest))
        if self._estimator.callback is not None:
            try:
                self._estimator.callback(state, epoch)
            except StopIteration:
                stop = True
        self.stopped |= stop
        return stop

    def finish(self) -> None:
        """Tell scikit-learn's callbacks that all networks are trained."""
        latest = {"reconstruction_attributes": self._latest}
        self._context.call_on_fit_task_end(**self._data, **latest)

    def _print(self, *cells: Any) -> None:
        """Print a line of the progress table if `verbose`."""
        if self._estimator.verbose:
            line = "{:>7} {:>7} {:>12} {:>12} {:>9}".format(*cells)
            say(self._estimator, line)
