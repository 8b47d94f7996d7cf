"""Cranfield: 225 queries, 1,400 abstracts, graded relevance; folds over the queries.

Penalty, temperature and whether to learn at all are chosen anew inside each fold.
"""

import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import KFold

from vicinal._typing import FloatArray
from vicinal.adapters import Evaluation, RetrievalAdapter


@dataclass(frozen=True)
class Collection:
    """Vectors of queries and documents, and grades of relevance."""

    queries: FloatArray
    documents: FloatArray
    relevance: csr_array


def load() -> Collection:
    """Read the collection from the folder named by VICINAL_DATA."""
    path = Path(os.environ["VICINAL_DATA"]) / "cranfield.npz"
    with np.load(path, allow_pickle=False) as arrays:
        queries, documents = arrays["queries"], arrays["documents"]
        judged = arrays["relevance"]
        positions = np.searchsorted(arrays["document_ids"], judged[:, 2])
    grades = csr_array(
        (judged[:, 3].astype(float), (judged[:, 0] - 1, positions)),
        shape=(len(queries), len(documents)),
    )
    grades.eliminate_zeros()
    return Collection(queries, documents, grades)


def main(sides: list[str], n_folds: int, seed: int) -> None:
    """Print the scores before and after, for maps of the given sides."""
    data = load()
    for side in sides:
        started = time.perf_counter()
        evaluation, settings = held_out(data, side, n_folds, seed)
        took = (time.perf_counter() - started) / n_folds
        print(f"\nside={side!r}, {n_folds} folds over queries, {took:.1f} s a fit")
        print("penalty, temperature (identity kept):", ", ".join(settings))
        print(evaluation)


def held_out(
    data: Collection, side: str, n_folds: int, seed: int
) -> tuple[Evaluation, list[str]]:
    """Return the scores of each fold's queries, learned from the others."""
    parts: list[Evaluation] = []
    settings = []
    folds = KFold(n_folds, shuffle=True, random_state=seed)
    for learning, judging in folds.split(data.queries):
        adapter = RetrievalAdapter(side=side, random_state=seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Nothing was learned")
            adapter.fit(
                data.queries[learning], data.documents, data.relevance[learning]
            )
        kept = "" if adapter.is_adapted_ else " (identity kept)"
        settings.append(f"{adapter.alpha_:g}, {adapter.temperature_:.3f}{kept}")
        parts.append(
            adapter.evaluate(
                data.queries[judging], data.documents, data.relevance[judging]
            )
        )
    names = parts[0].before
    return (
        Evaluation(
            {
                name: np.concatenate([part.before[name] for part in parts])
                for name in names
            },
            {
                name: np.concatenate([part.after[name] for part in parts])
                for name in names
            },
        ),
        settings,
    )
