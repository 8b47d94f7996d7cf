"""How tuples are read, and refused: through the estimators that learn from them."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

from vicinal.classic import (
    ITML,
    LSML,
    MMC,
    SCML,
    SDML,
    pairs_from_labels,
    quadruplets_from_labels,
    triplets_from_labels,
)
from vicinal.classic.tuples import check_tuples

X, y = load_iris(return_X_y=True)
X = scale(X) + np.random.default_rng(0).normal(size=X.shape) / 100
PAIRS, ALIKE = pairs_from_labels(y, 120, random_state=0)
TUPLES: dict[type, tuple[Any, Any]] = {
    ITML: (PAIRS, ALIKE),
    MMC: (PAIRS, ALIKE),
    SDML: (PAIRS, ALIKE),
    SCML: (triplets_from_labels(y, 120, random_state=0), None),
    LSML: (quadruplets_from_labels(y, 120, random_state=0), None),
}
LEARNERS = [
    ITML(0.1, random_state=0),
    MMC(random_state=0),
    SDML(random_state=0),
    SCML(random_state=0),
    LSML(random_state=0),
]
every_learner = pytest.mark.parametrize(
    "learner", LEARNERS, ids=lambda learner: type(learner).__name__
)


def fitted(learner: Any, X: Any, y: Any, preprocessor: Any = None) -> Any:
    return clone(learner).set_params(preprocessor=preprocessor).fit(X, y)


@every_learner
def test_indices_are_the_points_they_stand_for(learner: Any) -> None:
    tuples, labels = TUPLES[type(learner)]
    by_index = fitted(learner, tuples, labels, X)
    by_function = fitted(learner, tuples, labels, lambda rows: X[rows])
    by_points = fitted(learner, X[tuples], labels)
    names = np.array([f"row {i}" for i in range(150)])
    by_name = fitted(
        learner,
        names[tuples],
        labels,
        lambda given: X[[int(name.split()[1]) for name in given]],
    )
    expected = by_index.get_mahalanobis_matrix()
    size = np.abs(expected).max()
    np.testing.assert_array_equal(by_function.components_, by_index.components_)
    for other in (by_points, by_name):
        # The same points in another order: other draws for bounds and bases.
        assert other.components_.shape[1] == 4
        score = other.score(names[tuples] if other is by_name else X[tuples], labels)
        assert score > by_index.score(tuples, labels) - 0.05
    if not isinstance(learner, (ITML, SCML)):
        np.testing.assert_allclose(
            by_points.get_mahalanobis_matrix(), expected, atol=1e-3 * size
        )


@every_learner
def test_rows_are_not_copied(learner: Any) -> None:
    tuples, _ = TUPLES[type(learner)]
    points = np.ascontiguousarray(X)
    read = check_tuples(tuples, tuples.shape[1], points)
    assert np.shares_memory(read.points, points)


@every_learner
def test_decisions_are_of_the_learned_distances(learner: Any) -> None:
    tuples, labels = TUPLES[type(learner)]
    model = fitted(learner, tuples, labels, X)
    Z = model.transform(X)

    def distance(a: int, b: int) -> Any:
        return np.linalg.norm(Z[tuples[:, a]] - Z[tuples[:, b]], axis=1)

    expected = {
        2: lambda: -distance(0, 1),
        3: lambda: distance(0, 2) - distance(0, 1),
        4: lambda: distance(2, 3) - distance(0, 1),
    }[tuples.shape[1]]()
    found = model.decision_function(tuples)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(model.decision_function(X[tuples]), found, atol=1e-9)
    pairs = tuples[:, :2]
    np.testing.assert_allclose(model.pair_distance(pairs), distance(0, 1), atol=1e-9)
    np.testing.assert_allclose(model.pair_score(pairs), -distance(0, 1), atol=1e-9)
    assert set(np.unique(model.predict(tuples))) <= {-1, 1}
    assert 0.8 < model.score(tuples, labels) <= 1


@every_learner
def test_predictions_are_of_tuples_only(learner: Any) -> None:
    model = clone(learner).fit(X, y)
    assert not hasattr(model, "predict")
    assert not hasattr(model, "score")
    with pytest.raises(AttributeError, match="decision_function") as error:
        model.decision_function(X)
    assert "was fitted to points with labels" in str(error.value.__cause__)
    tuples, labels = TUPLES[type(learner)]
    assert hasattr(model.fit(X[tuples], labels), "predict")


def bad(name: str, tuples: Any) -> tuple[Any, Any]:
    """Return X and preprocessor."""
    wrong = {
        "another width": (np.repeat(tuples, 2, axis=1), X),
        "another width of points": (X[np.repeat(tuples, 2, axis=1)], None),
        "labels": (X, X),
        "too large": (tuples + 100, X),
        "negative": (tuples - 1 - tuples.max(), X),
        "fractions": (tuples + 0.5, X),
        "rows": (tuples, lambda rows: X[rows[:-1]]),
        "not a table": (tuples, lambda rows: X[rows, 0]),
        "nan": (np.where(X[tuples] > 2, np.nan, X[tuples]), None),
        "none": (tuples[:0], X),
        "no points": (X[tuples][:0], None),
        "no features": (X[tuples][:, :, :0], None),
    }
    return wrong[name]


@every_learner
@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("another width", r"Expected \w+, an array of shape .* got shape"),
        ("another width of points", r"Expected \w+, an array of shape .* got shape"),
        ("labels", r"Expected \w+.* (Points with labels|whole numbers)"),
        ("too large", "whole numbers from 0 to 149"),
        ("negative", "whole numbers from 0 to 149"),
        ("fractions", r"Expected \w+ of whole numbers"),
        ("rows", r"Expected the preprocessor to return (\d+) points for as many"),
        ("not a table", "Expected 2D array"),
        ("nan", "NaN"),
        ("none", "0 sample"),
        ("no points", "0 sample"),
        ("no features", "0 feature"),
    ],
)
def test_what_is_no_tuple(learner: Any, case: str, message: str) -> None:
    tuples, labels = TUPLES[type(learner)]
    given, preprocessor = bad(case, tuples)
    if labels is not None:
        labels = np.resize(labels, len(given))
    learner = clone(learner).set_params(preprocessor=preprocessor)
    before = dict(vars(learner))
    with pytest.raises(ValueError, match=message):
        learner.fit(given, labels)
    assert vars(learner) == before


@every_learner
def test_another_width_later(learner: Any) -> None:
    tuples, labels = TUPLES[type(learner)]
    model = fitted(learner, tuples, labels, X)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        model.predict(X[tuples][:, :, :3])
    model.preprocessor = lambda rows: X[rows][:, :2]
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 4"):
        model.decision_function(tuples)


@pytest.mark.parametrize("learner", LEARNERS[:3], ids=["ITML", "MMC", "SDML"])
def test_pairs_that_contradict_each_other(learner: Any) -> None:
    first = int(np.flatnonzero(ALIKE == 1)[0])
    pairs = np.vstack([PAIRS, PAIRS[first, ::-1]])
    labels = np.append(ALIKE, -1)
    expected = rf"pairs \[{first}, 120\] .* have the same two points"
    for given, preprocessor in ((pairs, X), (X[pairs], None)):
        with pytest.raises(ValueError, match=expected):
            fitted(learner, given, labels, preprocessor)
    # Said twice is no contradiction.
    fitted(learner, np.vstack([PAIRS, PAIRS[:3]]), np.append(ALIKE, ALIKE[:3]), X)


@pytest.mark.parametrize("learner", LEARNERS[:3], ids=["ITML", "MMC", "SDML"])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "1 for similar pairs and -1 for others"),
        (np.resize([0, 1, 2], 120), r"-1 for others.* got values like \[0, 1, 2\]"),
        (
            np.resize([0, 1], 120),
            r"2 \* y - 1 for labels 0 and 1; got values like \[0, 1\]",
        ),
        (np.resize(["a", "b"], 120), "-1 for others.* got values"),
        (np.ones(119, dtype=int), "inconsistent numbers of samples"),
        (-np.ones(120, dtype=int), "no y is 1"),
    ],
)
def test_what_labels_no_pair(learner: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(learner, PAIRS, labels, X)


def test_tuples_with_a_point_twice() -> None:
    pairs, labels = np.vstack([PAIRS, [[7, 7]]]), np.append(ALIKE, -1)
    with pytest.raises(ValueError, match=r"number 120 of the pairs .* one point twice"):
        fitted(LEARNERS[0], pairs, labels, X)
    triplets: ArrayLike = np.vstack([TUPLES[SCML][0], [[3, 8, 8]]])
    for given, preprocessor in ((triplets, X), (X[triplets], None)):
        with pytest.raises(ValueError, match="number 120 of the triplets"):
            fitted(LEARNERS[3], given, None, preprocessor)
    four = np.vstack([TUPLES[LSML][0], [[3, 4, 8, 8]]])
    with pytest.raises(ValueError, match="number 120 of the quadruplets"):
        fitted(LEARNERS[4], four, None, X)


@pytest.mark.parametrize("learner", LEARNERS[3:], ids=["SCML", "LSML"])
def test_ordered_tuples_have_no_labels(learner: Any) -> None:
    tuples, _ = TUPLES[type(learner)]
    with pytest.raises(ValueError, match="without y"):
        fitted(learner, tuples, np.resize([1, -1], len(tuples)), X)


def test_points_that_look_like_pairs_of_indices() -> None:
    model = clone(LEARNERS[0])
    with pytest.warns(UserWarning, match=r"preprocessor=X") as seen:
        model.fit(PAIRS, ALIKE)
    assert seen[0].filename == __file__


@every_learner
@pytest.mark.parametrize("unit", [1e-80, 1e80])
def test_tuples_of_points_that_are_out_of_range(learner: Any, unit: float) -> None:
    tuples, labels = TUPLES[type(learner)]
    model = clone(learner)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="Scale the data"):
        model.fit(X[tuples] * unit, labels)
    assert vars(model) == before


@every_learner
def test_distances_of_far_away_points(learner: Any) -> None:
    tuples, labels = TUPLES[type(learner)]
    model = fitted(learner, X[tuples], labels, None)
    near, far = (model.decision_function((X + c)[tuples]) for c in (0, 1e8))
    np.testing.assert_allclose(near, far, atol=1e-5 * np.abs(near).max())
