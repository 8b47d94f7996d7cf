"""The units in which EM computes: data of any scale become data of scale one."""

from dataclasses import dataclass

import numpy as np

from vicinal._typing import FloatArray
from vicinal.base.row_space import unit_of


@dataclass(frozen=True, eq=False)
class Scaler:
    """Where the origin of the data is put, and how long each feature's unit is.

    Attributes
    ----------
    origin : ndarray of shape (n_features,)
        The mean of the data; float64.
    scale : ndarray of shape (n_features,)
        Standard deviations, or one number for all features; float64.
    """

    origin: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, X: FloatArray, isotropic: bool) -> "Scaler":
        """Measure the data.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The data.
        alike : bool
            Whether all features must have the same unit, because what is learned
            depends on how their scales compare.
        """
        # Squares of the very large and the very small must not leave the numbers.
        unit = unit_of(X)
        moderate = X / unit
        mean = moderate.mean(axis=0, dtype=np.float64)
        deviations = moderate.std(axis=0, dtype=np.float64)
        if isotropic:
            deviations[:] = np.sqrt(np.mean(np.square(deviations)))
        # What does not vary, but for the rounding of its mean, has no scale of its own.
        constant = deviations <= 4 * np.finfo(X.dtype).eps * np.abs(mean)
        deviations[constant] = deviations[~constant].min(initial=1.0)
        units = cls(mean * float(unit), deviations * float(unit))
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
