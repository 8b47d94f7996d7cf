"""The page on decisions shows the stored numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.decisions.judged import report
from benchmarks.decisions.tables import tables

ROOT = Path(__file__).parents[2]
FOUND = ROOT / "benchmarks" / "decisions" / "found.json"
STORED = json.loads(FOUND.read_text("utf-8"))


def test_the_page_has_the_tables_of_the_stored_numbers() -> None:
    page = (ROOT / "docs" / "compare.md").read_text("utf-8").splitlines()
    lines = [line for line in report(STORED).splitlines() if line]
    assert len(lines) > 30
    assert [line for line in lines if line not in page] == []


def test_every_result_names_its_commit_and_versions() -> None:
    for one in STORED.values():
        assert {"commit", "numpy", "scikit-learn"} <= set(one["made_with"])
        assert "+" not in one["made_with"]["commit"]


def test_made_tables_are_the_same_each_time() -> None:
    (one, other), (again, same) = (
        next(t for t in tables(200) if t.name == "made: churn, noisy").make()
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, again)
    np.testing.assert_array_equal(other, same)


@pytest.mark.parametrize("name", ["made: noise", "made: churn, noisy"])
def test_tables_without_a_good_model_are_called_noisy(name: str) -> None:
    assert next(t for t in tables() if t.name == name).noisy
