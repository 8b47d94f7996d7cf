"""Queries held out, and what they are ranked among."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from vicinal.adapters import _selection
from vicinal.adapters._selection import HeldOut, _thinned
from vicinal.objectives.retrieval import RetrievalObjective


def test_of_very_many_documents_some_are_ranked_and_all_that_are_relevant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    queries, documents = rng.normal(size=(4, 3)), rng.normal(size=(40, 3))
    wanted = rng.choice(40, size=(4, 2), replace=False)
    relevance = np.zeros((4, 40))
    np.put_along_axis(relevance, wanted, [1.0, 2.0], axis=1)
    objective = RetrievalObjective(
        queries, documents, csr_array(relevance), temperature=1.0, side="query",
        unit_length=False,
    )  # fmt: skip
    fold = HeldOut(objective, objective, csr_array(relevance), np.arange(4))
    assert _thinned(fold, 0) is fold
    monkeypatch.setattr(_selection, "_MOST_DOCUMENTS", 10)
    thin = _thinned(fold, 0)
    ranked, grades = thin.judging.documents, thin.grades.toarray()
    assert 10 <= len(ranked) <= 18
    assert grades.shape == (4, len(ranked))
    for row, given, found in zip(wanted, relevance, grades, strict=True):
        places = np.flatnonzero(found)
        best_first = places[np.argsort(found[places])]
        np.testing.assert_array_equal(
            ranked[best_first], documents[row[np.argsort(given[row])]]
        )
