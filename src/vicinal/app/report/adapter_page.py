"""Pages of an adapter, with the queries that changed most, and of a bridge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.report.page import environment, policy, template_text
from vicinal.app.report.sections import versions
from vicinal.app.report.text import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal._typing import IntArray
    from vicinal.adapters import Certificate, EmbeddingBridge, RetrievalAdapter

_NAMES = {"mrr": "reciprocal rank", "map": "average precision"}
_SIDES = {"query": "queries are mapped", "both": "one map for both", "two": "two maps"}


def adapter_page(
    adapter: RetrievalAdapter,
    *,
    title: str = "Adapter",
    query_texts: Sequence[str] | None = None,
    document_texts: Sequence[str] | None = None,
    relevance: Any = None,
    command: str | None = None,
    n_shown: int = 10,
) -> str:
    """Return the evaluation of a fitted adapter as a self-contained HTML page.

    Parameters
    ----------
    adapter : RetrievalAdapter
        Fitted with ``alpha="auto"``, so that it has an evaluation.
    title : str, default="Adapter"
        The heading.
    query_texts, document_texts : sequence of str, optional
        The texts of the vectors; without them, rows are named by number.
    relevance : array-like of shape (n_pairs, 2 or 3), optional
        Pairs of positions: the first relevant document of a query is shown with it.
    command : str, optional
        The command that made the page.
    n_shown : int, default=10
        The number of queries with the largest gains and losses to show.

    Returns
    -------
    str
        The page, without scripts and network access. All texts are escaped.

    Raises
    ------
    ValueError
        If the adapter has no evaluation.
    ImportError
        If Jinja is not installed.
    """
    if not hasattr(adapter, "evaluation_"):
        raise ValueError(
            "This adapter has no evaluation: fit it with alpha='auto', so that queries "
            "are held out."
        )
    evaluation = adapter.evaluation_
    template = environment().get_template("adapter.html.j2")
    style = template_text("report.css")
    before, after = evaluation.before["map"], evaluation.after["map"]
    gains = after - before
    numbers = (
        np.arange(len(gains)) if evaluation.queries is None else evaluation.queries
    )
    d, n_features = adapter.query_components_.shape
    order = np.argsort(-gains, kind="stable")
    wanted = _first_relevant(relevance)
    lines = [
        {
            "query": _text(query_texts, number, "query"),
            "document": _text(document_texts, wanted.get(number), "document"),
            "before": f"{before[i]:.3f}",
            "after": f"{after[i]:.3f}",
            "gain": f"{gains[i]:+.3f}",
        }
        for i, number in enumerate(numbers.tolist())
    ]
    text: str = template.render(
        title=short(title, 120),
        policy=policy(style, ""),
        style=style,
        verdict=_verdict(adapter),
        facts=[
            _SIDES[adapter.side],
            f"{n_features:,} to {d:,} dimensions",
            f"{adapter.metric_} metric",
            f"penalty {adapter.alpha_:g}, temperature {adapter.temperature_:.3g}"
            if np.isfinite(adapter.alpha_)
            else "no iterations",
        ],
        changes=evaluation.changes,
        names=_NAMES,
        measure=_NAMES["map"],
        counts=[int(part.sum()) for part in (gains > 0, gains < 0, gains == 0)],
        gained=[lines[i] for i in order[:n_shown] if gains[i] > 0],
        lost=[lines[i] for i in order[::-1][:n_shown] if gains[i] < 0],
        command=None if command is None else short(command, 2000),
        versions=versions(),
    )
    return text


def bridge_page(
    bridge: EmbeddingBridge, *, title: str = "Bridge", command: str | None = None
) -> str:
    """Return the certificates of a bridge as a self-contained HTML page.

    Parameters
    ----------
    bridge : EmbeddingBridge
        A fitted bridge.
    title : str, default="Bridge"
        The heading.
    command : str, optional
        The command that made the page.

    Returns
    -------
    str
        The page, without scripts and network access. All texts are escaped.

    Raises
    ------
    ImportError
        If Jinja is not installed.
    """
    style = template_text("report.css")
    certificate = bridge.certificate_
    d, n_features = bridge.coef_.shape
    recall = certificate.recall
    verdict = (
        f"New queries find {100 * recall.value:.0f} % (95 % interval: "
        f"{100 * recall.low:.0f} to {100 * recall.high:.0f} %) of the 10 texts that "
        "the old model's own vectors find."
    )
    if not certificate.matched:
        verdict = (
            f"The two tables seem to be of different texts, or in different orders: "
            f"recall is {recall.value:.3f}, and {certificate.chance:.3f} by chance."
        )
    text: str = (
        environment()
        .get_template("bridge.html.j2")
        .render(
            title=short(title, 120),
            policy=policy(style, ""),
            style=style,
            verdict=verdict,
            facts=[
                f"{n_features:,} to {d:,} dimensions",
                f"{bridge.metric_} metric",
                f"{certificate.n_pairs:,} pairs, {certificate.n_held_out:,} held out",
            ],
            directions=[
                _direction("New queries in the old index", "new", certificate),
                _direction(
                    "Old queries in a new index", "old", bridge.inverse_certificate_
                ),
            ],
            command=None if command is None else short(command, 2000),
            versions=versions(),
        )
    )
    return text


def _direction(title: str, anchor: str, certificate: Certificate) -> dict[str, Any]:
    """Return the content of a section of a bridge's page."""
    curve = [(f"{n:,}", recall) for n, recall in certificate.learning_curve]
    twice = f"{2 * certificate.learning_curve[-1][0]:,}, expected"
    return {
        "title": title,
        "anchor": anchor,
        "map": f"The map is a {certificate.method} map of rank {certificate.rank}.",
        "scores": [
            ("recall@10", certificate.recall),
            ("nDCG@10", certificate.ndcg),
            ("rank correlation", certificate.rank_correlation),
        ],
        "curve": [*curve, (twice, certificate.recall_at_twice)],
    }


def _verdict(adapter: RetrievalAdapter) -> str:
    gain = adapter.evaluation_["map"]
    figures = (
        f"mean average precision of {gain.n_queries:,} queries that took no part in "
        f"learning is {gain.before:.3f} as the vectors are and {gain.after:.3f} with "
        f"what is learned, a difference of {gain.low:+.3f} to {gain.high:+.3f} (95 % "
        "interval)."
    )
    if adapter.is_adapted_:
        return f"The adapter helps: {figures}"
    return f"Learning does not help here, and the vectors stay as they are: {figures}"


def _first_relevant(relevance: Any) -> dict[int, int]:
    """Return the document of the highest grade of each query, the first of equals."""
    if relevance is None:
        return {}
    pairs = np.asarray(relevance, dtype=np.float64)
    grades = pairs[:, 2] if pairs.shape[1] > 2 else np.ones(len(pairs))
    order: IntArray = np.lexsort((np.arange(len(pairs)), -grades))
    found: dict[int, int] = {}
    for query, document in pairs[order, :2].astype(int).tolist():
        found.setdefault(query, document)
    return found


def _text(texts: Sequence[str] | None, number: int | None, kind: str) -> str | None:
    if number is None:
        return None
    if texts is None:
        return f"{kind} {number}"
    return short(texts[number], 400) or f"{kind} {number}, an empty text"
