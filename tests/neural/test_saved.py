"""Neural estimators in files, and files that lie."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

torch = pytest.importorskip("torch")
import vicinal  # noqa: E402
from tests.neural.data import mixed, waves  # noqa: E402
from vicinal.neural import (  # noqa: E402
    NeuralNCA,
    NeuralNCAClassifier,
    NeuralNCARegressor,
)
from vicinal.persistence import digest, to_parts  # noqa: E402

X, y = waves(80)


@pytest.fixture(scope="module")
def fitted() -> NeuralNCAClassifier:
    frame, labels = mixed(120)
    model = NeuralNCAClassifier(
        6, n_estimators=2, n_blocks=1, max_iter=3, random_state=0, n_iter_no_change=9
    )
    return model.fit(frame, labels)


def test_a_classifier_comes_back(fitted: Any, tmp_path: Path) -> None:
    vicinal.save(tmp_path / "model.safetensors", fitted)
    again = vicinal.load(tmp_path / "model.safetensors")
    frame, _ = mixed(50, seed=1)
    np.testing.assert_array_equal(again.predict(frame), fitted.predict(frame))
    np.testing.assert_array_equal(
        again.predict_proba(frame), fitted.predict_proba(frame)
    )
    assert again.classes_.tolist() == ["no", "yes"]
    assert again.feature_names_in_.tolist() == ["kind", "number", "noise"]
    assert again.n_iter_ == 3
    assert again.get_params()["n_blocks"] == 1
    more, labels = mixed(40, seed=2)
    again.partial_fit(more, labels)
    assert len(again.effective_neighbors_) == 160
    assert b"pickle" not in (tmp_path / "model.safetensors").read_bytes()


def test_a_regressor_and_a_transformer_come_back(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    regressor = NeuralNCARegressor(4, max_iter=2, random_state=0).fit(X, X[:, 0])
    vicinal.save(path, regressor)
    np.testing.assert_array_equal(vicinal.load(path).predict(X), regressor.predict(X))
    transformer = NeuralNCA(2, max_iter=2, random_state=0).fit(X, y)
    vicinal.save(path, transformer)
    np.testing.assert_array_equal(
        vicinal.load(path).transform(X), transformer.transform(X)
    )


def test_what_was_never_trained_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    model = NeuralNCA(
        2, max_iter=2, batch_size=16, learning_rate=1e20, random_state=0, n_jobs=1
    )
    with pytest.warns(ConvergenceWarning, match="stopped after 0 epochs"):
        model.fit(X, y)
    vicinal.save(path, model)
    again = vicinal.load(path)
    assert again.n_iter_ == 0
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_code_is_not_kept(tmp_path: Path) -> None:
    own = torch.nn.Linear(3, 2)
    model = NeuralNCA(module=own, max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="which a file without code cannot store"):
        vicinal.save(tmp_path / "model.safetensors", model)
    assert not list(tmp_path.iterdir())


def test_an_edited_file_is_refused(fitted: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    vicinal.save(path, fitted)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="edited"):
        vicinal.load(path)
    path.write_bytes(bytes(content[:-50]))
    with pytest.raises(ValueError, match="cut short"):
        vicinal.load(path)


def refused(path: Path, header: Any, arrays: Any, **more: Any) -> None:
    """Write a file with a valid checksum, and expect that it is refused."""
    from safetensors.numpy import save_file

    arrays = {name: np.asarray(one, order="C") for name, one in arrays.items()}
    text = json.dumps({"type": "estimator", "format": 1, **header, **more})
    save_file(arrays, path, {"vicinal": text, "sha256": digest(text, arrays)})
    with pytest.raises(ValueError, match="not a model to trust"):
        vicinal.load(path)


MEMBER = "state/_members/list/0/dict"
SETTINGS = f"{MEMBER}/settings/dict"
ENCODER = "state/_encoder/state"


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("estimator", "os:system"),
        ("estimator", "vicinal.neural:Explanation"),
        (f"{SETTINGS}/n_blocks", 10**9),
        (f"{SETTINGS}/n_components", 2**31 - 1),
        (f"{SETTINGS}/hidden_size", 2**30),
        (f"{SETTINGS}/n_components", 6.0),
        (f"{SETTINGS}/n_components", 10**30),
        (f"{SETTINGS}/hidden_size", 10**30),
        (f"{SETTINGS}/n_frequencies", 10**400),
        (f"{SETTINGS}/n_frequencies", 0),
        (f"{SETTINGS}/n_frequencies", 2**31 - 1),
        (f"{SETTINGS}/embedding_size", -1),
        (f"{SETTINGS}/embedding_size", 0),
        (f"{SETTINGS}/embedding", "spline"),
        (f"{SETTINGS}/dropout", 2.0),
        (f"{MEMBER}/temperature", 0.0),
        (f"{MEMBER}/temperature", {"float": "nan"}),
        (f"{MEMBER}/temperature", None),
        (f"{MEMBER}/held_out", None),
        (f"{MEMBER}/more", 1),
        ("state/_members/list", []),
        ("state/_members", None),
        ("state/_known/dict/n_classes", 3),
        ("state/_known/dict/n_classes", 0),
        ("state/_known/dict/target", None),
        ("state/_known/dict/codes", 5),
        ("state/classes_", {"objects": ["yes", "no"], "shape": [2]}),
        ("state/classes_", {"objects": ["no"], "shape": [1]}),
        ("state/classes_", {"objects": ["no", "yes"], "shape": [2, 1]}),
        ("state/classes_", None),
        ("state/n_features_in_", 10**9),
        (f"{ENCODER}/categorical/list", [0, 1]),
        (f"{ENCODER}/categorical/list", [7]),
        (f"{ENCODER}/categorical/list", ["kind"]),
        (f"{ENCODER}/categories/list", [{"list": [None]}]),
        (f"{ENCODER}/categories/list", []),
        (f"{ENCODER}/flagged/list", [7]),
        ("state/_encoder", None),
        ("state/feature_names_in_", {"objects": ["a"], "shape": [1]}),
        ("state/n_iter_", -1),
        ("params/n_blocks", -1),
        ("params/embedding", 5),
        ("params/callback", "print"),
    ],
)
def test_headers_that_lie(fitted: Any, where: str, value: Any, tmp_path: Path) -> None:
    header, arrays = to_parts(fitted)
    header = json.loads(json.dumps(header))
    *path, last = where.split("/")
    inside = header["model"]
    for key in path:
        inside = inside[int(key) if key.isdecimal() else key]
    inside[last] = value
    refused(tmp_path / "model.safetensors", header, arrays)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_members.0.points", np.zeros((3, 3), np.float32)),
        ("_members.0.points", None),
        ("_members.0.weights.linear.bias", np.full(6, np.nan, np.float32)),
        ("_members.0.weights.linear.bias", np.zeros(6)),
        ("_members.0.weights.linear.bias", np.zeros(7, np.float32)),
        ("_members.0.weights.linear.bias", None),
        ("_members.0.held_out", np.array([120])),
        ("_members.0.held_out", np.array([-1])),
        ("_members.0.held_out", np.array([0.5])),
        ("_known.codes", np.full((120, 1), 99)),
        ("_known.codes", np.zeros((120, 1))),
        ("_known.target", np.full(120, -1)),
        ("_known.target", np.zeros(120)),
        ("_known.numbers", np.full((120, 3), np.inf, np.float32)),
        ("_known.numbers", np.zeros((120, 3))),
        ("_encoder.unit", np.zeros(2)),
        ("_encoder.unit", np.full(2, np.inf)),
        ("_encoder.middle", np.zeros(3)),
        ("_encoder.middle", None),
    ],
)
def test_arrays_that_lie(fitted: Any, name: str, value: Any, tmp_path: Path) -> None:
    header, arrays = to_parts(fitted)
    wrong = {**arrays, f"NeuralNCAClassifier.{name}": value}
    if value is None:
        del wrong[f"NeuralNCAClassifier.{name}"]
    refused(tmp_path / "model.safetensors", header, wrong)


def test_a_format_to_come_is_refused(fitted: Any, tmp_path: Path) -> None:
    header, arrays = to_parts(fitted)
    refused(tmp_path / "model.safetensors", header, arrays, format=2)


def test_weights_of_rows_come_back(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    weights = np.linspace(0.1, 2, len(X))
    settings: dict[str, Any] = {"max_iter": 2, "random_state": 0}
    model = NeuralNCAClassifier(2, **settings).fit(X, y, sample_weight=weights)
    vicinal.save(path, model)
    again = vicinal.load(path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "weights", [np.ones(120, "f4"), np.ones(119), np.zeros(120), -np.ones(120)]
)
def test_weights_that_no_fit_has_are_refused(
    fitted: Any, weights: Any, tmp_path: Path
) -> None:
    header, arrays = to_parts(fitted)
    header["model"]["state"]["_known"]["dict"]["weights"] = {"array": "weights"}
    arrays = arrays | {"weights": weights}
    refused(tmp_path / "model.safetensors", header, arrays)


def test_a_regressor_needs_the_unit_of_its_targets(tmp_path: Path) -> None:
    model = NeuralNCARegressor(2, n_estimators=1, max_iter=1).fit(X, X[:, 0])
    for name, value in (("_unit", 0.0), ("_middle", {"float": "inf"})):
        header, arrays = to_parts(model)
        header["model"]["state"][name] = value
        refused(tmp_path / "model.safetensors", header, arrays)


def test_rows_held_out_are_those_of_a_fit_to_continue(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    model = NeuralNCAClassifier(2, max_iter=2, warm_start=True, random_state=0)
    vicinal.save(path, model.fit(X, y))
    again = vicinal.load(path).set_params(random_state=0)
    np.testing.assert_array_equal(
        again.fit(X, y).predict_proba(X), model.fit(X, y).predict_proba(X)
    )
