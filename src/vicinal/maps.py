"""Maps from rows to points, with the pullback of a gradient.

Section 5 of the NCA paper allows any differentiable map. An objective calls
`project(X, parameters, n_threads)` for the points Z, and, given the gradient G with
respect to Z, `pullback(G, X, n_threads, parameters)` for the gradient with respect to
the parameters.
"""

from typing import Protocol

import numpy as np

from vicinal._typing import FloatArray
from vicinal.neighborhood.threads import back_project, project


class Map(Protocol):
    """A differentiable map from rows to points.

    See Also
    --------
    vicinal.maps.Linear : Z = X Aᵀ.
    vicinal.maps.Diagonal : Z = X · diag(w).

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
