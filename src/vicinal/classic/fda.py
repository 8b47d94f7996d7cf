"""Fisher discriminant analysis, with a within-class scatter that is shrunk."""

import warnings
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.knn_vote import first_as_good
from vicinal.base.metric import of_unscaled
from vicinal.base.n_components import checked_n_components
from vicinal.base.row_space import RowSpace, unit_of
from vicinal.base.whitening import deviations, within_class_residuals
from vicinal.classic._shared import (
    SupervisedMetric,
    cholesky_of_scatter,
    held_out_hits,
    scattered_span,
)

ADVICE = "Use a larger shrinkage."


class FDA(SupervisedMetric):
    """Fisher discriminant analysis.

    The directions along which the means of the classes lie far apart, measured by the
    scatter within the classes: the largest λ of S_b v = λ S_w v. The estimate of S_w
    is that of :class:`sklearn.discriminant_analysis.LinearDiscriminantAnalysis` with
    shrinkage; S_b is the plain scatter of the class means, so that shrinkage cannot
    leak into it.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        Rows of the map, fewer than there are classes. None is the number of classes
        less one, or the number of features where that is smaller. "auto" is the same,
        unless 3-NN on rows held out does better, by more than one standard error, with
        all directions: as S_w weighs them, or else with the features as they are.
    shrinkage : "auto" or float, default="auto"
        How far S_w is drawn towards a multiple of the identity: a number from 0 to 1,
        or "auto", Ledoit and Wolf's choice for each class, on standardised features.
        Without any, S_w has no inverse when there are more features than rows.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The learned map, the most discriminating direction first; under it, S_w is
        the identity. float32 if X is. Where "auto" has found no learned map to be as
        good as the features as they are, S_w is a multiple of the identity.
    eigenvalues_ : ndarray of shape (n_components,)
        Scatter of the class means along each row; 0 beyond as many rows as there are
        classes less one.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.classic.LFDA : The same of near pairs.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The classifier.

    Notes
    -----
    With more features than rows, everything is computed in the span of the rows. With
    a number for `shrinkage`, the result is the same as without that detour. "auto"
    then standardises the features by their mean variance inside the classes, rather
    than in each class by its own.

    Cost: O(nD²) for the scatters and an eigenproblem of min(n, D); n_components="auto"
    takes a few more on rows held out.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
            None,
        ],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        shrinkage: str | float = "auto",
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage

    def _learn(self, X: FloatArray, codes: IntArray) -> None:
        if codes.max() + 1 == len(X):
            raise ValueError(
                "Every class has a single row: there is no scatter within classes."
            )
        shrinkage, every = self.shrinkage, False
        if self.n_components == "auto":
            chosen = first_as_good(held_out_hits(X, codes, self._candidates))
            every = chosen > 0
            shrinkage = 1.0 if chosen > 1 else shrinkage
        self.eigenvalues_, self.components_ = self._map(X, codes, shrinkage, every)

    def _candidates(self, X: FloatArray, codes: IntArray) -> list[FloatArray]:
        """Return the discriminants, and the map of all directions."""
        if codes.max() + 1 == len(codes):
            raise ValueError("no class has two rows")
        everything = self._map(X, codes, self.shrinkage, True)[1]
        return [everything[: codes.max()], everything]

    def _map(
        self, X: FloatArray, codes: IntArray, shrinkage: str | float, every: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return eigenvalues and components of the discriminants, or of everything."""
        # Constant columns have no scatter, and would leave the scatter singular.
        varying = (X[0] != X).any(axis=0)
        values, rows, units = self._directions(X[:, varying], codes, shrinkage, every)
        components = np.zeros((len(rows), X.shape[1]), dtype=X.dtype)
        components[:, varying] = of_unscaled(rows, units, X.dtype)
        return values, components

    def _directions(
        self, X: FloatArray, codes: IntArray, shrinkage: str | float, every: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the largest eigenvalues, their directions as rows, and the units."""
        units: FloatArray = np.ones(X.shape[1])
        if X.shape[1] > X.shape[0] and shrinkage == "auto":
            units = _deviations_within(X, codes)
            X = (X / units).astype(X.dtype)
        seen = scattered_span(X)
        n_classes = int(codes.max()) + 1
        d = checked_n_components(
            None if isinstance(self.n_components, str) else self.n_components,
            min(n_classes - 1, seen.n_coordinates),
            f"{n_classes} classes and X with {X.shape[1]} features that vary allow",
        )
        means, weights, within = _class_moments(seen, codes, X.shape[1], shrinkage)
        factor = cholesky_of_scatter(within, ADVICE)
        means = means - weights @ means
        scaled = linalg.solve_triangular(
            factor, (np.sqrt(weights)[:, None] * means).T, lower=True
        )
        # The SVD of L⁻¹B, where S_w = LLᵀ and S_b = BBᵀ has as many columns as classes.
        axes, sizes, _ = linalg.svd(scaled, full_matrices=every)
        d = len(axes) if every else d
        values = np.zeros(d)
        rank = min(d, n_classes - 1)  # the last of the means follows from the others
        values[:rank] = sizes[:rank] ** 2
        columns = linalg.solve_triangular(factor, axes[:, :d], lower=True, trans="T")
        return values, seen.to_features(columns), seen.unit * units


def _class_moments(
    seen: RowSpace, codes: IntArray, n_features: int, shrinkage: str | float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the means and shares of the classes, and S_w."""
    from sklearn.discriminant_analysis import (  # slow to import
        LinearDiscriminantAnalysis,
    )

    how: dict[str, Any] = {"shrinkage": shrinkage}
    if seen.weights is not None:
        how = {"covariance_estimator": ShrunkInSpan(shrinkage, n_features)}
    with warnings.catch_warnings():
        # A class of one has no scatter, which is no reason to reshape X.
        warnings.filterwarnings("ignore", message="Only one sample available")
        lda = LinearDiscriminantAnalysis(solver="eigen", **how)
        # Where S_w has no inverse, the caller sees that. Classes of one mean have no
        # scatter between them, of which it asks for shares.
        with suppress(linalg.LinAlgError), np.errstate(invalid="ignore"):
            lda.fit(seen.coordinates.astype(np.float64), codes)
    return lda.means_, lda.priors_, lda.covariance_


def _deviations_within(X: FloatArray, codes: IntArray) -> FloatArray:
    """Return each feature's standard deviation inside the classes.

    Over all rows, good features would count as noisy ones. It is 1 where no class has
    any that can be computed.
    """
    unit = float(unit_of(X))  # in which no square overflows
    scaled = X / unit
    found = unit * deviations(within_class_residuals(scaled, codes), scaled)
    return np.where(found > 0, found, 1.0)


class ShrunkInSpan:
    """A covariance drawn towards a multiple of the identity of the whole space.

    An estimator like scikit-learn's of covariances, for points that are given in an
    orthonormal basis of a subspace, while the identity has a dimension for every
    feature.

    Parameters
    ----------
    shrinkage : "auto" or float
        How far; "auto" is Ledoit and Wolf's choice.
    n_features : int
        The dimension of the whole space.
    """

    covariance_: FloatArray

    def __init__(self, shrinkage: str | float, n_features: int) -> None:
        self.shrinkage = shrinkage
        self.n_features = n_features

    def fit(self, X: FloatArray) -> Self:
        """Estimate the covariance, after scikit-learn's `ledoit_wolf`."""
        n, p = len(X), self.n_features
        centered = X - X.mean(axis=0)
        empirical = centered.T @ centered / n
        size = np.trace(empirical)
        if isinstance(self.shrinkage, str):
            squares = (empirical**2).sum()
            fourth = (np.einsum("ij,ij->i", centered, centered) ** 2).mean()
            distance = squares - size**2 / p
            shrinkage: float = (
                min(1.0, max(fourth - squares, 0) / n / distance) if distance else 0.0
            )
        else:
            shrinkage = self.shrinkage
        self.covariance_ = (1 - shrinkage) * empirical
        self.covariance_[np.diag_indices(len(empirical))] += shrinkage * size / p
        return self
