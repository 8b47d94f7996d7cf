"""Non-Gaussian component analysis."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.linalg import spread, within_class_residuals
from vicinal.base.metric import LinearMetric, validate_data, warn_caller
from vicinal.base.selection import checked_n_components
from vicinal.classic._shared import at_least_one
from vicinal.neighborhood.threads import (
    blocks,
    effective_n_threads,
    map_in_order,
    rows_per_block,
)

Contrast = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
"""The values h(z) and slopes h'(z) of functions with one parameter each."""


@dataclass(eq=False, repr=False)
class NGCA(LinearMetric):
    """Non-Gaussian component analysis.

    Finds the subspace in which the distribution of the data is not Gaussian, without
    labels [1]_. For whitened points x and any smooth function h, the vector
    β = E[x h(x) − ∇h(x)] lies in that subspace. The result is the principal directions
    of the vectors of many functions, each aligned with the direction it responds to.

    Parameters
    ----------
    n_components : int or None, default=None
        Dimension of the subspace. None is all dimensions of the points.
    n_functions : int, default=250
        Number of functions of each family: Gauss-power z³ exp(−z²/2σ²), hyperbolic
        tangent tanh(az), and Fourier sin(az) and cos(az), over a range of σ and a.
    n_iter : int, default=10
        Number of steps ω ← β/‖β‖ that align each function h(⟨ω, x⟩).
    threshold : float, default=1.6
        Only longer vectors are used, in units of their standard deviation; for Gaussian
        data, their mean square is 1.
    random_state : int, RandomState or None, default=None
        For the initial directions ω.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map to the subspace, with the least Gaussian direction first, in which the
        points have unit covariance; float32 if X is.
    eigenvalues_ : ndarray of shape (n_components,)
        Mean square of the vectors along each row.
    n_vectors_ : int
        Number of vectors above the threshold.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    vicinal.LCAGauss : Finds such directions by a density model.

    Notes
    -----
    Cost: O(n · D) for each step of each function.

    References
    ----------
    .. [1] Blanchard, Kawanabe, Sugiyama, Spokoiny, Müller. In Search of Non-Gaussian
       Components of a High-Dimensional Distribution. Journal of Machine Learning
       Research 7, 2006.

    Examples
    --------
    Two clusters, hidden in a direction of little variance:

    >>> import numpy as np
    >>> from vicinal.classic import NGCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 8)) * [1, 9, 8, 7, 6, 5, 4, 3]
    >>> X[:, 0] += np.where(np.arange(1000) % 2, 3, -3)
    >>> row = NGCA(n_components=1, random_state=0).fit(X).components_[0]
    >>> bool(abs(row[0]) > 0.95 * np.linalg.norm(row))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [at_least_one, None],
        "n_functions": [at_least_one],
        "n_iter": [at_least_one],
        "threshold": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    n_components: int | None = None
    _: KW_ONLY
    n_functions: int = 250
    n_iter: int = 10
    threshold: float = 1.6
    random_state: int | np.random.RandomState | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002
        """Fit the subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        with self._unchanged_on_error():
            points = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
            principal, n = spread(points), len(points)
            if not principal.variances.size:
                raise ValueError("All rows of X are equal: there is nothing to whiten.")
            whitening = principal.whitening()
            Z = within_class_residuals(points, None) @ whitening
            d = checked_n_components(
                self.n_components,
                Z.shape[1],
                "the dimensions along which the rows of X differ",
            )
            random_state = check_random_state(self.random_state)
            found = []
            for contrast, lowest, highest in FAMILIES:
                parameters = np.linspace(lowest, highest, self.n_functions)
                omega = _unit(
                    random_state.standard_normal((Z.shape[1], len(parameters)))
                )
                for _ in range(self.n_iter - 1):
                    omega = _unit(beta_vectors(Z, contrast, parameters, omega)[0])
                beta, variances = beta_vectors(Z, contrast, parameters, omega)
                smallest = np.finfo(np.float64).eps * max(1.0, float(variances.max()))
                # Each vector is divided by its standard deviation.
                found.append(np.sqrt(n / np.maximum(variances, smallest)) * beta)
            vectors = np.hstack(found)
            kept = np.linalg.norm(vectors, axis=0) > self.threshold
            enough = bool(kept.any())
            chosen = vectors[:, kept] if enough else vectors
            values, axes = np.linalg.eigh(chosen @ chosen.T / chosen.shape[1])
            rows = axes[:, ::-1][:, :d].T @ whitening.T
            self.components_ = rows.astype(points.dtype)
            self.eigenvalues_ = values[::-1][:d]
            self.n_vectors_ = int(kept.sum())
        if not enough:
            warn_caller(
                "NGCA found no direction that is less Gaussian than expected by chance;"
                " the components are those of all vectors.",
            )
        return self


