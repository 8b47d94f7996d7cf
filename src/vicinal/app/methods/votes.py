"""Predictions from nearest neighbors: votes, and the choice of one.

A vote has a number of neighbors and their weights. It is chosen by leave-one-out on
the training rows, with one search for the largest number of neighbors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.neighbors import NearestNeighbors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vicinal._typing import FloatArray, IntArray

NEIGHBORS = (1, 3, 5, 9, 15, 25, 51, 101)
"""Numbers of neighbors to choose from. Noisy labels need many (`docs/compare.md`)."""


@dataclass(frozen=True)
class Vote:
    """The neighbors that predict a row, and their weights.

    Attributes
    ----------
    n_neighbors : int or None
        Number of neighbors; None for all rows.
    weights : {"uniform", "distance", "soft", "plain"}
        Weights of the neighbors: equal, 1 / d, exp(-d² / scale), or exp(-d) of all
        rows.
    scale : float, default=1.0
        The scale of soft weights.
    n_maps : int, default=1
        Number of maps whose points are side by side, and whose plain votes are
        averaged.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.methods.votes import Vote
    >>> str(Vote(15, "distance")), str(Vote(None, "soft"))
    ('15 1/d', 'all soft')
    >>> Vote(2, "soft").weigh(np.array([[0.0, 1.0]])).round(2)
    array([[1.  , 0.37]])
    """

    n_neighbors: int | None
    weights: Literal["uniform", "distance", "soft", "plain"] = "uniform"
    scale: float = 1.0
    n_maps: int = 1

    def __str__(self) -> str:
        k = "all" if self.n_neighbors is None else f"{self.n_neighbors}"
        return k + {"uniform": "", "distance": " 1/d"}.get(self.weights, " soft")

    def weigh(self, distances: FloatArray) -> FloatArray:
        """Return the weights of neighbors, one row for each query.

        Parameters
        ----------
        distances : ndarray of shape (n_queries, n_neighbors)
            In ascending order in each row.
        """
        if self.weights == "uniform":
            return np.ones_like(distances)
        if self.weights == "soft":
            squares = np.square(distances)
            return np.exp((squares[:, :1] - squares) / self.scale)
        # Relative to the nearest neighbor; equal rows alone vote if there are any.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(
                distances > 0, distances[:, :1] / distances, distances[:, :1] == 0
            )

    def predict(
        self, distances: FloatArray, targets: NDArray[Any], prior: FloatArray | None
    ) -> FloatArray:
        """Return the probabilities of the classes, or the mean target.

        Parameters
        ----------
        distances : ndarray of shape (n_queries, n_neighbors)
            At least as many neighbors as the vote has, nearest first.
        targets : ndarray of shape (n_queries, n_neighbors)
            Their classes as integers from 0, or numbers.
        prior : ndarray of shape (n_classes,) or None
            Shares of the classes, which count as one more neighbor, so that no
            probability is zero; or zeros. None for numbers.
        """
        targets = targets[:, : self.n_neighbors]
        distances = distances[:, : self.n_neighbors]
        weights = self.weigh(distances.astype(np.float64, copy=False))
        weights /= weights.sum(axis=1, keepdims=True)
        if prior is None:
            return np.asarray((weights * targets).sum(axis=1))
        n, n_classes = len(targets), len(prior)
        places = targets + n_classes * np.arange(n)[:, None]
        shares = np.bincount(places.ravel(), weights.ravel(), n * n_classes)
        # The effective number of neighbors: k if their weights are equal.
        k = 1 / np.square(weights).sum(axis=1, keepdims=True)
        counts: FloatArray = k * shares.reshape(n, n_classes) + prior
        return counts / (k + prior.sum())


OWN_RULE = Vote(None, "soft", 1.0)
"""An estimator's own soft neighbors: all rows, p ∝ exp(-d²) if the map is linear."""


