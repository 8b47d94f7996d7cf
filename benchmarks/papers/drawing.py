"""Pictures of the experiments: panels of points, and curves with error bars."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from vicinal._typing import FloatArray

# Two drawings of the same numbers shall be the same file.
mpl.rcParams["svg.hashsalt"] = "vicinal"
mpl.rcParams["font.size"] = 8


def panels(n_rows: int, n_columns: int, size: float = 2.2) -> tuple[Figure, Any]:
    """Return a figure and its axes, as an array of so many rows and columns."""
    figure = Figure(figsize=(size * n_columns, size * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def draw_points(axes: Any, Z: ArrayLike, labels: ArrayLike, title: str) -> None:
    """Draw points of the plane, a colour for each class.

    Parameters
    ----------
    axes : matplotlib Axes
        Where.
    Z : array-like of shape (n, 2)
        The points.
    labels : array-like of int of shape (n,)
        Their classes.
    title : str
        Above the panel.
    """
    Z = np.asarray(Z)
    # As an image: a path for each of some thousand points makes a large file.
    axes.scatter(
        *Z.T, c=np.asarray(labels), cmap="tab20", s=4, linewidths=0, rasterized=True
    )
    axes.set_title(title, fontsize=8)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", "datalim")


def draw_curves(
    axes: Any,
    x: Sequence[float],
    curves: Mapping[str, Sequence[FloatArray]],
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
) -> None:
    """Draw a line for each method, with bars of one standard error.

    Parameters
    ----------
    axes : matplotlib Axes
        Where.
    x : sequence of float
        Shared by all.
    curves : dict
        By name: for each x, the values of the runs.
    title, x_label, y_label : str
        Words.
    """
    for name, values in curves.items():
        means, errors = _means_and_errors(values)
        axes.errorbar(
            x, means, errors, label=name, marker="o", markersize=3, linewidth=1
        )
    axes.set(title=title, xlabel=x_label, ylabel=y_label)


def show_powers(axes: Any, ticks: Sequence[float]) -> None:
    """Make the x axis logarithmic, with plain numbers at those ticks in sight."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_xticks(shown, [f"{tick:g}" for tick in shown])
    axes.minorticks_off()


def draw_bars(
    axes: Any, names: Sequence[str], bars: Mapping[str, Sequence[FloatArray]]
) -> None:
    """Draw groups of bars, one for each name, with errors.

    Parameters
    ----------
    axes : matplotlib Axes
        Where.
    names : sequence of str
        Of the groups.
    bars : dict
        By method: for each group, the values of the runs.
    """
    width = 0.8 / len(bars)
    for number, (method, values) in enumerate(bars.items()):
        heights, errors = _means_and_errors(values)
        places = np.arange(len(names)) - 0.4 + (number + 0.5) * width
        axes.bar(
            places, heights, width, yerr=errors, label=method, error_kw={"lw": 0.7}
        )
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")


def _means_and_errors(values: Sequence[FloatArray]) -> tuple[list[float], list[float]]:
    """Return the mean of the runs at each place, and its standard error."""
    means = [float(of.mean()) for of in values]
    errors = [float(of.std(ddof=min(1, of.size - 1)) / of.size**0.5) for of in values]
    return means, errors
