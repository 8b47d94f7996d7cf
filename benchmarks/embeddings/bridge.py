"""Queries of one model in the other model's index, and the certificate's coverage."""

import numpy as np
from scipy.stats import norm

from benchmarks.embeddings.encoders import Texts, load
from vicinal._typing import FloatArray
from vicinal.adapters import EmbeddingBridge, ranking_scores
from vicinal.neighbors import ExactIndex

SETS = ("cranfield", "cisi", "banking77")
N_PAIRS = 2000


def main(sets: list[str], repeats: int, seed: int) -> None:
    """Print recalls of bridged queries, then the coverage on the last set."""
    for name in sets:
        data = load(name)
        print(f"\n{name}", flush=True)
        measure(data, seed)
    if repeats:
        print(f"\ncoverage, {name}, {repeats} samples of pairs", flush=True)
        coverage(data, repeats, seed)


def measure(data: Texts, seed: int) -> None:
    """Print scores of both directions, with bootstrap intervals over the queries."""
    rng = np.random.default_rng(seed)
    n = len(data.minilm[0])
    pairs = rng.permutation(n)[:N_PAIRS]
    bridge = EmbeddingBridge(random_state=seed, n_jobs=1)
    bridge.fit(data.minilm[0][pairs], data.wordllama[0][pairs])
    for title, transform, new, old, certificate in (
        ("MiniLM queries, wordllama index", bridge.transform, data.minilm,
         data.wordllama, bridge.certificate_),
        ("wordllama queries, MiniLM index", bridge.inverse_transform, data.wordllama,
         data.minilm, bridge.inverse_certificate_),
    ):  # fmt: skip
        print(f"{title}, {len(pairs):,} pairs\n{certificate}")
        bridged = transform(new[1])
        own, found = (
            ExactIndex("cosine", n_jobs=1).build(old[0]).query(one)[0]
            for one in (old[1], bridged)
        )
        shared = (own[:, :, None] == found[:, None, :]).any(axis=2).mean(axis=1)
        print("neighbors shared with the index's own queries:", interval(shared, rng))
        # Queries without judgments are scored by no one; their NaN is left out.
        judged = np.flatnonzero(np.diff(data.relevance.indptr))
        own_scores, bridged_scores, new_scores = (
            ranking_scores(Q[judged], X, data.relevance[judged], k=10, n_jobs=1)
            for Q, X in ((old[1], old[0]), (bridged, old[0]), (new[1], new[0]))
        )
        for score in ("recall@10", "ndcg@10"):
            before, after = own_scores[score], bridged_scores[score]
            print(
                f"{score}: own {before.mean():.3f}, bridged {after.mean():.3f}, "
                f"re-embedded {new_scores[score].mean():.3f}; "
                f"bridged / own {ratio(after, before, rng)}",
                flush=True,
            )


def interval(values: FloatArray, rng: np.random.Generator) -> str:
    """Return the mean with a 95 % bootstrap interval."""
    return ratio(values, np.ones(len(values)), rng)


def ratio(above: FloatArray, below: FloatArray, rng: np.random.Generator) -> str:
    """Return a ratio of means with a 95 % bootstrap interval over the queries."""
    rows = rng.integers(len(above), size=(2000, len(above)))
    found = above[rows].sum(axis=1) / below[rows].sum(axis=1)
    low, high = np.quantile(found, [0.025, 0.975])
    return f"{above.sum() / below.sum():.3f} ({low:.3f} to {high:.3f}), n={len(above)}"


def coverage(data: Texts, repeats: int, seed: int, n_pairs: int = 500) -> None:
    """Print how often the certificate's interval has the recall of fresh texts."""
    new, old = data.minilm[0], data.wordllama[0]
    errors, covered, widths = [], [], []
    for repeat in range(repeats):
        rng = np.random.default_rng((seed, repeat))
        order = rng.permutation(len(new))
        pairs, fresh = order[:n_pairs], order[n_pairs : n_pairs + 4000]
        bridge = EmbeddingBridge(random_state=repeat, n_jobs=1)
        bridge.fit(new[pairs], old[pairs])
        for transform, source, target, certificate in (
            (bridge.transform, new, old, bridge.certificate_),
            (bridge.inverse_transform, old, new, bridge.inverse_certificate_),
        ):
            index = ExactIndex("cosine", n_jobs=1).build(target[pairs])
            own = index.query(target[fresh])[0]
            found = index.query(transform(source[fresh]))[0]
            truth = (own[:, :, None] == found[:, None, :]).any(axis=2).mean()
            value, low, high = certificate.recall
            errors.append(value - truth)
            covered.append(low <= truth <= high)
            widths.append(high - low)
    hits, n = np.reshape(covered, (-1, 2)).mean(axis=0), repeats
    # Wilson's interval for both directions.
    z = norm.ppf(0.975)
    middle = (hits + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(hits * (1 - hits) / n + z**2 / (4 * n**2))
    for k, direction in enumerate(("to wordllama", "to MiniLM")):
        bias = np.array(errors).reshape(-1, 2)[:, k]
        print(
            f"{direction}: {n_pairs} pairs, covered {hits[k]:.2f} "
            f"({middle[k] - half[k]:.2f} to {middle[k] + half[k]:.2f}), mean error "
            f"{bias.mean():+.4f} ± {bias.std(ddof=1) / np.sqrt(n):.4f}, "
            f"width {np.mean(widths[k::2]):.3f}"
        )
