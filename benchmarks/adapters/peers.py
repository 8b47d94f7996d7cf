"""Adapters as they are usually written: a linear map of queries trained by torch.

Not a requirement of vicinal: ``pip install torch==2.13.0`` (a CPU build) to run these.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.adapters import ranking_scores
from vicinal.neighborhood import effective_n_threads

# Tuned over these, and over the number of epochs, on a fifth of the learning queries.
RATES = (1e-4, 1e-3)
SOFTNESS = {"InfoNCE": (0.02, 0.05, 0.1), "triplet": (0.1, 0.3)}
EPOCHS = 10


@dataclass(frozen=True)
class Setting:
    """What is tuned: the loss, its temperature or margin, the rate, the epochs."""

    loss: str
    softness: float
    rate: float
    epochs: int


def train(
    queries: FloatArray,
    documents: FloatArray,
    pairs: IntArray,
    setting: Setting,
    batch_size: int,
    seed: int,
) -> Iterator[tuple[FloatArray, float, float]]:
    """Yield the map after each epoch, and the seconds of clock and processor so far.

    Pairs come in random batches. InfoNCE takes the batch's other documents as wrong
    ones; the triplet loss takes a random document for each pair.
    """
    import torch
    from torch.nn import functional

    torch.manual_seed(seed)
    torch.set_num_threads(effective_n_threads(None))
    Q, X = torch.from_numpy(queries), torch.from_numpy(documents)
    couples = torch.from_numpy(pairs)
    A = torch.nn.Parameter(torch.eye(Q.shape[1]))
    optimizer = torch.optim.Adam([A], lr=setting.rate)
    taken, worked = 0.0, 0.0
    for _ in range(setting.epochs):
        started, begun = time.perf_counter(), time.process_time()
        order: Any = torch.randperm(len(couples))
        for batch in order.split(batch_size):
            asking, wanted = couples[batch].T
            U = functional.normalize(Q[asking] @ A.T, dim=1)
            V = X[wanted]
            loss = _loss(torch, functional, setting, U, V, X)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        taken += time.perf_counter() - started
        worked += time.process_time() - begun
        yield A.detach().numpy().copy(), taken, worked


def _loss(torch: Any, functional: Any, setting: Setting, U: Any, V: Any, X: Any) -> Any:
    if setting.loss == "InfoNCE":
        scores = U @ V.T / setting.softness
        return functional.cross_entropy(scores, torch.arange(len(U)))
    wrong = X[torch.randint(len(X), (len(U),))]
    gap = (U * wrong).sum(1) - (U * V).sum(1)
    return functional.relu(gap + setting.softness).mean()


def tuned_map(
    loss: str,
    queries: FloatArray,
    documents: FloatArray,
    relevance: csr_array,
    batch_size: int,
    seed: int,
) -> tuple[FloatArray, Setting]:
    """Return the map with the settings that serve a fifth of the queries best."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(queries))
    judging, learning = np.array_split(order, [len(order) // 5])
    best, chosen = -np.inf, Setting(loss, SOFTNESS[loss][0], RATES[0], 1)
    for softness, rate in product(SOFTNESS[loss], RATES):
        setting = Setting(loss, softness, rate, EPOCHS)
        maps = train(
            queries[learning],
            documents,
            pairs_of(relevance[learning]),
            setting,
            batch_size,
            seed,
        )
        for epoch, (A, *_) in enumerate(maps, start=1):
            scores = ranking_scores(
                queries[judging] @ A.T, documents, relevance[judging], k=10
            )
            found = float(np.nanmean(scores["map"]))
            if found > best:
                best, chosen = found, Setting(loss, softness, rate, epoch)
    *_, (A, _, _) = train(
        queries, documents, pairs_of(relevance), chosen, batch_size, seed
    )
    return A, chosen


def pairs_of(relevance: csr_array) -> IntArray:
    """Return the pairs of queries and relevant documents."""
    rows = np.repeat(np.arange(relevance.shape[0]), np.diff(relevance.indptr))
    return np.column_stack([rows, relevance.indices]).astype(np.int64)
