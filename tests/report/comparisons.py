"""Small comparisons to make pages of, each made once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine

from vicinal.comparison import Comparison, compare

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
