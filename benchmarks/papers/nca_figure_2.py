"""NCA's figure 2: pictures in the plane by PCA, LDA and NCA."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.drawing import draw_points, panels
from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.papers.splits import classes_of, fitted
from benchmarks.speed.timing import table
from vicinal import NCA
from vicinal._typing import FloatArray, IntArray
from vicinal.classic import FDA

METHODS: dict[str, Callable[[], Any]] = {
    "PCA": lambda: PCA(2),
    "LDA": lambda: FDA(2),
    "NCA": lambda: NCA(2, max_iter=200, random_state=0),
}
N_RINGS, ROWS_A_RING, NOISE = 5, 200, 5.0
# The rows of a picture; more would hide each other.
SHOWN = 600


def rings(rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Return concentric rings in two dimensions, and a third of loud noise."""
    labels = np.repeat(np.arange(N_RINGS), ROWS_A_RING)
    angle = rng.uniform(0, 2 * np.pi, labels.size)
    radius = 1 + labels + 0.1 * rng.normal(size=labels.size)
    noise = NOISE * rng.normal(size=labels.size)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), noise])
    return X, labels


def usps_digits() -> tuple[FloatArray, IntArray]:
    """Return the digits one to five of USPS, averaged to 8 × 8 pixels."""
    X, y = classes_of("usps")
    rows = np.flatnonzero((y >= 1) & (y <= 5))
    pixels = X[rows].reshape(-1, 8, 2, 8, 2).mean(axis=(2, 4)).reshape(len(rows), 64)
    return pixels, y[rows]


def _data(name: str) -> tuple[FloatArray, IntArray]:
    if name == "rings":
        return rings(np.random.default_rng(0))
    if name == "digits":
        return usps_digits()
    if name == "8 × 8 digits":
        X, y = load_digits(return_X_y=True)
        return X[y < 5] / 16, y[y < 5]
    X, y = classes_of("umist" if name == "faces" else name)
    if name == "faces":
        return X / X.max(), y
    return StandardScaler().fit_transform(X), y


def cases(scope: Scope) -> list[Case]:
    """Return data, method and seed of each run."""
    names = ["rings", "wine", "faces", "digits"]
    if scope.quick:
        names = ["rings", "wine", "8 × 8 digits"]
    return [
        (name, method, seed)
        for name in names
        for method in METHODS
        for seed in scope.repeats(20)
    ]


def run(name: str, method: str, seed: int) -> Outcome:
    """Return the 1-NN error on the rows held out; of the first seed also the map."""
    X, y = _data(name)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, random_state=seed, stratify=y
    )
    model = fitted(METHODS[method](), X_train, y_train)
    knn = KNeighborsClassifier(1).fit(model.transform(X_train), y_train)
    outcome: Outcome = {"error": 1 - float(knn.score(model.transform(X_test), y_test))}
    if seed == 0:
        Z, labels = model.transform(X_test)[:SHOWN], y_test[:SHOWN]
        outcome["points"] = np.round(Z / np.abs(Z).max(), 4).tolist()
        outcome["labels"] = labels.tolist()
    return outcome


def show(results: Results) -> Page:
    """Return a table of errors, and the panels."""
    names = [name for (name,) in results.heads()]
    rows = [
        [
            str(name),
            *(
                mean_and_error(results.values("error", name, method), factor=100)
                for method in METHODS
            ),
        ]
        for name in names
    ]
    text = "Error of 1-NN in the plane, on rows held out (%), ± a standard error:\n\n"
    text += table(["data", *METHODS], rows)

    def draw() -> Figure:
        figure, axes = panels(len(names), len(METHODS))
        for row, name in zip(axes, names, strict=True):
            for ax, method in zip(row, METHODS, strict=True):
                first: dict[str, Any] = results.at(name, method, 0)[0]
                title = f"{name}, {method}: {100 * first['error']:.1f} %"
                draw_points(ax, first["points"], first["labels"], title)
        return figure

    return Page(text, draw)


EXPERIMENT = Experiment(
    name="nca-figure-2",
    title="NCA, figure 2: data in the plane",
    about=f"""
The paper shows four data sets in two dimensions, by PCA, LDA and NCA: concentric
rings with a third dimension of noise, wine, faces, and the digits one to five of USPS
at 8 × 8 pixels. Beside the pictures, here is the error of 1-NN in the plane.

The rings are ours (five, {ROWS_A_RING} rows each, noise of standard deviation
{NOISE:g}), since the paper does not say how loud its noise is; its faces (18 persons,
100 pictures each) are not public, and UMIST's 20 persons stand in for them. Pictures
show rows held out, of the first split.
""",
    cases=cases,
    run=run,
    show=show,
    needs=("wine", "umist", "usps"),
)