class Voters:
    """Mapped rows with a known target, which predict the target of others.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_components)
        Mapped rows.
    y : ndarray of shape (n_rows,)
        Classes as integers from 0, or numbers.
    n_classes : int
        Number of classes; 0 for numbers.
    n_jobs : int, optional
        Number of threads of the search.
    smooth : bool, default=True
        Whether the shares of the classes count as one more neighbor.
    """

    def __init__(
        self,
        Z: FloatArray,
        y: NDArray[Any],
        n_classes: int,
        n_jobs: int | None = None,
        *,
        smooth: bool = True,
    ) -> None:
        self.Z, self.y = Z, y
        self.prior: FloatArray | None = None
        if n_classes:
            self.prior = smooth * np.bincount(y, minlength=n_classes) / len(y)
        self._search = NearestNeighbors(n_jobs=n_jobs).fit(Z)

    def nearest(
        self, queries: FloatArray, k: int, own: IntArray | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Return the distances and positions of the nearest rows.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_components)
            Mapped rows.
        k : int
            Number of neighbors.
        own : ndarray of shape (n_queries,), optional
            The position of each query among the rows, which is left out; -1 for none.
        """
        if own is None:
            found: tuple[FloatArray, IntArray] = self._search.kneighbors(queries, k)
            return found
        distances, rows = self._search.kneighbors(queries, min(k + 1, len(self.Z)))
        out = rows == own[:, None]
        # Among equal rows, the row itself may be missing: the farthest one is left out.
        out[~out.any(axis=1), -1] = True
        shape = len(rows), rows.shape[1] - 1
        return distances[~out].reshape(shape), rows[~out].reshape(shape)

    def predict(
        self, queries: FloatArray, vote: Vote, own: IntArray | None = None
    ) -> FloatArray:
        """Return the probabilities of the classes, or numbers.

        Parameters
        ----------
        queries, own
            As for `nearest`.
        vote : Vote
            The vote.
        """
        if vote.n_neighbors is None:
            return self._predict_by_all(queries, vote, own)
        distances, rows = self.nearest(queries, vote.n_neighbors, own)
        return vote.predict(distances, self.y[rows], self.prior)

    def _predict_by_all(
        self, queries: FloatArray, vote: Vote, own: IntArray | None
    ) -> FloatArray:
        """Return the soft vote of all rows, in blocks of queries."""
        y, middle = self.y, self.Z.mean(axis=0)
        known = np.eye(len(self.prior))[y] if self.prior is not None else y
        # Centered points keep more digits of small distances.
        Z, queries = (one.astype(np.float64) - middle for one in (self.Z, queries))
        maps = [np.split(one, vote.n_maps, axis=1) for one in (queries, Z)]
        parts = []
        for start in range(0, len(queries), step := max(1, 2**22 // len(self.Z))):
            block: Any = 0.0
            for Q, points in zip(*maps, strict=True):
                Q = Q[start : start + step]  # noqa: PLW2901
                far = np.square(points).sum(axis=1) - 2 * Q @ points.T
                if vote.weights == "plain":
                    far += np.square(Q).sum(axis=1, keepdims=True)
                    far = np.sqrt(np.maximum(far, 0, out=far), out=far)
                if own is not None:
                    mine = own[start : start + step]
                    inside = np.flatnonzero(mine >= 0)
                    far[inside, mine[inside]] = np.inf
                weights = np.exp((far.min(axis=1, keepdims=True) - far) / vote.scale)
                weights /= weights.sum(axis=1, keepdims=True) * vote.n_maps
                block = block + weights @ known
            parts.append(block)
        return np.concatenate(parts)


def choose_vote(
    voters: Voters,
    score: str = "accuracy",
    max_queries: int = 2000,
) -> Vote:
    """Choose a vote by leave-one-out on the rows that vote.

    Of the votes within one standard error of the best score, the one with the least
    log-loss is chosen: it predicts as well, with better probabilities. For numbers, the
    criterion is the squared error.

    Parameters
    ----------
    voters : Voters
        The training rows.
    score : str, default="accuracy"
        "accuracy" or "balanced-accuracy". Of any other score of classes, votes are
        chosen by the log-loss alone.
    max_queries : int, default=2000
        With more rows, a random sample of them is left out in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.methods.votes import Voters, choose_vote
    >>> rng = np.random.default_rng(0)
    >>> Z, noise = rng.normal(size=(1000, 2)), rng.uniform(size=1000) < 0.3
    >>> y = (Z[:, 0] > 0) ^ noise
    >>> choose_vote(Voters(Z, y.astype(int), 2)).n_neighbors > 15
    True
    """
    n = len(voters.Z)
    own = np.arange(n)
    if n > max_queries:
        own = np.sort(np.random.default_rng(0).choice(n, max_queries, replace=False))
    distances, rows = voters.nearest(voters.Z[own], min(NEIGHBORS[-1], n - 1), own)
    targets, truth = voters.y[rows], voters.y[own]
    candidates = list(_candidates(distances))
    predicted = [vote.predict(distances, targets, voters.prior) for vote in candidates]
    if voters.prior is None:
        losses = [float(np.square(one - truth).mean()) for one in predicted]
        return candidates[int(np.argmin(losses))]
    known = np.arange(len(truth)), truth
    losses = [float(-np.log(one[known]).mean()) for one in predicted]
    near = np.ones(len(candidates), dtype=bool)
    if score in ("accuracy", "balanced-accuracy"):
        weights = np.ones(len(truth))
        if score == "balanced-accuracy":
            weights /= voters.prior[truth] * np.count_nonzero(voters.prior)
        hits = np.array([weights * (one.argmax(axis=1) == truth) for one in predicted])
        behind = hits[hits.mean(axis=1).argmax()] - hits
        near = behind.mean(axis=1) <= behind.std(axis=1) / np.sqrt(len(truth))
    return candidates[int(np.argmin(np.where(near, losses, np.inf)))]


def _candidates(distances: FloatArray) -> Iterator[Vote]:
    """Yield votes from few neighbors to many, and soft votes of all that were found."""
    most = distances.shape[1]
    for k in (k for k in NEIGHBORS if k <= most):
        yield Vote(k)
        yield Vote(k, "distance")
    # From the nearest neighbor to the farthest, weights fall to exp(-1) or exp(-32).
    spread = float(np.median(np.square(distances[:, -1]) - np.square(distances[:, 0])))
    if spread > 0:
        for halvings in range(6):
            yield Vote(most, "soft", spread / 2**halvings)
