"""Run one of the adapters' benchmarks by its name."""

import argparse

from benchmarks.adapters import banking77, cranfield, votes

BENCHMARKS = {
    "banking77": banking77.main,
    "cranfield": cranfield.main,
    "votes": votes.main,
}

parser = argparse.ArgumentParser(
    prog="python -m benchmarks.adapters", description=__doc__
)
parser.add_argument("name", choices=sorted(BENCHMARKS))
parser.add_argument("--sides", nargs="+", default=["query", "two", "both"])
parser.add_argument("--folds", type=int, default=5)
parser.add_argument("--seed", type=int, default=0)
arguments = parser.parse_args()
BENCHMARKS[arguments.name](arguments.sides, arguments.folds, arguments.seed)
