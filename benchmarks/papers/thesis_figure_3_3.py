"""The thesis' figure 3.3: what becomes of several starts."""

import numpy as np
from matplotlib.figure import Figure
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_random_state

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
from benchmarks.papers.splits import (
    QUICK,
    classes_of,
    fitted,
    leave_one_out,
    split_of,
)
from benchmarks.speed.timing import table
from vicinal import NCA
from vicinal.nca import initial_components

DATA = ("wine", "iris", "balance_scale")
STARTS = ("random", "pca", "lda", "rca")


def cases(scope: Scope) -> list[Case]:
    """Return data, start and seed of each run."""
    return [
        (name, start, seed)
        for name in (QUICK if scope.quick else DATA)
        for start in STARTS
        for seed in scope.repeats(40)
    ]


def run(name: str, start: str, seed: int) -> Outcome:
    """Return the scores of both maps; of the first split also the points."""
    X_train, X_test, y_train, y_test = split_of(*classes_of(name), seed)
    first = initial_components(start, X_train, y_train, 2, check_random_state(seed))
    nca = fitted(NCA(2, init=first, max_iter=200), X_train, y_train)
    outcome: Outcome = {"labels": y_train.tolist()} if seed == 0 else {}
    for when, A in (("first", first), ("last", nca.components_)):
        Z = X_train @ A.T
        if seed == 0:
            outcome[when] = np.round(Z / np.abs(Z).max(), 4).tolist()
        outcome[f"{when}, 1-NN"] = leave_one_out(Z, y_train)
        knn = KNeighborsClassifier(1).fit(Z, y_train)
        outcome[f"{when}, test"] = float(knn.score(X_test @ A.T, y_test))
    for when, value in (("start", 0), ("end", -1)):
        outcome[f"f at the {when}"] = nca.objective_curve_[value] / len(y_train)
    outcome["iterations"] = int(nca.n_iter_)
    return outcome


def show(results: Results) -> Page:
    """Return the scores, and the panels of the first data set."""
    shares = ("f at the start", "f at the end", "last, 1-NN", "last, test")
    rows = [
        [
            str(name),
            str(start),
            *(mean_and_error(results.values(of, name, start), 1, 100) for of in shares),
            mean_and_error(results.values("iterations", name, start), 0),
        ]
        for name, start in results.heads(2)
    ]
    head = ["data", "start", *shares[:2], "1-NN, left out", "1-NN, test", "iterations"]
    shown = next(results.heads())[0]

    def draw() -> Figure:
        figure, axes = panels(2, len(STARTS))
        for column, start in enumerate(STARTS):
            one = results.outcomes[(shown, start, 0)]
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
and the scores of iris and balance, whose pictures are in its appendix. LDA is that of
eq. 3.16 and 3.17: classes with equal weights, rows of unit length. The scores are means
over forty random splits of 70/30, ± a standard error; the pictures are of the training
rows of the first. f is the expected share of training rows classified rightly (%), 1-NN
the share of training rows whose nearest other row is of their class, and of test rows
whose nearest training row is (%). Starts are taken as they are, and not scaled.
""",
    cases=cases,
    run=run,
    show=show,
    needs=DATA,
)
