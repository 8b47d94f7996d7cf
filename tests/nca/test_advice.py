"""What a fit says when it has not converged, and only then."""

import numpy as np
import pytest

from vicinal.nca._fit import _advice
from vicinal.optimize import Solution, StopReason


def solution(reason: StopReason, *curve: float) -> Solution:
    return Solution(np.eye(2), len(curve) - 1, list(curve), reason, "why")


@pytest.mark.parametrize("reason", ["converged", "callback"])
def test_nothing_to_say(reason: StopReason) -> None:
    assert _advice(solution(reason, 1.0, 2.0)) is None


def test_more_iterations_only_where_they_help() -> None:
    advice = _advice(solution("max_iter", 1.0, 2.0))
    assert advice is not None
    assert "raise max_iter" in advice
    for reason in ("line_search", "not_finite", "stale"):
        for curve in ((1.0, 2.0), (1.0, 1.0), (1.0,)):
            other = _advice(solution(reason, *curve))
            assert other is not None
            assert "max_iter" not in other
            assert "why" in other


def test_a_fit_that_gained_nothing_says_so() -> None:
    gained = _advice(solution("line_search", 1.0, 1.5))
    stuck = _advice(solution("line_search", 1.0, 1.0 + 1e-12))
    assert gained is not None
    assert stuck is not None
    assert "has learned nothing" in stuck
    assert "has learned nothing" not in gained
