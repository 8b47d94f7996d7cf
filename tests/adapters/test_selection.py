"""The choice of settings on held-out queries."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from vicinal._typing import FloatArray
from vicinal.adapters import _selection
from vicinal.adapters._objective import RetrievalObjective
from vicinal.adapters._selection import HeldOutQueries


def test_settings_are_compared_on_a_sample_of_many_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    queries, documents = rng.normal(size=(4, 3)), rng.normal(size=(40, 3))
    relevant = rng.choice(40, size=(4, 2), replace=False)
    weights = np.zeros((4, 40))
    np.put_along_axis(weights, relevant, [0.25, 0.75], axis=1)
    objective = RetrievalObjective(queries, documents, csr_array(weights))
    held_out = HeldOutQueries(objective, 2, [1], 0)
    assert all(len(sample.documents) == 40 for sample in held_out.samples)
    monkeypatch.setattr(_selection, "N_SAMPLED_DOCUMENTS", 10)
    held_out = HeldOutQueries(objective, 2, [1], 0)
    assert all(len(test.documents) == 40 for test in held_out.tests)
    for sample, test in zip(held_out.samples, held_out.tests, strict=True):
        assert 10 <= len(sample.documents) <= 18
        np.testing.assert_allclose(
            sample.weights @ sample.documents, test.weights @ documents
        )


class Simulated(HeldOutQueries):
    """Held-out queries whose scores are 0 without maps, and given for each penalty."""

    sign = 1.0

    def __init__(self, gains: FloatArray, of_alpha: dict[float, float]) -> None:
        n = len(gains)
        points = np.arange(2.0 * n).reshape(n, 2)
        objective = RetrievalObjective(points, points, csr_array(np.eye(n)))
        self.gains, self.of_alpha = gains, of_alpha
        super().__init__(objective, 2, [1], 0)

    def _scores(self, test: Any, maps: FloatArray | None) -> dict[str, FloatArray]:
        gains = self.gains[(test.queries[:, 0] / 2).astype(int)]
        factor = self.of_alpha.get(maps[0, 0]) if maps is not None and maps.any() else 0
        scores = np.full_like(gains, -1) if factor is None else factor * gains
        return {"map": scores, "ndcg@1": self.sign * scores}

    def path(self) -> list[_selection.Candidate]:
        def solve(_: Any, alpha: float, *__: Any) -> Any:
            return SimpleNamespace(x=alpha * np.eye(2))

        start = self._candidate(None, np.inf, 1.0, [0 * np.eye(2)] * 2)
        return [start, *self.fit_path(solve, start, [1.0])]


@pytest.mark.parametrize(
    ("of_alpha", "n_tried", "best"),
    [
        ({1.0: 0.3, 0.3: 0.5, 0.1: 0.4, 0.03: 0.45, 0.01: 0.9}, 4, 0.3),
        # One worse penalty is not enough to stop.
        ({1.0: 0.3, 0.3: 0.2, 0.1: 0.4, 0.03: 0.3, 0.01: 0.5, 0.003: 0.6}, 6, 0.003),
    ],
)
def test_the_path_stops_after_two_worse_penalties(
    of_alpha: dict[float, float], n_tried: int, best: float
) -> None:
    trials = Simulated(np.ones(4), of_alpha).path()[1:]
    assert [trial.alpha for trial in trials] == list(of_alpha)[:n_tried]
    assert max(trials, key=lambda trial: trial.precision.sum()).alpha == best


@pytest.mark.parametrize(
    ("gains", "improves"),
    [
        ([0.5, 0.4, 0.5, 0.4], True),
        # The mean and its standard error: 0.275 and 0.243; 0.240 and 0.254.
        ([1.0, 0.1, 0.0, 0.0], True),
        ([1.0, 0.0, 0.0, -0.04], False),
    ],
)
def test_an_improvement_is_more_than_a_standard_error(
    gains: list[float], improves: bool
) -> None:
    held_out = Simulated(np.array(gains), {1.0: 1.0})
    chosen, _, after = held_out.evaluate(held_out.path(), unmapped=False)
    np.testing.assert_allclose(after["map"], gains)
    assert (chosen.alpha == 1.0) is improves


def test_maps_that_lower_the_first_ranks_are_not_taken() -> None:
    held_out = Simulated(np.array([0.5, 0.4, 0.5, 0.4]), {1.0: 1.0})
    held_out.sign = -1.0
    chosen, *_ = held_out.evaluate(held_out.path(), unmapped=False)
    assert chosen.alpha == np.inf


def test_the_strongest_penalty_within_a_standard_error_is_taken() -> None:
    gains = np.array([0.9, 0.1, 0.2, 0.8])
    held_out = Simulated(gains, {1.0: 0.97, 0.3: 1.0, 0.1: 0.2, 0.03: 0.2})
    assert held_out.evaluate(held_out.path(), unmapped=False)[0].alpha == 0.3
