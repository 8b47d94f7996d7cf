"""Relevance in its three forms, and what is wrong with it."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from vicinal.adapters._validation import check_relevance, judged_queries

EXPECTED = np.array([[1.0, 0, 2, 0], [0, 0, 0, 0], [0, 1, 0, 0]])


@pytest.mark.parametrize(
    "relevance",
    [
        np.array([[0, 0, 1], [0, 2, 2], [2, 1, 1]]),
        np.array([[0, 0], [0, 2], [0, 2], [2, 1]]),
        np.array([[0.0, 0.0], [0.0, 2.0], [0.0, 2.0], [2.0, 1.0]]),
        [(0, 0), (0, 2), (0, 2), (2, 1)],
        [[0, 2, 2], [], [1]],
        [np.array([0, 2, 2]), (), np.array([1])],
        csr_array(EXPECTED),
        coo_array(EXPECTED),
        np.array([[0, 0, 1], [0, 2, 2], [2, 1, 1], [1, 1, 0]]),
    ],
)
def test_all_forms_are_one_matrix(relevance: Any) -> None:
    grades = check_relevance(relevance, 3, 4)
    assert grades.format == "csr"
    assert grades.nnz == 3
    np.testing.assert_array_equal(grades.toarray(), EXPECTED)


@pytest.mark.parametrize(
    ("relevance", "words"),
    [
        ([(0, 4)], "document 4, but there are 4"),
        ([(3, 0)], "query 3, but there are 3"),
        ([(-1, 0)], "query -1"),
        (np.array([[0, 0, -1.0]]), "not negative"),
        (np.array([[0, 0, np.nan]]), "finite"),
        (np.array([[0, 0.5]]), "whole numbers"),
        (np.array([[0, 0, 1, 1]]), "array of pairs"),
        ([(0, "d5")], "positions, counted from 0, not by name"),
        (np.array([[b"q", b"d"]]), "positions, counted from 0, not by name"),
        (np.array([[0, "d5"]], dtype=object), "positions, counted from 0, not by name"),
        (np.empty((0, 2), dtype="U3"), "array of pairs"),
        (np.array([["a", "b"]]), "positions, counted from 0, not by name"),
        (np.zeros(3), "array of pairs"),
        ([[0], [1]], "2 lists for 3 queries"),
        ([["a"], [], []], "by their positions"),
        (csr_array((3, 5)), "column for each document"),
        (csr_array((3, 4)), "nothing to learn from"),
        ([[], [], []], "nothing to learn from"),
        (np.empty((0, 2)), "nothing to learn from"),
    ],
)
def test_what_is_wrong_is_said(relevance: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_relevance(relevance, 3, 4)


def test_queries_without_documents_are_counted() -> None:
    with pytest.warns(UserWarning, match="1 of 3 queries have no relevant document"):
        asked = judged_queries(csr_array(EXPECTED))
    assert asked.tolist() == [0, 2]


def test_lists_that_could_be_pairs() -> None:
    pairs = [[i, (i + 7) % 30] for i in range(30)]
    with pytest.raises(ValueError, match=r"a list of 2 numbers: a pair .* or the"):
        check_relevance(pairs, 30, 30)
    assert check_relevance(np.array(pairs), 30, 30).nnz == 30
    assert check_relevance([tuple(pair) for pair in pairs], 30, 30).nnz == 30
    assert check_relevance([np.array(pair) for pair in pairs], 30, 30).nnz == 60
