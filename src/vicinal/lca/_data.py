"""The points of LCA in the units that EM computes in: any scale becomes scale one."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import unit_of
from vicinal.base.metric import unscale_components
from vicinal.neighborhood import back_project, effective_n_threads

# Of fewer distinct rows than this, copies are most of what there is to learn from.
FEWEST_DISTINCT = 10
# A row that is more of the table than this is there by nature; and of a continuous
# column's values, this share differs.
OFTEN, MOSTLY = 0.05, 0.9


@dataclass(frozen=True, eq=False)
class Scaler:
    """Where the origin of the data is put, and how long each feature's unit is.

    Attributes
    ----------
    origin : ndarray of shape (n_features,)
        The mean of the data; float64.
    scale : ndarray of shape (n_features,)
        Standard deviations, or one number for all features; float64. Of a constant
        feature, a width at which a kernel's peak is 1 where the others have unit
        variance: the root mean square of the others' over √(2π).
    constant : ndarray of bool of shape (n_features,)
        Which features do not vary; none of them where all have one unit.
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
            Whether all features must have the same unit, because what is learned
            depends on how their scales compare.
        """
        # Squares of the very large and the very small must not leave the numbers.
        unit = unit_of(X)
        moderate = X / unit
        mean = moderate.mean(axis=0, dtype=np.float64)
        deviations = moderate.std(axis=0, dtype=np.float64)
        return cls.of_moments(mean, deviations, isotropic, X.dtype, float(unit))

    @classmethod
    def of_moments(
        cls,
        mean: FloatArray,
        deviations: FloatArray,
        isotropic: bool,
        dtype: Any,
        unit: float = 1.0,
    ) -> "Scaler":
        """Build from means and standard deviations, given in a unit.

        Parameters
        ----------
        mean, deviations : ndarray of shape (n_features,)
            Of the data; float64.
        isotropic
            As for `of`.
        dtype : dtype
            Of the data.
        unit : float, default=1.0
            What 1 is in the data.
        """
        deviations = deviations.copy()
        # What does not vary, but for the rounding of its mean, has no scale of its own.
        constant = deviations <= 4 * np.finfo(dtype).eps * np.abs(mean)
        deviations[constant] = 0.0
        squares = np.square(deviations) if not constant.all() else np.ones(len(mean))
        if isotropic:
            deviations[:] = np.sqrt(squares.mean())
            constant[:] = False
        else:
            others = squares[~constant] if not constant.all() else squares
            deviations[constant] = np.sqrt(others.mean() / (2 * np.pi))
        units = cls(mean * unit, deviations * unit, constant)
        with np.errstate(over="ignore", under="ignore"):
            squares = np.square(units.scale)
        if not np.all((squares > 1e-290) & (squares < 1e290)):
            raise ValueError(
                "The variances of the features are not ordinary float64 numbers. "
                "Scale the data, for instance with "
                "sklearn.preprocessing.StandardScaler."
            )
        return units

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the points in these units, float32 if X is and has room for them."""
        measured: FloatArray = (X - self.origin) / self.scale
        with np.errstate(over="ignore"):
            narrow = measured.astype(X.dtype, copy=False)
        if np.isfinite([narrow.max(), narrow.min()]).all():
            return narrow
        return measured

    def inverse_transform(self, U: FloatArray) -> FloatArray:
        """Return points measured in these units as they were, in float64."""
        return U * self.scale + self.origin


@dataclass(frozen=True, eq=False)
class Copies:
    """Which rows of a table are copies of each other.

    Leaving one of two copies out says nothing of what other rows look like: the
    kernels would shrink to what is needed to reach the other. So a default fit learns
    from distinct rows; all rows have a kernel in its density.

    Equal rows are copies where each row occurs twice, or as often again; and where a
    column's values are otherwise all different, so that to agree is no coincidence.
    Where columns have few values each, or values on a grid, rows are equal by nature,
    and new rows will be equal to old ones; so they are where one row makes up much of
    the table.

    Attributes
    ----------
    first : ndarray of int of shape (n_distinct,)
        The first of each set of equal rows, ascending.
    group : ndarray of int of shape (n_samples,)
        Which of those each row is equal to.
    counts : ndarray of shape (n_distinct,)
        How many rows are equal to each; float64.
    """

    first: IntArray
    group: IntArray
    counts: FloatArray

    @classmethod
    def of(cls, X: FloatArray) -> "Copies | None":
        """Find copies; None where there are none, or rows are equal by nature."""
        candidates = np.arange(len(X))
        for column in X.T:
            # A row with a value of its own has no copy: mostly one column tells.
            _, which, counts = np.unique(
                column[candidates], return_inverse=True, return_counts=True
            )
            candidates = candidates[counts[which.ravel()] > 1]
        if not len(candidates):
            return None
        _, first, which = np.unique(
            X[candidates], axis=0, return_index=True, return_inverse=True
        )
        representative = np.arange(len(X))
        representative[candidates] = candidates[first[which.ravel()]]
        distinct, group, counts = np.unique(
            representative, return_inverse=True, return_counts=True
        )
        if not FEWEST_DISTINCT <= len(distinct) < len(X):
            return None
        often = counts.max() > max(FEWEST_DISTINCT, OFTEN * len(X))
        whole_table = np.gcd.reduce(counts) > 1
        if not whole_table and (
            often or not any(_is_continuous(column) for column in X[distinct].T)
        ):
            return None
        return cls(distinct, group, counts.astype(np.float64))


