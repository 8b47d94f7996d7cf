"""An adapter of 200,000 documents beside a plain torch loop, to the same held-out MRR.

Documents and queries are made: 384 numbers each, most of them in few directions, in
2,000 topics; a query is its document seen through an unknown linear map, with noise.
The loop: Adam on the InfoNCE loss of batches of 512 pairs with the batch's other
documents as wrong ones, its rate chosen in its favour, its evaluations not counted.
``pip install torch==2.13.0`` (a CPU build); vicinal itself does not need it.
"""

import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.adapters.peers import Setting, train
from benchmarks.speed.timing import table
from vicinal._typing import FloatArray, IntArray
from vicinal.adapters import RetrievalAdapter, ranking_scores

N_DOCUMENTS, N_FEATURES, N_PAIRS, N_HELD_OUT = 200_000, 384, 20_000, 200
RATES = (3e-3, 1e-3)
# How far the loop may go.
MOST_EPOCHS = 10


@dataclass(frozen=True)
class Made:
    """Vectors, and the document that each query wants."""

    documents: FloatArray
    queries: FloatArray
    wanted: IntArray

    def held_out_mrr(self, components: FloatArray) -> float:
        """Return the mean reciprocal rank of queries that took no part."""
        asked = self.queries[N_PAIRS:] @ components.T.astype(np.float32)
        pairs = np.column_stack([np.arange(N_HELD_OUT), self.wanted[N_PAIRS:]])
        scores = ranking_scores(asked, self.documents, pairs, k=1)
        return float(scores["mrr"].mean())


def main(quick: bool) -> None:
    """Print the table; quick is a tenth of the documents."""
    warnings.simplefilter("ignore")
    data = make(N_DOCUMENTS // 10 if quick else N_DOCUMENTS)
    print(f"as it is: MRR {data.held_out_mrr(np.eye(N_FEATURES)):.3f}", flush=True)
    chosen, took = timed(partial(fit, data))
    settings = {"alpha": chosen.alpha_, "temperature": chosen.temperature_}
    plain, took_plain = timed(partial(fit, data, **settings))
    goal = data.held_out_mrr(plain.query_components_)
    rows = [
        ["all chosen, with evidence", *took, f"{goal:.3f}"],
        ["the same settings, given", *took_plain, f"{goal:.3f}"],
    ]
    print(rows, settings, flush=True)
    for rate in RATES:
        seconds, mrr, epochs = loop(data, rate, goal)
        name = f"torch, rate {rate:g}, {epochs} epochs"
        rows.append([name, *seconds, f"{mrr:.3f}"])
        print(rows[-1], flush=True)
    print(table(["what", "seconds", "of processor", "MRR held out"], rows), flush=True)
    for name, run in (
        ("all chosen", partial(fit, data)),
        ("given", partial(fit, data, **settings)),
    ):
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        print(f"memory beyond the input, {name}: {peak:.0f} MB", flush=True)


def timed(run: Callable[[], RetrievalAdapter]) -> tuple[RetrievalAdapter, list[str]]:
    """Return a fitted adapter, and its seconds of clock and processor."""
    started, begun = time.perf_counter(), time.process_time()
    adapter = run()
    taken, worked = time.perf_counter() - started, time.process_time() - begun
    return adapter, [f"{taken:.2f}", f"{worked:.2f}"]


def make(n_documents: int) -> Made:
    """Return vectors of documents and queries."""
    rng = np.random.default_rng(0)
    n = N_PAIRS + N_HELD_OUT
    scale = np.arange(1, N_FEATURES + 1, dtype=np.float32) ** np.float32(-0.5)

    def draw(rows: int) -> FloatArray:
        return rng.standard_normal((rows, N_FEATURES), dtype=np.float32) * scale

    topics = draw(2000)
    X = topics[rng.integers(2000, size=n_documents)] + np.float32(0.7) * draw(
        n_documents
    )
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    wanted = rng.integers(n_documents, size=n)
    turn = rng.standard_normal((N_FEATURES, N_FEATURES), dtype=np.float32)
    turn *= np.float32(1.5 / np.sqrt(N_FEATURES))
    noise = draw(n) * np.float32(3.5 / np.linalg.norm(scale))
    Q = X[wanted] + X[wanted] @ turn.T + noise
    Q /= np.linalg.norm(Q, axis=1, keepdims=True)
    return Made(X, Q, wanted)


def fit(data: Made, **settings: float) -> RetrievalAdapter:
    """Return a fitted adapter."""
    pairs = np.column_stack([np.arange(N_PAIRS), data.wanted[:N_PAIRS]])
    adapter = RetrievalAdapter(random_state=0, **settings)  # type: ignore[arg-type]
    return adapter.fit(data.queries[:N_PAIRS], data.documents, pairs)


def loop(data: Made, rate: float, goal: float) -> tuple[list[str], float, int]:
    """Return the loop's seconds up to the goal, its best MRR, and its epochs."""
    setting = Setting("InfoNCE", 0.05, rate, MOST_EPOCHS)
    pairs = np.column_stack([np.arange(N_PAIRS), data.wanted[:N_PAIRS]])
    best, seconds, epoch = 0.0, ["0", "0"], 0
    for A, taken, worked in train(data.queries, data.documents, pairs, setting, 512, 0):
        epoch += 1
        best = max(best, data.held_out_mrr(A))
        seconds = [f"{taken:.2f}", f"{worked:.2f}"]
        print(f"  epoch {epoch}: {taken:.1f} s, {worked:.1f} s, {best:.3f}", flush=True)
        if best >= goal:
            break
    return seconds, best, epoch
