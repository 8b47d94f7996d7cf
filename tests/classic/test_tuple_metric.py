import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.preprocessing import scale

from vicinal.classic import ITML, LSML, MMC, SCML
from vicinal.classic import pairs_from_labels as draw

X, y = load_wine(return_X_y=True)
X = scale(X)
PAIRS, ALIKE = draw(y, 300, random_state=0)


@pytest.mark.parametrize("by_index", [True, False])
def test_scikit_learn_slices_pairs(by_index: bool) -> None:
    model = MMC(preprocessor=X if by_index else None)
    given = PAIRS if by_index else X[PAIRS]
    assert is_classifier(model) == by_index
    cv = StratifiedKFold(3)
    auc = cross_val_score(model, given, ALIKE, scoring="roc_auc", cv=cv)
    np.testing.assert_allclose(auc, cross_val_score(model, given, ALIKE, cv=cv))
    assert auc.mean() > 0.9
    accuracy = cross_val_score(model, given, ALIKE, scoring="accuracy", cv=cv)
    assert accuracy.mean() > 0.8
    search = GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=3).fit(given, ALIKE)
    assert search.best_score_ > 0.9
    parts = train_test_split(given, ALIKE, random_state=0)
    trained = clone(model).fit(parts[0], parts[2])
    assert trained.score(parts[1], parts[3]) > 0.7
    assert is_classifier(trained)


def test_score_is_the_area_under_the_curve() -> None:
    model = ITML(0.1, preprocessor=X, random_state=0).fit(PAIRS[:150], ALIKE[:150])
    rest, labels = PAIRS[150:], ALIKE[150:]
    expected = roc_auc_score(labels, model.decision_function(rest))
    assert model.score(rest, labels) == pytest.approx(expected)
    assert model.classes_.tolist() == [-1, 1]


def test_thresholds() -> None:
    model = MMC(preprocessor=X).fit(PAIRS[:150], ALIKE[:150])
    rest, labels = PAIRS[150:], ALIKE[150:]
    distances = model.pair_distance(rest)
    assert (model.set_threshold(0).predict(rest) == -1).all()
    assert (model.set_threshold(np.inf).predict(rest) == 1).all()
    middle = float(np.median(distances))
    found = model.set_threshold(middle).predict(rest)
    np.testing.assert_array_equal(found, np.where(distances <= middle, 1, -1))
    accuracy = []
    for how in ({}, {"strategy": "max_tpr", "min_rate": 0.9}):
        model.calibrate_threshold(rest, labels, **how)
        accuracy.append((model.predict(rest) == labels).mean())
    assert accuracy[0] >= max(accuracy[1], 0.8)
    said = model.predict(rest)
    assert (said[labels == -1] == -1).mean() >= 0.9
    for wrong in ("far", None, np.nan):
        with pytest.raises(ValueError, match="threshold must be a number"):
            model.set_threshold(wrong)
    with pytest.raises(ValueError, match="inconsistent"):
        model.calibrate_threshold(rest, labels[:-1])


def test_ordered_tuples_in_scikit_learn() -> None:
    from vicinal.classic import quadruplets_from_labels, triplets_from_labels

    triplets = triplets_from_labels(y, 200, random_state=0)
    four = quadruplets_from_labels(y, 200, random_state=0)
    assert cross_val_score(SCML(random_state=0), X[triplets], cv=3).mean() > 0.85
    assert cross_val_score(SCML(preprocessor=X), triplets, cv=3).mean() > 0.85
    assert cross_val_score(LSML(preprocessor=X), four, cv=3).mean() > 0.85
    search = GridSearchCV(LSML(preprocessor=X), {"gamma": [0.1, 1.0]}, cv=3).fit(four)
    assert search.best_score_ > 0.85


def test_before_the_fit() -> None:
    for model in (ITML(), ITML(preprocessor=X)):
        with pytest.raises(NotFittedError):
            model.predict(PAIRS)
        with pytest.raises(NotFittedError):
            model.set_threshold(1.0)
        with pytest.raises(NotFittedError):
            model.pair_distance(X[PAIRS])
