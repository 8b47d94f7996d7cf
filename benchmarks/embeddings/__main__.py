"""Run one of the benchmarks of embeddings by its name."""

import argparse

from benchmarks.embeddings import bridge

parser = argparse.ArgumentParser(
    prog="python -m benchmarks.embeddings", description=__doc__
)
parser.add_argument("name", choices=["bridge"])
parser.add_argument("--sets", nargs="+", choices=bridge.SETS, default=[*bridge.SETS])
parser.add_argument("--repeats", type=int, default=50)
parser.add_argument("--seed", type=int, default=0)
arguments = parser.parse_args()
bridge.main(arguments.sets, arguments.repeats, arguments.seed)