def _is_continuous(column: FloatArray) -> bool:
    """Return whether nearly all values differ, and do not lie on a grid."""
    values = np.unique(column)
    if len(values) < MOSTLY * len(column):
        return False
    steps = np.diff(values)
    n_different = len(np.unique(np.round(steps / steps.max(), 6)))
    return bool(n_different > len(steps) / 2)


@dataclass(frozen=True, eq=False)
class ScaledData:
    """What fit was given, validated, and in what units it is computed."""

    units: Scaler
    U: FloatArray
    """The points, in these units."""
    covariance: FloatArray
    """Of U."""
    n_threads: int
    data: tuple[Any, Any]
    """X and y as the user gave them."""
    copies: Copies | None = None
    """What rows of X are equal, where U has only one of each."""

    @classmethod
    def build(
        cls,
        X: FloatArray,
        isotropic: bool,
        n_jobs: int | None,
        data: tuple[Any, Any],
        distinct: bool = False,
    ) -> "ScaledData":
        """Scale validated points.

        Parameters
        ----------
        X, isotropic
            As for `Scaler.of`.
        n_jobs : int or None
            As for the estimators.
        data : tuple
            X and y as the user gave them.
        distinct : bool, default=False
            Whether to take one of equal rows only.
        """
        copies = Copies.of(X) if distinct else None
        if copies is not None:
            X = X[copies.first]
        units = Scaler.of(X, isotropic)
        scaled = cls.of(units, units.transform(X), n_jobs, data)
        return scaled if copies is None else replace(scaled, copies=copies)

    @classmethod
    def of(
        cls, units: Scaler, U: FloatArray, n_jobs: int | None, data: tuple[Any, Any]
    ) -> "ScaledData":
        """Take points that are scaled already, and measure their covariance."""
        n_threads = effective_n_threads(n_jobs)
        return cls(units, U, covariance_of(U, n_threads), n_threads, data)

    @property
    def log_unit(self) -> float:
        """What log-densities of U are above those of X."""
        return float(np.log(self.units.scale).sum())

    @property
    def pinned(self) -> FloatArray:
        """What a constant feature adds to its variance: 1, and others nothing."""
        return self.units.constant.astype(np.float64)

    def pinned_in(self, U: FloatArray) -> FloatArray:
        """Return the same for a subset of the points, where more may be constant."""
        scale, constant = self.units.scale, self.units.constant
        if constant.all():
            return self.pinned
        spread = np.mean(np.square(scale[~constant])) / (2 * np.pi)
        equal = (U[0] == U).all(axis=0) & ~constant
        return np.where(equal, spread / np.square(scale), self.pinned)

    def columns_of_few_values(self, kernel_variances: FloatArray) -> IntArray:
        """Return the features with steps between values that are wide for a kernel.

        There the density is a comb: high at values that were seen, low between them.

        Parameters
        ----------
        kernel_variances : ndarray of shape (n_features,)
            Of the kernel along each feature.
        """
        found = []
        for j, width in enumerate(np.sqrt(kernel_variances)):
            values = np.unique(self.U[:, j])
            few = 1 < len(values) <= len(self.U) / 4
            if few and width < np.median(np.diff(values)) / 4:
                found.append(j)
        return np.array(found, dtype=np.intp)

    def map_of_data(self, rows: FloatArray) -> FloatArray:
        """Return the rows of a map of U as those of a map of X, of X's type."""
        return unscale_components(rows, self.units.scale, self.U.dtype)


def covariance_of(U: FloatArray, n_threads: int) -> FloatArray:
    """Return the maximum-likelihood covariance, in float64."""
    centered = U - U.mean(axis=0, dtype=np.float64)
    return back_project(centered, centered, n_threads) / len(U)
