"""What ITML and its form for transfer share: pairs, the LogDet problem, the result."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import LinearMetric
from vicinal.base.tuples import Tuples
from vicinal.classic._gamma import choose_gamma, choose_gamma_of_pairs
from vicinal.classic._pair_bounds import LogDetObjective, PairBounds
from vicinal.classic._prior import PriorSpace, prior_space
from vicinal.classic._sampled_pairs import number_of_pairs
from vicinal.classic._solve import maximize, warn_unless_converged
from vicinal.neighborhood import effective_n_threads


class LogDetMetric(LinearMetric):
    """Base of the metrics nearest to a prior, by LogDet, that keep to pairs' bounds."""

    gamma: float | str
    prior: str | ArrayLike
    n_constraints: int | str
    max_iter: int
    tol: float
    verbose: int
    random_state: int | RandomState | None

    def _learn(
        self,
        X: FloatArray,
        codes: IntArray,
        other_X: FloatArray | None = None,
        other_codes: IntArray | None = None,
        bounds: tuple[float, float] | None = None,
    ) -> None:
        """Draw pairs of rows of X, or of X and other points, and learn M from them."""
        random_state = check_random_state(self.random_state)
        n_threads = effective_n_threads(None)
        everyone = X if other_X is None else np.vstack([X, other_X])
        space = prior_space(everyone, self.prior)
        if space.span is not None:
            points, others = np.split(space.span.coordinates, [len(X)])
        else:
            points, others = X, X[:0] if other_X is None else other_X
        n_classes = 1 + int(
            codes.max() if other_codes is None else max(codes.max(), other_codes.max())
        )
        n_pairs = number_of_pairs(self.n_constraints, n_classes, space.n_coordinates)
        given = self._bounds_in(space, bounds)
        gamma = self.gamma
        if isinstance(gamma, str):
            gamma = choose_gamma(
                points, codes, n_pairs, random_state, space.of_points, n_threads, given
            )
        pairs = PairBounds.draw(
            points, codes, n_pairs, random_state, space.of_points,
            None if other_X is None else others, other_codes, given,
        )  # fmt: skip
        self._solve(pairs, gamma, space, n_threads, X.dtype)

    def _learn_given(
        self,
        given: Tuples,
        signs: IntArray,
        bounds: tuple[float, float] | None = None,
    ) -> None:
        """Learn M from given pairs."""
        random_state = check_random_state(self.random_state)
        n_threads = effective_n_threads(None)
        known = given.used()
        space = prior_space(known.points, self.prior)
        points = Tuples(space.coordinates(known.points), known.indices)
        limits = self._bounds_in(space, bounds)
        gamma = self.gamma
        if isinstance(gamma, str):
            gamma = choose_gamma_of_pairs(
                points, signs, limits, random_state, n_threads
            )
        pairs = PairBounds.of_pairs(points, signs, limits, random_state)
        self._solve(pairs, gamma, space, n_threads, given.points.dtype)

    def _solve(
        self,
        pairs: PairBounds,
        gamma: float,
        space: PriorSpace,
        n_threads: int,
        dtype: Any,
    ) -> None:
        """Make the estimator fitted: M = L Λ Lᵀ is stored as Λ^½ Lᵀ."""
        objective = LogDetObjective(pairs, gamma, n_threads)
        found = maximize(self, objective, np.eye(space.n_coordinates))
        self.components_ = space.to_map(found.components, dtype)
        with np.errstate(over="ignore", under="ignore"):
            # The covariance, unlike the identity, was taken in that unit.
            squared = np.square(np.float64(1.0 if space.of_data else space.unit))
            low, high = pairs.bounds
            self.bounds_ = (float(low * squared), float(high * squared))
        self.n_iter_ = max(1, found.n_iter)
        self.objective_curve_ = -np.array(found.curve)
        self.gamma_ = gamma
        warn_unless_converged(self, found, "Raise tol, or lower gamma")

    def _bounds_in(
        self, space: PriorSpace, bounds: tuple[float, float] | None
    ) -> tuple[float, float] | None:
        """Return bounds, given in units of X, in those of the coordinates."""
        if bounds is None:
            return None
        squared = 1.0 if space.of_data else space.unit**2
        return float(bounds[0]) / squared, float(bounds[1]) / squared
