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
from vicinal.neural.saved import from_parts, to_parts  # noqa: E402
from vicinal.persistence import digest  # noqa: E402

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
    with pytest.raises(ValueError, match="is code, which a model file"):
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


def changed(header: Any, where: str, value: Any) -> Any:
    """Return a copy of a header with one thing in it changed."""
    copied = json.loads(json.dumps(header))
    *path, last = where.split("/")
    inside = copied
    for key in path:
        inside = inside[key]
    inside[last] = value
    return copied


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("kind", "os.system"),
        ("more", 1),
        ("network/n_blocks", 10**9),
        ("network/n_components", 2**31 - 1),
        ("network/hidden_size", 2**30),
        ("network/n_components", 6.0),
        ("network/n_components", 10**30),
        ("network/hidden_size", 10**30),
        ("network/n_frequencies", 10**400),
        ("network/n_frequencies", 0),
        ("network/n_frequencies", 2**31 - 1),
        ("network/embedding_size", -1),
        ("network/embedding_size", 0),
        ("network/frequency_scale", float("inf")),
        ("network/embedding", "spline"),
        ("network/dropout", 2.0),
        ("network/more", 1),
        ("temperatures", []),
        ("temperatures", [0.0, 1.0]),
        ("temperatures", [1.0] * 10**4),
        ("classes", ["yes", "no"]),
        ("classes", ["no"]),
        ("classes", [["no"], ["yes"]]),
        ("classes", None),
        ("n_features", 10**9),
        ("categorical", [0, 1]),
        ("categorical", [7]),
        ("categorical", ["kind"]),
        ("categories", [[None]]),
        ("flagged", [7]),
        ("feature_names", ["a"]),
        ("n_iter", -1),
        ("parameters/n_blocks", -1),
        ("parameters/embedding", 5),
        ("parameters/callback", "print"),
    ],
)
def test_headers_that_lie(fitted: Any, where: str, value: Any) -> None:
    header, arrays = to_parts(fitted)
    with pytest.raises(ValueError, match=r"\w"):
        from_parts(changed(header, where, value), arrays)


@pytest.mark.parametrize(
    ("name", "value"), [("n_frequencies", 0), ("embedding_size", -1)]
)
def test_a_file_with_an_impossible_network_is_refused(
    fitted: Any, name: str, value: int, tmp_path: Path
) -> None:
    from safetensors.numpy import save_file

    header, arrays = to_parts(fitted)
    header = changed(header, f"network/{name}", value)
    arrays = {key: np.asarray(one, order="C") for key, one in arrays.items()}
    text = json.dumps({"type": "neural", "format": 1, **header})
    path = tmp_path / "model.safetensors"
    save_file(arrays, path, {"vicinal": text, "sha256": digest(text, arrays)})
    with pytest.raises(ValueError, match=f"not a model to trust.*{name}"):
        vicinal.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("0/points", np.zeros((3, 3), np.float32)),
        ("0/points", None),
        ("0/linear.bias", np.full(6, np.nan, np.float32)),
        ("0/linear.bias", np.zeros(6)),
        ("0/linear.more", np.zeros(6, np.float32)),
        ("codes", np.full((120, 1), 99)),
        ("target", np.full(120, -1)),
        ("unit", np.zeros(2)),
        ("numbers", np.full((120, 3), np.inf, np.float32)),
        ("middle", None),
    ],
)
def test_arrays_that_lie(fitted: Any, name: str, value: Any) -> None:
    header, arrays = to_parts(fitted)
    wrong = {**arrays, name: value}
    if value is None:
        del wrong[name]
    with pytest.raises(ValueError, match=r"\w"):
        from_parts(header, wrong)


def test_a_format_to_come_is_refused(fitted: Any, tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    header, arrays = to_parts(fitted)
    arrays = {name: np.asarray(one, order="C") for name, one in arrays.items()}
    text = json.dumps({"type": "neural", "format": 2, **header})
    path = tmp_path / "model.safetensors"
    save_file(arrays, path, {"vicinal": text, "sha256": digest(text, arrays)})
    with pytest.raises(ValueError, match="it has format 2"):
        vicinal.load(path)


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
def test_weights_that_no_fit_has_are_refused(fitted: Any, weights: Any) -> None:
    described, arrays = to_parts(fitted)
    with pytest.raises(ValueError, match="weights"):
        from_parts(described, arrays | {"weights": weights})
