"""Intents from ten questions each, and questions of intents that nobody foresaw."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from benchmarks.adapters.banking77 import load as banking77
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
from vicinal import NCAClassifier
from vicinal._typing import FloatArray, IntArray

N_COMPONENTS = 64
KEYS = ("accuracy", "auc", "other_auc")


def cases(scope: Scope) -> list[Case]:
    """Return data, questions of each intent, and seed of each run."""
    name, sizes = ("digits", (10,)) if scope.quick else ("banking77", (5, 10, 30))
    return [(name, size, seed) for size in sizes for seed in scope.repeats(10)]


def run(name: str, size: int, seed: int) -> Outcome:
    """Return accuracies on known intents, and how well scores find unknown ones.

    A tenth of the intents are known as examples of "other" alone, and another tenth
    only occur among the test questions.
    """
    if name == "digits":
        X, y = classes_of(name)
        X, y, X_test, y_test = X[::2], y[::2], X[1::2], y[1::2]
    else:
        X, y, X_test, y_test = banking77()
        y, y_test = np.split(
            np.unique(np.concatenate([y, y_test]), return_inverse=True)[1], [len(y)]
        )
    rng = np.random.default_rng(seed)
    intents = rng.permutation(y.max() + 1)
    n_tenth = -(-len(intents) // 10)
    new, other, known = np.split(intents, [n_tenth, 2 * n_tenth])
    few = np.concatenate(
        [rng.permutation(np.flatnonzero(y == k))[:size] for k in known]
    )
    others = rng.permutation(np.flatnonzero(np.isin(y, other)))[: 10 * size]
    kept = np.isin(y_test, [*known, *new])
    X_test, y_test = X_test[kept], y_test[kept]
    unknown = np.isin(y_test, new)

    outcome: Outcome = {}
    for rows, labels, key in (
        (few, y[few], "auc"),
        (np.append(few, others), np.append(y[few], np.full(len(others), -1)), ""),
    ):
        for method, (said, odd) in answers(X[rows], labels, X_test).items():
            of = outcome.setdefault(method, {})
            if key:
                of["accuracy"] = float(np.mean((said == y_test)[~unknown]))
            of[key or "other_auc"] = float(roc_auc_score(unknown, odd))
    return {
        f"{method}, {key}": value
        for method, of in outcome.items()
        for key, value in of.items()
    }


def answers(
    X: FloatArray, y: IntArray, X_new: FloatArray
) -> dict[str, tuple[IntArray, FloatArray]]:
    """Return intents and scores of being out of scope, by method.

    If there is a class −1, of examples out of scope, its probability is a score.
    """
    linear = LogisticRegression(C=10, max_iter=1000).fit(X, y)
    nca = fitted(NCAClassifier(N_COMPONENTS, random_state=0), X, y)
    found = {}
    for name, model in (("logistic regression", linear), ("NCAClassifier", nca)):
        proba = model.predict_proba(X_new)
        odd = proba[:, 0] if -1 in y else -proba.max(axis=1)
        found[f"{name}, probability"] = model.classes_[proba.argmax(axis=1)], odd
    known = y != -1
    for name, rows, new in (
        ("1-NN", X, X_new),
        ("NCAClassifier", nca.transform(X), nca.transform(X_new)),
    ):
        far = NearestNeighbors(n_neighbors=1).fit(rows[known]).kneighbors(new)[0][:, 0]
        if -1 in y:  # nearer to an example out of scope than to any other
            far = (
                far
                - NearestNeighbors(n_neighbors=1)
                .fit(rows[~known])
                .kneighbors(new)[0][:, 0]
            )
        said = (
            nca.predict(X_new)
            if name == "NCAClassifier"
            else KNeighborsClassifier(1).fit(rows, y).predict(new)
        )
        found[f"{name}, distance"] = said, far
    return found


def show(results: Results) -> Page:
    """Return a table for each number of questions."""
    measured = results.keys()
    methods = dict.fromkeys(key.rpartition(", ")[0] for key in measured)
    parts = []
    for name, size in results.heads(2):
        rows = [
            [
                method,
                *(
                    mean_and_error(
                        results.values(f"{method}, {key}", name, size), 1, 100
                    )
                    for key in KEYS
                ),
            ]
            for method in methods
        ]
        head = ["score", "accuracy, %", "ROC-AUC, %", "ROC-AUC with examples, %"]
        parts += [f"{size} questions of each intent:", table(head, rows)]
    return Page("\n\n".join(parts))


EXPERIMENT = Experiment(
    name="intents",
    title="Few-shot intents and questions out of scope",
    about=f"""
BANKING77 (not of the papers), vectors of a sentence encoder, the official split. Of 77
intents, 61 are known by a few questions each, 8 only occur among the test questions
(out of scope), and 8 are used as examples of "other", ten times as many questions as of
an intent. Accuracy is that of test questions of known intents. ROC-AUC: whether the
score ranks questions out of scope first, without any example of "other", and with these
examples as a class. A score is the largest probability (with examples, that of
"other"), or the distance to the nearest question (with examples, less that to the
nearest example). `NCAClassifier` has {N_COMPONENTS} dimensions. ± a standard error over
ten draws.
""",
    cases=cases,
    run=run,
    show=show,
    needs=("banking77",),
)
