from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vicinal.classic.tuples import STRATEGIES, best_threshold


def rates(distances: Any, alike: Any, threshold: float) -> dict[str, float]:
    said = distances <= threshold
    found, n_alike = int((said & alike).sum()), int(alike.sum())
    precision = found / max(int(said.sum()), 1)
    recall = found / n_alike
    both = precision + recall
    return {
        "accuracy": float((said == alike).mean()),
        "f_beta": 2 * precision * recall / both if both else 0.0,
        "max_tpr": recall,
        "max_tnr": float((~said & ~alike).sum() / (~alike).sum()),
    }


@given(seed=st.integers(0, 2**16), strategy=st.sampled_from(STRATEGIES))
@settings(max_examples=60, deadline=None)
def test_no_other_threshold_is_better(seed: int, strategy: str) -> None:
    rng = np.random.default_rng(seed)
    distances = rng.integers(0, 6, size=12) / 2.0  # with many that are equal
    alike = rng.random(12) < 0.5
    alike[:2] = True, False
    other = {"max_tpr": "max_tnr", "max_tnr": "max_tpr"}.get(strategy)
    chosen = best_threshold(distances, alike, strategy, min_rate=0.4 if other else None)
    mine = rates(distances, alike, chosen)
    assert other is None or mine[other] >= 0.4
    for cut in [-1.0, *np.unique(distances)]:
        theirs = rates(distances, alike, cut)
        if other is None or theirs[other] >= 0.4:
            assert mine[strategy] >= theirs[strategy] - 1e-12


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"strategy": "best"}, "strategy must be one of"),
        ({"strategy": "max_tpr"}, "needs min_rate"),
        ({"strategy": "max_tnr", "min_rate": 1.5}, "needs min_rate"),
        ({"strategy": "f_beta", "beta": -1}, "beta must be"),
    ],
)
def test_wrong_strategies(how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        best_threshold(np.ones(2), np.array([True, False]), **how)


def test_beta_of_zero_is_precision() -> None:
    distances, alike = np.arange(6.0), np.array([1, 1, 0, 1, 1, 1], dtype=bool)
    chosen = best_threshold(distances, alike, "f_beta", beta=0)
    assert 0 < chosen < 2  # no other pair than similar ones passes
    assert best_threshold(distances, alike, "f_beta", beta=5) > 5
