"""The linear map that votes with the networks, and the number of networks."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

torch = pytest.importorskip("torch")
import vicinal  # noqa: E402
from tests.neural.data import mixed, waves  # noqa: E402
from vicinal import NCARegressor  # noqa: E402
from vicinal.neural import (  # noqa: E402
    NeuralNCA,
    NeuralNCAClassifier,
    NeuralNCARegressor,
    _base,
)
from vicinal.persistence import from_parts, to_parts  # noqa: E402

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
Y = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.normal(size=300)
MODEL = NeuralNCARegressor(8, n_estimators=2, max_iter=5, random_state=0)


@pytest.fixture(scope="module")
def fitted() -> NeuralNCARegressor:
    return clone(MODEL).fit(X[:200], Y[:200])


def test_a_linear_truth_is_told_by_the_linear_map(fitted: Any) -> None:
    # After five epochs the networks know little, and the 60 rows held out say so; as
    # they are few, the share cannot be above 0.69.
    assert fitted.linear_share_ > 0.6
    alone = clone(MODEL).set_params(linear_vote=False).fit(X[:200], Y[:200])
    assert alone.linear_share_ == 0
    assert fitted.score(X[200:], Y[200:]) > alone.score(X[200:], Y[200:]) + 0.05


def test_the_map_is_that_of_the_estimator(fitted: Any) -> None:
    encoded = fitted._known.numbers.numpy().astype(np.float64)
    unit = encoded.std(axis=0)
    map_ = NCARegressor(random_state=0).fit(encoded / unit, fitted._known.target)
    new = fitted._encode_rows(X[200:])
    votes = fitted._linear.votes(new, fitted._known)[:, 0].numpy()
    np.testing.assert_allclose(
        votes, map_.predict(new.numbers.numpy() / unit), atol=1e-4
    )


def test_votes_and_explanations_are_mixed_by_the_share(fitted: Any) -> None:
    rows, weights = fitted.explain(X[200:], n_neighbors=200)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-9)
    told = (weights * Y[rows]).sum(axis=1)
    np.testing.assert_allclose(fitted.predict(X[200:]), told, rtol=1e-5, atol=1e-6)


def test_where_it_does_not_bend_the_networks_speak() -> None:
    X_curved = rng.uniform(-2, 2, size=(600, 3))
    y = np.sin(4 * X_curved[:, 0])
    model = NeuralNCARegressor(16, n_estimators=1, max_iter=40, random_state=0)
    assert model.fit(X_curved, y).linear_share_ < 0.5


def test_pieces_keep_it_and_warm_starts_learn_it_anew(fitted: Any) -> None:
    model = clone(MODEL).set_params(warm_start=True).fit(X[:200], Y[:200])
    share = model.linear_share_
    before = model._linear.network.linear.weight.clone()
    model.partial_fit(X[200:], Y[200:])
    assert model.linear_share_ == share
    assert len(model._linear.points) == 300
    assert torch.equal(model._linear.network.linear.weight, before)
    # On rows of which some were learned from nothing can tell its share anew.
    assert model.fit(X, Y).linear_share_ == share
    assert clone(MODEL).partial_fit(X, Y).linear_share_ == 0
    assert fitted.linear_share_ > 0


def test_no_map_where_nothing_judges_or_varies() -> None:
    assert clone(MODEL).set_params(early_stopping=False).fit(X, Y).linear_share_ == 0
    assert clone(MODEL).fit(X, np.ones(300)).linear_share_ == 0
    asked = clone(MODEL).set_params(early_stopping=False, linear_vote=True)
    assert asked.fit(X, Y).linear_share_ == 0.5
    given = clone(MODEL).fit(X[:200], Y[:200], X_val=X[200:], y_val=Y[200:])
    assert given.linear_share_ > 0.5


class Spy(NCARegressor):
    """Records the data of each fit."""

    given: ClassVar[list[tuple[Any, Any, Any]]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        Spy.given.append((X, y, sample_weight))
        return super().fit(X, y, sample_weight)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any, Any]]:
    monkeypatch.setattr(Spy, "given", [])
    monkeypatch.setattr(NeuralNCARegressor, "_linear_class", Spy)
    return Spy.given


def test_no_share_is_judged_by_rows_that_were_learned_from(given: list[Any]) -> None:
    weights = rng.integers(1, 4, size=300).astype(float)
    model = clone(MODEL).fit(X, Y, weights)
    every, *stand_ins = given
    assert len(every[1]) == 300
    assert len(stand_ins) == 2
    for member, (_, y, w) in zip(model._members, stand_ins, strict=True):
        inside = np.setdiff1d(np.arange(300), member.held_out)
        assert 0 < len(inside) < 300
        np.testing.assert_array_equal(y, model._known.target[inside])
        np.testing.assert_allclose(w, weights[inside] / weights.mean())


@pytest.mark.usefixtures("given")
def test_rows_to_judge_by_count_once_however_many_networks() -> None:
    few = {"X_val": X[200:230], "y_val": Y[200:230]}
    for n in (1, 3):
        model = clone(MODEL).set_params(n_estimators=n).fit(X[:200], Y[:200], **few)
        # 30 rows can move the share by 15/130 from a half.
        assert abs(model.linear_share_ - 0.5) <= 15 / 130 + 1e-9


@pytest.mark.parametrize("shape", [(10_001, 1), (60, 501)])
def test_beyond_its_limits_there_is_none(shape: tuple[int, int]) -> None:
    rows = rng.normal(size=shape)
    model = clone(MODEL).set_params(n_components=2, n_estimators=1, max_iter=1)
    assert model.fit(rows, rows[:, 0]).linear_share_ == 0


def test_none_without_embeddings() -> None:
    assert clone(MODEL).set_params(embedding="none").fit(X, Y).linear_share_ == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("warm_start", [False, True])
def test_what_ends_its_learning_leaves_the_estimator_as_it_was(
    error: type[BaseException], warm_start: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = clone(MODEL).set_params(warm_start=warm_start).fit(X[:200], Y[:200])
    before = model.predict(X)

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(_base, "fit_linear_vote", fail)
    with pytest.raises(error):
        model.fit(X[:200], Y[:200])
    goes_on = warm_start and error is KeyboardInterrupt
    assert np.array_equal(model.predict(X), before) != goes_on
    assert (model.linear_share_ == 0) == goes_on


def test_too_many_categories_are_told_before_the_training() -> None:
    frame = pd.DataFrame({"a": [f"c{i}" for i in range(4200)]})
    asked = clone(MODEL).set_params(linear_vote=True, callback=lambda *_: 1 / 0)
    with pytest.raises(ValueError, match=r"4,200 categories.*linear_vote"):
        asked.fit(frame, np.arange(4200.0))


def test_classes_when_asked_for() -> None:
    frame, labels = mixed()
    model = NeuralNCAClassifier(8, n_estimators=1, max_iter=5, random_state=0)
    assert clone(model).fit(frame, labels).linear_share_ == 0
    model.set_params(linear_vote=True).fit(frame, labels)
    assert 0 < model.linear_share_ < 1
    np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize(("n", "count"), [(100, 4), (2700, 2), (4100, 1)])
def test_few_rows_have_more_networks(n: int, count: int) -> None:
    rows, _ = waves(n)
    model = NeuralNCARegressor(2, max_iter=1, linear_vote=False, random_state=0)
    assert len(model.fit(rows, rows[:, 0]).networks_) == count
    classes = NeuralNCAClassifier(2, max_iter=1, random_state=0)
    assert len(classes.fit(rows, rows[:, 0] > 0).networks_) == count


@pytest.mark.parametrize(
    "model",
    [
        NeuralNCA(2, max_iter=1),
        NeuralNCAClassifier(module=torch.nn.Linear(3, 2), max_iter=1),
        NeuralNCARegressor(module=torch.nn.Linear(3, 2), max_iter=1),
    ],
)
def test_a_map_alone_and_a_module_have_one(model: Any) -> None:
    rows, y = waves(100)
    assert model.fit(rows, y).transform(rows).shape == (100, 2)


def test_files_keep_it(fitted: Any, tmp_path: Path) -> None:
    vicinal.save(tmp_path / "model.safetensors", fitted)
    again = vicinal.load(tmp_path / "model.safetensors")
    assert again.linear_share_ == fitted.linear_share_
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_a_file_of_a_map_alone_has_none(fitted: Any) -> None:
    header, arrays = to_parts(NeuralNCA(2, max_iter=1).fit(X[:200], Y[:200] > 0))
    other, more = to_parts(fitted)
    header["model"]["state"]["_linear"] = other["model"]["state"]["_linear"]
    with pytest.raises(ValueError, match="linear map"):
        from_parts(header, arrays | more)


@pytest.mark.parametrize("share", [5, 2.0, {"float": "nan"}, None, -0.1])
def test_shares_that_lie(fitted: Any, share: Any) -> None:
    header, arrays = to_parts(fitted)
    header["model"]["state"]["linear_share_"] = share
    with pytest.raises(ValueError, match="linear_share"):
        from_parts(header, arrays)


@pytest.mark.parametrize("points", [np.zeros(200), np.zeros((200, 3), np.float32)])
def test_linear_maps_that_lie(fitted: Any, points: Any) -> None:
    header, arrays = to_parts(fitted)
    arrays["NeuralNCARegressor._linear.points"] = points
    with pytest.raises(ValueError, match="shape"):
        from_parts(header, arrays)
    header["model"]["state"]["_linear"] = None
    with pytest.raises(ValueError, match="linear map is missing"):
        from_parts(header, arrays)
