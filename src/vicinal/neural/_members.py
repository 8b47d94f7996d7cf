"""The members of an ensemble: networks, and a linear map, that vote with their points.

A member maps rows to points. The training rows vote on a new row, each with its
probability p_ij of being picked as the neighbor.
"""

import copy
import warnings
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.utils import gen_batches
from torch import Tensor, nn

from vicinal._typing import FloatArray, IntArray
from vicinal.base.columns import ColumnSizes
from vicinal.neural._loss import Kernel, Pairs
from vicinal.neural._network import TableNetwork, linear_network
from vicinal.neural._rows import Rows
from vicinal.objectives.nca import sample_indices

# Calibration uses at most this number of pairs per temperature, but at least this
# number of queries.
MAX_CALIBRATION_PAIRS = 2**26
MIN_CALIBRATION_QUERIES = 500


class Explanation(NamedTuple):
    """Training rows that determine predictions.

    Attributes
    ----------
    rows : ndarray of int of shape (n_samples, n_neighbors)
        Positions of training rows, by decreasing weight.
    weights : ndarray of shape (n_samples, n_neighbors)
        The probabilities p_ij of picking them; they sum to 1 over all training rows.

    See Also
    --------
    vicinal.neural.NeuralNCAClassifier : Its `explain` returns one.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.neural import Explanation
    >>> found = Explanation(rows=np.array([[4, 7]]), weights=np.array([[0.6, 0.3]]))
    >>> found.rows[0, 0]
    np.int64(4)
    """

    rows: IntArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class Member:
    """A trained map with the points of the training rows.

    Attributes
    ----------
    network : nn.Module
        Maps rows to points.
    points : Tensor of shape (n_samples, n_components)
        Points of the training rows.
    kernel : Kernel
        Kernel of the votes, with the calibrated temperature.
    held_out : ndarray of int
        Training rows that the network has not been trained on, for `warm_start`.
    """

    network: nn.Module
    points: Tensor
    kernel: Kernel
    held_out: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def with_rows(self, known: Rows) -> "Member":
        """Return the same map with other training rows."""
        return replace(self, points=embed(self.network, known, self.points.device))

    def with_temperature_of(self, old: "Member") -> "Member":
        """Return the member with another's temperature, if their distances agree."""
        same = old.kernel.plain == self.kernel.plain
        return replace(self, kernel=old.kernel if same else self.kernel)

    def project(self, rows: Rows) -> Tensor:
        """Return the points of new rows, in the rows' dtype."""
        network, dtype = self.network, rows.numbers.dtype
        if not isinstance(network, TableNetwork):  # a user's module may need float32
            rows = replace(rows, numbers=rows.numbers.float())
        elif dtype == torch.float64:
            network = copy.deepcopy(network).double()
        return embed(network, rows, self.points.device).to(dtype)

    def votes(self, rows: Rows, known: Rows) -> Tensor:
        """Return the votes on new rows, in the rows' dtype.

        Distances are computed in float64: float32 loses half of the digits of a small
        distance.
        """
        points = self.project(rows).double()
        found = votes(points, self.points, known, self.kernel)
        return found.to(rows.numbers.dtype)

    @torch.no_grad()
    def vote_shares(self, rows: Rows, known: Rows) -> Tensor:
        """Return p_ij of new rows with all training rows."""
        points = self.project(rows).double()
        logs = known.log_weights(points)
        pairs = Pairs(points, self.points.double(), None, self.kernel, logs)
        parts = [torch.softmax(exponents, dim=1) for _, exponents, _ in pairs.blocks()]
        return torch.cat(parts).cpu()

    @torch.no_grad()
    def perplexities(self, known: Rows, max_rows: int = 4_000) -> FloatArray:
        """Return exp(entropy of p_i), the effective number of neighbors of each row.

        NaN for all but `max_rows` random training rows.
        """
        found = np.full(len(known), np.nan, dtype=np.float32)
        rows = sample_indices(np.random.default_rng(0), len(known), max_rows)
        own, logs, parts = torch.from_numpy(rows), known.log_weights(self.points), []
        pairs = Pairs(self.points[own], self.points, own, self.kernel, logs)
        for _, exponents, _ in pairs.blocks():
            # With e = exponents − max, the entropy is log Σ exp(e) − Σ p e.
            e = exponents.sub_(exponents.amax(dim=1, keepdim=True))
            p = e.exp()
            total = p.sum(dim=1)
            # Clamped, as 0 · −∞ is NaN.
            mean = p.mul_(e.clamp_(min=torch.finfo(e.dtype).min)).sum(dim=1) / total
            parts.append(torch.exp(total.log() - mean))
        found[rows] = torch.cat(parts).cpu().numpy()
        return found

    def calibrated(self, asked: Rows, known: Rows) -> "Member":
        """Return the member with the temperature that predicts given rows best.

        `asked` are the rows to predict, `known` all training rows; rows held out do not
        vote here.
        """
        inside = np.setdiff1d(np.arange(len(known)), self.held_out)
        references, voters = self.points[inside], known[inside]
        # A subset of the queries, but all references: their density matters.
        most = max(MAX_CALIBRATION_PAIRS // len(voters), MIN_CALIBRATION_QUERIES)
        asked = asked[sample_indices(np.random.default_rng(0), len(asked), most)]
        queries = embed(self.network, asked, references.device)
        kernel = replace(self.kernel, temperature=1.0)
        # Every class has some probability, so that no single row decides.
        floor = 1 / (len(voters.counted) + len(asked))

        def best_of(temperatures: FloatArray) -> float:
            """Return the temperature with the least loss."""
            losses = []
            for temperature in temperatures.tolist():
                warmer = replace(kernel, temperature=temperature)
                found = votes(queries, references, voters, warmer).cpu()
                if known.n_classes:
                    found = (1 - floor) * found + floor / known.n_classes
                losses.append(prediction_loss(found, asked, least=0.0))
            return float(temperatures[np.argmin(losses)])

        grid = np.geomspace(0.05, 8, 17)
        fine = (grid[1] / grid[0]) ** np.array([-0.67, -0.33, 0.0, 0.33, 0.67])
        temperature = best_of(best_of(grid) * fine)
        return replace(self, kernel=replace(kernel, temperature=temperature))


@torch.no_grad()
def embed(
    network: nn.Module, rows: Rows, device: Any, block_rows: int = 4096
) -> Tensor:
    """Return the points of rows, computed in blocks and without gradients."""
    network.eval()
    parts = [
        network(rows.numbers[block].to(device), rows.codes[block].to(device))
        for block in gen_batches(len(rows), block_rows)
    ]
    return torch.cat(parts)


@torch.no_grad()
def votes(
    queries: Tensor,
    references: Tensor,
    known: Rows,
    kernel: Kernel,
) -> Tensor:
    """Return the votes of references on queries.

    Parameters
    ----------
    queries : Tensor of shape (n_queries, n_components)
        Points to predict.
    references : Tensor of shape (n_references, n_components)
        Points that vote.
    known : Rows
        Targets and weights of the references.
    kernel : Kernel
        Maps distances to exponents.

    Returns
    -------
    Tensor of shape (n_queries, n_classes or 1)
        Σ_j p_ij of each class, or Σ_j p_ij y_j.
    """
    n_classes, target = known.n_classes, known.target.to(queries.device)
    found = queries.new_zeros(len(queries), n_classes or 1)
    logs = known.log_weights(queries)
    pairs = Pairs(queries, references.to(queries.dtype), None, kernel, logs)
    # A product with one-hot labels is faster than sums by code, and takes no more
    # memory than the points.
    few = n_classes <= 32
    values = target[:, None].to(queries.dtype)
    if n_classes and few:
        classes = torch.arange(n_classes, device=target.device)
        values = (target[:, None] == classes).to(queries.dtype)
    for part, exponents, _ in pairs.blocks():
        p = torch.softmax(exponents, dim=1)
        if few:
            found[part] = p @ values
        else:
            found[part].scatter_add_(1, target.expand(len(p), -1), p)
    return found


def fit_linear_vote(
    learner: Any,
    known: Rows,
    sizes: ColumnSizes,
    members: list[Member],
    validation: Rows | None,
) -> tuple[Member, float]:
    """Fit a linear map to all rows, and choose its share of the votes.

    The share minimizes the loss of the mixed votes on the validation rows, summed over
    the networks. If these rows were held out of the training data, the networks are
    mixed with a linear map that is fitted without them.

    Parameters
    ----------
    learner : NCAClassifier or NCARegressor
        Fits the map, for squared distances.
    known : Rows
        The training rows.
    sizes : ColumnSizes
        Widths of their columns.
    members : list of Member
        The networks.
    validation : Rows or None
        Rows to choose the share by; None is the rows held out of each network.

    Returns
    -------
    member : Member
        The linear map.
    share : float
        Its share of the votes, between 0 and 1.
    """
    kernel, device = Kernel(plain=False), members[0].points.device
    network = _fit_linear(learner, known[known.counted], sizes).to(device)
    linear = Member(network, embed(network, known, device), kernel)
    shares = np.linspace(0, 1, 21)
    losses, n_asked = np.zeros(len(shares)), 0
    for member in members:
        asked, inside, fold_network = validation, known, network
        if asked is None:
            if not len(member.held_out):
                continue
            asked = known[member.held_out]
            inside = known[np.setdiff1d(known.counted, member.held_out)]
            fold_network = _fit_linear(learner, inside, sizes).to(device)
        by_network, by_linear = (
            votes(embed(one, asked, device), embed(one, inside, device), inside, its)
            for one, its in ((member.network, member.kernel), (fold_network, kernel))
        )
        n = len(asked.counted)
        mixtures = (torch.lerp(by_network, by_linear, float(s)).cpu() for s in shares)
        losses += [n * prediction_loss(mixed, asked) for mixed in mixtures]
        n_asked = n if validation is not None else n_asked + n
    best = float(shares[np.argmin(losses)]) if n_asked else 0.5
    # Shrunk towards 0.5 with the weight of 100 rows.
    return linear, (n_asked * best + 100 * 0.5) / (n_asked + 100)


def _fit_linear(learner: Any, known: Rows, sizes: ColumnSizes) -> TableNetwork:
    """Return the linear map that an estimator learns, as a network."""
    one_hot = linear_network(sizes, 1)
    features = one_hot.features(known.numbers, known.codes).numpy().astype(np.float64)
    # The fit starts at the identity: numbers need equal scales; flags and one-hot
    # columns keep theirs.
    unit, n = np.ones(features.shape[1]), sizes.n_numbers
    spread = features[:, :n].std(axis=0)
    unit[:n] = np.where(spread > 0, spread, 1.0)
    weights = None if known.weights is None else known.weights.numpy()
    with warnings.catch_warnings():
        # An unconverged map is good enough: its share is chosen by validation.
        warnings.simplefilter("ignore", UserWarning)
        learner.fit(features / unit, known.target.numpy(), sample_weight=weights)
    A = (learner.components_ / unit).astype(np.float32)
    network = linear_network(sizes, len(A))
    with torch.no_grad():
        network.linear.weight.copy_(torch.from_numpy(A))
        network.linear.bias.zero_()
    return network.eval()


def prediction_loss(found: Tensor, asked: Rows, least: float = 1e-4) -> float:
    """Return the mean squared error, or minus the mean log-likelihood.

    `least` bounds the probabilities, so that no single row decides.
    """
    if not asked.n_classes:
        return asked.mean((found[:, 0] - asked.target) ** 2)
    right = found.gather(1, asked.target[:, None])[:, 0]
    return -asked.mean(right.clamp(min=least).log())
