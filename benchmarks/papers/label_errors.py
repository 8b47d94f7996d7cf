"""Flipped labels found by the votes of NCA beside cleanlab."""

import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.papers.ranks import ranked_table, ranks_by_method
from benchmarks.papers.splits import QUICK, classes_of, fitted
from benchmarks.speed.timing import table
from vicinal import NCAClassifier
from vicinal._typing import FloatArray, IntArray
from vicinal.objectives import NCAObjective

TABLES = (
    *("iris", "wine", "breast_cancer", "ionosphere", "dermatology", "balance_scale"),
    *("digits", "segment", "satimage", "yeast", "pima", "german_numeric"),
)
MOST_ROWS = 1000
FLIPPED = 0.1
MODELS = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "random forest": RandomForestClassifier(random_state=0),
    "NCAClassifier, five folds": NCAClassifier(random_state=0),
}
LEAVE_ONE_OUT = "NCAClassifier, leave-one-out"


def cases(scope: Scope) -> list[Case]:
    """Return method, table and seed of each run."""
    names = QUICK if scope.quick else TABLES
    return [
        (method, name, seed)
        for name in names
        for seed in scope.repeats(3)
        for method in (LEAVE_ONE_OUT, *MODELS)
    ]


def run(method: str, name: str, seed: int) -> Outcome:
    """Return how well a method ranks flipped labels first, and its CPU time."""
    X, y = classes_of(name)
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(len(X))[:MOST_ROWS]
    X = StandardScaler().fit_transform(X[drawn])
    y = np.unique(y[drawn], return_inverse=True)[1]
    n_classes = y.max() + 1
    flipped = rng.random(len(y)) < FLIPPED
    given = np.where(flipped, (y + rng.integers(1, n_classes, len(y))) % n_classes, y)
    began = time.process_time()
    quality = label_quality(method, X, given)
    return {
        "auc": float(roc_auc_score(flipped, -quality)),
        "ap": float(average_precision_score(flipped, -quality)),
        "seconds": round(time.process_time() - began, 3),
    }


def label_quality(method: str, X: FloatArray, y: IntArray) -> FloatArray:
    """Return the probability of each row's label, without the row's own vote."""
    if method == LEAVE_ONE_OUT:
        model = fitted(NCAClassifier(random_state=0), X, y)
        order = np.argsort(y, kind="stable")  # terms come class by class
        objective = NCAObjective(X[order], y[order], "expected")
        found = np.empty(len(y))
        found[order] = objective.terms(model.components_, np.arange(len(y)))
        return found
    # As cleanlab predicts labels by default.
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    proba = cross_val_predict(MODELS[method], X, y, cv=folds, method="predict_proba")
    chosen: FloatArray = proba[np.arange(len(y)), y]
    return chosen


def show(results: Results) -> Page:
    """Return means and mean ranks, then ROC-AUC by table."""
    methods = [str(method) for (method,) in results.heads()]
    names = [str(name) for _, name in results.heads(2, methods[0])]
    by = {
        key: {
            name: {m: 100 * results.values(key, m, name).mean() for m in methods}
            for name in names
        }
        for key in ("auc", "ap")
    }
    places = ranks_by_method(by["auc"])
    rows = [
        [
            method,
            mean_and_error([by["auc"][name][method] for name in names]),
            mean_and_error(places[method]),
            mean_and_error([by["ap"][name][method] for name in names]),
            f"{np.median(results.values('seconds', method)):.2f}",
        ]
        for method in places
    ]
    head = ["label quality by", "ROC-AUC, %", "mean rank", "average precision, %"]
    return Page(
        f"{len(names)} tables:\n\n{table([*head, 'CPU seconds, median'], rows)}\n\n"
        "ROC-AUC (%) and, in brackets, rank by table:\n\n"
        f"{ranked_table(by['auc'])}"
    )


EXPERIMENT = Experiment(
    name="label-errors",
    title="Label errors: the votes of NCA beside cleanlab",
    about=f"""
{FLIPPED:.0%} of the labels are flipped at random (not of the papers), at most
{MOST_ROWS:,} rows of each table, columns standardised. The score of a row is the
probability of its given label, which is cleanlab's score `self_confidence`; cleanlab
takes probabilities of five folds, by default of logistic regression. The leave-one-out
votes of one fit of `NCAClassifier` need no folds; its map has seen the labels. ± a
standard error over tables.
""",
    cases=cases,
    run=run,
    show=show,
    needs=TABLES,
)
