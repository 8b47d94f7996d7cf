"""Rules: how each method weighs the edges. One class for each, a few lines long.

A rule that compares labels wants the points sorted by class, so that a row's matches
are one run of columns: no label is looked at inside the loop over pairs.
"""

from dataclasses import dataclass

import numpy as np

from vicinal._typing import FloatArray, IntArray


def far(dtype: np.dtype[np.floating]) -> np.floating:
    """Return the number that stands for the distance to what is no neighbour."""
    return dtype.type(1e38 if dtype == np.float32 else 1e300)


@dataclass(frozen=True)
class ClassRuns:
    """For each of the points sorted by class, the run of points of its class."""

    starts: IntArray
    stops: IntArray

    @classmethod
    def from_sorted(cls, codes: IntArray) -> "ClassRuns":
        """Build from class codes in ascending order."""
        starts = np.searchsorted(codes, codes, side="left")
        return cls(starts, np.searchsorted(codes, codes, side="right"))


@dataclass(frozen=True)
class ExpectedMatches:
    """NCA's f, eq. 3: the value is p_i, the chance that i picks a match."""

    classes: ClassRuns

    def weigh(
        self, block: FloatArray, norms: FloatArray, rows: slice, values: FloatArray
    ) -> None:
        """Weigh by eq. 5; see `Rule.weigh`."""
        from vicinal.neighborhood import rows as kernels

        kernels.expected_matches(
            block,
            norms,
            rows.start,
            self.classes.starts,
            self.classes.stops,
            far(block.dtype),
            values,
        )


@dataclass(frozen=True)
class LogMatches:
    """NCA's g, eq. 6: the value is log p_i."""

    classes: ClassRuns

    def weigh(
        self, block: FloatArray, norms: FloatArray, rows: slice, values: FloatArray
    ) -> None:
        """Weigh by eq. 7; see `Rule.weigh`."""
        from vicinal.neighborhood import rows as kernels

        kernels.log_matches(
            block,
            norms,
            rows.start,
            self.classes.starts,
            self.classes.stops,
            far(block.dtype),
            values,
        )
