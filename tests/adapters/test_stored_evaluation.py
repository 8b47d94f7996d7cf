"""What a file says of queries held out: kept as it was, or refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.data import turned
from vicinal.adapters import (
    Evaluation,
    RetrievalAdapter,
    load_adapter,
    save_adapter,
)
from vicinal.adapters._stored_evaluation import read_evaluation, stored_evaluation

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
    ),
    max_leaves=8,
)


def evaluation() -> Evaluation:
    before = {"mrr": np.array([0.5, np.nan, 1.0]), "ndcg@10": np.array([0.1, 0.2, 0.3])}
    after = {"mrr": np.array([1.0, np.nan, 1.0]), "ndcg@10": np.array([0.3, 0.2, 0.4])}
    return Evaluation(before, after, seed=3, queries=np.array([4, 0, 7]))


def stored(**change: Any) -> Any:
    return json.loads(json.dumps(stored_evaluation(evaluation()))) | change


def test_what_is_stored_comes_back() -> None:
    one, again = evaluation(), read_evaluation(stored())
    assert again is not None
    assert str(again) == str(one)
    assert again.seed == 3
    np.testing.assert_array_equal(again.queries, one.queries)
    for name in one.before:
        np.testing.assert_array_equal(again.before[name], one.before[name])
        np.testing.assert_array_equal(again.after[name], one.after[name])
    assert read_evaluation(None) is None
    largest = read_evaluation(stored(seed=2**32 - 1))
    assert largest is not None
    assert largest.seed == 2**32 - 1
    assert stored_evaluation(None) is None


def test_too_many_queries_are_not_stored() -> None:
    scores: dict[str, Any] = {"mrr": np.zeros(10_001)}
    assert stored_evaluation(Evaluation(scores, scores)) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"more": 1},
        {"seed": True},
        {"seed": -1},
        {"seed": 2**32},
        {"before": {}},
        {"before": {"mrr": [0.5, None, 1.0]}},
        {"after": {"mrr": [0.5, None, 1.0], "ndcg@10": [0.1, 0.2]}},
        {"after": {"mrr": [0.5, None, 2.0], "ndcg@10": [0.1, 0.2, 0.3]}},
        {"after": {"mrr": [0.5, None, float("inf")], "ndcg@10": [0.1, 0.2, 0.3]}},
        {"after": {"mrr": [None, None, None], "ndcg@10": [0.1, 0.2, 0.3]}},
        {"after": {"mrr": [0.5, None, 10**400], "ndcg@10": [0.1, 0.2, 0.3]}},
        {"after": {"mrr": [None, 0.5, 1.0], "ndcg@10": [0.1, 0.2, 0.3]}},
        {"after": {"mrr": [0.5, "1", 1.0], "ndcg@10": [0.1, 0.2, 0.3]}},
        {"before": {"\x1b[2J": [0.5, None, 1.0], "ndcg@10": [0.1, 0.2, 0.3]}},
        {"queries": [0, 1]},
        {"queries": [0, 1, 1]},
        {"queries": [0, 1, -1]},
        {"queries": [0, 1, 2**60]},
        {"queries": [0, 1, 2.0]},
    ],
)
def test_what_does_not_fit_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the evaluation"):
        read_evaluation(stored(**wrong))


@given(JSON, st.sampled_from(["before", "after", "seed", "queries"]))
def test_nothing_else_than_a_refusal_comes_of_anything(given: Any, key: str) -> None:
    for one in (given, stored(**{key: given})):
        try:
            read_evaluation(one)
        except ValueError as error:
            assert "the evaluation" in str(error)  # noqa: PT017


def test_an_adapter_keeps_its_evidence_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "adapter.safetensors"
    adapter = RetrievalAdapter(temperature=0.5, n_folds=2, random_state=0)
    adapter.fit(*turned())
    save_adapter(path, adapter)
    assert str(load_adapter(path).evaluation_) == str(adapter.evaluation_)
    # Without evidence there is none in the file.
    save_adapter(path, RetrievalAdapter(alpha=0.1).fit(*turned()))
    assert not hasattr(load_adapter(path), "evaluation_")
