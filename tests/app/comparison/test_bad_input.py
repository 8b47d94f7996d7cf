from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from vicinal.app.comparison import compare
from vicinal.app.methods.scores import SCORES

WINE_X, WINE_Y = load_wine(return_X_y=True)
IRIS_X, IRIS_Y = load_iris(return_X_y=True)


def test_a_method_that_cannot_learn_is_left_out() -> None:
    class Unable(StandardScaler):
        def fit(self, X: Any, y: Any = None) -> None:
            raise ValueError("these rows will not do")

    unable = ("unable", Unable())
    result = compare(IRIS_X, IRIS_Y, methods=["euclidean", unable], n_splits=2)
    assert [one.name for one in result.results] == ["euclidean"]
    (note,) = result.notes
    assert note.startswith("unable was left out: ")
    assert "these rows will not do" in note
    with pytest.raises(ValueError, match="unable cannot be used here"):
        compare(IRIS_X, IRIS_Y, methods=[unable], n_splits=2)


def test_too_few_rows_for_some_densities() -> None:
    rng = np.random.default_rng(0)
    result = compare(rng.normal(size=(8, 2)), n_splits=2)
    assert len(result.results) >= 2
    assert all(np.isfinite(one.scores).all() for one in result.results)


INFINITE_X = WINE_X.copy()
INFINITE_X[3, 4] = np.inf
GAPS_IN_ONES = np.where(np.arange(150) % 2, np.nan, 1.0)[:, None]


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (IRIS_X, np.r_[IRIS_Y[:-1], 7], {}, "2 rows or more; there is one of: 7"),
        (IRIS_X, [None, "a", 1] * 50, {}, "mixes labels of several types"),
        (INFINITE_X, WINE_Y, {}, "infinity"),
        (1e200 * WINE_X, WINE_Y, {}, "beyond 1e\\+150"),
        (IRIS_X, None, {"task": "regression"}, "needs a target"),
        (IRIS_X, ["a"] * 75 + ["b"] * 75, {"task": "regression"}, "needs numbers"),
        (IRIS_X, np.ones(150), {"task": "regression"}, "one value only"),
        (IRIS_X, IRIS_Y, {"task": "clustering"}, "task must be auto"),
        (IRIS_X, IRIS_Y, {"feature_names": ["a"]}, "1 feature_names for 4 features"),
        (IRIS_X, IRIS_Y, {"time_budget": 0}, "time_budget == 0"),
        (IRIS_X, IRIS_X[:, 0], {"methods": "lda"}, "for a numeric target.*'lda'"),
        (IRIS_X, None, {"methods": "nca"}, "without a target.*'nca'"),
        (IRIS_X, WINE_Y, {}, "inconsistent numbers of samples"),
        (np.ones((150, 2)), IRIS_Y, {}, "All training rows are equal"),
        (GAPS_IN_ONES, IRIS_Y, {}, "All training rows are equal"),
        (IRIS_X, IRIS_Y, {"n_splits": 0}, "n_splits == 0, must be >= 1"),
        (IRIS_X, IRIS_Y, {"n_neighbors": 0}, "n_neighbors == 0, must be >= 1"),
        (IRIS_X, IRIS_Y, {"n_neighbors": 106}, "exceeds the 105 training rows"),
        (IRIS_X, IRIS_Y, {"n_components": 0}, "n_components == 0, must be >= 1"),
        (IRIS_X, IRIS_Y, {"n_components": 5}, "exceeds the 4 features"),
        (IRIS_X, IRIS_Y, {"test_size": 1.5}, "test_size"),
        (IRIS_X, IRIS_Y, {"test_size": 45}, "test_size"),
        (IRIS_X, np.r_[IRIS_Y[:-2], 7, 7], {"test_size": 0.9}, "lower test_size"),
        (IRIS_X, IRIS_Y, {"methods": ["lda", "lmn"]}, "standardised.*; got 'lmn'"),
        (IRIS_X, IRIS_Y, {"methods": []}, "got none"),
    ],
)
def test_bad_input(X: Any, y: Any, options: dict[str, Any], message: str) -> None:
    def work(*call: object) -> None:
        pytest.fail("work was done before the input was checked")

    with pytest.raises(ValueError, match=message):
        compare(X, y, on_progress=work, **options)


@pytest.mark.parametrize(("scale", "message"), [(1e200, "beyond"), (1e-200, "varies")])
def test_targets_whose_squares_are_no_numbers(scale: float, message: str) -> None:
    y = np.random.default_rng(0).normal(size=150) * scale
    with pytest.raises(ValueError, match=f"The target y .*{message}"):
        compare(IRIS_X, y, methods=["euclidean"])


def test_a_method_without_a_score_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([np.nan, 0.5])
    scored = replace(SCORES["r2"], values=lambda *_: np.array([next(scores)]))
    monkeypatch.setitem(SCORES, "r2", scored)
    y = IRIS_X[:, 0]
    result = compare(
        IRIS_X[:, 1:],
        y,
        task="regression",
        methods="euclidean,pca",
        n_splits=1,
        references=False,
    )
    assert [one.name for one in result.results] == ["pca"]
    reason = "its score on the test rows is not a number."
    assert result.setting.left_out == (("euclidean", reason),)


def test_later_splits_are_checked_in_their_turn() -> None:
    # Only where the one row that differs is held out are all training rows equal.
    X = np.zeros((40, 1))
    X[7] = 1
    y = np.tile([0, 1], 20)
    splits = StratifiedShuffleSplit(50, test_size=0.1, random_state=3).split(X, y)
    assert next(i for i, (train, _) in enumerate(splits) if 7 not in train) > 10
    options: Any = {"methods": ["euclidean"], "test_size": 0.1, "random_state": 3}
    compare(X, y, n_splits=10, **options)
    with pytest.raises(ValueError, match="All training rows are equal"):
        compare(X, y, n_splits=50, **options)


def test_more_classes_than_test_rows() -> None:
    X = np.random.default_rng(0).normal(size=(120, 2))
    message = "84 training and 36 test rows, fewer than the 40 classes; leave out"
    with pytest.raises(ValueError, match=message):
        compare(X, np.arange(120) % 40, task="classification", methods=["euclidean"])


def test_classes_without_any_spread() -> None:
    # Where scikit-learn's LDA breaks.
    y = np.repeat([0, 1], 20)
    X = np.column_stack([y, 1 - y]).astype(float)
    result = compare(X, y, methods="euclidean lda", n_splits=2)
    assert [one.mean for one in result.results] == [1.0, 1.0]


def test_text_in_arrays_says_what_to_do() -> None:
    rows = np.array([["1", "red"], ["2", "blue"]] * 15)
    with pytest.raises(ValueError, match=r"(?s)table of numbers.*'red'.*To use text"):
        compare(rows, [0, 1] * 15)
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match=r"needs numbers in y.*'a'.*; leave"):
        compare(X, ["a", "b"] * 15, task="regression")
