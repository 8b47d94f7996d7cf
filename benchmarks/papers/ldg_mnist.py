"""LDG on all of MNIST: 60,000 rows of 784 pixels, every choice by the paper's rules."""

import resource
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
)
from benchmarks.speed.timing import table
from vicinal import LDG
from vicinal._typing import FloatArray, IntArray
from vicinal.datasets import load

DIMENSIONS = (20, 30, 50)


def cases(scope: Scope) -> list[Case]:
    """Return the one run."""
    return [("8 × 8 digits" if scope.quick else "mnist",)]


def run(name: str) -> Outcome:
    """Return seconds, megabytes and 3-NN accuracies on the test rows."""
    X, y, X_test, y_test = _rows(name)
    before = _peak()
    started = time.perf_counter()
    ldg = LDG("grow", random_state=0).fit(X, y)
    outcome: Outcome = {"seconds": time.perf_counter() - started}
    outcome |= {"MB before": before, "MB at the peak": _peak(), "rows": len(X)}
    chosen = int(ldg.n_components_)
    outcome["chosen"] = chosen
    for d in (chosen, *(d for d in DIMENSIONS if d != chosen)):
        ldg.set_n_components(d)
        knn = KNeighborsClassifier(3).fit(ldg.transform(X), y)
        outcome[f"d = {d}"] = float(knn.score(ldg.transform(X_test), y_test))
    return outcome


def _rows(name: str) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    """Return training and test rows, standardised."""
    if name == "mnist":
        data = load(name)
        if data.is_test is None:
            raise ValueError("This copy of MNIST does not say which are the test rows.")
        X, y, test = data.X, data.y, data.is_test
    else:
        X, y = load_digits(return_X_y=True)
        test = np.arange(len(X)) % 3 == 0
    mean, deviation = X[~test].mean(axis=0), X[~test].std(axis=0)
    deviation[deviation == 0] = 1
    parts = ((X[rows] - mean) / deviation for rows in (~test, test))
    X_train, X_test = parts
    return X_train, y[~test], X_test, y[test]


def _peak() -> float:
    """Return the most memory that the process has held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def show(results: Results) -> Page:
    """Return what it took, and what it reached."""
    ((name,), one), *_ = results.outcomes.items()
    accuracies = [key for key in one if key.startswith("d = ")]
    head = ["data", "rows", "seconds", "MB before", "MB at the peak"]
    row = [str(name), f"{one['rows']:,}", f"{one['seconds']:.1f}"]
    row += [f"{one['MB before']:.0f}", f"{one['MB at the peak']:.0f}"]
    row += [f"{100 * one[key]:.1f}" for key in accuracies]
    text = table([*head, *accuracies], [row])
    return Page(f"{text}\n\nThe paper's rule chose {one['chosen']} dimensions.")


EXPERIMENT = Experiment(
    name="ldg-mnist",
    title="LDG on all of MNIST",
    about="""
Neighbours, gamma and dimension by the paper's rules; pixels standardised, as in its
experiments; 3-NN accuracy (%) on the 10,000 test rows. The peak of memory is the
process's own, with the data in it.
""",
    cases=cases,
    run=run,
    show=show,
    needs=("mnist",),
)
