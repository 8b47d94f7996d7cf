"""Small comparisons to make pages of, each made once."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine

from vicinal.app.comparison import Comparison, compare

if TYPE_CHECKING:
    from numpy.typing import NDArray

METHODS = ["euclidean", "standardised", "lda", "nca"]


@cache
def wine() -> Comparison:
    data = load_wine()
    names = data.target_names[data.target]
    return compare(
        data.data,
        names,
        methods=METHODS,
        n_splits=3,
        feature_names=data.feature_names,
        name="wine",
    )


@cache
def digits() -> Comparison:
    X, y = load_digits(return_X_y=True)
    return compare(
        X[:150], y[:150], methods=["euclidean", "lda", "nca"], n_splits=2, name="digits"
    )


@cache
def diabetes() -> Comparison:
    X, y = load_diabetes(return_X_y=True)
    return compare(X, y, methods=["standardised", "nca"], n_splits=2, name="diabetes")


@cache
def irises() -> Comparison:
    X, _ = load_iris(return_X_y=True)
    return compare(X, methods=["gaussian", "kernel-density"], n_splits=2, name="irises")


def labels(comparison: Comparison) -> NDArray[Any]:
    """Return the target of a comparison that has one."""
    assert comparison.setting.y is not None
    return comparison.setting.y


def shown_rows(comparison: Comparison) -> NDArray[np.integer[Any]]:
    """Return the rows of its page: the test rows of the first split."""
    return np.sort(comparison.setting.tests[0])


HOSTILE = "<script>document.title='broken'</script>\"'&\u202e\x07"


@cache
def hostile() -> Comparison:
    """Names that would do harm in a page, and one of ten thousand letters."""
    X, y = load_wine(return_X_y=True)
    labels = np.array([HOSTILE, "</style><img src=x onerror=alert(1)>", "x" * 10_000])
    return compare(
        X,
        labels[y],
        methods=["euclidean", "lda"],
        n_splits=2,
        feature_names=[f"{HOSTILE}{j}" for j in range(X.shape[1])],
        name=HOSTILE,
    )


def passenger_table() -> dict[str, list[Any]]:
    """A table as people have them: names, text, gaps."""
    rng = np.random.RandomState(0)
    n = 120
    return {
        "name": [f"Passenger {i}" for i in range(n)],
        "age": [None if i % 9 == 4 else int(a) for i, a in enumerate(rng.rand(n) * 80)],
        "sex": rng.choice(["female", "male"], n).tolist(),
        "port": rng.choice(["C", "Q", "S"], n).tolist(),
    }


PASSENGER_DECISIONS = [
    SimpleNamespace(column=column, kind=kind, reason="")
    for column, kind in [
        ("name", "identifier"),
        ("age", "number"),
        ("sex", "category"),
        ("port", "category"),
    ]
]


@cache
def passengers() -> Comparison:
    table = passenger_table()
    age = [np.nan if a is None else a for a in table["age"]]
    names = ["age", "sex=female", "sex=male", "port=C", "port=Q", "port=S"]
    hot = [
        [float(value == wanted) for value in table[column]]
        for column, _, wanted in (name.partition("=") for name in names[1:])
    ]
    y = np.where(np.array(hot[0]) + np.array(hot[2]) > 0, "yes", "no")
    return compare(
        np.column_stack([age, *hot]),
        y,
        methods=["euclidean", "standardised", "lda"],
        n_splits=3,
        feature_names=names,
        name="passengers",
    )
