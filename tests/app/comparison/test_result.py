from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

from vicinal.app.comparison import Comparison, MethodResult, Setting


def result(
    name: str, *scores: float, d: tuple[int, ...] = (2,), **more: Any
) -> MethodResult:
    seconds = np.array([9.0, 0.25, 0.25])
    return MethodResult(
        name, np.array(d), np.array(scores), seconds, seconds / 100, **more
    )


def comparison(
    *results: MethodResult, task: str = "classification", **more: Any
) -> Comparison:
    X = np.zeros((1000, 2))
    setting = Setting(X, None, task, np.arange(1000), 1000, ["a", "<b>"], **more)
    return Comparison(results, setting)


def test_mean_and_interval() -> None:
    one = comparison(result("lda", 0.5, 0.7, 0.9))
    assert one.best.mean == pytest.approx(0.7)
    low, high = one.interval("lda")
    # t with two degrees of freedom; three splits of 70 % and 30 %.
    reach = 4.302653 * 0.2 * np.sqrt(1 / 3 + 3 / 7)
    # No interval of accuracies goes beyond 0 or 1.
    assert (low, high) == (0, 1)
    assert reach > 0.5
    assert one.score("lda") == "70.0"
    sure = comparison(result("lda", 0.69, 0.7, 0.71))
    low, high = sure.interval("lda")
    assert (high - low) / 2 == pytest.approx(reach / 20)
    assert high < 1
    assert np.isnan(comparison(result("lda", 0.5)).interval("lda")).all()


def test_table() -> None:
    one = comparison(
        result("euclidean", 0.5, 0.51, 0.5, d=(13,)),
        result("pca", 0.9, 0.91, 0.91, d=(9, 10, 9)),
    )
    assert one.best.name == "pca"
    assert str(one) == f"{one.verdict()}\n\n{one.table()}"
    assert one.table().splitlines() == [
        "method     dimensions  accuracy (%)  behind  fit (s)  query (µs)",
        "pca              9-10    90.7 ± 2.2    best    0.250         2.5",
        "euclidean          13    50.3 ± 2.2  40.3 *    0.250         2.5",
        "± half of a 95 % interval; * significantly worse than the best (corrected "
        "paired t-test on 10 splits, Holm-adjusted p < 0.05)",
    ]
    assert repr(one) == (
        "<Comparison of 2 methods on the data, 1,000 rows; recommended: pca>"
    )


def test_methods_without_a_score_rank_last() -> None:
    one = comparison(
        result("nca", np.nan, np.nan),
        result("euclidean", 0.5, 0.51),
        result("lca", np.nan, np.nan),
        result("pca", 0.9, 0.91),
    )
    names = [each.name for each in one.ranked()]
    assert names == ["pca", "euclidean", "nca", "lca"]


def test_references_stand_apart() -> None:
    one = comparison(
        result("euclidean", 0.5, 0.51, 0.5, d=(13,)),
        result("pca", 0.9, 0.91, 0.91, d=(9, 10, 9)),
    )
    tests = tuple(np.arange(30) + 30 * i for i in range(3))
    setting = replace(one.setting, target=np.arange(1000) % 2, tests=tests)
    right = tuple(setting.target[rows] for rows in tests)  # type: ignore[index]
    wrong = tuple(np.where(np.arange(30) < 3, 1 - codes, codes) for codes in right)
    results = tuple(replace(each, outcomes=wrong) for each in one.results)
    boosting = result("gradient boosting", 1.0, 1.0, 1.0, d=(0,), outcomes=right)
    beside = Comparison(results, setting, (boosting,))
    assert beside.best.name == "pca"
    assert [row[0] for row in beside.rows()] == ["pca", "euclidean"]
    lines = beside.table().splitlines()
    assert lines[3] == "(without neighbours)"
    assert lines[4].split()[:2] == ["gradient", "boosting"]
    assert "gradient boosting, which has no neighbours, is 9" in beside.verdict()
    assert beside.to_dict()["references"][0]["mean"] == 1
    assert "gradient boosting" in beside._repr_html_()


