from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, ttest_rel

from vicinal.app.comparison.statistics import (
    corrected_error,
    holm,
    p_value,
    t_half_width,
)

PROBABILITIES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_without_overlap_it_is_the_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(0.3, 1, size=(2, 12))
    expected = ttest_rel(one, other).pvalue
    assert p_value(one - other, ratio=0.0) == pytest.approx(expected)


def test_correction_by_hand() -> None:
    values = np.array([0.1, 0.4, 0.3, 0.2])
    variance = ((values - 0.25) ** 2).sum() / 3
    error = np.sqrt(variance * (1 / 4 + 3 / 7))
    assert corrected_error(values, 3 / 7) == pytest.approx(error)
    assert t_half_width(values, 3 / 7) == pytest.approx(t.ppf(0.975, 3) * error)
    assert p_value(values, 3 / 7) == pytest.approx(2 * t.sf(0.25 / error, 3))


def test_the_test_keeps_its_level_on_overlapping_splits() -> None:
    # Two "methods" that guess: over many data sets, few differences may look real.
    rng = np.random.default_rng(0)
    n, n_test, found = 100, 30, 0
    for _ in range(300):
        right = rng.random((2, n)) < 0.5
        gains = []
        for _ in range(10):
            test = rng.permutation(n)[:n_test]
            gains.append(right[0, test].mean() - right[1, test].mean())
        found += p_value(np.array(gains), 3 / 7) < 0.05
    # Two standard errors above 5 % of 300.
    assert found <= 0.05 * 300 + 2 * np.sqrt(300 * 0.05 * 0.95)


def test_nothing_can_be_said_of_one_split() -> None:
    assert np.isnan(corrected_error(np.array([0.5]), 0.4))
    assert np.isnan(t_half_width(np.array([0.5]), 0.4))
    assert p_value(np.array([0.5]), 0.4) == 1.0


def test_no_spread() -> None:
    assert p_value(np.zeros(5), 0.4) == 1.0
    assert p_value(np.full(5, 0.25), 0.4) == 0.0
    # One of six test rows, three times: that is often luck.
    assert p_value(np.full(3, 1 / 6), 3 / 7, step=1 / 6) > 0.05
    assert p_value(np.full(3, 1 / 6), 3 / 7, step=1 / 600) < 0.001
    # What is rounded to steps has the deviation of a uniform distribution of one.
    error = np.sqrt((1 / 3 + 3 / 7) / 12) / 6
    expected = 2 * t.sf(1 / 6 / error, 2)
    assert p_value(np.full(3, 1 / 6), 3 / 7, step=1 / 6) == pytest.approx(expected)


@given(PROBABILITIES)
def test_holm_against_its_definition(p_values: list[float]) -> None:
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    expected = [0.0] * len(p_values)
    for rank, i in enumerate(order):
        tried = [
            min(1.0, (len(p_values) - r) * p_values[j])
            for r, j in enumerate(order[: rank + 1])
        ]
        expected[i] = max(tried)
    assert holm(p_values) == pytest.approx(expected)


def test_holm_of_none() -> None:
    assert holm([]) == []
