"""Which training rows a prediction comes from, and how many there are in effect."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from vicinal._typing import FloatArray, IntArray
from vicinal.neural._columns import EncodedRows
from vicinal.neural._linear_vote import LinearVote
from vicinal.neural._members import Member
from vicinal.neural._predict import log_weights_of, perplexities
from vicinal.neural._soft_neighbors import Pairs
from vicinal.neural._target_rows import TargetRows

# Perplexities are of so many training rows; of more, they would cost as much as a fit.
_MOST_PERPLEXITIES = 4_000


class Explanation(NamedTuple):
    """Which training rows a prediction comes from.

    Attributes
    ----------
    rows : ndarray of int of shape (n_samples, n_neighbors)
        Positions of training rows, the weightiest first.
    weights : ndarray of shape (n_samples, n_neighbors)
        The probabilities p_ij with which they are picked; all training rows' sum to 1.

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


def explained(
    members: list[Member],
    linear: LinearVote | None,
    known: TargetRows,
    rows: EncodedRows,
    n_neighbors: int,
) -> Explanation:
    """Return the training rows that weigh most for each row, by the members' mean."""
    if (
        not isinstance(n_neighbors, Integral)
        or isinstance(n_neighbors, bool)
        or n_neighbors < 1
    ):
        raise ValueError(
            f"n_neighbors must be a whole number from 1 on, got {n_neighbors!r}."
        )
    n_known = len(members[0].points)
    k = min(int(n_neighbors), n_known)
    found = np.zeros((len(rows), k), dtype=np.intp)
    weights = np.zeros((len(rows), k), dtype=rows.numbers.dtype)
    step = max(1, members[0].kernel.block // n_known)
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        p = torch.stack([_shares(member, known, rows[some]) for member in members])
        shares = p.mean(dim=0)
        if linear is not None:
            shares = torch.lerp(
                shares, _shares(linear.member, known, rows[some]), linear.share
            )
        best = shares.topk(k, dim=1)
        found[some], weights[some] = best.indices.numpy(), best.values.numpy()
    return Explanation(found, weights)


def _shares(member: Member, known: TargetRows, rows: EncodedRows) -> Tensor:
    """Return p_ij of some rows with all training rows."""
    points = member.map(rows).double()
    logs = log_weights_of(known, points)
    pairs = Pairs(points, member.points.double(), None, member.kernel, logs)
    with torch.no_grad():
        return torch.cat(
            [torch.softmax(found, dim=1) for _, found, _ in pairs.blocks()]
        ).cpu()


def effective_neighbors(member: Member, known: TargetRows) -> FloatArray:
    """Return those of training rows, NaN for all but a random part of many."""
    n = len(member.points)
    found = np.full(n, np.nan, dtype=np.float32)
    rows = np.arange(n)
    if n > _MOST_PERPLEXITIES:
        rows = np.random.default_rng(0).choice(n, _MOST_PERPLEXITIES, replace=False)
    own = torch.from_numpy(rows)
    some = perplexities(member.points[own], member.points, known, member.kernel, own)
    found[rows] = some.cpu().numpy()
    return found
