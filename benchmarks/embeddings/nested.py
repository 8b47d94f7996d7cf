"""nDCG@10 by the number of components, and recall of int8 and binary codes."""

import warnings
from typing import Any

import numpy as np

from benchmarks.embeddings.encoders import load
from benchmarks.embeddings.harm import data_of
from vicinal._typing import FloatArray
from vicinal.adapters import RetrievalAdapter, ranking_scores
from vicinal.neighbors import ExactIndex, FaissIndex

ENCODERS = ("minilm", "wordllama")
# As many labeled queries as there are new ones, but at most these.
MAX_LABELED = 300
# Codes of vectors, each rescored with the vectors; faiss calls this refinement.
CODES = ("SQ8,RFlat", "LSHr,RFlat")
N_RESCORED = 10


def main(sets: list[str], seed: int) -> None:
    """Print a line for each set, encoder and number of components."""
    for name in sets:
        texts = load(name)
        for encoder in ENCODERS:
            Q, X, relevance = data_of(texts, encoder)
            order = np.random.default_rng(seed).permutation(len(Q))
            n = min(len(Q) // 2, MAX_LABELED)
            learning, new = order[:n], order[n:]
            adapter = RetrievalAdapter(
                side="both", nested=True, metric="cosine", random_state=seed, n_jobs=1
            )
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Nothing was learned")
                adapter.fit(Q[learning], X, relevance[learning])
            axes = np.linalg.eigh(X.T.astype(np.float64) @ X)[1][:, ::-1]
            axes = axes.astype(np.float32)
            print(f"\n{name}, {encoder}, {n} labeled queries, {len(new)} new; "
                  f"adapted: {adapter.is_adapted_}")  # fmt: skip
            D = X.shape[1]

            def score(U: FloatArray, V: FloatArray) -> FloatArray:
                found = ranking_scores(U, V, relevance[new], k=10, n_jobs=1)  # noqa: B023
                return found["ndcg@10"]

            whole = score(Q[new], X)
            print(f"all {D}, as they are: {whole.mean():.3f}")
            for d in (D, D // 2, D // 4, D // 8):
                U = adapter.transform_queries(Q[new], d)
                V = adapter.transform_documents(X, d)
                line = [
                    f"{title} {gain(score(*vectors), whole)}"
                    for title, vectors in (
                        ("truncated", (Q[new, :d], X[:, :d])),
                        ("PCA", (Q[new] @ axes[:, :d], X @ axes[:, :d])),
                        ("nested", (U, V)),
                    )
                ]
                print(f"{d:>4}:", *line, *codes(U, V), sep="  ", flush=True)


def gain(scores: FloatArray, whole: FloatArray) -> str:
    """Return a mean, and the difference to another with its standard error."""
    difference = scores - whole
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return f"{scores.mean():.3f} ({difference.mean():+.3f} ± {error:.3f})"


def codes(U: FloatArray, V: FloatArray) -> list[str]:
    """Return the recall@10 of rescored codes against exact search."""
    import faiss

    truth = ExactIndex("cosine", n_jobs=1).build(V).query(U)[0]
    recalls = []
    for kind in CODES:
        index: Any = faiss.index_factory(V.shape[1], kind)
        index.k_factor = N_RESCORED
        found = FaissIndex(index, "cosine").build(V).query(U)[0]
        hits = (found[:, :, None] == truth[:, None, :]).any(axis=2)
        recalls.append(f"{kind.split(',')[0]} {hits.mean():.3f}")
    return recalls
