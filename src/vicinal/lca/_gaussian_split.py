"""Proposition 1 of the LCA paper, and the M-step of LCA-Gauss that it makes."""

from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, eigh
from sklearn.utils import check_array

from vicinal._typing import FloatArray
from vicinal.lca._e_step import Kernel
from vicinal.lca._m_step import FLOOR, Full, directions_below


class Split(NamedTuple):
    """What proposition 1 finds.

    See Also
    --------
    vicinal.lca.gaussian_parzen_split : Returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.lca import gaussian_parzen_split
    >>> split = gaussian_parzen_split(np.eye(3), np.diag([0.1, 1.0, 1.0]))
    >>> split.B_L.shape, split.B_G.shape
    ((3, 1), (3, 2))
    """

    B_G: FloatArray
    """The Gaussian directions, as columns."""
    B_L: FloatArray
    """The Parzen directions, as columns; the most local first."""
    eigenvalues: FloatArray
    """Of C_G^(−½) C_L C_G^(−½), ascending; the first belong to B_L."""


def gaussian_parzen_split(
    C_G: ArrayLike, C_L: ArrayLike, n_gaussian: int | None = None
) -> Split:
    """Split the space into Gaussian and Parzen directions (proposition 1).

    Minimises tr(B_GᵀC_G B_G) + tr(B_LᵀC_L B_L) − log det(B_G B_Gᵀ + B_L B_Lᵀ) over all
    B_G, B_L that together are square and invertible, and over how many columns each
    has. Directions in which the local covariance is below the global one, eigenvalues
    below 1, are Parzen directions; the others are Gaussian.

    Parameters
    ----------
    C_G : array-like of shape (n_features, n_features)
        The global covariance; symmetric and positive definite.
    C_L : array-like of shape (n_features, n_features)
        The local covariance; symmetric and positive definite.
    n_gaussian : int or None, default=None
        How many columns B_G shall have; None is as many as is best.

    Returns
    -------
    Split
        B_G, B_L and the eigenvalues.

    See Also
    --------
    vicinal.LCAGauss : Calls it in each M-step.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.lca import gaussian_parzen_split
    >>> split = gaussian_parzen_split(np.eye(3), np.diag([0.25, 2.0, 0.5]))
    >>> split.eigenvalues
    array([0.25, 0.5 , 2.  ])
    >>> split.B_G.shape, split.B_L.shape
    ((3, 1), (3, 2))
    """
    matrices = []
    for name, given in (("C_G", C_G), ("C_L", C_L)):
        M = check_array(given, dtype=np.float64, input_name=name)
        slack = 1e-8 * np.abs(M).max()
        if M.shape[0] != M.shape[1] or not np.allclose(M, M.T, atol=slack):
            raise ValueError(f"{name} must be a symmetric matrix.")
        matrices.append(M)
    M1, M2 = matrices
    if M1.shape != M2.shape:
        raise ValueError(f"C_G has shape {M1.shape}, but C_L {M2.shape}.")
    if n_gaussian is not None and not (
        isinstance(n_gaussian, Integral) and 0 <= n_gaussian <= len(M1)
    ):
        raise ValueError(
            f"n_gaussian must be an int between 0 and {len(M1)}, got {n_gaussian}."
        )
    try:
        eigenvalues, V = eigh(M2, M1)
    except LinAlgError:
        eigenvalues = np.zeros(1)
    if not eigenvalues[0] > 0:
        raise ValueError(
            "C_G and C_L must be positive definite: without that the problem has no "
            "finite solution. Add a small multiple of the identity to both."
        )
    return cut(eigenvalues, V, n_gaussian)


def cut(eigenvalues: FloatArray, V: FloatArray, n_gaussian: int | None) -> Split:
    """Return the split for V with VᵀC_G V = I and VᵀC_L V = diag(eigenvalues)."""
    if n_gaussian is None:
        n_local = int(np.searchsorted(eigenvalues, 1.0))
    else:
        n_local = len(eigenvalues) - n_gaussian
    B_L = V[:, :n_local] / np.sqrt(eigenvalues[:n_local])
    return Split(V[:, n_local:], B_L, eigenvalues)


@dataclass(frozen=True, eq=False)
class ProductModel:
    """LCA-Gauss' M-step: proposition 1, for the local scatter and a fixed C_G.

    Proposition 1 wants matrices that can be inverted: to both, `FLOOR` times the
    identity is added, as a penalty is. So the M-step maximises one and the same
    objective whatever the data are, and EM never loses by it.

    Attributes
    ----------
    C_G : ndarray of shape (n_features, n_features)
        The global covariance, with its ridge.
    root : ndarray of shape (n_features, n_features)
        A with AᵀA = C_G⁻¹.
    inverse : ndarray of shape (n_features, n_features)
        A⁻¹.
    log_det : float
        log|det root|.
    n_floored : int
        In how many directions C_G was singular.
    ridge : ndarray of shape (n_features,)
        The ν of C_L in the features' units, and the floor.
    n_gaussian : int or None
        How many directions are Gaussian; None is as many as is best.
    """

    C_G: FloatArray
    root: FloatArray
    inverse: FloatArray
    log_det: float
    n_floored: int
    ridge: FloatArray
    n_gaussian: int | None

    @classmethod
    def build(
        cls,
        covariance: FloatArray,
        ridge_global: FloatArray,
        ridge_local: FloatArray,
        n_gaussian: int | None,
    ) -> "ProductModel":
        """Prepare C_G.

        Parameters
        ----------
        covariance : ndarray of shape (n_features, n_features)
            Of the points.
        ridge_global, ridge_local : ndarray of shape (n_features,)
            ν of each part, in the features' units.
        n_gaussian : int or None
            As in the attribute.
        """
        C_G = covariance + np.diag(ridge_global + FLOOR)
        whole = Full().fit(C_G)
        return cls(
            C_G,
            whole.root,
            whole.inverse,
            -whole.log_det / 2,
            directions_below(C_G, 2 * FLOOR),
            ridge_local + FLOOR,
            n_gaussian,
        )

    def fit(self, C: FloatArray, n_gaussian: int | None = None) -> Kernel:
        """Return the kernel for C + νI."""
        wanted = self.n_gaussian if n_gaussian is None else n_gaussian
        C_L = C + np.diag(self.ridge)
        eigenvalues, V = eigh(C_L, self.C_G, check_finite=False)
        # No less than this but for rounding errors.
        least = FLOOR / np.trace(self.C_G)
        split = cut(np.maximum(eigenvalues, least), V, wanted)
        q = split.B_L.shape[1]
        log_det = self.log_det - float(np.log(split.eigenvalues[:q]).sum()) / 2
        A = np.concatenate([split.B_L, split.B_G], axis=1).T
        # VᵀC_G V = I, so that C_G V is the inverse of Vᵀ.
        inverse = self.C_G @ V
        inverse[:, :q] *= np.sqrt(split.eigenvalues[:q])
        n_floored = max(directions_below(C_L, 2 * FLOOR), self.n_floored)
        return self.kernel(A, inverse, q, log_det, n_floored)

    def kernel(
        self,
        A: FloatArray,
        inverse: FloatArray,
        n_local: int,
        log_det: float,
        n_floored: int = 0,
    ) -> Kernel:
        """Return the kernel with a given map."""
        local, gaussian = A[:n_local], A[n_local:]
        penalty = np.square(local).sum(axis=0) @ self.ridge
        penalty += np.einsum("ij,jk,ik->", gaussian, self.C_G, gaussian, optimize=True)
        return Kernel(A, inverse, n_local, log_det, float(penalty) / 2, n_floored)
