"""Learning from pieces."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("torch")
from tests.neural.data import mixed, waves
from vicinal.neural import NeuralNCAClassifier

X, y = waves(1200)
MODEL = NeuralNCAClassifier(
    16, random_state=0, n_jobs=1, batch_size=16, learning_rate=0.01
)


def test_pieces_are_learned_and_become_neighbors() -> None:
    model = clone(MODEL)
    scores = []
    for start in range(0, 1000, 200):
        part = slice(start, start + 200)
        model.partial_fit(X[part], y[part], classes=[0, 1])
        scores.append(model.score(X[1000:], y[1000:]))
    assert scores[-1] > 0.85
    assert scores[-1] > scores[0]
    assert model.explain(X[:1], n_neighbors=1).rows.max() < 1000
    assert len(model.effective_neighbors_) == 1000


def test_a_class_may_come_later() -> None:
    model = clone(MODEL)
    ones = y[:200] == 1
    model.partial_fit(X[:200][ones], y[:200][ones], classes=[0, 1])
    assert (model.predict(X[:50]) == 1).all()
    model.partial_fit(X[:200][~ones], y[:200][~ones])
    assert set(model.predict(X[:50])) == {0, 1}


def test_goes_on_after_fit() -> None:
    frame, labels = mixed()
    model = clone(MODEL).set_params(max_iter=10).fit(frame[:200], labels[:200])
    model.partial_fit(frame[200:], labels[200:])
    assert len(model.effective_neighbors_) == 300


def test_the_temperature_stays() -> None:
    model = clone(MODEL).set_params(n_estimators=2, max_iter=5).fit(X[:300], y[:300])
    before = model.temperatures_
    assert (before != 1).all()
    model.partial_fit(X[300:400], y[300:400])
    np.testing.assert_array_equal(model.temperatures_, before)


def test_weights_that_are_not_finite_are_not_kept() -> None:
    model = clone(MODEL).set_params(learning_rate=1e30, batch_size=100)
    with pytest.warns(ConvergenceWarning, match="not finite") as caught:
        model.partial_fit(X[:100], y[:100], classes=[0, 1])
    assert caught[0].filename == __file__
    assert np.isfinite(model.predict_proba(X)).all()


def test_wrong_calls_change_nothing() -> None:
    model = clone(MODEL)
    with pytest.raises(ValueError, match="needs all classes"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="at least two labels"):
        model.partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match="none of classes_"):
        model.partial_fit(X, y, classes=[1, 2])
    assert not hasattr(model, "n_features_in_")
    model.partial_fit(X[:100], y[:100], classes=[0, 1])
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="not as before"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)
    np.testing.assert_array_equal(model.predict_proba(X), before)
