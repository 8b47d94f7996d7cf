"""Run one of the papers' comparisons by its name."""

import argparse

from benchmarks.papers import (
    lca_figure_3,
    lca_figure_4,
    ldg_figure_5,
    ldg_mnist,
    ldg_table_1,
    nca_peer,
    nca_small,
    nca_starts,
)

COMPARISONS = {
    "lca-figure-3": lca_figure_3.main,
    "lca-figure-4": lca_figure_4.main,
    "ldg-table-1": ldg_table_1.main,
    "ldg-figure-5": ldg_figure_5.main,
    "ldg-mnist": ldg_mnist.main,
    "nca-small": nca_small.main,
    "nca-starts": nca_starts.main,
    "nca-peer": nca_peer.main,
}

parser = argparse.ArgumentParser(
    prog="python -m benchmarks.papers", description=__doc__
)
parser.add_argument("name", choices=sorted(COMPARISONS))
parser.add_argument("--splits", type=int, help="random splits; default: the paper's")
arguments = parser.parse_args()
COMPARISONS[arguments.name](arguments.splits)
