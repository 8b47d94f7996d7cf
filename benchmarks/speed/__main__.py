"""Run one of the speed benchmarks by its name."""

import argparse
import sys
from pathlib import Path

from benchmarks.speed import (
    adapters,
    classic,
    classic_dann,
    classic_defaults,
    classic_lmnn,
    classic_mnist,
    command,
    dask,
    imports,
    lca,
    ldg,
    nca,
    ratios,
    scale,
    scaling,
    serving,
)

BENCHMARKS = {
    "nca": nca.main,
    "scale": scale.main,
    "lca": lca.main,
    "ldg": ldg.main,
    "classic": classic.main,
    "classic-dann": classic_dann.main,
    "classic-defaults": classic_defaults.main,
    "classic-lmnn": classic_lmnn.main,
    "classic-mnist": classic_mnist.main,
    "command": command.main,
    "imports": imports.main,
    "adapters": adapters.main,
    "dask": dask.main,
    "serving": serving.main,
}

parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
names = parser.add_subparsers(dest="name", required=True)
for name, main in sorted(BENCHMARKS.items()):
    one = names.add_parser(name, help=main.__doc__)
    one.add_argument(
        "--quick", action="store_true", help="single evaluations only, no whole fits"
    )
every = names.add_parser("all", help="every ratio to a peer, in a file")
every.add_argument("--json", type=Path, required=True, help="where to write it")
every.add_argument("--rounds", type=int, default=5, help="ours and peer in turn")
both = names.add_parser("compare", help="what got slower between two such files")
both.add_argument("old", type=Path)
both.add_argument("new", type=Path)
growth = names.add_parser("scaling", help="time and memory against the data's size")
growth.add_argument("axes", nargs="*", choices=sorted(scaling.AXES), default=None)
growth.add_argument("--json", type=Path, help="where to keep what was measured so far")
growth.add_argument("--figure", type=Path, help="where to draw it (.svg)")
arguments = parser.parse_args()
if arguments.name == "all":
    ratios.measure_all(arguments.json, arguments.rounds)
elif arguments.name == "compare":
    sys.exit(not ratios.compare(arguments.old, arguments.new))
elif arguments.name == "scaling":
    scaling.main(arguments.axes or list(scaling.AXES), arguments.json, arguments.figure)
else:
    BENCHMARKS[arguments.name](quick=arguments.quick)
