"""Queries held out, and what they are ranked among."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from vicinal._typing import FloatArray
from vicinal.adapters import _selection
from vicinal.adapters._selection import HeldOut, Selection, _thinned, select
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


def selected(
    monkeypatch: pytest.MonkeyPatch,
    gains: FloatArray,
    of_alpha: dict[float, float],
) -> Selection:
    """Select among penalties, where learning helps each query as it is said to.

    Parameters
    ----------
    monkeypatch : MonkeyPatch
        Of the test.
    gains : ndarray of shape (n_queries,)
        What learning adds to the score of each query, which was 0 before.
    of_alpha : dict
        What these are multiplied by, for each penalty; others only do harm.
    """
    n = len(gains)
    points = np.arange(2.0 * n).reshape(n, 2)
    relevance = csr_array(np.eye(n))
    objective = RetrievalObjective(
        points, points, relevance, temperature=1.0, side="query", unit_length=False
    )

    def maximize(learning: Any, alpha: float, begin: Any) -> Any:
        return SimpleNamespace(components=alpha * np.eye(2))

    def scores(fold: HeldOut, components: FloatArray | None, ks: Any) -> Any:
        own = gains[fold.rows]
        if components is None:
            return {"map": np.zeros_like(own)}
        factor = of_alpha.get(components[0, 0])
        return {"map": np.full_like(own, -1) if factor is None else factor * own}

    monkeypatch.setattr(_selection, "_scores", scores)
    optimizer: Any = SimpleNamespace(start=np.eye(2), maximize=maximize)
    return select(objective, relevance, optimizer, [1], 2, 0, factors=(1.0,))


def test_after_two_penalties_that_were_worse_no_weaker_one_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_alpha = {1.0: 0.3, 0.3: 0.5, 0.1: 0.4, 0.03: 0.45, 0.01: 0.9}
    found = selected(monkeypatch, np.ones(4), of_alpha)
    assert [trial.alpha for trial in found.tried] == [1.0, 0.3, 0.1, 0.03]
    assert found.alpha == 0.3
    # One that was worse is not enough.
    of_alpha = {1.0: 0.3, 0.3: 0.2, 0.1: 0.4, 0.03: 0.3, 0.01: 0.5, 0.003: 0.6}
    found = selected(monkeypatch, np.ones(4), of_alpha)
    assert [trial.alpha for trial in found.tried] == list(of_alpha)
    assert found.alpha == 0.003


@pytest.mark.parametrize(
    ("gains", "is_gain"),
    [
        ([0.5, 0.4], True),
        # The mean and its standard error: 0.275 and 0.243; 0.240 and 0.254.
        ([1.0, 0.1, 0.0, 0.0], True),
        ([1.0, 0.0, 0.0, -0.04], False),
    ],
)
def test_a_gain_is_more_than_a_standard_error(
    gains: list[float], is_gain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = selected(monkeypatch, np.array(gains), {1.0: 1.0})
    np.testing.assert_allclose(found.evaluation.after["map"], gains)
    assert found.is_gain is is_gain
