"""Adapters from few labeled queries, and how often they harm new queries.

A cell is a set of texts, an encoder, a number of labeled queries, and a draw of these
queries. All other queries are new: their nDCG@10 is compared with that of the vectors
as they are. Peers need torch: a linear map of the queries trained by InfoNCE or a
triplet loss and tuned on a fifth of the labeled queries, and a residual map of both
sides like Search-Adaptor (Yoon et al., ACL 2024).
"""

import json
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.adapters import peers
from benchmarks.embeddings.encoders import Texts, load
from benchmarks.papers.runner import current_commit
from vicinal._typing import FloatArray
from vicinal.adapters import Evaluation, RetrievalAdapter, ranking_scores

BUDGETS = (25, 50, 100, 300, 1000)
ENCODERS = ("minilm", "wordllama", "hybrid")
MIN_NEW = 20
# Of BANKING77's 10,003, so that a run of all cells ends within hours.
MAX_DOCUMENTS = 3000
VERSIONS = {name: version(name) for name in ("numpy", "scikit-learn", "torch")}

Maps = tuple[FloatArray, FloatArray]


def vicinal_maps(Q: Any, X: Any, relevance: Any, new: Any, seed: int) -> Maps:
    """Return mapped new queries and documents by RetrievalAdapter."""
    adapter = RetrievalAdapter(random_state=seed, n_jobs=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Nothing was learned")
        adapter.fit(Q, X, relevance)
    return adapter.transform_queries(new), adapter.transform_documents(X)


def torch_maps(loss: str) -> Callable[..., Maps]:
    """Return a method: mapped new queries by a tuned linear map."""

    def method(Q: Any, X: Any, relevance: Any, new: Any, seed: int) -> Maps:
        A, _ = peers.tuned_map(loss, Q, X, relevance, 64, seed)
        return new @ A.T, X

    return method


def skip_maps(Q: Any, X: Any, relevance: csr_array, new: Any, seed: int) -> Maps:
    """Return mapped new queries and documents by a residual map, x + W x.

    The logistic ranking loss of each relevant document against others of the batch, a
    recovery loss (weight 0.1) and the prediction of the query from its document (0.01);
    Adam, rate 0.001, batches of 128 pairs, at most 2,000 steps, patience 125 on a fifth
    of the queries.
    """
    import torch
    from torch.nn import functional

    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    judging, learning = np.array_split(rng.permutation(len(Q)), [len(Q) // 5])
    pairs = peers.pairs_of(relevance[learning])
    wanted = torch.from_numpy(relevance[learning].toarray() > 0)
    asked, documents = torch.from_numpy(Q[learning]), torch.from_numpy(X)
    D = Q.shape[1]
    W = torch.nn.Parameter(torch.zeros(D, D))
    P = torch.nn.Parameter(torch.zeros(D, D))
    optimizer = torch.optim.Adam([W, P], lr=1e-3)

    def mapped(vectors: Any) -> Any:
        return functional.normalize(vectors + vectors @ W.T, dim=1)

    best, kept, last = -np.inf, np.zeros((D, D), np.float32), 0
    for step in range(2000):
        if step % 25 == 0:
            found = W.detach().numpy()
            scores = ranking_scores(
                Q[judging] + Q[judging] @ found.T,
                X + X @ found.T,
                relevance[judging],
                k=10,
            )
            score = float(np.nanmean(scores["ndcg@10"]))
            if score > best:
                best, kept, last = score, found.copy(), step
            elif step - last >= 125:
                break
        batch = pairs[rng.integers(len(pairs), size=128)]
        U, V = asked[batch[:, 0]], documents[batch[:, 1]]
        u, v = mapped(U), mapped(V)
        cosines = u @ v.T
        wrong = ~wanted[batch[:, 0]][:, batch[:, 1]]
        gaps = functional.softplus(cosines - cosines.diagonal()[:, None])
        loss = (gaps * wrong).sum() / wrong.sum().clamp(min=1)
        loss = loss + 0.1 * ((u - U).abs().mean() + (v - V).abs().mean())
        loss = loss + 0.01 * (u - v - v @ P.T).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return new + new @ kept.T, X + X @ kept.T


METHODS: dict[str, Callable[..., Maps]] = {
    "vicinal": vicinal_maps,
    "InfoNCE": torch_maps("InfoNCE"),
    "triplet": torch_maps("triplet"),
    "skip": skip_maps,
}


def main(sets: list[str], draws: int, store: Path, minutes: float | None) -> None:
    """Run the cells that are not in the store, and print the table of all of them."""
    runs = json.loads(store.read_text("utf-8")) if store.exists() else []
    known = {key_of(one) for one in runs}
    started, commit = time.monotonic(), current_commit()
    texts: dict[str, Texts] = {}
    for draw, budget, name, encoder, method in product(
        range(draws), BUDGETS, sets, ENCODERS, METHODS
    ):
        if (name, encoder, budget, draw, method) in known:
            continue
        if minutes is not None and time.monotonic() - started > 60 * minutes:
            break
        if name not in texts:
            texts[name] = load(name)
        Q, X, relevance = data_of(texts[name], encoder)
        if len(Q) - budget < MIN_NEW:
            continue
        begun = time.process_time()
        run = {"set": name, "encoder": encoder, "budget": budget, "draw": draw}
        run |= {"method": method} | score(
            METHODS[method], Q, X, relevance, budget, draw
        )
        run |= {"seconds": round(time.process_time() - begun, 1)}
        run |= {"commit": commit, "versions": VERSIONS}
        print(*(run[key] for key in ("set", "encoder", "budget", "draw", "method",
              "before", "gain", "p", "seconds")), flush=True)  # fmt: skip
        runs.append(run)
        temporary = store.with_suffix(".tmp")
        temporary.write_text(",\n".join(map(json.dumps, runs)).join("[]"), "utf-8")
        temporary.replace(store)
    print("\n".join(table(runs)))


def key_of(run: dict[str, Any]) -> tuple[Any, ...]:
    """Return the names of a run."""
    return tuple(run[key] for key in ("set", "encoder", "budget", "draw", "method"))


def data_of(data: Texts, encoder: str) -> tuple[FloatArray, FloatArray, csr_array]:
    """Return judged queries, some documents, and the relevance between them."""
    kept = np.arange(len(data.minilm[0]))
    if len(kept) > 2 * MAX_DOCUMENTS:
        kept = np.sort(np.random.default_rng(0).permutation(kept)[:MAX_DOCUMENTS])
    relevance = data.relevance[:, kept]
    judged = np.flatnonzero(np.diff(relevance.indptr))
    parts = [data.wordllama if encoder == "wordllama" else data.minilm]
    if encoder == "hybrid":
        parts.append(bm25_vectors(data.texts))
    X, Q = (
        (np.hstack([one[k] for one in parts]) / np.sqrt(len(parts))).astype(np.float32)
        for k in (0, 1)
    )
    return Q[judged], X[kept], relevance[judged]


def bm25_vectors(texts: tuple[Any, Any], width: int = 256) -> Maps:
    """Return vectors of documents and queries whose products approximate BM25."""
    words = CountVectorizer(stop_words="english")
    counts = words.fit_transform(texts[0]).astype(np.float64)
    n, lengths = counts.shape[0], np.asarray(counts.sum(axis=1)).ravel()
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log1p((n - frequency + 0.5) / (frequency + 0.5))
    rows = np.repeat(np.arange(n), np.diff(counts.indptr))
    saturation = 1.5 * (0.25 + 0.75 * lengths[rows] / lengths.mean())
    counts.data = idf[counts.indices] * 2.5 * counts.data / (counts.data + saturation)
    axes = TruncatedSVD(width, random_state=0).fit(counts)
    vectors = axes.transform(counts), axes.transform(words.transform(texts[1]))
    documents, queries = (
        one / np.maximum(np.linalg.norm(one, axis=1, keepdims=True), 1e-9)
        for one in vectors
    )
    return documents, queries


def score(
    method: Callable[..., Maps],
    Q: FloatArray,
    X: FloatArray,
    relevance: csr_array,
    budget: int,
    draw: int,
) -> dict[str, Any]:
    """Learn from some queries and score the others before and after."""
    order = np.random.default_rng((1, draw)).permutation(len(Q))
    learning, new = np.sort(order[:budget]), np.sort(order[budget:])
    mapped = method(Q[learning], X, relevance[learning], Q[new], draw)
    before, after = (
        ranking_scores(*vectors, relevance[new], k=10, n_jobs=1)["ndcg@10"]
        for vectors in ((Q[new], X), mapped)
    )
    change = Evaluation({"ndcg": before}, {"ndcg": after})["ndcg"]
    found = {"n": change.n_queries, "before": change.before, "gain": change.gain,
             "low": change.low, "high": change.high, "p": change.p_value}  # fmt: skip
    return {key: round(value, 5) for key, value in found.items()}


def table(runs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield lines of gains and of cells beyond chance, by method and budget."""
    yield "| method | queries | cells | mean gain | better | worse |"
    yield "|---|---|---|---|---|---|"
    for method, budget in product(METHODS, [*BUDGETS, None]):
        cells = [
            one
            for one in runs
            if one["method"] == method and budget in (one["budget"], None)
        ]
        if not cells:
            continue
        gains = np.array([one["gain"] for one in cells])
        error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
        better, worse = (
            sum(one["p"] < 0.05 and sign * one["gain"] > 0 for one in cells)
            for sign in (1, -1)
        )
        yield (
            f"| {method} | {budget or 'all'} | {len(cells)} | {gains.mean():+.3f} ± "
            f"{error:.3f} | {better} | {worse} |"
        )
