"""What all objectives that sum over pairs of points have in common."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import (
    Masses,
    Perplexities,
    Rule,
    back_project,
    effective_n_threads,
    look,
    project,
    pull,
    resolvable,
)

FLOATS = [np.float64, np.float32]
"""What is computed in: float32 stays, everything else becomes float64."""


class PairObjective:
    """A sum over points of what a rule says of their neighbours, under a linear map.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points, validated; float32 or float64.
    order : ndarray of shape (n_samples,)
        The order of the points that the rule wants.
    counts : ndarray of shape (n_samples,)
        How many points each stands for, in that order.
    mass_of_one : ndarray of shape (n_samples,)
        What one of them weighs as a neighbour, in that order.
    make_rule : callable
        Builds the rule from the masses, for a type of number.
    n_jobs : int or None
        Threads.
    """

    def __init__(
        self,
        X: FloatArray,
        order: IntArray,
        counts: FloatArray,
        mass_of_one: FloatArray,
        make_rule: Callable[[Masses, np.dtype[Any]], Rule],
        n_jobs: int | None,
    ) -> None:
        self.X = X
        self._order = order
        self._counts = counts
        self._mass_of_one = mass_of_one
        self._make_rule = make_rule
        self._n_threads = effective_n_threads(n_jobs)
        self._rules: dict[np.dtype[Any], Rule] = {}

    @property
    def n_points(self) -> float:
        """How many points the rows stand for."""
        return float(self._counts.sum())

    def value_and_gradient(self, components: ArrayLike) -> tuple[float, FloatArray]:
        """Evaluate at a map, in O(dDn + dn²) and without an n×n array.

        The gradient is 2 Σ_ij v_ij (A x_ij) x_ijᵀ with the rule's weights v_ij, which
        is 2 (L Z)ᵀX for the Laplacian L of v and Z = X Aᵀ.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features) or (n_features,)
            The map A, or the diagonal of a diagonal one.

        Returns
        -------
        value : float
            A sum over the points, not a mean.
        gradient : ndarray of the shape of `components`
            Its derivative with respect to A.
        """
        A = self._checked(components)
        Z = self._projected(A)
        rule = self._rule(Z.dtype)
        values, product = pull(Z[self._order], rule, self._n_threads)
        LZ = np.empty_like(Z)
        LZ[self._order] = product
        if A.ndim == 1:
            gradient: FloatArray = np.einsum("ij,ij->j", LZ, self.X)
        else:
            gradient = back_project(LZ, self.X, self._n_threads)
        gradient *= 2
        return float(values.astype(np.float64) @ self._counts), gradient

    def effective_neighbors(self, components: ArrayLike) -> FloatArray:
        """Return each point's effective number of neighbours, the perplexity of p_i.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features) or (n_features,)
            The map A, or the diagonal of a diagonal one.

        Returns
        -------
        ndarray of shape (n_samples,)
            exp(−Σ_j p_ij log p_ij): the K that the scale of A amounts to.
        """
        Z = self._projected(self._checked(components))
        masses = Masses.build(self._counts, self._mass_of_one, Z.dtype)
        perplexities = np.empty(len(Z), dtype=Z.dtype)
        perplexities[self._order] = look(
            Z[self._order], Perplexities(masses), self._n_threads
        )
        return perplexities

    def _checked(self, components: ArrayLike) -> FloatArray:
        A: FloatArray = check_array(
            components, dtype=np.float64, ensure_2d=False, input_name="components"
        )
        if A.ndim not in (1, 2) or A.shape[-1] != self.X.shape[1]:
            raise ValueError(
                f"components must have shape (n_components, {self.X.shape[1]}), "
                f"got {A.shape}."
            )
        return A

    def _projected(self, A: FloatArray) -> FloatArray:
        """Return Z, in float64 where float32 would not do for its distances."""
        with np.errstate(over="ignore", invalid="ignore"):
            Z = self._map(A.astype(self.X.dtype))
            return Z if resolvable(Z - Z.mean(axis=0)) else self._map(A)

    def _map(self, A: FloatArray) -> FloatArray:
        return self.X * A if A.ndim == 1 else project(self.X, A, self._n_threads)

    def _rule(self, dtype: np.dtype[Any]) -> Rule:
        if dtype not in self._rules:
            masses = Masses.build(self._counts, self._mass_of_one, dtype)
            self._rules[dtype] = self._make_rule(masses, dtype)
        return self._rules[dtype]
