"""The points of LCA in the units that EM computes in: any scale becomes scale one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray
from vicinal.base.metric import of_unscaled
from vicinal.base.row_space import unit_of
from vicinal.neighborhood import back_project, effective_n_threads


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
        # What does not vary, but for the rounding of its mean, has no scale of its own.
        constant = deviations <= 4 * np.finfo(X.dtype).eps * np.abs(mean)
        deviations[constant] = 0.0
        squares = np.square(deviations) if not constant.all() else np.ones(X.shape[1])
        if isotropic:
            deviations[:] = np.sqrt(squares.mean())
            constant[:] = False
        else:
            others = squares[~constant] if not constant.all() else squares
            deviations[constant] = np.sqrt(others.mean() / (2 * np.pi))
        units = cls(mean * float(unit), deviations * float(unit), constant)
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

    @classmethod
    def build(
        cls, X: FloatArray, isotropic: bool, n_jobs: int | None, data: tuple[Any, Any]
    ) -> "ScaledData":
        """Scale validated points; parameters as for `Scaler.of`, and X, y as given."""
        units = Scaler.of(X, isotropic)
        return cls.of(units, units.transform(X), n_jobs, data)

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

    def pinned_among(self, U: FloatArray) -> FloatArray:
        """Return the same for some of the points, of which more may be constant."""
        scale, constant = self.units.scale, self.units.constant
        if constant.all():
            return self.pinned
        spread = np.mean(np.square(scale[~constant])) / (2 * np.pi)
        equal = (U[0] == U).all(axis=0) & ~constant
        return np.where(equal, spread / np.square(scale), self.pinned)

    def map_of_data(self, rows: FloatArray) -> FloatArray:
        """Return the rows of a map of U as those of a map of X, of X's type."""
        return of_unscaled(rows, self.units.scale, self.U.dtype)


def covariance_of(U: FloatArray, n_threads: int) -> FloatArray:
    """Return the maximum-likelihood covariance, in float64."""
    centred = U - U.mean(axis=0, dtype=np.float64)
    return back_project(centred, centred, n_threads) / len(U)
