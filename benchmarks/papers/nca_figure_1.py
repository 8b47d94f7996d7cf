"""NCA's figure 1: k-NN accuracy under learned and classic metrics."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from benchmarks.papers.drawing import draw_bars, panels
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
    Split,
    classes_of,
    fitted,
    leave_one_out,
    split_of,
)
from benchmarks.speed.timing import table
from vicinal import NCA
from vicinal._typing import FloatArray, IntArray
from vicinal.classic import FDA, RCA, Covariance
from vicinal.datasets import load

DATA = ("balance_scale", "ionosphere", "iris", "wine", "boston_housing", "usps")
ITERATIONS = 200
# Of each digit: rows to learn from, and to test with.
N_TRAIN, N_TEST = 200, 500


def two_discriminants() -> Pipeline:
    """Return LDA to two dimensions, or to one where there are two classes."""
    return make_pipeline(FDA(None), FunctionTransformer(lambda Z: Z[:, :2]))


METHODS: dict[str, dict[str, Callable[[], Any]]] = {
    "square": {
        "Euclidean": FunctionTransformer,
        "whitening": Covariance,
        "RCA": lambda: RCA(shrinkage=0.0),
        "NCA, diagonal": lambda: NCA(form="diagonal", max_iter=ITERATIONS),
        "NCA": lambda: NCA(max_iter=ITERATIONS),
    },
    "rank 2": {
        "PCA": lambda: PCA(2),
        "LDA": two_discriminants,
        "LDA + RCA": lambda: make_pipeline(two_discriminants(), RCA(shrinkage=0.0)),
        "NCA": lambda: NCA(2, max_iter=ITERATIONS),
    },
}


def cases(scope: Scope) -> list[Case]:
    """Return rank, data and seed of each run."""
    names = QUICK if scope.quick else DATA
    return [
        (rank, name, seed)
        for rank in METHODS
        for name in names
        for seed in scope.repeats(40)
    ]


def run(rank: str, name: str, seed: int) -> Outcome:
    """Return training and test accuracies of each method, on one split."""
    X_train, X_test, y_train, y_test = split(name, seed)
    outcome = {}
    for method, make in METHODS[rank].items():
        model = fitted(make(), X_train, y_train)
        Z = model.transform(X_train)
        knn = KNeighborsClassifier(1).fit(Z, y_train)
        outcome[f"{method}, train"] = leave_one_out(Z, y_train)
        outcome[f"{method}, test"] = float(knn.score(model.transform(X_test), y_test))
    return outcome


def split(name: str, seed: int) -> Split:
    """Return a random split of a data set."""
    if name == "boston_housing":
        data = load(name)
        return split_of(data.X, thirds(data.y), seed)
    X, y = classes_of(name)
    if name != "usps":
        return split_of(X, y, seed)
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(np.flatnonzero(y == digit)) for digit in range(10)]
    train = np.concatenate([of[:N_TRAIN] for of in rows])
    test = np.concatenate([of[N_TRAIN : N_TRAIN + N_TEST] for of in rows])
    return X[train], X[test], y[train], y[test]


def thirds(target: FloatArray) -> IntArray:
    """Return three classes of about equal size: low, middle and high."""
    codes: IntArray = np.digitize(target, np.quantile(target, [1 / 3, 2 / 3]))
    return codes


def show(results: Results) -> Page:
    """Return two tables, and the four panels of the figure."""
    text = []
    for (rank,) in results.heads():
        methods = list(METHODS[str(rank)])
        rows = [
            [
                str(name),
                str(len(results.at(rank, name))),
                *(
                    mean_and_error(
                        results.values(f"{method}, test", rank, name), factor=100
                    )
                    for method in methods
                ),
            ]
            for _, name in results.heads(2, rank)
        ]
        text.append(f"1-NN accuracy on the test part (%), {rank}; ± a standard error:")
        text.append(table(["data", "splits", *methods], rows))
        total, ahead = len(rows), ahead_of_nca(results, str(rank))
        sentence = (
            f"NCA is best, or within two standard errors of the best, on "
            f"{total - len({name for name, _, _ in ahead})} of {total} data sets."
        )
        if ahead:
            gaps = ", ".join(f"{one} on {name} by {gap}" for name, one, gap in ahead)
            sentence += f" Ahead of it, in points, paired by split: {gaps}."
        text.append(sentence)

    def draw() -> Figure:
        figure, axes = panels(2, 2, 3.5)
        for row, (rank,) in zip(axes, results.heads(), strict=True):
            for ax, part in zip(row, ("train", "test"), strict=True):
                names = [str(name) for _, name in results.heads(2, rank)]
                bars = {
                    method: [
                        100 * results.values(f"{method}, {part}", rank, name)
                        for name in names
                    ]
                    for method in METHODS[str(rank)]
                }
                draw_bars(ax, names, bars)
                ax.set(title=f"{rank}, {part}", ylim=(20, 101))
            row[1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
        return figure

    return Page("\n\n".join(text), draw)


def ahead_of_nca(results: Results, rank: str) -> list[tuple[str, str, str]]:
    """Return what is more than two standard errors ahead of NCA: data, method, gap."""
    found = []
    for _, name in results.heads(2, rank):
        ours = results.values("NCA, test", rank, name)
        for method in METHODS[rank]:
            gap = results.values(f"{method}, test", rank, name) - ours
            if gap.mean() > 2 * gap.std(ddof=1) / np.sqrt(gap.size) + 1e-12:
                found.append((str(name), method, mean_and_error(gap, factor=100)))
    return found


EXPERIMENT = Experiment(
    name="nca-figure-1",
    title="NCA, figure 1: metrics for k-NN, and projections to two dimensions",
    about="""
Goldberger, Roweis, Hinton and Salakhutdinov compare NCA with other metrics (square
maps) and with other projections (to d = 2) by 1-NN, over random splits of 70/30. The
figure has no numbers beside it, so that orders compare, not digits.

Here: features standardised by the training part, pixels of USPS as they are; training
accuracy leaves the row itself out. *housing* has no classes in the paper's words;
here they are the lower, middle and upper third of the price. USPS: 200 rows of each
digit to learn from and 500 to test with, as there. Of two classes (*ionosphere*) LDA
has one direction. NCA maximises f from its default start in at most 200 iterations.
""",
    cases=cases,
    run=run,
    show=show,
    needs=DATA,
)
