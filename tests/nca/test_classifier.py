from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from vicinal import NCA, NCAClassifier
from vicinal._typing import FloatArray

X, y = load_iris(return_X_y=True)


@pytest.mark.filterwarnings("ignore:y has one class only")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for classifier in (NCAClassifier(), NCAClassifier(objective="class-density"))
        for pair in estimator_checks_generator(classifier)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: NCAClassifier, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def test_the_map_is_that_of_nca() -> None:
    classifier = NCAClassifier(2, init="pca", max_iter=300).fit(X, y)
    nca = NCA(2, init="pca", max_iter=300, objective="log", alpha="auto").fit(X, y)
    np.testing.assert_array_equal(classifier.components_, nca.components_)


@pytest.mark.parametrize(
    ("objective", "prior"),
    [("expected", None), ("class-density", None), ("class-density", [0.7, 0.2, 0.1])],
)
def test_neighbours_vote_by_eq_3_25_and_3_12(
    objective: str, prior: list[float] | None
) -> None:
    rng = np.random.default_rng(0)
    rows = rng.permutation(150)[:90]  # classes of different sizes
    names = np.array(["setosa", "versicolor", "virginica"])
    model = NCAClassifier(
        2, init="pca", max_iter=300, objective=objective, class_prior=prior
    ).fit(X[rows], names[y[rows]])
    queries = X[::7]
    Z, Q = X[rows] @ model.components_.T, queries @ model.components_.T
    weights = np.exp(-((Q[:, None] - Z[None]) ** 2).sum(axis=2))
    votes = np.stack([weights[:, y[rows] == c].sum(axis=1) for c in range(3)], axis=1)
    if objective == "class-density":
        votes /= np.bincount(y[rows])
        votes *= [1, 1, 1] if prior is None else prior
    expected = votes / votes.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(queries), expected, atol=1e-9)
    np.testing.assert_array_equal(
        model.predict(queries), names[expected.argmax(axis=1)]
    )


def test_a_point_far_from_all_still_gets_probabilities() -> None:
    model = NCAClassifier(2, init="pca", max_iter=300).fit(X, y)
    proba = model.predict_proba(1e3 * np.ones((1, 4)))
    assert np.isfinite(proba).all()
    assert proba.sum() == pytest.approx(1)


def test_it_classifies() -> None:
    points, labels = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), NCAClassifier(2, max_iter=500))
    assert cross_val_score(model, points, labels).mean() > 0.95


def test_regularised_probabilities_are_of_use() -> None:
    model = NCAClassifier(2, init="pca", objective="log", alpha=1e-2, max_iter=500)
    proba = cross_val_predict(model, X, y, method="predict_proba")
    assert log_loss(y, proba) < 0.2


@pytest.mark.parametrize("absent", [0, 1, 2])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"early_stopping": True},
        {"init": "rca"},
        {"objective": "class-density", "class_prior": [0.2, 0.3, 0.5]},
    ],
)
def test_a_class_without_weight_is_no_class(
    absent: int, settings: dict[str, Any]
) -> None:
    model = NCAClassifier(2, **{"init": "pca", "max_iter": 300, **settings})
    model.fit(X, y, sample_weight=(y != absent).astype(float))
    np.testing.assert_array_equal(model.classes_, np.delete([0, 1, 2], absent))
    assert model.predict_proba(X).shape == (150, 2)
    assert np.isnan(model.effective_neighbors_).sum() == 50


def interrupt(_: FloatArray, n: int) -> None:
    if n == 5:
        raise KeyboardInterrupt


def test_an_interrupted_classifier_predicts_with_the_map_it_kept() -> None:
    model = NCAClassifier(
        2, init="pca", alpha=1e-3, warm_start=True, callback=interrupt
    )
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    cold = NCAClassifier(2, init=model.components_, max_iter=1, tol=1e9).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.95
    assert model.effective_neighbors_.shape == (150,)
    np.testing.assert_allclose(
        model.predict_proba(X).sum(axis=1), cold.predict_proba(X).sum(axis=1)
    )
    model.set_params(alpha=0.5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    np.testing.assert_allclose(model._points, X @ model.components_.T)


def test_one_far_outlier_in_float32() -> None:
    points = X.astype(np.float32).copy()
    points[0, 0] = 1e5
    model = NCAClassifier(init="identity", max_iter=20, tol=1).fit(points, y)
    Z = points.astype(float) @ model.components_.T.astype(float)
    weights = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2))
    votes = np.stack([weights[:, y == c].sum(axis=1) for c in range(3)], axis=1)
    expected = votes / votes.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(points), expected, atol=1e-3)
