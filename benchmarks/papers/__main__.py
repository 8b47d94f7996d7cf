"""Rerun experiments of the papers, and write their pages to docs/papers."""

import argparse
from pathlib import Path

from benchmarks.papers.experiment import Scope
from benchmarks.papers.registry import EXPERIMENTS
from benchmarks.papers.runner import PAGES, redraw, run


def main() -> None:
    """Parse the command line, and run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers", description=__doc__
    )
    parser.add_argument(
        "names", nargs="+", choices=[*EXPERIMENTS, "all"], metavar="NAME",
        help="all, or some of: " + ", ".join(EXPERIMENTS),
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="a small version")
    parser.add_argument("--runs", type=int, help="repetitions; default: the page's")
    parser.add_argument("--minutes", type=float, help="begin no case after so many")
    parser.add_argument("--only", help="only cells of this data set, method, …")
    parser.add_argument("--fresh", action="store_true", help="do not go on: begin anew")
    parser.add_argument(
        "--redraw", action="store_true", help="run nothing: the page from its numbers"
    )
    parser.add_argument("--pages", type=Path, default=PAGES, help="where to write to")
    given = parser.parse_args()
    names = list(EXPERIMENTS) if "all" in given.names else given.names
    scope = Scope(given.quick, given.runs)
    for name in names:
        if given.redraw:
            print(redraw(EXPERIMENTS[name], given.pages), flush=True)
            continue
        path = run(
            EXPERIMENTS[name], scope,
            pages=given.pages, fresh=given.fresh,
            minutes=given.minutes, only=given.only,
        )  # fmt: skip
        if path is not None:
            print(path.read_text(encoding="utf-8"), flush=True)


if __name__ == "__main__":
    main()
