"""Run one of the benchmarks of embeddings by its name."""

import argparse
from pathlib import Path

from benchmarks.embeddings import bridge, harm, nested, stores

parser = argparse.ArgumentParser(
    prog="python -m benchmarks.embeddings", description=__doc__
)
parser.add_argument("name", choices=["bridge", "harm", "nested", "stores"])
parser.add_argument("--sets", nargs="+", choices=bridge.SETS, default=[*bridge.SETS])
parser.add_argument("--repeats", type=int, default=50, help="of the coverage")
parser.add_argument("--draws", type=int, default=1, help="of the labeled queries")
parser.add_argument("--minutes", type=float, help="begin no cell after so many")
parser.add_argument(
    "--store", type=Path, default=Path("docs/benchmarks/embeddings/harm.json")
)
parser.add_argument("--rows", type=int, default=1_000_000, help="of the stores")
parser.add_argument("--seed", type=int, default=0)
arguments = parser.parse_args()
if arguments.name == "bridge":
    bridge.main(arguments.sets, arguments.repeats, arguments.seed)
elif arguments.name == "nested":
    nested.main(arguments.sets, arguments.seed)
elif arguments.name == "stores":
    stores.main(arguments.rows)
else:
    harm.main(arguments.sets, arguments.draws, arguments.store, arguments.minutes)
