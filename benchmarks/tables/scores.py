"""Score models over many tables: accuracy or R², log-loss, CPU time.

Rows are split 70/30, stratified, with the seeds 0, 1, …. A run is one model on one
split of one table. Differences have the standard error over tables.
"""

import json
import time
import warnings
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import gmean, rankdata, sem
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.papers.experiment import mean_and_error
from benchmarks.papers.runner import current_commit
from benchmarks.speed.timing import table as markdown
from benchmarks.tables.data import Table, reported_tables, tuning_tables
from benchmarks.tables.models import DISTANCES, MODELS, VARIANTS, Model

Run = dict[str, Any]
# By table and model: an array of a row for each split, whose columns are `_COLUMNS`.
Scores = dict[str, dict[str, NDArray[np.float64]]]

_COLUMNS = ("score", "log_loss", "fit", "predict")
_TREES = "HistGradientBoosting"
# No model should be far below one of these.
_SIMPLE = ("NCA", "5-NN")
_LIBRARIES = (
    *("vicinal", "numpy", "pandas", "scikit-learn", "numba", "torch"),
    *("lightgbm", "catboost", "pytabkit", "gower"),
)


def run(
    task: str,
    *,
    tuning: bool = False,
    n_splits: int = 5,
    tables: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    stores: Sequence[Path] = (),
    minutes: float = 1e9,
    distances: bool = False,
) -> None:
    """Run what is not stored, model by model, and print the summary.

    Parameters
    ----------
    task : {"classification", "regression"}
        Which.
    tuning : bool, default=False
        Whether to take the tables that defaults were chosen on.
    n_splits : int, default=5
        Splits of each table.
    tables, models : list of str, optional
        These alone.
    stores : list of Path
        Files of runs. New ones are written to the first.
    minutes : float
        Begin no run after so many.
    distances : bool, default=False
        Whether to compare distances by 5-NN, on the tables with categories.
    """
    usual = DISTANCES if distances else MODELS
    known = usual | VARIANTS
    chosen = {name: known[name] for name in models or usual}
    found = [
        _without_rare(table)
        for table in (tuning_tables if tuning else reported_tables)(task)
        if tables is None or table.name in tables
        if not distances or "category" in set(map(str, table.X.dtypes))
    ]
    runs = stored(stores)
    end = time.monotonic() + 60 * minutes
    commit = current_commit()
    done = {_key(one) for one in runs}
    for name, model in chosen.items():
        if model.make(task, 0) is None:
            print(f"{name}: not installed, or not for {task}; left out", flush=True)
            continue
        for table in found:
            for split in range(n_splits):
                late = time.monotonic() > end
                if late or len(table.X) > model.most_rows:
                    break
                if (task, table.name, name, split) in done:
                    continue
                try:
                    new = _run(name, model, table, split) | {"commit": commit}
                except Exception as error:  # noqa: BLE001  any library's
                    # What one model cannot take shall not end a night's run.
                    print(f"{table.name}, {name}: {error!r}", flush=True)
                    break
                runs.append(new)
                if stores:
                    _add(stores[0], new)
                print(_progress(new), flush=True)
    names = {table.name for table in found}
    scores = by_table(
        [one for one in runs if one["task"] == task and one["table"] in names],
        list(chosen),
        n_splits,
    )
    print("\n" + summary(scores, task) + "\n\n" + lines(scores, found, task))


def stored(paths: Sequence[Path]) -> list[Run]:
    """Return the runs of the files that exist; of equal ones the first file's."""
    runs: dict[Any, Run] = {}
    for path in paths:
        if path.exists():
            found = json.loads(path.read_text("utf-8"))
            for line in found["runs"]:
                same = {k: v for k, v in line.items() if not isinstance(v, list)}
                same["versions"] = found["versions"][same["versions"]]
                lists = {k: v for k, v in line.items() if isinstance(v, list)}
                for values in zip(*lists.values(), strict=True):
                    one = same | dict(zip(lists, values, strict=True))
                    runs.setdefault(_key(one), one)
    return list(runs.values())


def _key(one: Run) -> tuple[Any, ...]:
    return one["task"], one["table"], one["model"], one["split"]


