"""Maps from rows to points, with the pullback of a gradient.

Section 5 of the NCA paper allows any differentiable map. An objective calls
`project(X, parameters, n_threads)` for the points Z, and, given the gradient G with
respect to Z, `pullback(G, X, n_threads, parameters)` for the gradient with respect to
the parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from sklearn.utils import gen_batches

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.threads import back_project, project


class Map(Protocol):
    """A differentiable map from rows to points.

    See Also
    --------
    vicinal.maps.Linear : Z = X Aᵀ.
    vicinal.maps.Diagonal : Z = X · diag(w).
    vicinal.maps.Additive : Z = Σ_c f_c(x_c), a curve for each column of a table.
    vicinal.maps.ColumnWeights : One weight for each column of a table.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.maps import Linear, Map
    >>> form: Map = Linear()
    >>> form.project(np.eye(3), np.ones((2, 3))).shape
    (3, 2)
    """

    def project(
        self, X: FloatArray, parameters: FloatArray, n_threads: int = 1, /
    ) -> FloatArray:
        """Return the points Z, one for each row of X."""

    def pullback(
        self,
        gradient: FloatArray,
        X: FloatArray,
        n_threads: int = 1,
        parameters: FloatArray | None = None,
        /,
    ) -> FloatArray:
        """Return the derivative with respect to the parameters, of their shape."""


class Linear:
    """Linear map Z = X Aᵀ, with parameters A of shape (n_components, n_features).

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.maps import Linear
    >>> Linear().project(np.eye(2), np.array([[1.0, 2.0]]))
    array([[1.],
           [2.]])
    """

    project = staticmethod(project)
    pullback = staticmethod(back_project)


class Diagonal:
    """One weight for each feature: Z = X · diag(w), with parameters w.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.maps import Diagonal
    >>> Diagonal().project(np.eye(2), np.array([1.0, 2.0]))
    array([[1., 0.],
           [0., 2.]])
    """

    def project(
        self,
        X: FloatArray,
        parameters: FloatArray,
        n_threads: int = 1,  # noqa: ARG002  a product of each entry alone
    ) -> FloatArray:
        """Return X · diag(w)."""
        return X * parameters

    def pullback(
        self,
        gradient: FloatArray,
        X: FloatArray,
        n_threads: int = 1,  # noqa: ARG002
        parameters: FloatArray | None = None,  # noqa: ARG002  linear in w
    ) -> FloatArray:
        """Return Σ_i g_i ∘ x_i."""
        return np.einsum("ij,ij->j", gradient, X)


# Rows that are mapped at a time: their waves fit into a processor's cache.
BLOCK_ROWS = 4096


class AdditiveParameters(NamedTuple):
    """Views of the parts of the parameters of an `Additive` map.

    Attributes
    ----------
    curves : ndarray of shape (1 + 2 K, n_numbers, n_components)
        Weights of x, of the K cosines and of the K sines of each number.
    levels : ndarray of shape (n_levels, n_components)
        Vectors of the levels of all coded columns.
    frequencies : ndarray of shape (K, n_numbers)
        ω.
    """

    curves: FloatArray
    levels: FloatArray
    frequencies: FloatArray


@dataclass(frozen=True)
class Additive:
    """Sum of one learned curve for each column: Z = Σ_c f_c(x_c).

    A number has f(x) = a x + Σ_k b_k (cos ω_k x − 1) + c_k sin ω_k x with learned
    frequencies; f(0) = 0. A coded column has a learned vector for each level. The rows
    of X hold the numbers, then the codes: levels from 0, over all coded columns, and −1
    for a level without a vector.

    Parameters
    ----------
    n_numbers : int
        Number of columns with a curve.
    n_levels : int
        Total number of levels of the coded columns.
    n_components : int
        Dimension of the points.
    n_frequencies : int, default=4
        K.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.maps import Additive
    >>> form = Additive(n_numbers=1, n_levels=2, n_components=1, n_frequencies=0)
    >>> X = np.array([[3.0, 0], [3.0, 1], [3.0, -1]])
    >>> form.project(X, np.array([2.0, 10.0, 20.0])).ravel()
    array([16., 26.,  6.])
    """

    n_numbers: int
    n_levels: int
    n_components: int
    n_frequencies: int = 4

    @property
    def size(self) -> int:
        """Number of parameters."""
        waves = self.n_frequencies * self.n_numbers
        vectors = self.n_numbers + 2 * waves + self.n_levels
        return vectors * self.n_components + waves

    def parts(self, parameters: FloatArray) -> AdditiveParameters:
        """Return views of the parameters."""
        m, K, d = self.n_numbers, self.n_frequencies, self.n_components
        first = (1 + 2 * K) * m * d
        second = first + self.n_levels * d
        return AdditiveParameters(
            parameters[:first].reshape(1 + 2 * K, m, d),
            parameters[first:second].reshape(-1, d),
            parameters[second:].reshape(K, m),
        )

    def project(
        self,
        X: FloatArray,
        parameters: FloatArray,
        n_threads: int = 1,
    ) -> FloatArray:
        """Return Σ_c f_c(x_c) for each row."""
        from vicinal.neighborhood import kernels  # loads Numba

        curves, levels, frequencies = self.parts(parameters)
        weights = curves.reshape(-1, self.n_components)
        dtype = np.result_type(X, parameters)
        Z: FloatArray = np.empty((len(X), self.n_components), dtype=dtype)
        for rows in gen_batches(len(X), BLOCK_ROWS):
            waves = self._waves(X[rows], frequencies)
            Z[rows] = project(waves, weights.T, n_threads)
            if self.n_levels:
                kernels.add_levels(X[rows, self.n_numbers :], levels, Z[rows])
        return Z

    def project_each(self, X: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return f_c of each column of X, of shape (n_rows, n_encoded, n_components).

        They sum to the points, as f(0) = 0.
        """
        curves, levels, frequencies = self.parts(parameters)
        m = self.n_numbers
        parts = np.zeros((*X.shape, self.n_components))
        waves = self._waves(X, frequencies).reshape(len(X), len(curves), m)
        np.einsum("nkm,kmd->nmd", waves, curves, out=parts[:, :m], optimize=True)
        codes = X[:, m:].astype(np.intp)
        parts[:, m:][codes >= 0] = levels[codes[codes >= 0]]
        return parts

    def pullback(
        self,
        gradient: FloatArray,
        X: FloatArray,
        n_threads: int = 1,
        parameters: FloatArray | None = None,
    ) -> FloatArray:
        """Return the derivatives by curves, levels and frequencies."""
        from vicinal.neighborhood import kernels  # loads Numba

        curves, _, frequencies = self.parts(np.asarray(parameters, dtype=X.dtype))
        m, K = self.n_numbers, self.n_frequencies
        waves = self._waves(X, frequencies)
        by_curves = back_project(gradient, waves, n_threads).T
        by_levels = np.zeros((self.n_levels, self.n_components), dtype=gradient.dtype)
        kernels.sum_levels(X[:, m:], gradient, by_levels)
        # ∂/∂ω (cos ωx − 1) = −x sin ωx and ∂/∂ω sin ωx = x cos ωx.
        slopes = project(gradient, curves[1:].reshape(-1, self.n_components), n_threads)
        cosines, sines = np.split(waves[:, m:], 2, axis=1)
        by_cosine, by_sine = np.split(slopes, 2, axis=1)
        turned = by_sine * (cosines + 1) - by_cosine * sines
        by_frequency = np.einsum("nkm,nm->km", turned.reshape(len(X), K, m), X[:, :m])
        parts = by_curves, by_levels, by_frequency
        return np.concatenate([np.ravel(one) for one in parts])

    def scaled(self, parameters: FloatArray, factor: float) -> FloatArray:
        """Return the parameters of the map times a factor."""
        found = parameters.copy()
        curves, levels, _ = self.parts(found)
        curves *= factor
        levels *= factor
        return found

    def _waves(self, X: FloatArray, frequencies: FloatArray) -> FloatArray:
        """Return x, cos ωx − 1 and sin ωx of the numbers, side by side."""
        numbers = X[:, : self.n_numbers]
        if not self.n_frequencies:
            return numbers
        angles = numbers[:, None] * frequencies.astype(X.dtype)
        angles = angles.reshape(len(X), frequencies.size)
        return np.concatenate([numbers, np.cos(angles) - 1, np.sin(angles)], axis=1)