def gauss_power(z: FloatArray, sigma: FloatArray) -> tuple[FloatArray, FloatArray]:
    """z³ exp(−z²/2σ²)."""
    square = z * z
    bell = np.exp(-square / (2 * sigma**2))
    bell *= square
    return z * bell, (3 - square / sigma**2) * bell


def tangent(z: FloatArray, a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """tanh(az)."""
    value = np.tanh(a * z)
    return value, a * (1 - value**2)


def sine(z: FloatArray, a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """sin(az)."""
    return np.sin(a * z), a * np.cos(a * z)


def cosine(z: FloatArray, a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """cos(az)."""
    return np.cos(a * z), -a * np.sin(a * z)


FAMILIES: tuple[tuple[Contrast, float, float], ...] = (
    (gauss_power, 0.5, 5.0),
    (tangent, 0.05, 5.0),
    (sine, 0.05, 4.0),
    (cosine, 0.05, 4.0),
)
"""The functions, and the ranges of their parameters in the paper."""


def beta_vectors(
    X: FloatArray, contrast: Contrast, parameters: FloatArray, omega: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of x h(⟨ω, x⟩) − h'(⟨ω, x⟩) ω, and its variance.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Whitened points.
    contrast : callable
        h and h'.
    parameters : ndarray of shape (n_functions,)
        One for each function.
    omega : ndarray of shape (n_features, n_functions)
        Unit columns.

    Returns
    -------
    beta : ndarray of shape (n_features, n_functions)
        The means.
    variances : ndarray of shape (n_functions,)
        The mean squared distance of the terms from their mean.
    """
    n, n_features = X.shape
    n_functions = len(parameters)
    # The sums over points of x h, of h', and of the squared terms, as rows.
    sums = np.zeros((n_features + 2, n_functions))
    lengths = np.einsum("ij,ij->i", X, X)

    def sum_of(rows: slice) -> FloatArray:
        z = X[rows] @ omega
        h, slope = contrast(z, parameters)
        term = np.empty_like(sums)
        np.matmul(X[rows].T, h, out=term[:n_features])
        term[n_features] = slope.sum(axis=0)
        # ‖x h − h' ω‖², with ‖ω‖ = 1 and ⟨ω, x⟩ = z.
        term[n_features + 1] = lengths[rows] @ h**2
        term[n_features + 1] += (slope * (slope - 2 * h * z)).sum(axis=0)
        return term

    size = rows_per_block(n, n_functions * X.itemsize)
    parts = blocks(slice(0, n), size)
    for term in map_in_order(sum_of, parts, effective_n_threads(None)):
        sums += term
    means = sums / n
    beta = means[:n_features] - omega * means[n_features]
    return beta, means[n_features + 1] - np.einsum("ij,ij->j", beta, beta)


def _unit(columns: FloatArray) -> FloatArray:
    norms = np.linalg.norm(columns, axis=0)
    return columns / np.maximum(norms, np.finfo(np.float64).tiny)
