"""Run one of the speed benchmarks by its name."""

import argparse

from benchmarks.speed import adapters, command, imports, lca, ldg, nca, scale

BENCHMARKS = {
    "nca": nca.main,
    "scale": scale.main,
    "lca": lca.main,
    "ldg": ldg.main,
    "command": command.main,
    "imports": imports.main,
    "adapters": adapters.main,
}

parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
parser.add_argument("name", choices=sorted(BENCHMARKS))
parser.add_argument(
    "--quick", action="store_true", help="single evaluations only, no whole fits"
)
arguments = parser.parse_args()
BENCHMARKS[arguments.name](quick=arguments.quick)
