"""Relevant component analysis."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.linalg import (
    RowSpace,
    deviations,
    relevant_components,
    within_class_residuals,
)
from vicinal.base.metric import (
    LinearMetric,
    unscale_components,
    validate_data,
    warn_caller,
)
from vicinal.base.selection import checked_n_components
from vicinal.classic._shared import at_least_one, held_out_hits, scattered_span
from vicinal.neighborhood import single_threaded_blas

# Candidates of shrinkage="auto".
SHRINKAGES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(eq=False, repr=False)
class RCA(LinearMetric):
    """Relevant component analysis.

    Whitens the scatter within chunklets, small groups of points that are known to be
    similar [1]_: with the mean m_j of chunklet j and p points in chunklets::

        Ĉ = (1/p) Σ_j Σ_i (x_ji − m_j)(x_ji − m_j)ᵀ,     components_ = Ĉ^(−1/2).

    Directions of large variance within the chunklets are irrelevant and shrink. Fewer
    components are found as in section 2.2 of [1]_: first the directions with the
    largest ratio of total scatter to Ĉ, then the whitening among them.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components; None is the number of features or, with more features
        than rows, the dimension of the span of the rows.
    shrinkage : float or "auto", default="auto"
        Shrinkage of Ĉ towards the diagonal matrix of its variances, from 0 to 1. "auto"
        is for classes the best of 0, 0.01, 0.03, 0.1, 0.3 and 1 for 3-NN on held-out
        rows, and for chunklets (groups of fewer than 10 rows) the Ledoit-Wolf estimate.
        With 0, directions without variance in chunklets are mapped to 0.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map; float32 if X is.
    shrinkage_ : float
        The shrinkage in use.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    vicinal.classic.Covariance : Whitens all points.
    vicinal.classic.FDA : Uses the ratio of two scatters.

    Notes
    -----
    Cost: O(nD²) and an eigenproblem of min(n, D).

    References
    ----------
    .. [1] Bar-Hillel, Hertz, Shental, Weinshall. Learning a Mahalanobis Metric from
       Equivalence Constraints. Journal of Machine Learning Research, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from vicinal.classic import RCA, chunklets_from_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(RCA(), KNeighborsClassifier(3))
    >>> bool(cross_val_score(model, X, y).mean() > 0.96)
    True
    >>> chunklets = chunklets_from_labels(y, 30, random_state=0)
    >>> RCA(2).fit(X, chunklets).transform(X).shape
    (178, 2)
    """

    _requires_y: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [at_least_one, None],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
    }

    n_components: int | None = None
    _: KW_ONLY
    shrinkage: float | str = "auto"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            The chunklet of each point, an integer, or -1 for points in no chunklet. Or
            labels of any kind: then each class is a chunklet. No class may be called
            -1; a warning is given if one seems to be.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            points, given = validate_data(
                self, X, y, dtype=FLOATS, ensure_min_samples=2
            )
            codes = _chunklets(given)
            inside = codes >= 0
            # Groups of fewer than 10 rows are chunklets, too small for folds.
            are_classes = bool(np.median(np.bincount(codes[inside])) >= 10)
            span = scattered_span(points)
            shrinkage = self.shrinkage
            if isinstance(shrinkage, str):
                hits = np.zeros((1, 0), dtype=bool)
                if are_classes:
                    hits = held_out_hits(points[inside], codes[inside], self._path)[:-1]
                if hits.size:
                    shrinkage = SHRINKAGES[int(hits.sum(axis=1).argmax())]
                else:
                    shrinkage = _ledoit_wolf(span.coordinates[inside], codes[inside])
            (self.components_,) = self._maps(span, codes, [shrinkage], points.dtype)
            self.shrinkage_ = float(shrinkage)
        return self

    def _path(self, X: FloatArray, codes: IntArray) -> list[FloatArray]:
        """Return the components for each candidate of shrinkage="auto"."""
        return self._maps(scattered_span(X), codes, SHRINKAGES, X.dtype)

    def _maps(
        self, span: RowSpace, codes: IntArray, shrinkages: Sequence[float], dtype: Any
    ) -> list[FloatArray]:
        """Return the components for each shrinkage."""
        inside = codes >= 0
        Z = span.coordinates[inside]
        d = checked_n_components(
            self.n_components, Z.shape[1], f"the {Z.shape[1]} dimensions of X"
        )
        maps = (relevant_components(Z, codes[inside], d, one) for one in shrinkages)
        return [
            unscale_components(span.to_features(A.T), span.unit, dtype) for A in maps
        ]


def _chunklets(y: NDArray[Any]) -> IntArray:
    """Return the chunklet of each row, from 0, and -1 for rows in none."""
    check_classification_targets(y)
    marked = y.dtype.kind in "if" and bool((y == -1).any())
    known = y != -1 if marked else np.ones(len(y), dtype=bool)
    names, codes, sizes = np.unique(y[known], return_inverse=True, return_counts=True)
    if len(names) < 2:
        found = (
            f"only one class: {names.tolist()[0]!r}" if len(names) else "no chunklet"
        )
        raise ValueError(
            f"RCA needs rows of at least two classes or chunklets, but y has {found} "
            "(-1 marks points in no chunklet)."
        )
    outside = len(y) - len(codes)
    if 10 <= outside <= 2 * sizes.max() and sizes.min() >= 10:
        warn_caller(
            f"The {outside:,} rows with y = -1 are taken for rows in no chunklet, and "
            "are not learned from. If -1 is a class, give it another name."
        )
    # If -1 shows that y has chunklets, not classes, none should have a single row.
    alone = sizes < 2
    if alone.all() or (marked and alone.any()):
        raise ValueError(
            f"RCA expected chunklets of two points or more, but {int(alone.sum())} of "
            f"{len(sizes)} have a single one, as {names[alone][0].item()!r} has. Mark "
            "such points with -1."
        )
    chunklets = np.full(len(y), -1, dtype=np.intp)
    # A class of one row has no scatter; counting it would shrink that of the others.
    chunklets[known] = np.where(alone, -1, np.cumsum(~alone) - 1)[codes]
    return chunklets


def _ledoit_wolf(X: FloatArray, codes: IntArray) -> float:
    """Return the Ledoit-Wolf shrinkage of standardized within-chunklet residuals."""
    from sklearn.covariance import ledoit_wolf_shrinkage  # slow to import

    residuals = within_class_residuals(X, codes)
    units = deviations(residuals, X)
    if not (units > 0).any():
        return 1.0
    scaled = residuals[:, units > 0] / units[units > 0]
    # Corrected for the degrees of freedom of the means.
    n_free = len(X) - int(codes.max()) - 1
    found = float(ledoit_wolf_shrinkage(scaled, assume_centered=True))
    return min(1.0, found * len(X) / max(n_free, 1))
