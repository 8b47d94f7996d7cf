"""The thesis' small data sets: 1-NN after NCA by start, and the NCA rule's log-loss."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier

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
    accuracy,
    classes_of,
    fitted,
    split_of,
)
from benchmarks.speed.timing import table
from vicinal import NCA, NCAClassifier

# The thesis' figures for NCA and 1-NN, in percent.
PUBLISHED = {
    "d = 2": {
        "balance_scale": "90.8 ± 0.5",
        "ionosphere": "79.9 ± 0.8",
        "iris": "94.9 ± 0.4",
        "wine": "92.4 ± 1.0",
    },
    "full rank": {
        "balance_scale": "93.4 ± 0.5",
        "ionosphere": "86.2 ± 0.6",
        "iris": "95.1 ± 0.4",
        "wine": "95.4 ± 0.5",
    },
}
# The starts of which a version of the thesis' program draws one for each run.
DRAWN = ("pca", "lda", "random")
STARTS = {
    "d = 2": ("auto", "pca", "lda", "rca", "whiten", "random"),
    "full rank": ("auto", "pca", "rca", "whiten", "random"),
}
MODELS: dict[str, Callable[[], Any]] = {
    "3-NN": lambda: KNeighborsClassifier(3),
    "15-NN": lambda: KNeighborsClassifier(15),
    "NCA rule, f": lambda: NCAClassifier(objective="expected", alpha=0.0),
    "NCA rule, g": lambda: NCAClassifier(objective="log", alpha=0.0),
    "NCA rule, g, alpha=0.01": lambda: NCAClassifier(objective="log", alpha=0.01),
    "NCA rule, defaults": NCAClassifier,
}


def cases(scope: Scope) -> list[Case]:
    """Return what is asked, data and seed of each run."""
    return [
        (what, name, seed)
        for what in (*PUBLISHED, "log-loss")
        for name in (QUICK if scope.quick else PUBLISHED["d = 2"])
        for seed in scope.repeats(40)
    ]


def run(what: str, name: str, seed: int) -> Outcome:
    """Return the accuracy by start, or the log-loss by model."""
    split = split_of(*classes_of(name), seed)
    if what == "log-loss":
        return {model: _loss(make(), split) for model, make in MODELS.items()}
    d = 2 if what == "d = 2" else None
    return {
        start: accuracy(NCA(d, init=start, max_iter=200, random_state=0), split)
        for start in STARTS[what]
    }


def _loss(model: Any, split: Split) -> float:
    X_train, X_test, y_train, y_test = split
    proba = fitted(model, X_train, y_train).predict_proba(X_test)
    proba = np.clip(proba.astype(np.float64), 1e-6, 1)
    proba /= proba.sum(axis=1, keepdims=True)
    return float(log_loss(y_test, proba, labels=np.arange(proba.shape[1])))


def show(results: Results) -> Page:
    """Return a table for each rank, and one of the log-loss."""
    text = []
    for what, published in PUBLISHED.items():
        rows = [
            [
                str(name),
                published[str(name)],
                *(
                    mean_and_error(results.values(start, what, name), factor=100)
                    for start in STARTS[what]
                ),
                *_drawn(results, what, str(name)),
            ]
            for _, name in results.heads(2, what)
        ]
        head = ["data", "thesis", *STARTS[what]]
        if set(DRAWN) <= set(STARTS[what]):
            head.append("a third each of " + ", ".join(DRAWN))
        text += [
            f"1-NN accuracy on the test part (%), {what}, by start:",
            table(head, rows),
        ]
    rows = [
        [
            str(name),
            *(
                mean_and_error(results.values(model, "log-loss", name), 2)
                for model in MODELS
            ),
        ]
        for _, name in results.heads(2, "log-loss")
    ]
    text += [
        "Log-loss on the test part, full rank; lower is better:",
        table(["data", *MODELS], rows),
    ]
    return Page("\n\n".join(text))


def _drawn(results: Results, what: str, name: str) -> list[str]:
    """Return the accuracy where a start is drawn by chance, if all were run."""
    if not set(DRAWN) <= set(STARTS[what]):
        return []
    found = [results.values(start, what, name) for start in DRAWN]
    return [mean_and_error(np.mean(found, axis=0), factor=100)]


EXPERIMENT = Experiment(
    name="nca-small",
    title="Thesis: NCA on small data sets, by start",
    about="""
1-NN after NCA on the thesis' four small data sets, 40 random splits of 70/30,
features standardised by the training part, at most 200 iterations; ± a standard error
over the splits. The thesis says that its maps start at random; a version of its
program (`replicate.m` of the author's public `danoneata/Diss`) draws each start from
PCA's, LDA's and a random one, and so does the last column at d = 2. The last table
asks how the probabilities of the NCA rule compare with those of k-NN.
""",
    cases=cases,
    run=run,
    show=show,
    needs=tuple(PUBLISHED["d = 2"]),
)