def _add(path: Path, new: Run) -> None:
    """Add a run to the file, which another process may have written to meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(as_text([*stored([path]), new]), "utf-8")
    beside.replace(path)


def as_text(runs: Sequence[Run]) -> str:
    """Return runs as JSON: a line for each table and model, with lists of the splits.

    A line has the position of its versions in a list.
    """
    versions: list[Any] = []
    lines: dict[str, Run] = {}
    for one in runs:
        if one["versions"] not in versions:
            versions.append(one["versions"])
        fixed = {k: one[k] for k in ("task", "table", "model", "rows", "commit")}
        fixed["versions"] = versions.index(one["versions"])
        measured = {k: v for k, v in one.items() if k not in fixed}
        line = lines.setdefault(json.dumps([fixed, sorted(measured)]), fixed)
        for name, value in measured.items():
            line.setdefault(name, []).append(value)
    listed = ",\n".join(map(json.dumps, lines.values()))
    return f'{{"versions": {json.dumps(versions)},\n"runs": [\n{listed}\n]}}\n'


def _without_rare(table: Table) -> Table:
    """Return the table without classes of fewer than 3 rows, which cannot be split."""
    if table.task == "regression":
        return table
    kept = np.bincount(table.y)[table.y] >= 3
    if kept.all():
        return table
    print(f"{table.name}: {(~kept).sum()} rows of classes of 1 or 2 are left out")
    y = np.unique(table.y[kept], return_inverse=True)[1]
    return Table(table.name, table.X[kept].reset_index(drop=True), y, table.task)


def _run(name: str, model: Model, table: Table, split: int) -> Run:
    """Fit to 70 % of the rows, and score on the others."""
    classes = table.task == "classification"
    X, X_new, y, y_new = train_test_split(
        table.X,
        table.y,
        test_size=0.3,
        random_state=split,
        stratify=table.y if classes else None,
    )
    found: Run = {"table": table.name, "model": name, "split": split}
    found |= {"task": table.task, "rows": len(table.X)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm_up(model, table.task)
        estimator = model.make(table.task, split)
        marks = [time.process_time()]
        estimator.fit(X, y)
        marks.append(time.process_time())
        predicted = np.ravel(estimator.predict(X_new))
        marks.append(time.process_time())
        measure = accuracy_score if classes else r2_score
        found["score"] = float(measure(y_new, predicted))
        found["fit"], found["predict"] = np.diff(marks).tolist()
        if classes and hasattr(estimator, "predict_proba"):
            p = np.asarray(estimator.predict_proba(X_new), dtype=np.float64)
            found["log_loss"] = float(log_loss(y_new, p, labels=np.unique(table.y)))
            if p.shape[1] == 2:
                found["auc"] = float(roc_auc_score(y_new, p[:, 1]))
    rounded = {k: round(v, 6) if isinstance(v, float) else v for k, v in found.items()}
    return rounded | {"versions": _versions()}


@cache
def warm_up(model: Model, task: str) -> None:
    """Fit to a small table once, so that compiling and imports are not timed."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 3)), columns=list("abc"))
    X["d"] = pd.Categorical(np.where(X["a"] > 0, "x", "y"))
    X.loc[::7, "b"] = np.nan
    y = np.arange(90) % 3 if task == "classification" else X["a"].to_numpy()
    model.make(task, 0).fit(X, y).predict(X)


@cache
def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _progress(one: Run) -> str:
    return (
        f"{one['table']}, {one['model']}, split {one['split']}: {one['score']:.4f}, "
        f"{one['fit']:.2f} + {one['predict']:.2f} s"
    )


def by_table(runs: Sequence[Run], names: Sequence[str], n_splits: int) -> Scores:
    """Return the scores of the models that have all splits of a table."""
    found: dict[str, dict[str, dict[int, list[float]]]] = {}
    for one in runs:
        if one["model"] in names and one["split"] < n_splits:
            of = found.setdefault(one["table"], {}).setdefault(one["model"], {})
            of[one["split"]] = [one.get(column, np.nan) for column in _COLUMNS]
    return {
        table: {
            name: np.array([of[name][split] for split in range(n_splits)])
            for name in names
            if len(of.get(name, ())) == n_splits
        }
        for table, of in found.items()
    }


