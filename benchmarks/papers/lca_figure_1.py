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
    mean_and_error,
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
    """Return method, number of points and seed of each run."""
    n_points = 300 if scope.quick else 3000
    return [(name, n_points, seed) for name in METHODS for seed in scope.repeats(20)]


def run(name: str, n_points: int, seed: int) -> Outcome:
    """Return how much wider than high letters become, and the first run's points."""
    X = written(n_points, np.random.default_rng(seed))
    model = METHODS[name]().fit(X)
    # The map of the plane, turned back so that the text is upright.
    A = model.transform(np.eye(2)) - model.transform(np.zeros((1, 2)))
    turn, _, back = np.linalg.svd(A)
    upright = A @ (turn @ back).T
    Z = X @ upright
    stretch = float(np.linalg.norm(upright[0]) / np.linalg.norm(upright[1]))
    return {"stretch": stretch} | ({} if seed else {"points": np.round(Z, 3).tolist()})


def show(results: Results) -> Page:
    """Return how much letters are compressed, and the two pictures."""
    names = [str(name) for (name,) in results.heads()]
    rows = [
        [name, mean_and_error(results.values("stretch", name), 2)] for name in names
    ]

    def draw() -> Figure:
        figure = Figure(figsize=(7, 5), layout="constrained")
        axes = figure.subplots(2, 1, height_ratios=[5, 1])
        for ax, name in zip(axes, names, strict=True):
            Z = results.values("points", name)[0]
            ax.plot(*Z.T, ".", markersize=1, rasterized=True)
            ax.set(title=name, xticks=[], yticks=[])
            ax.set_aspect("equal")
        return figure

    text = "Width of a letter over its height, times what it was before; ± a standard "
    text += "error over random points:\n\n"
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
