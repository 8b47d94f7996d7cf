"""The page of an adapter: its figures, its queries, and texts that mean harm."""

import re
import warnings
from html import unescape

import numpy as np
import pytest

from tests.adapters.data import turned
from vicinal.adapters import RetrievalAdapter
from vicinal.app.report.adapter_page import adapter_page


@pytest.fixture(scope="module")
def adapter() -> RetrievalAdapter:
    return RetrievalAdapter(random_state=0).fit(*turned())


def test_figures_and_queries_are_on_the_page(adapter: RetrievalAdapter) -> None:
    gain = adapter.evaluation_["map"]
    gains = adapter.evaluation_.after["map"] - adapter.evaluation_.before["map"]
    texts = [f"question {i}" for i in range(120)]
    documents = [f"passage {i}" for i in range(200)]
    pairs = turned()[2]
    text = adapter_page(
        adapter, query_texts=texts, document_texts=documents, relevance=pairs
    )
    assert f"{gain.before:.3f}" in text
    assert f"{gain.low:+.3f} to {gain.high:+.3f}" in text
    best = int(np.argmax(gains))
    assert f"question {best}<" in text
    assert f"passage {pairs[best][1]}<" in text
    shown = re.findall(r'number">(\+\d\.\d{3})</td></tr>', text)
    assert len(shown) >= 10
    assert "<script" not in text


def test_texts_cannot_do_harm(adapter: RetrievalAdapter) -> None:
    evil = ["<script>alert(1)</script>\u202e\x07" + "x" * 10_000] * 200
    text = adapter_page(
        adapter,
        title="</title><script>",
        query_texts=evil[:120],
        document_texts=evil,
        relevance=turned()[2],
        command="vicinal adapt '<b>'",
    )
    assert "<script" not in text
    assert "\u202e" not in text
    assert "\x07" not in text
    assert len(text) < 200_000
    assert "default-src 'none'" in unescape(text)


def test_without_texts_and_where_nothing_was_learned() -> None:
    rng = np.random.default_rng(0)
    queries, documents = rng.normal(size=(40, 4)), rng.normal(size=(60, 4))
    pairs = np.column_stack([np.arange(40), rng.integers(60, size=40)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapter = RetrievalAdapter(random_state=0).fit(queries, documents, pairs)
    assert not adapter.is_adapted_
    text = adapter_page(adapter)
    assert "Learning does not help here" in text
    assert "query " in text


def test_an_evaluation_is_needed() -> None:
    adapter = RetrievalAdapter(alpha=0.1).fit(*turned())
    with pytest.raises(ValueError, match="alpha='auto'"):
        adapter_page(adapter)
