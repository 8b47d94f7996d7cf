"""Saved estimators: everything that they could do, and no code."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import vicinal
from vicinal import LCA, LDG, NCA, NCAClassifier, NCARegressor, persistence
from vicinal.adapters import RetrievalAdapter
from vicinal.classic import LMNN
from vicinal.compat import metric_learn

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning"
)

X, y = load_iris(return_X_y=True)
X, y = X[::3], y[::3]
METHODS = (
    *("transform", "predict", "predict_proba", "predict_log_proba", "score_samples"),
    *("decision_function", "get_mahalanobis_matrix", "get_feature_names_out"),
)
PUBLIC = [
    kind
    for package in ("nca", "lca", "ldg", "additive", "classic")
    for name in import_module(f"vicinal.{package}").__all__
    if inspect.isclass(kind := getattr(import_module(f"vicinal.{package}"), name))
    and hasattr(kind, "fit")
]


def saved(path: Path, estimator: Any) -> Any:
    vicinal.save(path / "m.safetensors", estimator)
    return vicinal.load(path / "m.safetensors")


def outputs(estimator: Any, rows: Any) -> dict[str, Any]:
    """Return the result of every method that takes rows, or its error's type."""
    found: dict[str, Any] = {}
    for name in METHODS:
        method = getattr(estimator, name, None)
        if method is not None:
            try:
                takes_rows = name not in METHODS[-2:]
                found[name] = method(rows) if takes_rows else method()
            except (AttributeError, TypeError, ValueError) as error:
                found[name] = type(error).__name__
    return found


def fitted(kind: type) -> Any:
    quick = {"random_state": 0, "max_iter": 5}
    known = inspect.signature(kind).parameters
    estimator = kind(**{name: quick[name] for name in quick if name in known})
    if kind.__name__ == "PairNCA":
        return estimator.fit(X, np.arange(40).reshape(20, 2))
    return estimator.fit(X, y)


def assert_same(one: Any, other: Any, rows: Any = X) -> None:
    expected, found = outputs(one, rows), outputs(other, rows)
    assert set(found) == set(expected)
    assert expected
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, strict=True, err_msg=name)


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)
def test_every_public_estimator_comes_back(tmp_path: Path, kind: type) -> None:
    estimator = fitted(kind)
    again = saved(tmp_path, estimator)
    assert type(again) is kind
    assert repr(again) == repr(estimator)
    assert set(vars(again)) == set(vars(estimator))
    assert_same(estimator, again)


@pytest.mark.parametrize(
    "name", ["NCA", "LMNN", "LFDA", "MLKR", "Covariance", "LSML_Supervised"]
)
def test_estimators_of_compat_come_back(tmp_path: Path, name: str) -> None:
    model = getattr(metric_learn, name)().fit(X, y)
    again = saved(tmp_path, model)
    assert type(again) is type(model)
    assert_same(model, again)
    assert again.get_metric()(X[0], X[1]) == model.get_metric()(X[0], X[1])


def test_learners_of_pairs_still_predict(tmp_path: Path) -> None:
    pairs = np.stack([X[:-1:2], X[1::2]], axis=1)
    labels = np.where(np.arange(len(pairs)) % 3, 1, -1)
    model = metric_learn.ITML().fit(pairs, labels)
    again = saved(tmp_path, model)
    np.testing.assert_array_equal(again.predict(pairs), model.predict(pairs))
    assert again.threshold_ == model.threshold_


def test_adapters_come_back(tmp_path: Path) -> None:
    adapter = RetrievalAdapter(alpha=0.1)
    adapter.fit(X[:-1], X, [(i, i + 1) for i in range(len(X) - 1)])
    again = saved(tmp_path, adapter)
    assert set(dir(again)) == set(dir(adapter))
    np.testing.assert_array_equal(
        again.transform_queries(X), adapter.transform_queries(X)
    )


@pytest.mark.parametrize("labels", [y > 0, y.astype(float), y.astype(str), "object"])
def test_labels_weights_frames_and_float32(tmp_path: Path, labels: Any) -> None:
    labels = y.astype(str).astype(object) if isinstance(labels, str) else labels
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcd"))
    weights = np.linspace(1, 2, len(y))
    model = NCAClassifier(2, max_iter=5).fit(frame, labels, sample_weight=weights)
    again = saved(tmp_path, model)
    assert_same(model, again, frame)
    assert again.classes_.dtype == model.classes_.dtype
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[list("dcba")])


