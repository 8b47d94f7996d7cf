"""Pictures of labeled rows: 5-NN of held-out rows in the plane, faithfulness and time.

``python -m benchmarks.pictures --store FILE`` needs the folder `VICINAL_DATA` and
``pip install 'vicinal[maps]' pacmap pandas``. What is in the store is not run again.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

TUNING = ("digits", "wine", "segment")
REPORTED = (
    *("hepatitis", "ionosphere", "dermatology", "vote", "breast_cancer"),
    *("balance_scale", "credit_a", "pima", "olivetti", "umist", "german_numeric"),
    *("yeast", "talent_mfeat_factors", "ringnorm", "satimage"),
)
LARGE = ("mnist",)  # on request: --tables mnist
CHANCE = ("noise 200 × 150", "noise 500 × 10", "wine, permuted")
_PIXELS = {"digits", "umist", "olivetti"}
_MAX_ROWS = 1500


def read(name: str, seed: int) -> tuple[Any, Any, Any]:
    """Return the rows, the same as standardized numbers, and the classes.

    Pixels share a unit, categories are indicators, gaps are medians. Of more than
    1,500 rows, a random part is taken.
    """
    import numpy as np
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from benchmarks.tables.data import classes
    from vicinal.datasets import load

    rng = np.random.RandomState(seed)
    if name.startswith("noise"):
        n, d, n_classes = (200, 150, 3) if "200" in name else (500, 10, 2)
        X = rng.normal(size=(n, d))
        return X, X, rng.randint(n_classes, size=n)
    if name in LARGE:
        data = load(name)
        pixels = data.X / 255
        return pixels, pixels, np.unique(data.y, return_inverse=True)[1]
    table = classes(name.partition(",")[0])
    rows = np.sort(rng.permutation(len(table.y))[:_MAX_ROWS])
    X, y = table.X.iloc[rows].reset_index(drop=True), table.y[rows]
    if "permuted" in name:
        y = rng.permutation(y)
    if name in _PIXELS:
        numbers = X.to_numpy(np.float64)
        numbers = numbers / numbers.max()
        return numbers, numbers, y
    is_number = make_column_selector(dtype_include="number")
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), is_number),
        (
            OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
            make_column_selector(dtype_exclude="number"),
        ),
    )
    numbers = prepare.fit_transform(X)
    mixed = len(is_number(X)) < X.shape[1] or X.isna().to_numpy().any()
    return (X if mixed else numbers), numbers, y


def _own(layout: str, seed: int) -> Any:
    from vicinal.pictures import SupervisedMap

    return SupervisedMap(layout=layout, cv=None, random_state=seed)


def _umap(seed: int) -> Any:
    import umap

    return umap.UMAP(random_state=seed, n_jobs=1)


def _plain(layout: str, seed: int) -> Any:
    from vicinal.pictures import SupervisedMap

    return SupervisedMap("passthrough", layout, cv=None, random_state=seed)


def _nca(seed: int) -> Any:
    from vicinal import NCA

    return NCA(2, objective="log", random_state=seed)


MODELS: dict[str, tuple[Callable[[int], Any], bool, bool]] = {
    # how it is made, whether it sees the labels, and whether it takes mixed columns
    "SupervisedMap": (lambda seed: _own("neighbors", seed), True, True),
    "SupervisedMap, UMAP": (lambda seed: _own("umap", seed), True, True),
    "UMAP": (_umap, False, False),
    "supervised UMAP": (_umap, True, False),
    "layout alone": (lambda seed: _plain("neighbors", seed), False, False),
    "openTSNE": (lambda seed: _plain("opentsne", seed), False, False),
    "PaCMAP": (lambda seed: _plain("pacmap", seed), False, False),
    "NCA(2)": (_nca, True, False),
}


def run(table: str, model: str, split: int) -> dict[str, Any]:
    """Fit on 70 % of the rows, and place the others.

    Trustworthiness is that of the training rows, to the features and, if a metric was
    learned, to the metric.
    """
    import numpy as np
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.utils import _safe_indexing

    from vicinal.pictures import faithfulness

    X, numbers, y = read(table, split)
    kind = StratifiedShuffleSplit if np.bincount(y).min() > 1 else ShuffleSplit
    size = 10_000 if table in LARGE else 0.3
    (train, test), *_ = kind(1, test_size=size, random_state=split).split(numbers, y)
    make, labels, mixed = MODELS[model]
    rows = X if mixed else numbers
    part, new = _safe_indexing(rows, train), _safe_indexing(rows, test)
    estimator = make(split)
    begun = time.process_time()
    known = (y[train],) if labels else ()
    plane = np.asarray(estimator.fit_transform(part, *known))
    fitted = time.process_time()
    placed = np.asarray(estimator.transform(new))
    ended = time.process_time()
    vote = KNeighborsClassifier(5).fit(plane, y[train])
    trust = [faithfulness(numbers[train], plane, random_state=0)]
    if "SupervisedMap" in model:
        points = np.asarray(estimator.metric_.transform(part), dtype=np.float64)
        trust.append(faithfulness(points, plane, random_state=0))
    return {
        "accuracy": vote.score(placed, y[test]),
        "train": vote.score(plane, y[train]),
        "trustworthiness": trust[0][0],
        "preservation": trust[0][1],
        "trustworthiness_metric": trust[-1][0],
        "preservation_metric": trust[-1][1],
        "fit": fitted - begun,
        "place": ended - fitted,
    }


def evidence(table: str, split: int) -> dict[str, Any]:
    """Return the held-out score of a fit on all rows, beside chance."""
    from vicinal.pictures import SupervisedMap

    X, _, y = read(table, split)
    begun = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = SupervisedMap(random_state=split).fit(X, y)
    return {
        "score": found.score_,
        "train": found.train_score_,
        "null": found.null_scores_.mean(),
        "deviation": found.null_scores_.std(),
        "p": found.p_value_,
        "warned": any("better than chance" in str(one.message) for one in caught),
        "fit": time.process_time() - begun,
    }


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures")
    parser.add_argument("--store", type=Path, required=True, help="JSON, to be written")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tables", type=lambda text: text.split("|"), help="A|B")
    parser.add_argument("--models", type=lambda text: text.split("|"), help="A|B")
    parser.add_argument("--minutes", type=float, default=1e9, help="then no more fits")
    parser.add_argument("--summary", action="store_true", help="of the store, no fits")
    given = parser.parse_args(arguments)
    done = json.loads(given.store.read_text()) if given.store.exists() else []
    if not given.summary:
        _run_all(given, done)
    print(summary(done))


def _run_all(given: Any, done: list[dict[str, Any]]) -> None:
    from benchmarks.papers.runner import current_commit

    versions = {}
    for name in ("vicinal", "scikit-learn", "umap-learn", "openTSNE", "pacmap"):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    made = {"commit": current_commit(), "versions": versions}
    known = {(one["table"], one["model"], one["split"]) for one in done}
    cases = [
        (table, model, split)
        for table in given.tables or (*CHANCE, *REPORTED, *TUNING)
        for split in range(given.splits)
        for model in given.models or (*MODELS, "evidence")
    ]
    started = time.monotonic()
    warnings.simplefilter("ignore")
    warm: set[str] = set()
    for table, model, split in cases:
        if time.monotonic() - started > 60 * given.minutes:
            break
        if (table, model, split) in known:
            continue
        if model in MODELS and model not in warm:  # compiles, which is not timed
            run("wine", model, 0)
            warm.add(model)
        found = (
            evidence(table, split) if model == "evidence" else run(table, model, split)
        )
        done.append({"table": table, "model": model, "split": split, **found, **made})
        given.store.write_text(json.dumps(done, indent=0) + "\n")


def summary(done: list[dict[str, Any]]) -> str:
    """Return Markdown tables of the means over splits, ± standard errors."""
    import pandas as pd

    runs = pd.DataFrame(done)
    maps = runs[runs["model"] != "evidence"]
    lines = []
    for name, factor, digits in (
        ("accuracy", 100, 1),
        ("train", 100, 1),
        ("trustworthiness", 1, 3),
        ("trustworthiness_metric", 1, 3),
        ("fit", 1, 2),
        ("place", 1, 2),
    ):
        cells = factor * maps.pivot_table(name, "table", "model", "mean")
        errors = factor * maps.pivot_table(name, "table", "model", "sem", dropna=False)
        order = [one for one in MODELS if one in cells]
        lines += [f"\n{name}\n", "| table | " + " | ".join(order) + " |"]
        lines += ["|---" * (len(order) + 1) + "|"]
        lines += [
            f"| {table} | "
            + " | ".join(
                f"{cells.loc[table, model]:.{digits}f}"
                + (f" ± {errors.loc[table, model]:.{digits}f}" if factor > 1 else "")
                for model in order
            )
            + " |"
            for table in (*REPORTED, *TUNING, *CHANCE, *LARGE)
            if table in cells.index
        ]
        reported = cells.loc[[one for one in REPORTED if one in cells.index]]
        means = " | ".join(f"{reported[model].mean():.{digits}f}" for model in order)
        lines.append(f"| mean of the {len(reported)} reported | {means} |")
    lines.append("\ndifferences to SupervisedMap, mean over reported tables ± SE")
    wide = maps.pivot_table("accuracy", ["table", "split"], "model")
    for other in wide.columns.drop("SupervisedMap", errors="ignore"):
        gains = 100 * (wide["SupervisedMap"] - wide[other]).unstack()  # noqa: PD010
        listed = [one for one in REPORTED if one in gains.index]
        of_tables = (gains.loc[listed] if listed else gains).mean(axis=1)
        worst = gains.loc[of_tables.idxmin()]
        lines.append(
            f"{other}: {of_tables.mean():+.2f} ± {of_tables.sem():.2f}; least "
            f"{of_tables.idxmin()} {worst.mean():+.2f} ± {worst.sem():.2f}"
        )
    evidence = runs[runs["model"] == "evidence"]
    lines += ["\n| evidence | score | seen in fit | null ± sd | p | warned | s |"]
    lines += ["|---" * 7 + "|"]
    for table, some in evidence.groupby("table", sort=False):
        mean = some[["score", "train", "null", "deviation", "p", "fit"]].mean()
        lines.append(
            f"| {table} | {mean['score']:.3f} | {mean['train']:.3f} | "
            f"{mean['null']:.3f} ± {mean['deviation']:.3f} | {mean['p']:.3f} | "
            f"{int(some['warned'].sum())} of {len(some)} | {mean['fit']:.1f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    # Before NumPy and Numba are imported: everything has one thread.
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    main()