def summary(scores: Scores, task: str = "classification") -> str:
    """Return Markdown tables: of the models scored on the most tables, and of all.

    Each is over the tables that all its models have been scored on. Models come in the
    order of the registry; differences are to the first.
    """
    counts = {
        name: sum(name in of for of in scores.values())
        for name in (*MODELS, *DISTANCES, *VARIANTS)
    }
    counts = {name: n for name, n in counts.items() if n}
    parts = []
    for least in sorted({f(counts.values()) for f in (max, min) if counts})[::-1]:
        names = [name for name, n in counts.items() if n >= least]
        common = {t: of for t, of in scores.items() if set(names) <= set(of)}
        if common and (len(names) > 1 or len(counts) == 1):
            parts.append(_means(common, names, task))
    return "\n\n".join(parts) or "No table has been scored by all."


def _means(scores: Scores, names: list[str], task: str) -> str:
    """Return a Markdown table of means over the tables."""
    unit, digits = (1, 3) if task == "regression" else (100, 2)
    means = {n: np.array([of[n].mean(axis=0) for of in scores.values()]) for n in names}
    ranks = rankdata([-means[name][:, 0].round(9) for name in names], axis=0)
    rows = []
    for name, rank in zip(names, ranks, strict=True):
        score, loss, fit, predict = means[name].T
        off, more = (means[name] - means[names[0]])[:, :2].T
        row = [name, f"{unit * score.mean():.{digits}f}", _signed(unit * off, digits)]
        row += [f"{rank.mean():.2f}"]
        if task != "regression":
            row += [
                f"{loss.mean():.3f}" if np.isfinite(loss).all() else "",
                _signed(more, 3),
            ]
        if _TREES in means:
            base = means[_TREES][:, 2:].T.clip(1e-3)
            slower = fit.clip(1e-3) / base[0], predict.clip(1e-3) / base[1]
            row += [f"{gmean(slower[0]):.2f}", f"{slower[0].mean():.2f}"]
            row += [f"{gmean(slower[1]):.2f}"]
        rows.append([*row, str(len(far_below(scores, name)))])
    heads = ["", "R²" if task == "regression" else "accuracy, %", f"less {names[0]}"]
    heads += ["mean rank"]
    if task != "regression":
        heads += ["log-loss", f"more than {names[0]}"]
    if _TREES in means:
        heads += ["fit ÷ trees", "arithmetic mean", "predict ÷ trees"]
    heads += ["far below"]
    return f"{len(scores)} tables:\n\n{markdown(heads, rows)}"


def far_below(scores: Scores, name: str) -> list[str]:
    """Return the tables on which a model is far below linear NCA or 5-NN.

    That is, by more than 2 points, and 2 standard errors over the splits.
    """
    far = []
    for table, of in scores.items():
        offs = [
            100 * (of[simple][:, 0] - of[name][:, 0])
            for simple in _SIMPLE
            if name in of and simple in of
        ]
        if any(off.mean() > max(2, 2 * _error(off)) for off in offs):
            far.append(table)
    return far


def lines(scores: Scores, tables: Sequence[Table], task: str) -> str:
    """Return a Markdown table of scores by table, and the tables of `far_below`."""
    unit, digits = (1, 3) if task == "regression" else (100, 1)
    names = [
        name
        for name in (*MODELS, *DISTANCES, *VARIANTS)
        if any(name in of for of in scores.values())
    ]
    rows = [
        [
            table.name,
            " × ".join(f"{n:,}" for n in table.X.shape),
            *(
                mean_and_error(of[name][:, 0], digits, unit) if name in of else ""
                for name in names
            ),
        ]
        for table in tables
        for of in [scores.get(table.name, {})]
        if of
    ]
    text = markdown(["", "size", *names], rows)
    for name in names:
        if far := far_below(scores, name):
            text += (
                f"\n\n{name} is far below {' or '.join(_SIMPLE)} on {', '.join(far)}."
            )
    return text


def _signed(values: NDArray[np.float64], digits: int) -> str:
    """Return a mean with its sign and its standard error over tables."""
    if not np.isfinite(values).all():
        return ""
    text = f"{values.mean():+.{digits}f} ± {_error(values):.{digits}f}"
    return text.replace("-", "−") if values.any() else ""


def _error(values: NDArray[np.float64]) -> float:
    """Return the standard error of a mean."""
    return float(sem(values)) if len(values) > 1 else 0.0
