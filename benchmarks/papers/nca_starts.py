"""Which start serves NCA best: 1-NN after 50 iterations, on small data sets."""

import numpy as np

from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.papers.splits import QUICK, accuracy, classes_of, split_of
from benchmarks.speed.timing import table
from vicinal import NCA

DATA = (
    "balance_scale", "ionosphere", "iris", "wine", "pima", "german_numeric",
    "dermatology", "breast_cancer", "yeast",
)  # fmt: skip
STARTS = ("auto", "pca", "lda", "rca", "whiten")


def cases(scope: Scope) -> list[Case]:
    """Return data, dimension and seed of each run."""
    return [
        (name, d, seed)
        for name in (QUICK if scope.quick else DATA)
        for d in (2, min(5, classes_of(name)[0].shape[1] - 1))
        for seed in scope.repeats(40)
    ]


def run(name: str, d: int, seed: int) -> Outcome:
    """Return the accuracy by start."""
    split = split_of(*classes_of(name), seed)
    return {
        start: accuracy(NCA(d, init=start, random_state=0), split) for start in STARTS
    }


def show(results: Results) -> Page:
    """Return the table, and how far each start is from "auto" on average."""
    heads = list(results.heads(2))
    found = {
        start: [results.values(start, *head) for head in heads] for start in STARTS
    }
    rows = [
        [
            f"{name} → {d}",
            *(mean_and_error(found[start][number], factor=100) for start in STARTS),
        ]
        for number, (name, d) in enumerate(heads)
    ]
    means = {start: np.array([of.mean() for of in found[start]]) for start in STARTS}
    gains = ", ".join(
        f"{start} {mean_and_error(means[start] - means['auto'], factor=100)}"
        for start in STARTS[1:]
    )
    text = "1-NN accuracy on the test part (%):\n\n"
    text += table(["data → d", *STARTS], rows)
    text += "\n\nMean gain over auto, in points, ± its standard error over the rows: "
    text += f"{gains}."
    return Page(text)


EXPERIMENT = Experiment(
    name="nca-starts",
    title="NCA: which start",
    about="""
1-NN after the default 50 iterations from each start, on nine small data sets at d = 2
and 5; forty random splits of 70/30, ± a standard error.
""",
    cases=cases,
    run=run,
    show=show,
    needs=DATA,
)
