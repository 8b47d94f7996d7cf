"""How often `vicinal compare` recommends the right method.

Each table is compared twice: as the command does it, within its time budget; and in a
long run, with all rows, other splits and no budget. The recommendation is right where
the long run has it within a point of its best method; "significantly better" is right
where the long run agrees on which of the two methods is better.

What is done is kept in a file: the next run goes on from there. Tables with few cells
come first.
"""

import argparse
import json
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.decisions.judged import report
from benchmarks.decisions.tables import Rows, Table, draw_churn, tables, tuning_tables
from benchmarks.papers.runner import current_commit
from vicinal import compare

Found = dict[str, dict[str, Any]]
# Splits of a long run, for tables of up to so many rows.
_LONG = ((1000, 20), (3000, 8), (10_000, 4), (10**9, 2))
_now = time.monotonic


def asked(rows: Rows, budget: float) -> dict[str, Any]:
    """Return what a comparison within a time budget says."""
    start = time.perf_counter()
    X, y = rows
    result = compare(X, y, time_budget=budget, random_state=0).to_dict()
    found = _needed(result)
    for one in (*found["methods"], *found["references"]):
        del one["scores"]
    return {**found, "seconds": time.perf_counter() - start}


def long_run(rows: Rows, methods: list[str], score: str) -> dict[str, Any]:
    """Return what a comparison says that has all the time it needs."""
    X, y = rows
    n_splits = next(splits for most, splits in _LONG if len(X) <= most)
    return _needed(
        compare(
            X, y, methods=methods, n_splits=n_splits, score=score, random_state=1,
        ).to_dict()
    )  # fmt: skip


def _needed(result: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a result that the report needs."""

    def part(one: dict[str, Any], names: str) -> dict[str, Any]:
        return {name: one[name] for name in names.split() if name in one}

    facts = "task score rows n_splits test_size verdict best recommended"
    found = part(result, facts)
    for kind in ("methods", "references"):
        found[kind] = [part(one, "name mean scores") for one in result[kind]]
    found["differences"] = [
        part(one, "other gain p error significant") for one in result["differences"]
    ]
    return found


def churn(n_seeds: int) -> str:
    """Return how far the best metric is behind logistic regression on noisy labels."""
    gains = []
    for seed in range(n_seeds):
        X, y = draw_churn(np.random.default_rng(seed))
        result = compare(X, y, n_splits=3)
        best, linear = (
            float(one.scores[:3].mean())
            for one in (result.best, result["logistic regression"])
        )
        gains.append(100 * (best - linear))
        print(f"{result.best.name} {best:.4f}, linear {linear:.4f}", flush=True)
    error = np.std(gains, ddof=1) / np.sqrt(n_seeds)
    return f"best metric: {np.mean(gains):+.2f} ± {error:.2f} points, {n_seeds} seeds"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def stored(found: Found) -> str:
    """Return what was found as JSON, with a line for each part of a table."""
    lines = []
    for name, one in _rounded(found).items():
        parts = (f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in one.items())
        lines.append(f"{json.dumps(name)}: {{\n" + ",\n".join(parts) + "\n}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def versions() -> dict[str, str]:
    """Return the commit and the versions of what takes part."""
    packages = ("scikit-learn", "numpy", "numba")
    return {"commit": current_commit(), **{name: version(name) for name in packages}}


def run(
    chosen: Iterable[Table], path: Path, budget: float, part: str, until: float
) -> Found:
    """Run what has not been run, until the time is over; return all that has."""
    found: Found = json.loads(path.read_text()) if path.exists() else {}
    for table in chosen:
        known = found.setdefault(table.name, {})
        wanted = [one for one in ("asked", "long") if part in (one, "both")]
        for one in wanted:
            if one in known or (one == "long" and "asked" not in known):
                continue
            if _now() > until:
                return found
            rows = table.make()
            known |= {"noisy": table.noisy, "real": table.real, "made_with": versions()}
            if one == "asked":
                known[one] = asked(rows, budget)
            else:
                first = known["asked"]
                names = [method["name"] for method in first["methods"]]
                known[one] = long_run(rows, names, first["score"])
            print(f"{table.name}, {one}: {known[one]['verdict']}", flush=True)
            path.write_text(stored(found), encoding="utf-8")
    return found


def main() -> None:
    """Parse the command line, run, and print Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.decisions", description=__doc__
    )
    parser.add_argument("--budget", type=float, default=60, help="seconds of each")
    parser.add_argument(
        "--part", choices=["both", "asked", "long"], default="both",
        help="the comparisons that are judged, or those that judge them",
    )  # fmt: skip
    parser.add_argument("--minutes", type=float, default=120, help="of this run")
    parser.add_argument("--rows", type=int, help="a sample of this many, at most")
    parser.add_argument(
        "--cpu", action="store_true",
        help="the budget is of CPU time, so that other work on the machine costs none",
    )  # fmt: skip
    parser.add_argument("--tables", nargs="+", default=[], help="with such a word")
    parser.add_argument("--tuning", action="store_true", help="the tables tuned on")
    parser.add_argument("--json", type=Path, default=Path("decisions.json"))
    parser.add_argument("--churn", type=int, help="that table, with so many seeds")
    parser.add_argument("--report", action="store_true", help="run nothing")
    given = parser.parse_args()
    if given.report:
        print(report(json.loads(given.json.read_text(encoding="utf-8"))))
        return
    if given.churn:
        print(churn(given.churn))
        return
    if given.cpu:
        time.perf_counter = time.process_time
    until = _now() + 60 * given.minutes
    most = {"most_rows": given.rows} if given.rows else {}
    chosen = [
        one
        for one in (tuning_tables if given.tuning else tables)(**most)
        if not given.tables or any(word in one.name for word in given.tables)
    ]
    chosen.sort(key=Table.n_cells)
    found = run(chosen, given.json, given.budget, given.part, until)
    print(report(found))


if __name__ == "__main__":
    main()
