"""The training points of LCA in standardized units, and duplicate rows among them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import distinct_rows
from vicinal.neighborhood import back_project, effective_n_threads


@dataclass(frozen=True, eq=False)
class Scaler:
    """Origin and unit of each feature; EM works on (X − origin) / scale.

    Attributes
    ----------
    origin : ndarray of shape (n_features,)
        The mean of the data; float64.
    scale : ndarray of shape (n_features,)
        Standard deviations, or one number for all features; float64. A constant
        feature gets the root mean square of the other deviations over √(2π): there the
        peak of a kernel of unit variance is 1.
    constant : ndarray of bool of shape (n_features,)
        The features that do not vary; all False if the features share one unit.
    """

    origin: FloatArray
    scale: FloatArray
    constant: NDArray[np.bool_]

    @classmethod
    def of(cls, X: FloatArray, isotropic: bool) -> "Scaler":
        """Measure the data.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The data.
        isotropic : bool
            Whether all features share one unit, because the form of the covariance
            depends on their relative scales.
        """
        mean = X.mean(axis=0, dtype=np.float64)
        deviations = X.std(axis=0, dtype=np.float64)
        return cls.of_moments(mean, deviations, isotropic, X.dtype)

    @classmethod
    def of_moments(
        cls, mean: FloatArray, deviations: FloatArray, isotropic: bool, dtype: Any
    ) -> "Scaler":
        """Build from means and standard deviations.

        Parameters
        ----------
        mean, deviations : ndarray of shape (n_features,)
            Means and standard deviations; float64.
        isotropic
            As for `of`.
        dtype : dtype
            The type of the data.
        """
        # A feature that varies by the rounding of its mean alone is constant.
        constant = deviations <= 4 * np.finfo(dtype).eps * np.abs(mean)
        variances = np.where(constant, 0.0, np.square(deviations))
        if isotropic:
            variances = np.full_like(variances, variances.mean() or 1.0)
            constant = np.zeros_like(constant)
        else:
            others = variances[~constant].mean() if not constant.all() else 1.0
            variances[constant] = others / (2 * np.pi)
        return cls(mean, np.sqrt(variances), constant)

    @property
    def log_unit(self) -> float:
        """The log-density of scaled points minus that of the data."""
        return float(np.log(self.scale).sum())

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the scaled points; float32 if X is and they do not overflow."""
        scaled: FloatArray = (X - self.origin) / self.scale
        with np.errstate(over="ignore"):
            narrow = scaled.astype(X.dtype, copy=False)
        return narrow if np.isfinite([narrow.max(), narrow.min()]).all() else scaled

    def inverse_transform(self, U: FloatArray) -> FloatArray:
        """Return scaled points in the units of the data, in float64."""
        return U * self.scale + self.origin


@dataclass(frozen=True, eq=False)
class DuplicateRows:
    """Rows of a table that are accidental copies of each other.

    The leave-one-out score of a row that has a copy says nothing about other rows: the
    kernels would shrink to reach just the copy. A default fit therefore learns from
    distinct rows, and its density has a kernel for every row.

    Attributes
    ----------
    first : ndarray of int of shape (n_distinct,)
        The first of each set of equal rows, ascending.
    group : ndarray of int of shape (n_samples,)
        The set of each row.
    counts : ndarray of shape (n_distinct,)
        The size of each set; float64.
    """

    first: IntArray
    group: IntArray
    counts: FloatArray

    @classmethod
    def of(
        cls, X: FloatArray, *, min_distinct: int = 10, max_share: float = 0.05
    ) -> "DuplicateRows | None":
        """Find accidental copies.

        Equal rows are accidental if every row occurs k times, k > 1, or if some column
        is continuous. They are not if one row makes up much of the table, or if all
        columns have few values or values on a grid: then new rows repeat old ones, too.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The table.
        min_distinct : int, default=10
            With fewer distinct rows, every row is used.
        max_share : float, default=0.05
            The share of the table that accidental copies of one row have at most.

        Returns
        -------
        DuplicateRows or None
            None if there are no accidental copies.
        """
        first, which = distinct_rows(X)
        distinct, group, counts = np.unique(
            first[which], return_inverse=True, return_counts=True
        )
        if not min_distinct <= len(distinct) < len(X):
            return None
        frequent = counts.max() > max(min_distinct, max_share * len(X))
        if np.gcd.reduce(counts) == 1 and (
            frequent or not any(_is_continuous(column) for column in X[distinct].T)
        ):
            return None
        return cls(distinct, group, counts.astype(np.float64))


def _is_continuous(column: FloatArray) -> bool:
    """Return whether 90 % of the values are distinct, and not on a grid."""
    values = np.unique(column)
    if len(values) < 0.9 * len(column):
        return False
    steps = np.diff(values)
    return len(np.unique(np.round(steps / steps.max(), 6))) > len(steps) / 2


@dataclass(frozen=True, eq=False)
class ScaledData:
    """Validated training points in standardized units."""

    units: Scaler
    U: FloatArray
    """The scaled points; one of each set of duplicates."""
    covariance: FloatArray
    """The covariance of U."""
    n_threads: int
    given: tuple[Any, Any]
    """X and y as passed to fit."""
    duplicates: DuplicateRows | None = None

    @classmethod
    def build(
        cls,
        X: FloatArray,
        isotropic: bool,
        n_jobs: int | None,
        given: tuple[Any, Any],
        distinct: bool = False,
    ) -> "ScaledData":
        """Scale validated points.

        Parameters
        ----------
        X, isotropic
            As for `Scaler.of`.
        n_jobs : int or None
            As for the estimators.
        given : tuple
            X and y as passed to fit.
        distinct : bool, default=False
            Whether to drop accidental copies of rows.
        """
        duplicates = DuplicateRows.of(X) if distinct else None
        if duplicates is not None:
            X = X[duplicates.first]
        units = Scaler.of(X, isotropic)
        return cls.of(units, units.transform(X), n_jobs, given, duplicates)

    @classmethod
    def of(
        cls,
        units: Scaler,
        U: FloatArray,
        n_jobs: int | None,
        given: tuple[Any, Any],
        duplicates: DuplicateRows | None = None,
    ) -> "ScaledData":
        """Take points that are already scaled."""
        n_threads = effective_n_threads(n_jobs)
        covariance = covariance_of(U, n_threads)
        return cls(units, U, covariance, n_threads, given, duplicates)

    def constant_ridge(self, U: FloatArray | None = None) -> FloatArray:
        """Return the variance added to constant features: 1, and 0 for the others.

        Parameters
        ----------
        U : ndarray of shape (n_rows, n_features) or None, default=None
            A subset of the points, in which more features may be constant.
        """
        scale, constant = self.units.scale, self.units.constant
        if U is None or constant.all():
            return constant.astype(np.float64)
        variance = np.mean(np.square(scale[~constant])) / (2 * np.pi)
        equal = (U[0] == U).all(axis=0) & ~constant
        return np.where(equal, variance / np.square(scale), constant)

    def ridge(self, alpha: float, automatic: bool) -> FloatArray:
        """Return the ridge ν of each feature in scaled units.

        Parameters
        ----------
        alpha : float
            ν; in units of each feature's variance if it was chosen by "auto".
        automatic : bool
            Whether it was. Then constant features get a width as well.
        """
        if automatic:
            return alpha + self.constant_ridge()
        return alpha / np.square(self.units.scale)


def covariance_of(U: FloatArray, n_threads: int) -> FloatArray:
    """Return the maximum-likelihood covariance, in float64."""
    centered = U - U.mean(axis=0, dtype=np.float64)
    return back_project(centered, centered, n_threads) / len(U)