def test_pipelines(tmp_path: Path) -> None:
    rows = X.copy()
    rows[::7, 2] = np.nan
    steps = SimpleImputer(), "passthrough", StandardScaler(), PCA(3)
    model = make_pipeline(*steps, NCAClassifier(2, max_iter=5)).fit(rows, y)
    assert_same(model, saved(tmp_path, model), rows)
    density = make_pipeline(StandardScaler(), LCA(max_iter=5)).fit(X)
    assert_same(density, saved(tmp_path, density))
    odd = make_pipeline(FunctionTransformer(), NCAClassifier(max_iter=5)).fit(X, y)
    with pytest.raises(ValueError, match="FunctionTransformer is not one of"):
        vicinal.save(tmp_path / "odd", odd)
    assert not (tmp_path / "odd").exists()


def test_refit_and_continue(tmp_path: Path) -> None:
    """Parameters come back, except generators and functions."""
    init = np.eye(4)[:2]
    rng = np.random.RandomState(0)
    model = NCA(2, init=init, max_iter=3, random_state=rng, callback=lambda *_: None)
    again = saved(tmp_path, model.fit(X, y))
    assert again.random_state is None
    assert again.callback is None
    np.testing.assert_array_equal(again.init, init)
    expected = clone(model).fit(X, y).components_
    np.testing.assert_allclose(clone(again).fit(X, y).components_, expected)
    regressor = NCARegressor(max_iter=3).fit(X, X[:, 0])
    assert_same(regressor, saved(tmp_path, regressor))


def test_what_cannot_be_stored(tmp_path: Path) -> None:
    class Mine(NCA):
        pass

    path = tmp_path / "m"
    with pytest.raises(NotFittedError):
        vicinal.save(path, NCA(2))
    with pytest.raises(ValueError, match="Mine is not one of the estimators"):
        vicinal.save(path, Mine(2, max_iter=2).fit(X, y))
    odd = LMNN(max_iter=2).fit(X, y)
    odd.extra_ = object()
    with pytest.raises(ValueError, match=r"LMNN\.extra_ is a object, which a file"):
        vicinal.save(path, odd)
    odd.extra_ = np.array([object()])
    with pytest.raises(ValueError, match="array of objects"):
        vicinal.save(path, odd)
    odd.extra_ = X.astype(complex)
    with pytest.raises(ValueError, match="complex128"):
        vicinal.save(path, odd)
    assert list(tmp_path.iterdir()) == []


