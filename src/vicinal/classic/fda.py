"""Fisher discriminant analysis, with a within-class scatter that is shrunk."""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import class_means, deviations, within_class_residuals
from vicinal.base.metric import (
    LinearMetric,
    labeled,
    unscale_components,
)
from vicinal.base.selection import checked_n_components, one_standard_error_choice
from vicinal.classic._shared import (
    at_least_one,
    cholesky_of_scatter,
    held_out_hits,
    scattered_span,
)
from vicinal.neighborhood import single_threaded_blas


@dataclass(eq=False, repr=False)
class FDA(LinearMetric):
    """Fisher discriminant analysis.

    Finds the directions along which the class means are far apart relative to the
    scatter within the classes: the largest λ of S_b v = λ S_w v. S_w is estimated as in
    :class:`sklearn.discriminant_analysis.LinearDiscriminantAnalysis` with shrinkage;
    S_b is the scatter of the class means, without shrinkage.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        Number of components, less than the number of classes. None is the number of
        classes minus one, or the number of features if it is smaller. "auto" is the
        same, unless 3-NN on held-out rows is better, by more than one standard error,
        with all directions, weighted by S_w or else with the features as they are.
    shrinkage : "auto" or float, default="auto"
        Shrinkage of S_w towards a multiple of the identity: a number from 0 to 1, or
        "auto", the Ledoit-Wolf estimate of each class on standardized features. With
        0, S_w has no inverse if there are more features than rows.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map, with the most discriminative direction first; under it, S_w is the
        identity. float32 if X is. If "auto" finds the features as they are to be
        better, S_w is a multiple of the identity.
    eigenvalues_ : ndarray of shape (n_components,)
        Scatter of the class means along each row; 0 from the number of classes on.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    vicinal.classic.LFDA : Uses the scatter of near pairs.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The classifier.

    Notes
    -----
    With more features than rows, the problem is solved in the span of the rows. For a
    numeric `shrinkage`, this does not change the result. "auto" then standardizes the
    features by their mean variance within the classes, instead of per class.

    Cost: O(nD²) for the scatters and an eigenproblem of min(n, D); n_components="auto"
    solves up to three more on held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from vicinal.classic import FDA
    >>> X, y = load_digits(return_X_y=True)
    >>> FDA(None).fit(X, y).transform(X).shape
    (1797, 9)
    >>> model = make_pipeline(FDA(), KNeighborsClassifier(3))
    >>> bool(cross_val_score(model, X[:200], y[:200]).mean() > 0.85)
    True
    """

    _requires_y: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [at_least_one, StrOptions({"auto"}), None],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
    }

    n_components: int | str | None = "auto"
    _: KW_ONLY
    shrinkage: str | float = "auto"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            Their classes, at least two.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            points, _, codes = labeled(self, X, y)
            shrinkage, every = self.shrinkage, False
            if self.n_components == "auto":
                chosen = one_standard_error_choice(
                    held_out_hits(points, codes, self._candidates)
                )
                every = chosen > 0
                shrinkage = 1.0 if chosen > 1 else shrinkage
            found = self._map(points, codes, shrinkage, every)
            self.eigenvalues_, self.components_ = found
        return self

    def _candidates(self, X: FloatArray, codes: IntArray) -> list[FloatArray]:
        """Return the discriminants, and all directions."""
        everything = self._map(X, codes, self.shrinkage, every=True)[1]
        return [everything[: codes.max()], everything]

    def _map(
        self, X: FloatArray, codes: IntArray, shrinkage: str | float, every: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return eigenvalues and components: the discriminants, or all directions."""
        n_classes = int(codes.max()) + 1
        if n_classes == len(X):
            raise ValueError(
                "Every class has a single row: there is no scatter within classes."
            )
        # Constant features would leave the scatter singular.
        varying = (X[0] != X).any(axis=0)
        points = X[:, varying]
        n_features = points.shape[1]
        units: FloatArray = np.ones(n_features)
        wide = n_features > len(X)
        if wide and shrinkage == "auto":
            # Within the classes, as discriminative features vary more over all rows.
            found = deviations(within_class_residuals(points, codes), points)
            units = np.where(found > 0, found, 1.0)
            points = (points / units).astype(X.dtype)
        span = scattered_span(points)
        d = checked_n_components(
            None if isinstance(self.n_components, str) else self.n_components,
            min(n_classes - 1, span.n_coordinates),
            f"{n_classes} classes and X with {n_features} features that vary allow",
        )
        Z = span.coordinates.astype(np.float64)
        shares = np.bincount(codes) / len(Z)
        within = sum(
            share * shrunk_in_span(Z[codes == c], shrinkage, n_features, not wide)
            for c, share in enumerate(shares)
        )
        L = cholesky_of_scatter(within, "Use a larger shrinkage.")
        means = class_means(Z, codes)
        apart = np.sqrt(shares)[:, None] * (means - shares @ means)
        # The SVD of L⁻¹B, with S_w = LLᵀ and S_b = BBᵀ.
        whitened = linalg.solve_triangular(L, apart.T, lower=True)
        axes, sizes, _ = linalg.svd(whitened, full_matrices=every)
        d = len(axes) if every else d
        values = np.zeros(d)
        rank = min(d, n_classes - 1)  # the last of the means follows from the others
        values[:rank] = sizes[:rank] ** 2
        columns = linalg.solve_triangular(L, axes[:, :d], lower=True, trans="T")
        components = np.zeros((d, X.shape[1]), dtype=X.dtype)
        rows, units = span.to_features(columns), span.unit * units
        components[:, varying] = unscale_components(rows, units, X.dtype)
        return values, components


def shrunk_in_span(
    X: FloatArray, shrinkage: str | float, n_features: int, standardize: bool
) -> FloatArray:
    """Shrink the covariance of X towards a multiple of the identity.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_coordinates)
        Points, in an orthonormal basis of a subspace of all features.
    shrinkage : "auto" or float
        From 0 to 1; "auto" is the estimate of Ledoit and Wolf.
    n_features : int
        The dimension of the whole space, over which the trace is averaged.
    standardize : bool
        Whether "auto" is estimated and applied for standardized features, as in
        :class:`sklearn.discriminant_analysis.LinearDiscriminantAnalysis`.

    Returns
    -------
    ndarray of shape (n_coordinates, n_coordinates)
    """
    centered = X - X.mean(axis=0)
    scale: FloatArray = np.ones(X.shape[1])
    if standardize and isinstance(shrinkage, str):
        found = deviations(centered, X)  # 0 if it is a rounding error
        scale = np.where(found > 0, found, 1.0)
        centered = np.where(found > 0, centered / scale, 0.0)
    covariance = centered.T @ centered / len(X)
    trace = np.trace(covariance)
    if isinstance(shrinkage, str):
        squares = np.square(covariance).sum()
        fourth = np.square(np.einsum("ij,ij->i", centered, centered)).mean()
        distance = squares - trace**2 / n_features
        noise = max(fourth - squares, 0) / len(X)
        shrinkage = min(1.0, noise / distance) if distance > 0 else 0.0
    covariance *= 1 - shrinkage
    covariance[np.diag_indices(len(covariance))] += shrinkage * trace / n_features
    return covariance * np.outer(scale, scale)
