"""Pairs of points that shall be near or far: how they are drawn, and ITML's objective.

Nothing here knows how the objective is optimised.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState

from vicinal._typing import FloatArray, IntArray
from vicinal.base.tuples import Tuples
from vicinal.classic._sampled_pairs import random_pairs
from vicinal.neighborhood.threads import back_project, project

PERCENTILES = (5, 95)
PAIRS_FOR_PERCENTILES = 10_000


@dataclass(frozen=True, eq=False)
class PairBounds:
    """Differences of pairs, each in a unit in which its bound is 1.

    Attributes
    ----------
    near : ndarray of shape (n_near, n_features)
        v / √u of pairs of one class, which shall have vᵀMv ≤ u.
    far : ndarray of shape (n_far, n_features)
        v / √l of pairs of two classes, which shall have vᵀMv ≥ l.
    bounds : tuple of two floats
        u and l.
    """

    near: FloatArray
    far: FloatArray
    bounds: tuple[float, float]

    @classmethod
    def draw(
        cls,
        points: FloatArray,
        codes: IntArray,
        n_pairs: int,
        random_state: RandomState,
        in_coordinates: Callable[[FloatArray], FloatArray],
        other_points: FloatArray | None = None,
        other_codes: IntArray | None = None,
        bounds: tuple[float, float] | None = None,
    ) -> "PairBounds":
        """Draw so many pairs of one class and as many of two.

        Parameters
        ----------
        points, codes
            The points, and their classes.
        n_pairs : int
            How many of each kind.
        random_state : RandomState
            Where chance comes from.
        in_coordinates : callable
            Takes points to float64 coordinates under which the prior is the identity.
        other_points, other_codes
            Where the second of each pair comes from, if not from the points.
        bounds : tuple of two floats or None, default=None
            u and l; None takes percentiles.

        Raises
        ------
        ValueError
            When no two rows that could be paired are of one class.
        """
        second = points if other_points is None else other_points

        def differences(first_rows: IntArray, second_rows: IntArray) -> FloatArray:
            first = in_coordinates(points[first_rows])
            return first - in_coordinates(second[second_rows])

        alike, unlike = (
            random_pairs(codes, other_codes, n_pairs, same, random_state)
            for same in (True, False)
        )
        if not len(alike[0]):
            raise ValueError("No two rows that could be paired are of one class.")
        anyone = [
            random_state.randint(len(rows), size=PAIRS_FOR_PERCENTILES)
            for rows in (points, second)
        ]
        return cls._scaled(
            differences(*alike), differences(*unlike), differences(*anyone),
            points.dtype, bounds,
        )  # fmt: skip

    @classmethod
    def of_pairs(
        cls,
        pairs: Tuples,
        signs: IntArray,
        bounds: tuple[float, float] | None,
        random_state: RandomState,
    ) -> "PairBounds":
        """Take given pairs, in coordinates under which the prior is the identity.

        Parameters
        ----------
        pairs : Tuples
            The points' coordinates, and the pairs.
        signs : ndarray of shape (n_pairs,)
            1 for pairs to be near, -1 for pairs to be far.
        bounds : tuple of two floats or None
            u and l; None takes percentiles over random pairs of the points.
        random_state : RandomState
            For these.
        """
        points = pairs.points

        def differences(chosen: IntArray) -> FloatArray:
            return points[chosen[:, 0]] - points[chosen[:, 1]]

        anyone = random_state.randint(len(points), size=(PAIRS_FOR_PERCENTILES, 2))
        near, far = (differences(pairs.indices[signs == sign]) for sign in (1, -1))
        return cls._scaled(near, far, differences(anyone), points.dtype, bounds)

    @classmethod
    def _scaled(
        cls,
        near: FloatArray,
        far: FloatArray,
        anyone: FloatArray,
        dtype: Any,
        bounds: tuple[float, float] | None,
    ) -> "PairBounds":
        """Divide differences by the roots of their bounds; leave out duplicates."""
        # Duplicates can be neither moved nor measured with.
        rounding = float(4 * np.finfo(dtype).eps) ** 2
        low, high = _percentiles(anyone, rounding)
        u, v = bounds or (low, high)
        near, far = (
            V[np.einsum("ij,ij->i", V, V) > rounding * high] for V in (near, far)
        )
        return cls(near / np.sqrt(u), far / np.sqrt(v), (u, v))


@dataclass(frozen=True, eq=False)
class LogDetObjective:
    """Minus ITML's loss at a square map A, with M = AᵀA.

    Tr(M) − log det(M) − n_features + γ Σ (ξ − log ξ − 1) over the pairs, with the
    least slack ξ that they need: ξ = max(vᵀMv, 1) of pairs to be near, min(vᵀMv, 1) of
    pairs to be far. That is eq. 8 of the LDG paper, softened as by Davis et al., with
    the slack solved for. It is convex in M; in A it has no other minima.

    Attributes
    ----------
    pairs : PairBounds
        v, in units of the bounds.
    gamma : float
        γ, the price of slack.
    n_threads : int
        The result is the same for any number.
    """

    pairs: PairBounds
    gamma: float
    n_threads: int

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the loss and its derivative with respect to the map."""
        A = components
        log_det = np.linalg.slogdet(A)[1]
        if not np.isfinite(log_det):
            # Where a line search has gone too far: so low that it turns back.
            return -np.finfo(np.float64).max, np.zeros_like(A)
        loss = float(np.square(A).sum() - 2 * log_det - len(A))
        gradient = 2 * (A - np.linalg.inv(A).T)
        for V, clipped in (
            (self.pairs.near, np.maximum),
            (self.pairs.far, np.minimum),
        ):
            Z = project(V, A, self.n_threads)
            slack = clipped(np.einsum("ij,ij->i", Z, Z), 1.0)
            slack = np.maximum(slack, np.finfo(np.float64).tiny)
            loss += self.gamma * float((slack - np.log(slack) - 1).sum())
            Z *= (2 * self.gamma * (1 - 1 / slack))[:, None]
            gradient += back_project(Z, V, self.n_threads)
        return -loss, -gradient


def _percentiles(differences: FloatArray, rounding: float) -> tuple[float, float]:
    """Return the 5th and 95th percentile of the squared lengths that are not 0."""
    squares = np.einsum("ij,ij->i", differences, differences)
    apart = squares > rounding * squares.max()
    if not apart.any():
        return 1.0, 1.0  # all rows are equal, and no pair will be bound by it
    low, high = np.percentile(squares[apart], PERCENTILES)
    return float(low), float(high)
