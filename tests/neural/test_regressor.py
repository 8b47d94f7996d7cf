"""NeuralNCARegressor: accuracy, explanations, scale of y."""

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("torch")
from vicinal.neural import NeuralNCARegressor

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(600, 3))
Y = 1000 + 5 * (np.sin(4 * X[:, 0]) + X[:, 1])
MODEL = NeuralNCARegressor(n_components=16, random_state=0, n_jobs=1)


@pytest.fixture(scope="module")
def fitted() -> NeuralNCARegressor:
    return clone(MODEL).fit(X[:400], Y[:400])


def test_learns(fitted: NeuralNCARegressor) -> None:
    assert fitted.score(X[400:], Y[400:]) > 0.9
    assert fitted.validation_scores_.max() > fitted.validation_scores_[0]


def test_prediction_is_the_mean_of_the_rows_that_explain(
    fitted: NeuralNCARegressor,
) -> None:
    rows, weights = fitted.explain(X[400:], n_neighbors=400)
    np.testing.assert_allclose(
        fitted.predict(X[400:]), (weights * Y[rows]).sum(axis=1), rtol=1e-6
    )


def test_units_of_y_do_not_matter(fitted: NeuralNCARegressor) -> None:
    other = clone(MODEL).fit(X[:400], 2.0**10 * Y[:400])
    np.testing.assert_allclose(other.predict(X) / 2.0**10, fitted.predict(X), rtol=1e-6)


def test_constant_targets_are_predicted() -> None:
    model = clone(MODEL).set_params(max_iter=2).fit(X[:50], np.full(50, 3.0))
    np.testing.assert_allclose(model.predict(X[50:60]), 3.0)


def test_targets_too_large() -> None:
    huge = np.array([1e308, -1e308] * 10)
    with (
        pytest.raises(ValueError, match="Scale the targets"),
        np.errstate(all="ignore"),
    ):
        clone(MODEL).fit(X[:20], huge)


def test_pieces() -> None:
    model = clone(MODEL).set_params(batch_size=32, learning_rate=0.01)
    for _ in range(3):
        for start in range(0, 400, 100):
            part = slice(start, start + 100)
            model.partial_fit(X[part], Y[part])
    assert len(model.effective_neighbors_) == 1200
    assert model.score(X[400:], Y[400:]) > 0.7
