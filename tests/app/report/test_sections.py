from dataclasses import replace

import numpy as np
import pytest

from tests.app.report import comparisons
from vicinal.app.comparison import Comparison, MethodResult, Setting
from vicinal.app.report.fitted import FittedMetric
from vicinal.app.report.rows import select_rows
from vicinal.app.report.sections import cards, code, facts, table


@pytest.mark.parametrize(
    ("n_outside", "said"),
    [
        (0, ""),
        (1, " 1 row lies further out; zoom out to see."),
        (2, " 2 rows lie further out; zoom out to see."),
    ],
)
def test_rows_out_of_view_are_counted(n_outside: int, said: str) -> None:
    seconds = np.ones(2)
    lda = MethodResult("lda", np.array([2]), np.array([0.7, 0.9]), seconds, seconds)
    X = np.random.default_rng(0).uniform(size=(1000, 2))
    setting = Setting(X, None, "regression", np.arange(1000), 1000, ["a", "b"])
    picture = X.copy()
    picture[:n_outside] = 1e3
    neighbors = np.zeros((1000, 1), dtype=int)
    metric = FittedMetric(
        "lda", X, picture, picture, "In the plane.", neighbors, np.eye(2), None
    )
    rows = select_rows(setting, 1000, None, None)
    (drawn,) = cards([metric], rows, Comparison((lda,), setting))
    seen = "300 held-out rows, unseen in learning (held-out score "
    assert drawn["caption"].startswith(seen)
    assert drawn["caption"].endswith(f"). In the plane.{said}")


def test_the_table_marks_what_is_recommended_and_what_is_best() -> None:
    comparison = comparisons.wine()
    lines = table(comparison)
    assert [line["name"] for line in lines if line["advised"]] == [
        comparison.recommended
    ]
    best = max(comparison.results, key=lambda one: one.mean)
    assert lines[0]["name"] == best.name
    assert [line["name"] for line in lines if line["best"]] == [best.name]
    assert {line["name"] for line in lines} == {one.name for one in comparison.results}


def test_a_vote_that_was_chosen_is_named() -> None:
    comparison = comparisons.wine()
    said = facts(comparison, select_rows(comparison.setting, 9, None, None))[-1]
    assert said == "neighbours chosen on the training rows"
    assert "n_neighbors='auto'," in code(comparison)
    fixed = replace(comparison.setting, n_neighbors=3)
    other = replace(comparison, setting=fixed)
    assert facts(other, select_rows(fixed, 9, None, None))[-1] == "3-NN"
    assert "n_neighbors=3," in code(other)


def test_the_code_names_a_score_that_is_not_the_default() -> None:
    comparison = comparisons.wine()
    assert "score=" not in code(comparison)
    scored = replace(comparison.setting, scored="log-loss")
    assert 'score="log-loss",' in code(replace(comparison, setting=scored))
