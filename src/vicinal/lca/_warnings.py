"""What there is to say of a fit of LCA: its reasons for a warning, in words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray
from vicinal.lca._background import LEAST_RIDGE, MixtureDensity
from vicinal.lca._data import ScaledData
from vicinal.lca._e_step import Kernel
from vicinal.lca._m_step import directions_below

MOST_NAMES = 5
"""Columns that a warning lists."""
# Held-out points that want no more than the least ridge see no finite optimum.
SMALL_RIDGE = 2 * LEAST_RIDGE


def collapse_reasons(regs: Sequence[str], n_floored: int, n_held: int) -> list[str]:
    """Return a sentence if in some directions the likelihood has no finite optimum.

    Parameters
    ----------
    regs : sequence of str
        The names of the estimator's ridges.
    n_floored : int
        In how many directions rounding's floor kept the kernel from collapsing.
    n_held : int
        In how many the default ridge did.
    """
    if not (n_floored or n_held):
        return []
    if n_floored:
        kept = "There it was kept at 1e-10 of the data's variance"
        remedy = f"set {' and '.join(regs)} above 0, for instance to 'auto' or 'cv'"
    else:
        kept = "There a small ridge decides how wide it is"
        remedy = "take such columns out, where log-densities are compared"
    return [
        f"The leave-one-out likelihood has no finite optimum: in "
        f"{n_floored or n_held} directions the kernel would collapse, as it does "
        "with duplicate rows, with columns of few values, with constant or "
        "collinear columns and with fewer rows than columns. "
        f"{kept}. Drop what is duplicate, or {remedy}."
    ]


def few_values_reasons(
    regs: Sequence[str],
    data: ScaledData,
    kernel: Kernel,
    feature_names: NDArray[Any] | None,
) -> list[str]:
    """Return a sentence if kernels are narrower than the steps of some columns.

    Parameters
    ----------
    regs : sequence of str
        The names of the estimator's ridges.
    data : ScaledData
        The points.
    kernel : Kernel
        What was learned.
    feature_names : ndarray of str or None
        The columns' names; None numbers them.
    """
    columns = data.columns_of_few_values(np.square(kernel.inverse).sum(axis=1))
    if not len(columns):
        return []
    shown = columns[:MOST_NAMES]
    names = shown if feature_names is None else feature_names[shown]
    listed = ", ".join(str(name) for name in names)
    more = len(columns) - MOST_NAMES
    listed += f" and {more} more" if more > 0 else ""
    return [
        f"The kernels are narrower than the steps between the few values of "
        f"these columns: {listed}. The density is high at values that were "
        "seen and low between them, and compares only with other densities of "
        f"the same table. Take such columns out, or set {' and '.join(regs)} to the "
        "square of such a step."
    ]


def copies_reasons(data: ScaledData) -> list[str]:
    """Return a sentence if at least half of the rows are copies of others."""
    copies = data.copies
    if copies is None or len(copies.first) > len(copies.group) / 2:
        return []
    return [
        f"Only {len(copies.first)} of the {len(copies.group)} rows differ. A "
        "copy says nothing of how far apart rows are: kernels are learned from "
        "one of each, and copies count in the density alone. Drop them if they "
        "are an accident, before rows are split into parts."
    ]


def n_held_by(ridge: FloatArray, C: FloatArray) -> int:
    """Return in how many directions the local scatter is below the least ridge."""
    least = float(ridge.min())
    if not 0 < least <= SMALL_RIDGE:
        return 0
    return directions_below(C + np.diag(ridge), 2 * least)


def learned_nothing(density: Any, n_parameters: int) -> bool:
    """Return whether the kernels say no more of left-out points than one Gaussian.

    Leaving a point out does not count what the covariance has learned from it: that is
    worth one nat for each parameter, over all points (Akaike).

    Parameters
    ----------
    density : density
        A `MixtureDensity`, or another, of which nothing is known.
    n_parameters : int
        How many numbers the kernels' covariance has.
    """
    if not isinstance(density, MixtureDensity):
        return False
    return density.gain <= n_parameters / len(density.U)
