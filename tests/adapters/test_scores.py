"""Scores of rankings against ir-measures, scikit-learn, and their definitions."""

from typing import Any

import ir_measures as ir
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score, ndcg_score

from vicinal._typing import FloatArray
from vicinal.adapters import ranking_scores
from vicinal.adapters._evaluation import check_k, relevant_ranks


def unit(Z: FloatArray) -> FloatArray:
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_scores_are_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Q, X = unit(rng.normal(size=(5, 3))), unit(rng.normal(size=(12, 3)))
    grades = rng.integers(0, 4, size=(5, 12)) * (rng.random((5, 12)) < 0.4)
    grades[:, 0] += 1
    entries = np.argwhere(grades)
    pairs = np.column_stack([entries, grades[tuple(entries.T)]])
    scores = ranking_scores(Q, X, pairs, k=(1, 4))
    cosines = Q @ X.T
    for q in range(5):
        order = np.argsort(-cosines[q])
        relevant = grades[q] > 0
        found = relevant[order]
        assert scores["mrr"][q] == pytest.approx(1 / (1 + np.argmax(found)))
        ap = average_precision_score(relevant, cosines[q])
        assert scores["map"][q] == pytest.approx(ap)
        for k in (1, 4):
            assert scores[f"recall@{k}"][q] == found[:k].sum() / found.sum()
            assert scores[f"hit@{k}"][q] == found[:k].any()
            expected = ndcg_score(grades[q : q + 1], cosines[q : q + 1], k=k)
            assert scores[f"ndcg@{k}"][q] == pytest.approx(expected)


def test_a_query_without_documents_has_no_score() -> None:
    scores = ranking_scores(np.eye(2), np.eye(2), [(0, 0)])
    for values in scores.values():
        assert values[0] == 1
        assert np.isnan(values[1])


def test_metrics_differ_where_lengths_do() -> None:
    documents = np.array([[10.0, 0.0], [0.8, 0.6]])
    cosine = ranking_scores([[1.0, 0.0]], documents, [(0, 0)], k=1)
    euclidean = ranking_scores(
        [[1.0, 0.0]], documents, [(0, 0)], k=1, metric="euclidean"
    )
    assert cosine["hit@1"].tolist() == [1]
    assert euclidean["hit@1"].tolist() == [0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"metric": "dot"}, "'cosine' or 'euclidean'"),
        ({"documents": np.eye(3)}, "same space"),
        ({"documents": np.zeros((2, 2))}, "vector of document 0 is all zeros"),
        ({"queries": [[np.nan, 1]]}, "NaN"),
        ({"k": 0}, "at least 1"),
    ],
)
def test_what_is_wrong_is_said(arguments: dict[str, Any], words: str) -> None:
    given_: dict[str, Any] = {
        "queries": np.eye(2),
        "documents": np.eye(2),
        "relevance": [(0, 0)],
    }
    with pytest.raises(ValueError, match=words):
        ranking_scores(**(given_ | arguments))


def test_k_may_be_one_or_several() -> None:
    assert check_k(3) == [3]
    assert check_k((1, 5)) == [1, 5]
    assert check_k(np.array([2])) == [2]  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1"):
        check_k([])


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_scores_are_those_of_ir_measures(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Q, X = unit(rng.normal(size=(4, 3))), unit(rng.normal(size=(15, 3)))
    grades = rng.integers(0, 4, size=(4, 15)) * (rng.random((4, 15)) < 0.4)
    grades[:, 0] += 1
    entries = np.argwhere(grades)
    scores = ranking_scores(
        Q, X, np.column_stack([entries, grades[tuple(entries.T)]]), k=5
    )
    qrels = [ir.Qrel(str(q), str(d), int(grades[q, d])) for q, d in entries]
    cosines = Q @ X.T
    run = [
        ir.ScoredDoc(str(q), str(d), float(cosines[q, d]))
        for q in range(4)
        for d in range(15)
    ]
    measures = {
        "recall@5": ir.R @ 5,
        "hit@5": ir.Success @ 5,
        "ndcg@5": ir.nDCG @ 5,
        "mrr": ir.RR,
        "map": ir.AP,
    }
    expected = ir.calc_aggregate(list(measures.values()), qrels, run)
    for name, measure in measures.items():
        assert scores[name].mean() == pytest.approx(expected[measure]), name


@pytest.mark.parametrize("density", [0.1, 0.4, 0.9])  # ranks are counted or sorted
@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_ranks_are_positions_in_the_stable_order(density: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Few values, so that many distances are equal.
    Q = rng.integers(-1, 2, size=(6, 2)).astype(float)
    X = rng.integers(-1, 2, size=(9, 2)).astype(float)
    relevance = csr_array((rng.random((6, 9)) < density).astype(float))
    ranks = relevant_ranks(Q, X, relevance, unit_length=False, n_threads=2)
    distances = ((Q[:, None] - X[None]) ** 2).sum(axis=2)
    order = np.argsort(distances, axis=1, kind="stable")
    expected = np.argsort(order, axis=1)[relevance.toarray() > 0] + 1
    np.testing.assert_array_equal(ranks, expected)
