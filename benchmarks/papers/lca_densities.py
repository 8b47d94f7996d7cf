"""LCA beside scikit-learn's KernelDensity: held-out scores of many tables."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity

from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.papers.splits import QUICK, classes_of, split_of
from benchmarks.speed.timing import table
from vicinal import LCA, LCAGauss

FORMS = ("spherical", "diagonal", "low-rank", "full")
BANDWIDTHS = 10.0 ** np.arange(-2, 1.01, 0.1)
MOST_FEATURES = 60


def cases(scope: Scope) -> list[Case]:
    """Return data and seed of each run."""
    names = QUICK[:1] if scope.quick else tuple(_names())
    return [(name, seed) for name in names for seed in scope.repeats(5)]


def _names() -> list[str]:
    """Return the classification data sets with few features."""
    # That module needs this package's splits.
    from benchmarks.defaults.tables import real_classes

    return [table.name for table in real_classes() if table.X.shape[1] <= MOST_FEATURES]


def run(name: str, seed: int) -> Outcome:
    """Return the mean log-density of the test rows by model."""
    X_train, X_test, _, _ = split_of(*classes_of(name), seed)
    folds = KFold(5, shuffle=True, random_state=0)
    # One leaf: with its usual tree, KernelDensity is wrong where densities are low.
    exact = KernelDensity(leaf_size=len(X_train))
    peer = GridSearchCV(exact, {"bandwidth": BANDWIDTHS}, cv=folds).fit(X_train)
    ridges = np.var(X_train, axis=0).mean() * 10 ** np.arange(-3.0, 0.5, 0.5)
    models = {
        f"LCA, {form}": GridSearchCV(LCA(form), {"alpha": ridges}, cv=folds)
        for form in FORMS
    }
    models["LCAGauss"] = GridSearchCV(LCAGauss(), {"alpha_local": ridges}, cv=folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for model in models.values():
            model.fit(X_train)
    models["chosen"] = max(models.values(), key=lambda model: model.best_score_)
    outcome = {"KernelDensity": float(peer.score(X_test)) / len(X_test)}
    return outcome | {of: float(model.score(X_test)) for of, model in models.items()}


def show(results: Results) -> Page:
    """Return the table, and how often the chosen model is above the peer."""
    models, rows = results.keys(), []
    for (name,) in results.heads():
        gain = results.values("chosen", name) - results.values("KernelDensity", name)
        cells = [mean_and_error(results.values(of, name), 2) for of in models]
        rows.append([str(name), *cells, f"{int((gain > 0).sum())} of {gain.size}"])
    return Page(table(["data", *models, "won"], rows))


EXPERIMENT = Experiment(
    name="lca-densities",
    title="LCA beside KernelDensity",
    about=f"""
Mean log-density of rows held out, features standardised, five random splits of 70/30,
on the classification data sets with at most {MOST_FEATURES} features. KernelDensity
has its best cross-validated bandwidth; "chosen" is the form of LCA with the best
cross-validated score on the training part.
""",
    cases=cases,
    run=run,
    show=show,
)
