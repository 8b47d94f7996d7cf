"""Run a benchmark of neural NCA by name, and print a table."""

import argparse
from pathlib import Path


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neural")
    tasks = parser.add_subparsers(dest="task", required=True)
    talent = tasks.add_parser("talent", help="tables with a benchmark's own splits")
    talent.add_argument("--seeds", type=int, default=5)
    talent.add_argument("--tables", nargs="+")
    talent.add_argument("--estimators", type=int, help="n_estimators")
    talent.add_argument("--both", action="store_true", help="learn from both parts too")
    talent.add_argument("--store", type=Path, help="where scores are kept, as JSON")
    mnist = tasks.add_parser("mnist", help="60,000 images to 30 numbers, 3-NN")
    mnist.add_argument("--seeds", type=int, default=1)
    mnist.add_argument("--epochs", type=int, default=30)
    million = tasks.add_parser("million", help="an epoch over 10⁶ rows")
    million.add_argument("--rows", type=int, default=1_000_000)
    peer = tasks.add_parser("peer", help="the loss beside a plain one")
    peer.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000, 10000])
    peer.add_argument("--components", type=int, default=32)
    peer.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    if given.task == "talent":
        from benchmarks.neural import talent as published

        published.run(
            given.seeds, given.tables, given.estimators, given.both, given.store
        )
    elif given.task == "mnist":
        from benchmarks.neural import mnist as images

        images.run(given.seeds, given.epochs)
    elif given.task == "million":
        from benchmarks.neural import million as large

        large.run(given.rows)
    else:
        from benchmarks.neural import peer as plain

        plain.run(given.sizes, given.components, given.repeats)


if __name__ == "__main__":
    main()