def test_differences_are_corrected_for_their_number() -> None:
    scores = np.array([0.8, 0.9, 0.85, 0.95])
    gains = np.array([0.035, 0.055, 0.04, 0.06])
    pair = comparison(result("lda", *scores), result("nca", *(scores + gains)))
    (alone,) = pair.differences()
    others = [result(name, *scores) for name in ("euclidean", "pca", "lda")]
    many = comparison(*others, result("nca", *(scores + gains)))
    assert [one.other for one in many.differences()] == ["euclidean", "pca", "lda"]
    for one in many.differences():
        assert one.gain == pytest.approx(gains.mean())
        # Six pairs of four methods.
        assert one.p == pytest.approx(6 * alone.p)
    assert alone.significant
    assert not many.differences()[0].significant


@pytest.mark.parametrize(("n_splits", "n", "n_test"), [(10, 150, 45), (3, 20, 6)])
def test_the_luckiest_of_equals_is_seldom_called_better(
    n_splits: int, n: int, n_test: int
) -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(200):
        right = rng.random((8, n)) < 0.6
        tests = [rng.permutation(n)[:n_test] for _ in range(n_splits)]
        scores = np.array([right[:, rows].mean(axis=1) for rows in tests]).T
        results = tuple(result(str(i), *row) for i, row in enumerate(scores))
        setting = Setting(np.zeros((n, 1)), None, "classification", np.arange(n), n, [])
        found += any(
            one.significant for one in Comparison(results, setting).differences()
        )
    # Two standard errors above 5 % of 200.
    assert found <= 0.05 * 200 + 2 * np.sqrt(200 * 0.05 * 0.95)


@pytest.mark.parametrize(
    ("task", "score"), [("regression", "0.500 ± 0.000"), ("none", "0.50 ± 0.00 nats")]
)
def test_units(task: str, score: str) -> None:
    one = comparison(result("nca", 0.5, 0.5, 0.5), task=task)
    assert one.verdict() == f"nca: {score}"


def test_agreement_of_clusters_has_a_column() -> None:
    one = comparison(
        result("lca", -1.0, -1.5, agreement=np.array([0.5, 0.6])),
        result("lca-gauss", -1.0, -1.2, agreement=np.array([np.nan, np.nan])),
        task="none",
    )
    column = one.header.index("cluster agreement")
    assert [row[column] for row in one.rows()] == ["-", "0.55"]


def test_notes() -> None:
    one = comparison(
        result("nca", 0.5, 0.6, not_converged=2, warnings=("odd units",)),
        notes=("A part of the rows.",),
    )
    assert one.notes == [
        "A part of the rows.",
        "nca: 2 of 2 fits did not converge.",
        "nca: odd units",
    ]
    assert str(one).splitlines()[-3:] == one.notes


def test_as_json() -> None:
    one = comparison(result("lda", 0.5), result("nca", 0.75), random_state=None)
    plain = json.loads(json.dumps(one.to_dict(), allow_nan=False))
    assert plain["best"] == "nca"
    assert plain["features"] == ["a", "<b>"]
    assert plain["methods"][1]["scores"] == [0.75]
    assert plain["methods"][1]["interval"] == [None, None]
    undefined = comparison(result("nca", np.nan), n_splits=np.int64(1)).to_dict()
    assert json.loads(json.dumps(undefined))["methods"][0]["scores"] == [None]
    assert plain["differences"] == [
        {"other": "lda", "gain": 0.25, "error": None, "p": 1.0, "significant": False}
    ]


def test_a_notebook_shows_a_table() -> None:
    text = comparison(result("lda", 0.5), notes=("<script>",))._repr_html_()
    assert text.count("<tr>") == 2
    assert "<td>lda</td>" in text
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize(("n", "ratio"), [(5, 2 / 3), (10, 3 / 7), (178, 54 / 124)])
def test_test_rows_for_each_training_row_as_they_are_split(
    n: int, ratio: float
) -> None:
    train, test = next(ShuffleSplit(1, test_size=0.3).split(np.zeros(n)))
    setting = Setting(np.zeros((n, 1)), None, "none", np.arange(n), n, ["a"])
    assert setting.ratio == pytest.approx(ratio) == len(test) / len(train)


def test_nan_is_never_best() -> None:
    nan = float("nan")
    many = comparison(
        result("euclidean", nan, nan, nan), result("lda", -2.0, -1.0, -3.0)
    )
    assert many.best.name == "lda"
