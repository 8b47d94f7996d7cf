"""NeuralNCAClassifier: accuracy, probabilities and explanations."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

torch = pytest.importorskip("torch")
from tests.neural.data import mixed, waves  # noqa: E402
from tests.neural.modules import Narrow, Remembers  # noqa: E402
from vicinal.neural import NeuralNCAClassifier  # noqa: E402

X, y = waves()
X_NEW, Y_NEW = waves(seed=1)
MODEL = NeuralNCAClassifier(16, n_estimators=1, random_state=0, n_jobs=1)


@pytest.fixture(scope="module")
def fitted() -> NeuralNCAClassifier:
    return clone(MODEL).fit(X, y)


def test_learns_what_a_linear_map_cannot(fitted: NeuralNCAClassifier) -> None:
    assert LogisticRegression().fit(X, y).score(X_NEW, Y_NEW) < 0.7
    assert fitted.score(X_NEW, Y_NEW) > 0.93
    assert fitted.objective_curve_[-1] > fitted.objective_curve_[0]
    assert len(fitted.objective_curve_) == fitted.n_iter_ <= 100


def test_probabilities_are_votes_of_the_rows_that_explain(
    fitted: NeuralNCAClassifier,
) -> None:
    rows, weights = fitted.explain(X_NEW, n_neighbors=len(X))
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-9)
    assert (np.diff(weights, axis=1) <= 0).all()
    votes = np.stack([(weights * (y[rows] == c)).sum(axis=1) for c in (0, 1)], axis=1)
    rest = 1 / (len(X) + 1)
    np.testing.assert_allclose(
        fitted.predict_proba(X_NEW), (1 - rest) * votes + rest / 2, rtol=1e-6
    )
    few = fitted.explain(X_NEW[:5], n_neighbors=3)
    np.testing.assert_array_equal(few.rows, rows[:5, :3])


def test_the_vote_is_that_of_the_points(fitted: NeuralNCAClassifier) -> None:
    Z, references = fitted.transform(X_NEW[:3]), fitted.transform(X)
    distances = np.linalg.norm(Z[:, None] - references[None], axis=2)
    p = np.exp(-distances) / np.exp(-distances).sum(axis=1, keepdims=True)
    rows, weights = fitted.explain(X_NEW[:3], n_neighbors=20)
    np.testing.assert_allclose(
        weights, np.take_along_axis(p, rows, axis=1), rtol=1e-3, atol=1e-6
    )


def test_effective_neighbors_leave_out_the_row_itself() -> None:
    rng = np.random.default_rng(0)
    # Of two rows, each is the only neighbor of the other.
    rows = rng.normal(size=(2, 2))
    model = NeuralNCAClassifier(n_components=4, max_iter=1).fit(rows, [0, 1])
    np.testing.assert_allclose(model.effective_neighbors_, 1, rtol=1e-6)


def test_temperature_is_the_best_on_rows_held_out(fitted: NeuralNCAClassifier) -> None:
    plain = clone(MODEL).set_params(calibrate=False).fit(X, y)
    assert plain.temperatures_.tolist() == [1.0]
    assert fitted.temperatures_[0] != 1
    losses = [log_loss(Y_NEW, m.predict_proba(X_NEW)) for m in (fitted, plain)]
    assert losses[0] < losses[1] * 1.02


def test_float32_in_float32_out(fitted: NeuralNCAClassifier) -> None:
    narrow = fitted.predict_proba(X_NEW.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, fitted.predict_proba(X_NEW), atol=1e-4)


def test_seeds_repeat_and_torch_is_left_alone(fitted: NeuralNCAClassifier) -> None:
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    again = clone(MODEL).fit(X, y)
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.get_num_threads() == threads
    np.testing.assert_array_equal(
        again.predict_proba(X_NEW), fitted.predict_proba(X_NEW)
    )
    other = clone(MODEL).set_params(random_state=1).fit(X, y)
    assert (other.predict_proba(X_NEW) != fitted.predict_proba(X_NEW)).any()


def test_several_networks_average_their_votes() -> None:
    model = clone(MODEL).set_params(n_estimators=3, max_iter=5).fit(X, y)
    assert len(model.networks_) == 3
    assert model.transform(X[:2]).shape == (2, 48)
    assert len(set(model.temperatures_)) > 1
    _, weights = model.explain(X[:2], n_neighbors=len(X))
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-9)


def test_categories_and_gaps() -> None:
    frame, labels = mixed()
    new, truth = mixed(seed=1)
    for categories in ("learned", "one-hot"):
        model = clone(MODEL).set_params(categories=categories).fit(frame, labels)
        assert model.score(new, truth) > 0.9
        assert model.feature_names_in_.tolist() == ["kind", "number", "noise"]
    # A category that was never seen speaks for nothing.
    strange = new.assign(kind="z")
    proba = model.predict_proba(strange)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(proba, model.predict_proba(new.assign(kind=None)))


def test_codes_in_an_array_can_be_categories() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 20, 400).astype(float)
    odd = np.isin(codes, rng.permutation(20)[:10]).astype(int)
    rows = np.column_stack([codes, rng.normal(size=400)])
    model = clone(MODEL).set_params(categorical_features=[0])
    assert model.fit(rows[:300], odd[:300]).score(rows[300:], odd[300:]) > 0.95
    named = clone(model).set_params(categorical_features=[True, False])
    named.fit(rows[:300], odd[:300])
    np.testing.assert_array_equal(named.predict(rows), model.predict(rows))
    text = np.array([["u", 1.0], ["v", 2.0]] * 10, dtype=object)
    assert clone(model).fit(text, ["a", "b"] * 10).predict(text[:1]).tolist() == ["a"]


def test_a_module_of_ones_own() -> None:
    torch.manual_seed(0)
    own = torch.nn.Sequential(
        torch.nn.Linear(3, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)
    )
    before = own[0].weight.detach().clone()
    model = clone(MODEL).set_params(module=own, learning_rate=0.01).fit(X, y)
    assert torch.equal(own[0].weight, before)  # it is copied
    assert model.transform(X).shape == (400, 8)
    assert model.score(X_NEW, Y_NEW) > 0.8


def test_a_module_for_float32_alone() -> None:
    model = clone(MODEL).set_params(module=Narrow(), max_iter=2).fit(X, y)
    assert model.transform(X).dtype == np.float64
    wide, narrow = model.predict_proba(X), model.predict_proba(X.astype(np.float32))
    np.testing.assert_allclose(wide, narrow, atol=1e-4)


def test_many_classes() -> None:
    labels = np.arange(400) % 50
    model = clone(MODEL).set_params(max_iter=2).fit(X, labels)
    rows, weights = model.explain(X_NEW[:20], n_neighbors=400)
    votes = np.stack([(weights * (labels[rows] == c)).sum(axis=1) for c in range(50)])
    rest = 1 / 401
    np.testing.assert_allclose(
        model.predict_proba(X_NEW[:20]), (1 - rest) * votes.T + rest / 50, rtol=1e-6
    )


def test_blocks_and_no_embedding() -> None:
    model = clone(MODEL).set_params(embedding="none", n_blocks=2, scale="common")
    assert model.fit(X, y).score(X_NEW, Y_NEW) > 0.8


def test_warm_start_goes_on() -> None:
    model = clone(MODEL).set_params(max_iter=3, warm_start=True).fit(X, y)
    first = model.objective_curve_[-1]
    assert model.fit(X, y).objective_curve_[0] > first
    with pytest.raises(ValueError, match="n_estimators: not as in the fit"):
        model.set_params(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="columns of X: not as in the fit"):
        model.set_params(n_estimators=1).fit(X[:, :2], y)
    with pytest.raises(ValueError, match=r"n_components, n_blocks: not as in the fit"):
        model.set_params(n_components=8, n_blocks=1).fit(X, y)
    with pytest.raises(ValueError, match=r"module: not as in the fit"):
        model.set_params(module=torch.nn.Linear(3, 16)).fit(X, y)
    assert model.predict(X).shape == (400,)  # as it was


def test_warm_start_with_a_module() -> None:
    model = clone(MODEL).set_params(
        module=torch.nn.Linear(3, 4), max_iter=2, warm_start=True
    )
    assert len(model.fit(X, y).fit(X, y).networks_) == 1
    with pytest.raises(ValueError, match=r"module: not as in the fit"):
        model.set_params(module=torch.nn.Linear(3, 5)).fit(X, y)


def test_warm_start_never_learns_from_the_rows_that_judge() -> None:
    Remembers.seen.clear()
    model = clone(MODEL).set_params(module=Remembers(), max_iter=2, warm_start=True)
    model.fit(X, y)
    assert 0 < len(Remembers.seen) < len(X)
    before = Remembers.seen.copy()
    model.set_params(random_state=1).fit(X, y)
    assert Remembers.seen == before


def test_warm_start_on_other_rows_keeps_the_temperature() -> None:
    model = clone(MODEL).set_params(max_iter=3, warm_start=True).fit(X[:300], y[:300])
    before = model.temperatures_
    assert before[0] != 1
    model.fit(X, y)
    assert len(model.validation_scores_) == 0
    np.testing.assert_array_equal(model.temperatures_, before)
    model.partial_fit(X[:50], y[:50]).fit(X, y)
    assert len(model.validation_scores_) == 0
    model.set_params(warm_start=False).fit(X, y)
    assert len(model.validation_scores_) == 3


def test_a_pickle_predicts_the_same(fitted: NeuralNCAClassifier) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
