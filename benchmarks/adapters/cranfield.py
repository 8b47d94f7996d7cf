"""Cranfield: 225 queries, 1,400 abstracts, graded relevance; folds over the queries.

Penalty, temperature and whether to learn at all are chosen anew inside each fold.
"""

import os
import time
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import KFold

from benchmarks.adapters import peers
from vicinal._typing import FloatArray
from vicinal.adapters import Evaluation, RetrievalAdapter, ranking_scores


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
    """Print the scores before and after, for maps of the given sides and for peers."""
    data = load()
    ours = None
    for side in sides:
        started = time.perf_counter()
        evaluation, settings = held_out(data, side, n_folds, seed)
        took = (time.perf_counter() - started) / n_folds
        print(f"\nside={side!r}, {n_folds} folds over queries, {took:.1f} s a fit")
        print("penalty, temperature (identity kept):", ", ".join(settings))
        print(evaluation, flush=True)
        ours = ours or evaluation
    if find_spec("torch") is None:
        print("\nno torch, no peers: pip install torch==2.13.0")
        return
    for loss in peers.SOFTNESS:
        started = time.perf_counter()
        evaluation, settings = held_out_peer(data, loss, n_folds, seed)
        took = (time.perf_counter() - started) / n_folds
        print(f"\ntorch, {loss} loss, {n_folds} folds, {took:.1f} s a fit, tuned")
        print("settings:", ", ".join(settings))
        print(evaluation, flush=True)
        if ours is not None:
            print(f"vicinal, side={sides[0]!r}, beside it")
            print(Evaluation(evaluation.after, ours.after), flush=True)


def held_out_peer(
    data: Collection, loss: str, n_folds: int, seed: int
) -> tuple[Evaluation, list[str]]:
    """Return the scores of each fold's queries under a peer tuned on the others."""
    vectors = [
        (one / np.linalg.norm(one, axis=1, keepdims=True)).astype(np.float32)
        for one in (data.queries.astype(np.float32), data.documents.astype(np.float32))
    ]
    Q, X = vectors
    parts, settings = [], []
    folds = KFold(n_folds, shuffle=True, random_state=seed)
    for learning, judging in folds.split(Q):
        A, chosen = peers.tuned_map(
            loss, Q[learning], X, data.relevance[learning], 64, seed
        )
        settings.append(f"{chosen.softness:g}, {chosen.rate:g}, {chosen.epochs}")
        before, after = (
            ranking_scores(U, X, data.relevance[judging], k=(1, 10))
            for U in (Q[judging], Q[judging] @ A.T)
        )
        parts.append(Evaluation(before, after))
    return joined(parts), settings


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
    return joined(parts), settings


def joined(parts: list[Evaluation]) -> Evaluation:
    """Return the scores of all folds' queries together."""
    names = parts[0].before
    before, after = (
        {name: np.concatenate([getattr(part, when)[name] for part in parts])
         for name in names}
        for when in ("before", "after")
    )  # fmt: skip
    return Evaluation(before, after)
