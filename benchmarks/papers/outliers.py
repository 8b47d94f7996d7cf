"""LCA's outlier scores beside the detectors of PyOD, on tables of ADBench."""

import os
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score, roc_auc_score
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
from benchmarks.papers.ranks import Scores, ranked_table, ranks_by_method
from benchmarks.speed.timing import table
from vicinal import LCA, LCAGauss
from vicinal._typing import FloatArray
from vicinal.datasets import load, read_npz

MOST_ROWS = 2000
MOST_COLUMNS = 200
SETTINGS = ("all rows", "normal rows")
OURS: dict[str, Callable[[], Any]] = {
    "LCA": LCA,
    "LCA, diagonal": lambda: LCA("diagonal"),
    "LCAGauss": LCAGauss,
}
PYOD = {
    "kNN": "knn.KNN",
    "LOF": "lof.LOF",
    "IForest": "iforest.IForest",
    "ECOD": "ecod.ECOD",
    "COPOD": "copod.COPOD",
    "HBOS": "hbos.HBOS",
    "GMM": "gmm.GMM",
    "OCSVM": "ocsvm.OCSVM",
    "KDE": "kde.KDE",
    "PCA": "pca.PCA",
    "MCD": "mcd.MCD",
}
"""The detectors' modules and classes; each with its defaults."""


def cases(scope: Scope) -> list[Case]:
    """Return detector, setting and table of each run, table by table."""
    detectors = list(OURS) if scope.quick else [*OURS, *PYOD]
    names = ["breast_cancer"] if scope.quick else _narrow_first()
    return [(of, s, name) for name in names for s in SETTINGS for of in detectors]


def _narrow_first() -> list[str]:
    """Return the tables in the folder outliers of VICINAL_DATA, narrow ones first."""
    folder = Path(os.environ["VICINAL_DATA"], "outliers")
    widths = {path.stem: read_npz(path).X.shape[1] for path in folder.glob("*.npz")}
    names = [name for name, width in widths.items() if width <= MOST_COLUMNS]
    return sorted(names, key=lambda name: (widths[name], name))


def rows_of(name: str) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return a table's rows, at most `MOST_ROWS` drawn at random, and its outliers."""
    if name == "breast_cancer":
        data = load(name)
        X, y = data.X, np.asarray(data.y == "malignant")
        kept = ~y | (np.cumsum(y) <= 20)
        return X[kept], y[kept]
    data = read_npz(Path(os.environ["VICINAL_DATA"], "outliers", f"{name}.npz"))
    X, y = data.X.astype(np.float64), np.asarray(data.y) == 1
    drawn = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    return X[drawn], y[drawn]


def run(detector: str, setting: str, name: str) -> Outcome:
    """Return how well a detector's scores rank outliers first, and its CPU time."""
    X, y = rows_of(name)
    train = test = np.arange(len(X))
    if setting == "normal rows":
        normal = np.flatnonzero(~y)
        train = normal[::2]
        test = np.setdiff1d(test, train)
    scaler = StandardScaler().fit(X[train])
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        score = our_scores if detector in OURS else pyod_scores
        odd = score(detector, scaler.transform(X[train]), scaler.transform(X[test]))
    odd = np.nan_to_num(odd)  # a density of 0 gives an infinite score
    seconds = time.process_time() - began
    return {
        "auc": float(roc_auc_score(y[test], odd)),
        "ap": float(average_precision_score(y[test], odd)),
        "seconds": round(seconds, 3),
    }


def our_scores(name: str, train: FloatArray, test: FloatArray) -> FloatArray:
    """Return negative log-densities; those of training rows without their own kernel.

    Parameters
    ----------
    name : str
        The estimator.
    train, test : ndarray
        The rows to learn from and the rows to score, equal if all rows are both.
    """
    model = OURS[name]().fit(train)
    same = train.shape == test.shape and np.array_equal(train, test)
    found: FloatArray = -(
        model.loo_score_samples_ if same else model.score_samples(test)
    )
    return found


def pyod_scores(name: str, train: FloatArray, test: FloatArray) -> FloatArray:
    """Return the outlier scores of a detector of PyOD; parameters as above."""
    module, _, of = PYOD[name].partition(".")
    detector: Any = getattr(import_module(f"pyod.models.{module}"), of)()
    if "random_state" in detector.get_params():
        detector.set_params(random_state=0)
    detector.fit(train)
    same = train.shape == test.shape and np.array_equal(train, test)
    found: FloatArray = (
        detector.decision_scores_ if same else detector.decision_function(test)
    )
    return found


def show(results: Results) -> Page:
    """Return means and mean ranks by setting, then ROC-AUC by table."""
    parts = []
    for setting in SETTINGS:
        by = {key: _scores(results, key, setting) for key in ("auc", "ap")}
        places = {key: ranks_by_method(of) for key, of in by.items()}
        rows = [
            [
                detector,
                *(
                    cell
                    for key in ("auc", "ap")
                    for cell in (
                        mean_and_error([of[detector] for of in by[key].values()]),
                        mean_and_error(places[key][detector]),
                    )
                ),
                f"{np.median(results.values('seconds', detector, setting)):.2f}",
            ]
            for detector in places["auc"]
        ]
        head = ["detector", "ROC-AUC, %", "mean rank", "average precision, %"]
        parts += [
            f"Learned from {setting}, {len(by['auc'])} tables:",
            table([*head, "mean rank", "CPU seconds, median"], rows),
        ]
    for setting in SETTINGS:
        parts += [
            f"ROC-AUC (%) and, in brackets, rank by table, learned from {setting}:",
            ranked_table(_scores(results, "auc", setting)),
        ]
    return Page("\n\n".join(parts))


def _scores(results: Results, key: str, setting: str) -> Scores:
    """Return percentages by table and detector."""
    found: dict[str, dict[str, float]] = {}
    for detector, of, name in results.outcomes:
        if of == setting:
            value = results.outcomes[detector, of, name][key]
            found.setdefault(str(name), {})[str(detector)] = 100 * value
    return found


EXPERIMENT = Experiment(
    name="outliers",
    title="Outliers: LCA beside PyOD's detectors",
    about=f"""
ROC-AUC and average precision of outlier scores on 26 tables of ADBench (not of the
papers), columns standardised, at most {MOST_ROWS:,} rows of each, drawn at random.
InternetAds is left out: LCA takes minutes on its 1,555 columns. All
detectors have their defaults; LCA's scores are negative log-densities. Learned from all
rows: without labels, and all rows are scored, in LCA each by the density of the others.
Learned from normal rows: every other normal row is learned from, and the other rows are
scored. ± a standard error over tables. MCD is a robust Gaussian, GMM has PyOD's default
of one component, and KDE its default bandwidth. PyOD's PCA has only infinite scores if
a direction does not vary, which counts as a ROC-AUC of 50 %.
""",
    cases=cases,
    run=run,
    show=show,
    packages=("pyod",),
)
