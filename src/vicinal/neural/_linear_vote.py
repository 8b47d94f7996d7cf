"""A linear map that votes beside the networks: where rows are few it errs less."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from vicinal._typing import FloatArray
from vicinal.neural._columns import ColumnEncoder
from vicinal.neural._members import Member
from vicinal.neural._network import Architecture, TableNetwork, check_one_hot
from vicinal.neural._predict import embedded, tensors, votes
from vicinal.neural._soft_neighbors import Kernel
from vicinal.neural._target_rows import TargetRows

# With more of them, such a map takes longer to learn than a network.
_MOST_ROWS = 10_000
_MOST_COLUMNS = 500
# With fewer rows there is nothing to choose by.
_FEWEST_ROWS = 30
# The share counts as if so many further rows held out had asked for a half.
_ROWS_FOR_A_HALF = 100
_SHARES = np.linspace(0, 1, 21)


@dataclass(frozen=True, eq=False)
class LinearVote:
    """A linear map with the points that it votes by.

    Attributes
    ----------
    member : Member
        The map as a network without embeddings, and the training rows' points.
    share : float
        What it counts; the networks' mean has the rest.
    """

    member: Member
    share: float

    def of(self, known: TargetRows) -> "LinearVote":
        """Return the same map with other rows as neighbours."""
        network, device = self.member.network, self.member.points.device
        points = embedded(network, known.rows, device)
        return LinearVote(Member(network, points, self.member.kernel), self.share)


def worth_a_linear_map(known: TargetRows, encoder: ColumnEncoder) -> bool:
    """Return whether a linear map can be learned, in less time than the networks."""
    few = _FEWEST_ROWS <= len(known.counted) <= _MOST_ROWS
    return few and _width(encoder) <= _MOST_COLUMNS


def check_linear_map(encoder: ColumnEncoder) -> None:
    """Raise an error where categories are too many for a linear map of them."""
    try:
        check_one_hot(tuple(len(values) for values in encoder.categories))
    except ValueError as error:
        raise ValueError(
            "linear_vote=True needs a number for each category, and there are too "
            f"many: leave it at 'auto'. ({error})"
        ) from error


def learned_vote(
    learner: Any,
    known: TargetRows,
    encoder: ColumnEncoder,
    members: list[Member],
    validation: TargetRows | None,
    device: Any,
) -> LinearVote:
    """Learn a linear map from all rows, and find what it should count.

    Its share is the one by which it and a network predict best, on average over the
    networks, the rows that these were judged by. Where they are of the training data,
    a map that is learned without them stands in for that of all rows.

    Parameters
    ----------
    learner : estimator with `components_`
        Learns the map, of squared distances.
    known : TargetRows
        The training rows.
    encoder : ColumnEncoder
        How their columns were encoded.
    members : list of Member
        The networks.
    validation : TargetRows or None
        Rows that were given to judge by.
    device : torch.device
        Where to compute.
    """
    network = _learned(learner, known[known.counted], encoder).to(device)
    points = embedded(network, known.rows, device)
    whole = Member(network, points, Kernel(plain=False))
    losses: FloatArray = np.zeros(len(_SHARES))
    n_asked = 0
    for member in members:
        asked, inside, alike = validation, known, network
        if asked is None:
            if not len(member.held_out):
                continue
            asked = known[member.held_out]
            inside = known[np.setdiff1d(known.counted, member.held_out)]
            alike = _learned(learner, inside, encoder).to(device)
        found = [
            votes(
                embedded(one, asked.rows, device),
                embedded(one, inside.rows, device),
                inside,
                kernel,
            ).cpu()
            for one, kernel in ((member.network, member.kernel), (alike, whole.kernel))
        ]
        n = len(asked.counted)
        losses += [n * _loss(torch.lerp(*found, float(one)), asked) for one in _SHARES]
        n_asked = n if validation is not None else n_asked + n
    best = float(_SHARES[np.argmin(losses)]) if n_asked else 0.5
    share = (n_asked * best + _ROWS_FOR_A_HALF * 0.5) / (n_asked + _ROWS_FOR_A_HALF)
    return LinearVote(whole, share)


def linear_architecture(encoder: ColumnEncoder, n_components: int) -> Architecture:
    """Return what builds a linear map of scaled numbers and one-hot categories."""
    return Architecture(
        n_numbers=len(encoder.numeric),
        n_flags=len(encoder.flagged),
        n_categories=tuple(len(values) for values in encoder.categories),
        n_components=n_components,
        embedding="none",
        n_frequencies=1,
        embedding_size=2,
        frequency_scale=1.0,
        one_hot=True,
        n_blocks=0,
        hidden_size=1,
        dropout=0.0,
    )


def _width(encoder: ColumnEncoder) -> int:
    coded = sum(len(values) for values in encoder.categories)
    return len(encoder.numeric) + len(encoder.flagged) + coded


def _learned(learner: Any, known: TargetRows, encoder: ColumnEncoder) -> TableNetwork:
    """Return the map that an estimator learns from some rows."""
    plain = linear_architecture(encoder, 1).build()
    features = plain.features(*tensors(known.rows, "cpu")).numpy().astype(np.float64)
    # Its start is the identity, so numbers should vary alike; 0 or 1 stay as they are.
    unit = np.ones(features.shape[1])
    n = len(encoder.numeric)
    spread = features[:, :n].std(axis=0)
    unit[:n] = np.where(spread > 0, spread, 1.0)
    target = known.target.numpy()
    weights = None if known.weights is None else known.weights.numpy()
    with warnings.catch_warnings():
        # That it stopped early, or learned little, is no matter here.
        warnings.simplefilter("ignore", UserWarning)
        learner.fit(features / unit, target, weights)
    A = (learner.components_ / unit).astype(np.float32)
    network = linear_architecture(encoder, len(A)).build()
    with torch.no_grad():
        network.linear.weight.copy_(torch.from_numpy(A))
        network.linear.bias.zero_()
    return network.eval()


def _loss(found: torch.Tensor, asked: TargetRows) -> float:
    """Return the mean squared error, or minus the mean log-likelihood."""
    if not asked.n_classes:
        return asked.mean((found[:, 0] - asked.target) ** 2)
    right = found.gather(1, asked.target[:, None])[:, 0]
    return -asked.mean(right.clamp(min=1e-4).log())
