"""The thesis' figure 3.3: what becomes of several starts."""

import numpy as np
from matplotlib.figure import Figure
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.drawing import draw_points, panels
from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
)
from benchmarks.papers.splits import QUICK, classes_of, fitted, leave_one_out
from benchmarks.speed.timing import table
from vicinal import NCA
from vicinal._typing import FloatArray, IntArray
from vicinal.classic import FDA, RCA

DATA = ("wine", "iris", "balance_scale")
STARTS = ("random", "pca", "lda", "rca")


def cases(scope: Scope) -> list[Case]:
    """Return data and start of each run."""
    names = QUICK if scope.quick else DATA
    return [(name, start) for name in names for start in STARTS]


def run(name: str, start: str) -> Outcome:
    """Return the points under the first map and the last, and both scores."""
    X, y = classes_of(name)
    X = StandardScaler().fit_transform(X)
    first = _first_map(start, X, y)
    nca = fitted(NCA(2, init=first, max_iter=200), X, y)
    outcome: Outcome = {"labels": y.tolist()}
    for when, A in (("first", first), ("last", nca.components_)):
        Z = X @ A.T
        outcome[when] = np.round(Z / np.abs(Z).max(), 4).tolist()
        outcome[f"{when}, 1-NN"] = leave_one_out(Z, y)
    outcome["f at the start"] = float(nca.objective_curve_[0]) / len(y)
    outcome["f at the end"] = float(nca.objective_curve_[-1]) / len(y)
    outcome["iterations"] = int(nca.n_iter_)
    return outcome


def _first_map(start: str, X: FloatArray, y: IntArray) -> FloatArray:
    if start == "random":
        return np.random.default_rng(0).normal(size=(2, X.shape[1]))
    model = {"pca": PCA(2), "lda": FDA(2), "rca": RCA(2)}[start]
    components: FloatArray = model.fit(X, y).components_
    return components


def show(results: Results) -> Page:
    """Return the scores, and the panels of the first data set."""
    rows = [
        [
            str(name),
            str(start),
            f"{100 * one['f at the start']:.1f}",
            f"{100 * one['f at the end']:.1f}",
            f"{100 * one['last, 1-NN']:.1f}",
            str(one["iterations"]),
        ]
        for (name, start), one in results.outcomes.items()
    ]
    head = ["data", "start", "f at the start", "f at the end", "1-NN", "iterations"]
    shown = next(results.heads())[0]

    def draw() -> Figure:
        figure, axes = panels(2, len(STARTS))
        for column, start in enumerate(STARTS):
            (one,) = results.at(shown, start)
            for row, when in enumerate(("first", "last")):
                title = f"{start}, {when}: {100 * one[f'{when}, 1-NN']:.1f} %"
                draw_points(axes[row, column], one[when], one["labels"], title)
        return figure

    return Page(table(head, rows), draw)


EXPERIMENT = Experiment(
    name="thesis-figure-3-3",
    title="Thesis, figure 3.3: starts",
    about="""
The thesis draws *wine* under the first map and the last one, from random, PCA and LDA
starts, with the leave-one-out score. Here RCA is added, which the thesis found best,
and the scores of iris and balance, whose pictures are in its appendix. All rows,
standardised, to two dimensions; f is the expected share of rows classified rightly
(%), 1-NN the share whose nearest other row is of their class (%). Starts are taken as
they are, and not scaled.
""",
    cases=cases,
    run=run,
    show=show,
    needs=DATA,
)
