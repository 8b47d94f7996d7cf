"""MMC's objective, and what is made of its optimum."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vicinal._typing import FloatArray
from vicinal.base.differences import Differences
from vicinal.base.metric import unscale_components
from vicinal.classic._prior import PriorSpace


@dataclass(frozen=True, eq=False)
class Optimum:
    """The metric at the optimum, in the coordinates that it was found in.

    Attributes
    ----------
    rows : ndarray
        A with M = AᵀA; of a diagonal M the square roots of its entries.
    space : PriorSpace
        The coordinates.
    found : Any
        How the solver ended.
    """

    rows: FloatArray
    space: PriorSpace
    found: Any

    def components(self, prior_weight: float, dtype: Any) -> FloatArray:
        """Return the map of (1 − t) M + t I, with an identity of M's trace."""
        t = prior_weight
        if self.rows.ndim == 1:
            squares = np.square(self.rows)
            weights = np.sqrt((1 - t) * squares + t * squares.mean())
            kept = np.flatnonzero(weights > 1e-6 * weights.max())
            kept = kept[np.argsort(-weights[kept], kind="stable")]
            components = np.zeros((len(kept), len(weights)))
            components[np.arange(len(kept)), kept] = weights[kept]
            return unscale_components(components, self.space.unit, dtype)
        if t == 0:
            return self.space.to_unscaled_map(self.rows, dtype)
        M = (1 - t) * self.rows.T @ self.rows
        M[np.diag_indices_from(M)] += t * np.square(self.rows).sum() / len(M)
        values, vectors = np.linalg.eigh(M)
        # The symmetric root: many eigenvalues are nearly equal, and their vectors
        # are turned by mere rounding.
        root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        if self.space.span is not None:
            root = self.space.span.basis_to_features(root)
        return unscale_components(root, self.space.unit, dtype)


class FarApart:
    """log Σ ‖B u‖ − log ‖B‖, for differences u and a square B.

    It has the same value for any multiple of B. In N = BᵀB / ‖B‖² it is concave, and
    in B it has no other maxima.
    """

    def __init__(self, differences: Differences) -> None:
        self.differences = differences

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its derivative with respect to B."""
        B = components
        Z = self.differences.project(B)
        lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        total, size = float(lengths.sum()), float(np.square(B).sum())
        if not (total > 0 and size > 0):
            # Where a line search has gone too far: so low that it turns back.
            return -np.finfo(np.float64).max, np.zeros_like(B)
        Z /= np.maximum(lengths, np.finfo(np.float64).tiny)[:, None] * total
        gradient = self.differences.back_project(Z) - B / size
        return float(np.log(total) - np.log(size) / 2), gradient


class FarApartByFeature:
    """The same of a diagonal B, given as its diagonal.

    Parameters
    ----------
    squares : ndarray of shape (n_pairs, n_features)
        u² of the differences.
    """

    def __init__(self, squares: FloatArray) -> None:
        self.squares = squares

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its derivative with respect to the diagonal."""
        b = components
        lengths = np.sqrt(self.squares @ np.square(b))
        total, size = float(lengths.sum()), float(np.square(b).sum())
        if not total > 0:
            return -np.finfo(np.float64).max, np.zeros_like(b)
        inverse = 1 / np.maximum(lengths, np.finfo(np.float64).tiny)
        gradient = b * (inverse @ self.squares) / total - b / size
        return float(np.log(total) - np.log(size) / 2), gradient