@dataclass(frozen=True)
class ColumnWeights:
    """One weight for each column of a table: a Gower distance to learn.

    d² = Σ_c w_c² δ_c² with δ the difference of two numbers, or 1 for different levels.
    A row has the point with coordinates w_c x_c, and w_c / √2 at the levels it has.
    Rows of X are those of `Additive`.

    Parameters
    ----------
    columns : sequence of sequence of int
        Columns of X that have the same weight.
    n_numbers, n_levels : int
        As for `Additive`.
    levels : ndarray of int of shape (n_levels,)
        Column of X of each level.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.maps import ColumnWeights
    >>> form = ColumnWeights([[0], [1]], 1, 2, np.array([1, 1]))
    >>> Z = form.project(np.array([[3.0, 0], [1.0, 1]]), np.array([1.0, 2.0]))
    >>> float(np.square(Z[0] - Z[1]).sum())
    8.0
    """

    columns: Sequence[Sequence[int]]
    n_numbers: int
    n_levels: int
    levels: IntArray

    @property
    def size(self) -> int:
        """Number of weights."""
        return len(self.columns)

    def project(
        self,
        X: FloatArray,
        parameters: FloatArray,
        n_threads: int = 1,  # noqa: ARG002  a product of each entry alone
    ) -> FloatArray:
        """Return the weighted coordinates."""
        return self._coordinates(X) * parameters[self._owners()].astype(X.dtype)

    def pullback(
        self,
        gradient: FloatArray,
        X: FloatArray,
        n_threads: int = 1,  # noqa: ARG002
        parameters: FloatArray | None = None,  # noqa: ARG002  linear in w
    ) -> FloatArray:
        """Return the derivatives by the weights."""
        slopes = np.einsum("ij,ij->j", gradient, self._coordinates(X))
        sums = np.bincount(self._owners(), weights=slopes, minlength=self.size)
        return sums.astype(np.float64)

    def project_each(self, X: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the part of each column of X in the points, which sum to them."""
        parts = []
        for c in range(X.shape[1]):
            alone = np.zeros_like(X)
            alone[:, self.n_numbers :] = -1
            alone[:, c] = X[:, c]
            parts.append(self.project(alone, parameters))
        return np.stack(parts, axis=1)

    def scaled(self, parameters: FloatArray, factor: float) -> FloatArray:
        """Return the weights times a factor."""
        return parameters * factor

    def _coordinates(self, X: FloatArray) -> FloatArray:
        m = self.n_numbers
        found = np.zeros((len(X), m + self.n_levels), dtype=X.dtype)
        found[:, :m] = X[:, :m]
        rows, columns = np.nonzero(X[:, m:] >= 0)
        found[rows, m + X[rows, m + columns].astype(np.intp)] = 0.5**0.5
        return found

    def _owners(self) -> IntArray:
        """Return the weight of each coordinate."""
        of = np.empty(max(map(max, self.columns)) + 1, dtype=np.intp)
        for weight, own in enumerate(self.columns):
            of[list(own)] = weight
        return of[np.concatenate([np.arange(self.n_numbers), self.levels])]


def project_columns(
    form: Additive | ColumnWeights,
    X: FloatArray,
    parameters: FloatArray,
    columns: Sequence[Sequence[int]],
) -> FloatArray:
    """Return the parts of the points that groups of columns have; they sum to Z.

    Parameters
    ----------
    form : Additive or ColumnWeights
        The map.
    X : ndarray of shape (n_rows, n_encoded)
        Encoded rows.
    parameters : ndarray of shape (n_parameters,)
        Parameters.
    columns : sequence of sequence of int
        Groups of the columns of X.

    Returns
    -------
    ndarray of shape (n_rows, n_groups, n_components)
    """
    each = form.project_each(X, parameters)
    return np.stack([each[:, list(own)].sum(axis=1) for own in columns], axis=1)