def forged(path: Path, edit: Any) -> Path:
    """Save a model with an edited header and a valid checksum."""
    vicinal.save(path, NCAClassifier(2, max_iter=2).fit(X, y))
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["vicinal"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    edit(header, arrays)
    text = json.dumps(header)
    metadata = {"vicinal": text, "sha256": persistence.digest(text, arrays)}
    save_file(arrays, path, metadata)
    return path


def state(header: Any) -> Any:
    return header["model"]["state"]


HOSTILE = {
    "class": lambda h, _: h["model"].update(estimator="subprocess:Popen"),
    "function": lambda h, _: h["model"].update(estimator="vicinal.nca:STARTS"),
    "private": lambda h, _: h["model"].update(estimator="vicinal.nca:import_module"),
    "pipeline": lambda h, _: h["model"].update(estimator="sklearn.pipeline:Pipeline"),
    "parameters": lambda h, _: h["model"]["params"].pop("tol"),
    "more": lambda h, _: h["model"]["params"].update(surprise=1),
    "method": lambda h, _: state(h).update(predict=1),
    "parameter": lambda h, _: state(h).update(tol=1),
    "name": lambda h, _: state(h).update({"a.b": 1}),
    "main": lambda h, _: state(h).update(
        x_={"object": "vicinal.__main__:main", "state": {}}
    ),
    "app": lambda h, _: state(h).update(
        x_={"object": "vicinal.app.models.saved:SavedModel", "state": {}}
    ),
    "outside": lambda h, _: state(h).update(
        x_={"object": "pathlib:Path", "state": {}}
    ),
    "estimator": lambda h, _: state(h).update(
        x_={"object": "vicinal.nca:NCA", "state": {}}
    ),
    "array": lambda h, _: state(h).update(x_={"array": "none"}),
    "tag": lambda h, _: state(h).update(x_={"pickle": "gASVAA=="}),
    "list": lambda h, _: state(h).update(x_=[1]),
    "shape": lambda h, _: state(h).update(x_={"objects": [1], "shape": [10**20]}),
    "dtype": lambda h, _: state(h).update(x_={"dtype": "O"}),
    "number": lambda h, _: state(h).update(x_={"float": "1_0"}),
    "text": lambda h, a: (
        a.update(t=np.array([[2**31]], np.uint32)),
        state(h).update(x_={"array": "t", "text": True}),
    ),
    "components": lambda _, a: a.update(
        {name: one[:, :2] for name, one in a.items() if name.endswith("components_")}
    ),
    "infinite": lambda _, a: a.update(
        {name: one * np.inf for name, one in a.items() if name.endswith("components_")}
    ),
    "unfitted": lambda h, _: state(h).clear(),
    "kind": lambda h, _: h.update(type="pickle"),
    "format": lambda h, _: h.update(format=2),
    "content": lambda h, _: h.update(model=3),
    "nothing": lambda h, _: h.pop("model"),
}  # fmt: skip


@pytest.mark.parametrize("edit", HOSTILE.values(), ids=HOSTILE)
def test_hostile_headers(tmp_path: Path, edit: Any) -> None:
    with pytest.raises(ValueError, match="is not a model to trust"):
        vicinal.load(forged(tmp_path / "m.safetensors", edit))


def test_an_edited_file_is_noticed(tmp_path: Path) -> None:
    path = forged(tmp_path / "m.safetensors", lambda *_: None)
    content = bytearray(path.read_bytes())
    assert isinstance(vicinal.load(path), NCAClassifier)
    for place in range(0, len(content), 97):
        edited = bytearray(content)
        edited[place] ^= 1
        path.write_bytes(edited)
        with pytest.raises(ValueError, match=r"m\.safetensors is"):
            vicinal.load(path)


def test_safetensors_is_optional(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['safetensors'] = None\n"
        "import vicinal\n"
        "try:\n    vicinal.load('m')\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "needs safetensors: pip install" in done.stdout


def test_neither_the_application_nor_polars_is_needed(tmp_path: Path) -> None:
    vicinal.save(tmp_path / "m", LDG(2, random_state=0).fit(X, y))
    code = (
        "import sys, vicinal\n"
        "vicinal.load(sys.argv[1])\n"
        "assert not {'polars', 'vicinal.app'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")], check=True)


@pytest.mark.parametrize(
    "edit",
    [
        {"_weights.log_offsets": np.zeros(1)},
        {"_codes": np.full(150, -1)},
        {"_codes": np.full(150, 3)},
        {"_points": np.zeros((2_000_000, 2))},
        {"_points": np.zeros((150, 7))},
    ],
    ids=str,
)
def test_arrays_that_do_not_belong_together_predict_nothing(
    tmp_path: Path, edit: dict[str, Any]
) -> None:
    model = NCAClassifier(2, random_state=0).fit(X, y)
    path = tmp_path / "model.safetensors"
    vicinal.save(path, model)
    with safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        text = file.metadata()["vicinal"]
    for name, array in edit.items():
        (key,) = (one for one in arrays if one.endswith(f".{name}"))
        arrays[key] = array.astype(arrays[key].dtype)
    metadata = {"vicinal": text, "sha256": persistence.digest(text, arrays)}
    save_file(arrays, path, metadata)
    with pytest.raises(ValueError, match=r"\w"):
        vicinal.load(path).predict_proba(X)


def test_a_search_is_saved_as_its_best_estimator(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(NCAClassifier(2, max_iter=5), {"alpha": [0.01, 0.1]}, cv=2)
    search.fit(X, y)
    vicinal.save(tmp_path / "best.safetensors", search)
    again = vicinal.load(tmp_path / "best.safetensors")
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        vicinal.load(tmp_path / "no.safetensors")
