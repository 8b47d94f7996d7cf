"""Run every estimator with its defaults over all tables; print where learning hurts.

Tables that defaults were tuned on are left out, unless --tuning asks for them alone.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.defaults.scores import (
    CLASSIC,
    CLASSIFIERS,
    METRICS,
    PLAIN_CLASSIFIERS,
    PLAIN_REGRESSORS,
    REGRESSORS,
    Score,
    score,
    split,
)
from benchmarks.defaults.tables import (
    TUNING,
    Table,
    made_classes,
    made_numbers,
    real_classes,
    real_numbers,
)
from benchmarks.speed.timing import table as markdown
from vicinal.datasets import available

Scores = dict[str, dict[str, list[Score]]]


def _tables(tuning: bool, only: list[str] | None) -> Iterator[Table]:
    """Yield the tables, made ones also in float32."""
    seed = 1 if tuning else 0
    named = [name for name in available() if (name in TUNING) == tuning]
    sources: list[Iterator[Table]] = [real_classes(named)]
    sources += [made_classes(seed), made_numbers(seed)]
    if not tuning:
        sources.append(real_numbers())
    for source in sources:
        for found in source:
            if only is None or any(word in found.name for word in only):
                yield found
                if source not in sources[:1]:
                    yield found.as_float32()


def run(tables: Iterator[Table], names: list[str] | None, n_splits: int) -> Scores:
    """Return the scores by table and estimator, one for each split."""
    scores: Scores = {}
    for found in tables:
        numbers = found.task == "regression"
        plain = PLAIN_REGRESSORS if numbers else PLAIN_CLASSIFIERS
        ours = REGRESSORS if numbers else {**METRICS, **CLASSIFIERS, **CLASSIC}
        if names is not None:
            ours = {name: ours[name] for name in ours if name in names}
        if not ours:
            continue
        parts = [split(found, seed) for seed in range(n_splits)]
        made: dict[str, Callable[[], Any]] = {**plain, **ours}
        scores[found.name] = {
            name: [score(make, part, found.task) for part in parts]
            for name, make in made.items()
        }
        line = ", ".join(
            f"{name} {_mean(results):.3f}"
            for name, results in scores[found.name].items()
        )
        print(f"{found.name} {found.X.shape}: {line}", flush=True)
    return scores


def _mean(results: list[Score]) -> float:
    return float(np.mean([result.value for result in results]))


def corrected_error(differences: NDArray[np.float64]) -> float:
    """Return the standard error of a mean over splits of 70/30 that overlap.

    Nadeau and Bengio's: (1/J + test/train) s², where J splits that had nothing in
    common would have s²/J.
    """
    return float(np.sqrt(1 / len(differences) + 3 / 7) * differences.std(ddof=1))


def hurts(scores: Scores) -> list[list[str]]:
    """Return a row for each table on which an estimator is worse than not learning.

    Worse is, for classes, 2 points and 2 standard errors of the paired difference
    below 3-NN (see `corrected_error`); for numbers, an R² that is 0.02 below 5-NN's.
    """
    rows = []
    for name, by_estimator in scores.items():
        plain = by_estimator["5-NN" if "ridge" in by_estimator else "3-NN"]
        for estimator, results in by_estimator.items():
            if estimator in PLAIN_CLASSIFIERS or estimator in PLAIN_REGRESSORS:
                continue
            differences = np.array(
                [a.value - b.value for a, b in zip(results, plain, strict=True)]
            )
            error = corrected_error(differences)
            mean = differences.mean()
            # A failed fit has no score, and is worse than any.
            numbers = "ridge" in by_estimator
            if not (mean >= -0.02 or (mean >= -2 * error and not numbers)):
                said = "; ".join(sorted({m for r in results for m in r.messages}))
                cells = [f"{_mean(results):.3f}", f"{_mean(plain):.3f}"]
                cells.append(f"{mean:+.3f} ± {error:.3f}")
                rows.append([name, estimator, *cells, said[:90]])
    return rows


def summary(scores: Scores) -> list[list[str]]:
    """Return a row for each estimator: means over the tables it was run on."""
    names = list(dict.fromkeys(name for found in scores.values() for name in found))
    rows = []
    for task in ("classification", "regression"):
        found = [s for s in scores.values() if ("ridge" in s) == (task == "regression")]
        for name in names:
            results = [s[name] for s in found if name in s]
            if results:
                losses = [np.mean([r.loss for r in rs]) for rs in results]
                seconds = sum(r.seconds for rs in results for r in rs)
                value = np.mean([_mean(rs) for rs in results])
                numbers = [f"{value:.4f}", f"{np.mean(losses):.3f}", f"{seconds:.1f}"]
                rows.append([task, name, str(len(results)), *numbers])
    return rows


def apart(scores: Scores) -> list[list[str]]:
    """Return a row where float32 and float64 are more than 2 points apart."""
    rows = []
    for name, by_estimator in scores.items():
        other = scores.get(f"{name} (float32)", {})
        for estimator, results in by_estimator.items():
            if estimator in other:
                wide, narrow = _mean(results), _mean(other[estimator])
                if not abs(wide - narrow) <= 0.02:
                    rows.append([name, estimator, f"{wide:.3f}", f"{narrow:.3f}"])
    return rows


def main() -> None:
    """Parse the command line, run, print and store."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.defaults", description=__doc__
    )
    parser.add_argument("--estimators", nargs="+", help="these alone")
    parser.add_argument("--tables", nargs="+", help="those with such a word alone")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--tuning", action="store_true", help="the tables tuned on")
    parser.add_argument("--json", type=Path, help="where to store all scores")
    given = parser.parse_args()
    scores = run(_tables(given.tuning, given.tables), given.estimators, given.splits)
    heads = ["table", "estimator", "score", "not learning", "difference", "it said"]
    print("\nWhere learning hurts\n")
    print(markdown(heads, hurts(scores)))
    print("\nWhere float32 and float64 are more than 2 points apart\n")
    print(markdown(["table", "estimator", "float64", "float32"], apart(scores)))
    print("\nMeans over the tables\n")
    heads = ["task", "estimator", "tables", "accuracy or R²", "log-loss", "seconds"]
    print(markdown(heads, summary(scores)))
    if given.json is not None:
        stored = {
            name: {e: [vars(r) for r in rs] for e, rs in found.items()}
            for name, found in scores.items()
        }
        given.json.write_text(json.dumps(stored, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
