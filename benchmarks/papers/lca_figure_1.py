"""LCA's figure 1: "To be or not to be", transformed by PCA and by LCA."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from sklearn.decomposition import PCA

from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
)
from benchmarks.speed.timing import table
from vicinal import LCA
from vicinal._typing import FloatArray

TEXT = "To be or not to be"
METHODS: dict[str, Callable[[], Any]] = {
    "PCA": lambda: PCA(whiten=True),
    "LCA": lambda: LCA(alpha=0.0),
}


def written(n_points: int, rng: np.random.Generator) -> FloatArray:
    """Return random points inside the letters of the text."""
    letters = TextPath((0, 0), TEXT, size=10)
    outlines = [Path(outline) for outline in letters.to_polygons()]
    low, high = letters.vertices.min(axis=0), letters.vertices.max(axis=0)
    found = np.empty((0, 2))
    while len(found) < n_points:
        tried = rng.uniform(low, high, size=(4 * n_points, 2))
        # Even and odd: the hole of an "o" is inside two outlines.
        inside = sum(outline.contains_points(tried).astype(int) for outline in outlines)
        found = np.vstack([found, tried[inside % 2 == 1]])
    return found[:n_points]


def cases(scope: Scope) -> list[Case]:
    """Return method and number of points of each run."""
    return [(name, 300 if scope.quick else 3000) for name in METHODS]


def run(name: str, n_points: int) -> Outcome:
    """Return the transformed points, and how much wider than high letters become."""
    X = written(n_points, np.random.default_rng(0))
    model = METHODS[name]().fit(X)
    # The map of the plane, turned back so that the text is upright.
    A = model.transform(np.eye(2)) - model.transform(np.zeros((1, 2)))
    turn, _, back = np.linalg.svd(A)
    upright = A @ (turn @ back).T
    Z = X @ upright
    return {
        "points": np.round(Z, 3).tolist(),
        "stretch": float(np.linalg.norm(upright[0]) / np.linalg.norm(upright[1])),
    }


def show(results: Results) -> Page:
    """Return how much letters are compressed, and the two pictures."""
    rows = [
        [str(name), f"{one['stretch']:.2f}"]
        for (name, _), one in results.outcomes.items()
    ]

    def draw() -> Figure:
        figure = Figure(figsize=(7, 5), layout="constrained")
        axes = figure.subplots(2, 1, height_ratios=[5, 1])
        for ax, ((name, _), one) in zip(axes, results.outcomes.items(), strict=True):
            Z = np.array(one["points"])
            ax.plot(*Z.T, ".", markersize=1, rasterized=True)
            ax.set(title=name, xticks=[], yticks=[])
            ax.set_aspect("equal")
        return figure

    text = "Width of a letter over its height, times what it was before:\n\n"
    return Page(text + table(["method", "stretch"], rows), draw)


EXPERIMENT = Experiment(
    name="lca-figure-1",
    title="LCA, figure 1: to be or not to be",
    about="""
Le Roux and Bach transform points drawn from the letters of a line of text. PCA makes
the whole line as wide as it is high, and so presses the letters together; LCA looks
at neighbours, does not mind how long the line is, and leaves the letters as they are.
""",
    cases=cases,
    run=run,
    show=show,
)
