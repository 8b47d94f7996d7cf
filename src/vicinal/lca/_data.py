"""The points of LCA, validated, in the units that EM computes in."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vicinal._typing import FloatArray
from vicinal.lca._scaling import Scaler
from vicinal.neighborhood import back_project, effective_n_threads


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
        cls, units: Scaler, U: FloatArray, n_jobs: int | None, data: tuple[Any, Any]
    ) -> "ScaledData":
        """Measure the covariance of the points."""
        n_threads = effective_n_threads(n_jobs)
        return cls(units, U, covariance_of(U, n_threads), n_threads, data)

    def map_of_data(self, rows: FloatArray) -> FloatArray:
        """Return the rows of a map of U as those of a map of X, of X's type."""
        with np.errstate(over="ignore"):
            components: FloatArray = (rows / self.units.scale).astype(self.U.dtype)
        if not np.isfinite(components).all():
            raise ValueError(
                f"The data vary so little that the map is beyond {self.U.dtype}. Scale "
                "them, for instance with sklearn.preprocessing.StandardScaler."
            )
        return components


def covariance_of(U: FloatArray, n_threads: int) -> FloatArray:
    """Return the maximum-likelihood covariance, in float64."""
    centred = U - U.mean(axis=0, dtype=np.float64)
    return back_project(centred, centred, n_threads) / len(U)
