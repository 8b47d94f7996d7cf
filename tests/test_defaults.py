"""Defaults never hurt: a small version of `python -m benchmarks.defaults`.

The tables are of the kinds on which defaults were once worse than not learning; the
seed is none that anything was tuned on. The full version has more tables and splits.
"""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from benchmarks.defaults.scores import (
    CLASSIFIERS,
    METRICS,
    PLAIN_CLASSIFIERS,
    PLAIN_REGRESSORS,
    REGRESSORS,
    score,
    split,
)
from benchmarks.defaults.tables import Table, made_classes, made_numbers

SEED = 11
CLASSES = {table.name: table for table in made_classes(SEED)}
NUMBERS = {table.name: table for table in made_numbers(SEED)}
LEARNERS = {**METRICS, **CLASSIFIERS}


def values(maker: object, table: Table, n_splits: int = 3) -> np.ndarray:
    """Return the scores of an estimator with its defaults, one for each split."""
    return np.array(
        [
            score(maker, split(table, seed), table.task).value  # type: ignore[arg-type]
            for seed in range(n_splits)
        ]
    )


@pytest.mark.parametrize("estimator", LEARNERS)
@pytest.mark.parametrize(
    "name",
    [
        "constant, two-valued, class of two",
        "collinear",
        "duplicated rows",
        "mixed units",
        "imbalanced",
        "ring among noise",
    ],
)
def test_learning_does_not_hurt(name: str, estimator: str) -> None:
    table = CLASSES[name]
    plain = values(PLAIN_CLASSIFIERS["3-NN"], table)
    learned = values(LEARNERS[estimator], table)
    assert learned.mean() > plain.mean() - 0.03


@pytest.mark.parametrize("estimator", ["NCA", "NCAClassifier"])
def test_collinear_columns_of_float32(estimator: str) -> None:
    table = CLASSES["collinear, 30 classes"].as_float32()
    plain = values(PLAIN_CLASSIFIERS["3-NN"], table)
    assert values(LEARNERS[estimator], table).mean() > plain.mean()


@pytest.mark.slow
@pytest.mark.parametrize("estimator", LEARNERS)
@pytest.mark.parametrize("name", ["collinear, 30 classes", "100 classes"])
def test_many_classes(name: str, estimator: str) -> None:
    table = CLASSES[name]
    plain = values(PLAIN_CLASSIFIERS["3-NN"], table)
    assert values(LEARNERS[estimator], table).mean() > plain.mean() - 0.02


@pytest.mark.parametrize(
    ("name", "estimator"),
    [
        ("numbers: friedman 1", "NCARegressor"),
        ("numbers: constant, two-valued, collinear", "NCARegressor"),
        *(
            pytest.param(name, "NCARegressor", marks=pytest.mark.slow)
            for name in NUMBERS
        ),
        ("numbers: friedman 1", "MLKR"),
    ],
)
def test_learning_numbers_does_not_hurt(name: str, estimator: str) -> None:
    table = NUMBERS[name]
    plain = values(PLAIN_REGRESSORS["5-NN"], table)
    learned = values(REGRESSORS[estimator], table)
    # A tenth of a deviation where 42 rows in 120 dimensions decide; else little.
    few = name == "numbers: more features than rows"
    assert learned.mean() > plain.mean() - (0.1 if few else 0.02)


def test_heavy_tails_do_not_hide_the_classes() -> None:
    """Outliers do not decide for a map at which all points are neighbors."""
    X, y = make_classification(
        1500, 12, n_informative=6, n_classes=4, n_clusters_per_class=1, random_state=5
    )
    table = Table("heavy tails", np.sinh(2 * X), y)
    part = split(table, 2)
    plain = score(PLAIN_CLASSIFIERS["3-NN"], part, table.task)
    assert score(LEARNERS["NCAClassifier"], part, table.task).value > plain.value


def test_what_learns_nothing_says_so() -> None:
    rng = np.random.default_rng(SEED)
    noise = Table("noise", rng.normal(size=(300, 5)), rng.integers(2, size=300))
    found = score(LEARNERS["NCAClassifier"], split(noise, 0), noise.task)
    assert found.loss < np.log(2) + 0.05
