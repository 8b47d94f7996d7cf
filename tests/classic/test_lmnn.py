from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

from tests.classic.oracles import lmnn_energies, lmnn_loss
from vicinal.classic import LMNN, LMNNClassifier
from vicinal.classic import lmnn as module

WINE_X, WINE_Y = load_wine(return_X_y=True)
WINE_X = scale(WINE_X)
pytestmark = pytest.mark.filterwarnings("ignore:LMNN.* did not converge")


def test_the_loss_is_that_of_the_components() -> None:
    X, y = WINE_X[::5], WINE_Y[::5]
    model = LMNN(2, n_components=2, regularization=0.3, max_iter=30).fit(X, y)
    expected = -lmnn_loss(X, y, model.components_, 2, 0.3)
    assert model.objective_curve_[-1] == pytest.approx(expected, rel=1e-8)
    assert model.objective_curve_[-1] > model.objective_curve_[0]
    assert len(model.objective_curve_) == model.n_iter_ + 1


@pytest.mark.slow
def test_the_optimum_of_full_rank_does_not_depend_on_the_start() -> None:
    # The loss is convex in the matrix.
    ends = [
        LMNN(init=init, max_iter=1000, tol=1e-8, random_state=0)
        .fit(WINE_X[:, :6], WINE_Y)
        .objective_curve_[-1]
        for init in ("identity", "whiten", "random")
    ]
    np.testing.assert_allclose(ends, ends[0], rtol=2e-3)


def test_the_start_is_scaled_to_the_least_loss() -> None:
    started = LMNN(max_iter=1).fit(WINE_X, WINE_Y).objective_curve_[0]
    for factor in (0.5, 2.0):
        A = factor * np.eye(13)
        other = LMNN(init=A, max_iter=1).fit(WINE_X, WINE_Y).objective_curve_[0]
        assert started > other


def test_3_nn_gains_from_it() -> None:
    X, y = load_digits(return_X_y=True)
    # Pixels of noise, which the Euclidean distance cannot leave out.
    X = np.hstack([X, 16 * np.random.default_rng(0).random((len(X), 32))])
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    knn = KNeighborsClassifier(3)
    before = knn.fit(X, y).score(X_test, y_test)
    model = LMNN(n_components=20, max_iter=20).fit(X, y)
    after = knn.fit(model.transform(X), y).score(model.transform(X_test), y_test)
    assert after > before


def test_rounds_end_where_exact_evaluations_do(monkeypatch: pytest.MonkeyPatch) -> None:
    settings_: dict[str, Any] = {"n_components": 4, "max_iter": 200}
    exact = LMNN(**settings_).fit(WINE_X, WINE_Y)
    monkeypatch.setattr(module, "FEW_ROWS", 10)
    rounds = LMNN(**settings_).fit(WINE_X, WINE_Y)
    found, expected = rounds.objective_curve_[-1], exact.objective_curve_[-1]
    assert found == pytest.approx(expected, rel=0.05)
    loss = lmnn_loss(WINE_X, WINE_Y, rounds.components_, 3, 0.5)
    assert found == pytest.approx(-loss, rel=1e-3)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_the_default_fit_converges(load: Any) -> None:
    X, y = load(return_X_y=True)
    model = LMNN(random_state=0).fit(scale(X[:600]), y[:600])
    assert model.n_iter_ < model.max_iter


def test_mini_batches() -> None:
    whole = LMNN(n_components=4, max_iter=200).fit(WINE_X, WINE_Y)
    model = LMNN(n_components=4, batch_size=64, random_state=0).fit(WINE_X, WINE_Y)
    again = LMNN(n_components=4, batch_size=64, random_state=0).fit(WINE_X, WINE_Y)
    np.testing.assert_array_equal(model.components_, again.components_)
    loss = lmnn_loss(WINE_X, WINE_Y, model.components_, 3, 0.5)
    assert loss < -1.2 * whole.objective_curve_[-1]


def test_threads_and_float32() -> None:
    one = LMNN(max_iter=5, n_jobs=1).fit(WINE_X, WINE_Y).components_
    two = LMNN(max_iter=5, n_jobs=2).fit(WINE_X, WINE_Y).components_
    np.testing.assert_array_equal(one, two)
    model = LMNN(max_iter=5).fit(WINE_X.astype(np.float32), WINE_Y)
    assert model.components_.dtype == np.float32
    np.testing.assert_allclose(model.components_, one, atol=1e-2)


def test_more_features_than_rows() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = rng.normal(size=(30, 200)) + 2 * rng.normal(size=(3, 200))[y]
    model = LMNN().fit(X, y)
    assert model.components_.shape == (29, 200)
    assert np.isfinite(model.transform(X)).all()


def test_callback_and_progress(capsys: pytest.CaptureFixture[str]) -> None:
    seen = []

    def stop(components: Any, iteration: int) -> None:
        seen.append((components.shape, iteration))
        if iteration == 2:
            raise StopIteration

    model = LMNN(callback=stop, verbose=1).fit(WINE_X, WINE_Y)
    assert seen == [((169,), 1), ((169,), 2)]
    assert model.n_iter_ == 2
    assert "[LMNN]" in capsys.readouterr().out


def test_it_warns_when_it_has_not_converged() -> None:
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        LMNN(max_iter=1).fit(WINE_X, WINE_Y)


@pytest.mark.parametrize("bad", [{"regularization": 0.0}, {"n_neighbors": 0}])
def test_parameters_out_of_range(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        LMNN(**bad).fit(WINE_X, WINE_Y)


def test_bad_starts_and_classes() -> None:
    with pytest.raises(ValueError, match=r"init must have shape \(2, 13\)"):
        LMNN(n_components=2, init=np.eye(13)).fit(WINE_X, WINE_Y)
    with pytest.raises(ValueError, match="more than X of shape"):
        LMNN(n_components=14).fit(WINE_X, WINE_Y)
    with pytest.raises(ValueError, match="class of two rows"):
        LMNN().fit(WINE_X[:10], np.arange(10))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_energies(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), rng.integers(n_classes, size=40)
    queries = rng.normal(size=(7, 4))
    model = LMNNClassifier(3, n_components=2, regularization=0.3).fit(X, y)
    expected = np.array(
        [lmnn_energies(X, y, model.components_, 3, 0.3, x) for x in queries]
    )
    found = model.decision_function(queries)
    if n_classes == 2:
        np.testing.assert_allclose(found, expected[:, 0] - expected[:, 1], rtol=1e-8)
    else:
        np.testing.assert_allclose(found, -expected, rtol=1e-8)
    np.testing.assert_array_equal(model.predict(queries), expected.argmin(axis=1))


def test_the_classifier_classifies() -> None:
    X, X_test, y, y_test = train_test_split(WINE_X, WINE_Y, random_state=0)
    names = np.array(["a", "b", "c"])[y]
    model = LMNNClassifier(max_iter=200).fit(X, names)
    assert model.score(X_test, np.array(["a", "b", "c"])[y_test]) > 0.9
    narrow = LMNNClassifier(max_iter=200).fit(X.astype(np.float32), names)
    assert (narrow.predict(X_test) == model.predict(X_test)).mean() > 0.9
    batches = LMNNClassifier(batch_size=32, max_iter=5, random_state=0).fit(X, names)
    assert batches.score(X, names) > 0.9


def test_more_neighbours_than_a_class_has_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = np.repeat([0, 1], [26, 4])
    with pytest.warns(UserWarning, match="n_neighbors=4 is more than 1 of the 2 cl"):
        LMNN(4, max_iter=3).fit(X, y)
