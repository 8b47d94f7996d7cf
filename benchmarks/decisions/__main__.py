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
from pathlib import Path
from typing import Any

from benchmarks.decisions.judged import report
from benchmarks.decisions.tables import Rows, Table, tables, tuning_tables
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
    return {**result, "seconds": time.perf_counter() - start}


def long_run(rows: Rows, methods: list[str], score: str) -> dict[str, Any]:
    """Return what a comparison says that has all the time it needs."""
    X, y = rows
    n_splits = next(splits for most, splits in _LONG if len(X) <= most)
    return compare(
        X, y, methods=methods, n_splits=n_splits, score=score, references=False,
        random_state=1,
    ).to_dict()  # fmt: skip


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
            known["noisy"], known["real"] = table.noisy, table.real
            if one == "asked":
                known[one] = asked(rows, budget)
            else:
                first = known["asked"]
                names = [method["name"] for method in first["methods"]]
                known[one] = long_run(rows, names, first["score"])
            print(f"{table.name}, {one}: {known[one]['verdict']}", flush=True)
            path.write_text(json.dumps(found, indent=1), encoding="utf-8")
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
    given = parser.parse_args()
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
