"""Accuracy and R² over many tables, with defaults: ours and its rivals.

Rows are split 70/30, stratified, several times. Differences to ours have the standard
error over tables of the tables' mean differences. Of classifiers that give
probabilities the mean log-loss of new rows is told as well.
"""

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from benchmarks.neural.data import Table, reported_tables, tuning_tables
from benchmarks.speed.timing import table as markdown
from vicinal import NCA, NCAClassifier, NCARegressor
from vicinal.classic import MLKR
from vicinal.neural import NeuralNCAClassifier, NeuralNCARegressor

# Of each table and rival: score, seconds, and log-loss, NaN where there is none.
Scores = dict[str, dict[str, list[tuple[float, float, float]]]]


def _numbers(estimator: Any) -> Any:
    """Return a pipeline that fills gaps, scales, and codes categories one-hot."""
    categories = make_column_selector(dtype_include="category")
    others = make_column_selector(dtype_exclude="category")
    filled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    coded = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((filled, others), (coded, categories))
    return make_pipeline(columns, estimator)


CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    "NeuralNCAClassifier": lambda s: NeuralNCAClassifier(random_state=s),
    "one network": lambda s: NeuralNCAClassifier(n_estimators=1, random_state=s),
    "HistGradientBoosting": lambda s: HistGradientBoostingClassifier(random_state=s),
    "RBF-SVC": lambda _: _numbers(SVC()),
    "random forest": lambda s: _numbers(RandomForestClassifier(random_state=s)),
    "5-NN": lambda _: _numbers(KNeighborsClassifier()),
    "vicinal.NCA, 3-NN": lambda s: _numbers(
        make_pipeline(NCA(random_state=s), KNeighborsClassifier(3))
    ),
    "vicinal.NCAClassifier": lambda s: _numbers(NCAClassifier(random_state=s)),
}
REGRESSORS: dict[str, Callable[[int], Any]] = {
    "NeuralNCARegressor": lambda s: NeuralNCARegressor(random_state=s),
    "no linear map": lambda s: NeuralNCARegressor(linear_vote=False, random_state=s),
    "one network alone": lambda s: NeuralNCARegressor(
        n_estimators=1, linear_vote=False, random_state=s
    ),
    "HistGradientBoosting": lambda s: HistGradientBoostingRegressor(random_state=s),
    "5-NN": lambda _: _numbers(KNeighborsRegressor()),
    "vicinal.MLKR": lambda s: _numbers(MLKR(random_state=s)),
    "vicinal.NCARegressor": lambda s: _numbers(NCARegressor(random_state=s)),
}


def run(
    task: str,
    n_splits: int,
    store: Path | None,
    only: list[str] | None,
    names: list[str] | None,
    tuning: bool,
    minutes: float,
) -> None:
    """Score all on all tables, and print; what is stored is not computed again."""
    scores: Scores = {}
    if store is not None and store.exists():
        scores = json.loads(store.read_text("utf-8"))
    rivals = CLASSIFIERS if task == "classification" else REGRESSORS
    tables = tuning_tables(task) if tuning else reported_tables(task)
    end = time.monotonic() + 60 * minutes
    for table in tables:
        if table.task != task or (only is not None and table.name not in only):
            continue
        for name, make in rivals.items():
            if names is not None and name not in names:
                continue
            done = scores.setdefault(table.name, {}).setdefault(name, [])
            while len(done) < n_splits and time.monotonic() < end:
                done.append(_score(make, table, len(done)))
                if store is not None:
                    store.write_text(json.dumps(scores), "utf-8")
        print(_line(table, scores[table.name]), flush=True)
    print(summary(scores, list(rivals)))


def _score(
    make: Callable[[int], Any], table: Table, seed: int
) -> tuple[float, float, float]:
    """Return the score on a split, the seconds of fit and prediction, and log-loss."""
    stratify = table.y if table.task == "classification" else None
    X, X_new, y, y_new = train_test_split(
        table.X, table.y, test_size=0.3, random_state=seed, stratify=stratify
    )
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(seed).fit(X, y)
        score = model.score(X_new, y_new)
        seconds = time.perf_counter() - began
        loss = np.nan
        if table.task == "classification" and hasattr(model, "predict_proba"):
            loss = log_loss(y_new, model.predict_proba(X_new), labels=model.classes_)
    return float(score), seconds, float(loss)


def _line(table: Table, found: dict[str, list[tuple[float, float, float]]]) -> str:
    parts = [
        f"{name} {100 * np.mean([one[0] for one in done]):.1f}"
        for name, done in found.items()
        if done
    ]
    return f"{table.name} {table.X.shape}: " + ", ".join(parts)


def summary(scores: Scores, names: list[str]) -> str:
    """Return means over the tables that all have been scored on, as Markdown."""
    names = [n for n in names if any(found.get(n) for found in scores.values())]
    whole = [f for f in scores.values() if all(f.get(n) for n in names)]
    if not whole:
        return "No table has been scored by all."
    means, seconds, losses = np.moveaxis(
        np.array([[np.mean(f[n], axis=0) for n in names] for f in whole]), 2, 0
    )
    ranks = (means[:, None] > means[:, :, None]).sum(axis=2) + 1.0
    ranks += ((means[:, None] == means[:, :, None]).sum(axis=2) - 1) / 2
    rows = []
    for i, name in enumerate(names):
        off = means[:, i] - means[:, 0]
        worse = losses[:, i] - losses[:, 0]
        rows.append(
            [
                name,
                f"{100 * means[:, i].mean():.2f}",
                f"{100 * off.mean():+.2f} ± {100 * _error(off):.2f}",
                f"{ranks[:, i].mean():.2f}",
                f"{int((off < 0).sum())} of {len(off)}",
                f"{seconds[:, i].mean():.1f}",
            ]
        )
        if np.isfinite(worse).all():
            rows[-1] += [
                f"{losses[:, i].mean():.3f}",
                f"{worse.mean():+.3f} ± {_error(worse):.3f}",
                f"{int((worse > 0).sum())} of {len(worse)}",
            ]
        else:
            rows[-1] += [""] * 3
    heads = ["", "mean, %", "less the first", "mean rank", "below the first", "seconds"]
    more = ["log-loss", "more than the first", "above the first"]
    with_loss = bool(np.isfinite(losses[:, 0]).all())
    shown = len(heads) + len(more) * with_loss
    return markdown([*heads, *more][:shown], [row[:shown] for row in rows])


def _error(values: Any) -> float:
    """Return the standard error of a mean."""
    n = len(values)
    return float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
