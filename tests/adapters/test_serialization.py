"""Adapters in files, ONNX and FAISS."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import vicinal
from tests.adapters.data import turned
from vicinal import LDG, NCA, save
from vicinal._typing import FloatArray
from vicinal.adapters import (
    Evaluation,
    RetrievalAdapter,
    load_adapter,
    save_adapter,
    to_faiss,
    to_onnx,
)
from vicinal.persistence import digest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "adapter.safetensors"


def fitted(**parameters: Any) -> RetrievalAdapter:
    settings: dict[str, Any] = {"alpha": 0.1, "temperature": 0.5, **parameters}
    return RetrievalAdapter(n_folds=2, random_state=0, **settings).fit(*turned())


@pytest.mark.parametrize(
    "parameters", [{}, {"side": "two", "n_components": 3}, {"metric": "cosine"}]
)
def test_a_saved_adapter_can_be_loaded(path: Path, parameters: dict[str, Any]) -> None:
    adapter = fitted(**parameters)
    save_adapter(path, adapter)
    again = load_adapter(path)
    queries, documents, _ = turned()
    for one, other in zip(
        adapter.rank(queries, documents), again.rank(queries, documents), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert again.metric_ == adapter.metric_
    assert again.is_adapted_ == adapter.is_adapted_
    assert again.get_params() == adapter.get_params()
    assert not hasattr(again, "evaluation_")


def test_an_adapter_is_saved_with_its_evaluation(path: Path) -> None:
    adapter = fitted(alpha="auto")
    save_adapter(path, adapter)
    one, again = adapter.evaluation_, load_adapter(path).evaluation_
    assert str(again) == str(one)
    assert again.seed == one.seed
    np.testing.assert_array_equal(again.queries, one.queries)
    for name in one.before:
        np.testing.assert_array_equal(again.before[name], one.before[name])
        np.testing.assert_array_equal(again.after[name], one.after[name])


def rewrite(path: Path, state: dict[str, Any], **arrays: Any) -> None:
    """Change attributes and arrays of a saved adapter, with a valid checksum."""
    with safe_open(str(path), framework="numpy") as opened:
        header = json.loads(opened.metadata()["vicinal"])
        held = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    header["model"]["state"] |= state
    held |= {f"RetrievalAdapter.{name}": array for name, array in arrays.items()}
    text = json.dumps(header)
    save_file(held, str(path), {"vicinal": text, "sha256": digest(text, held)})


@pytest.mark.parametrize(
    ("state", "arrays", "words"),
    [
        ({"metric_": None}, {}, "the metric"),
        ({"alpha_": -1.0}, {}, "alpha or temperature"),
        ({"alpha_": {"float": "nan"}}, {}, "alpha or temperature"),
        ({"temperature_": "0"}, {}, "not a model to trust"),
        ({"temperature_": {"float": "nan"}}, {}, "alpha or temperature"),
        ({"n_features_in_": 3}, {}, "the shapes"),
        ({}, {"query_components_": np.zeros((3, 8))}, "the shapes"),
        ({}, {"query_components_": np.full((8, 8), np.nan)}, "not finite"),
        ({}, {"evaluation_.before.map": np.zeros(3)}, "not a model to trust"),
        ({}, {"evaluation_.before.map": np.full(120, 2.0)}, "out of range"),
        ({}, {"evaluation_.after.map": np.full(120, np.inf)}, "out of range"),
        ({}, {"evaluation_.after.map": np.full(120, np.nan)}, "other queries"),
        ({}, {"evaluation_.queries": np.arange(3)}, "other queries"),
        ({}, {"evaluation_.queries": np.zeros(120, dtype=int)}, "positions"),
        ({}, {"evaluation_.queries": np.arange(120) - 1}, "positions"),
        ({}, {"evaluation_.queries": np.arange(120.0)}, "positions"),
        ({}, {"query_components_": np.zeros((8, 8), dtype=np.int32)}, "not floats"),
        ({"is_adapted_": 1}, {}, "another type"),
        ({"n_iter_": "\x1b[2J"}, {}, "another type"),
        ({"evaluation_": 3}, {}, "not a model to trust"),
        ({"evaluation_": {"dict": {}}}, {}, "not a model to trust"),
    ],
)
def test_invalid_files_are_refused(
    path: Path, state: dict[str, Any], arrays: dict[str, Any], words: str
) -> None:
    save_adapter(path, fitted(alpha="auto"))
    rewrite(path, state, **arrays)
    for load in (load_adapter, vicinal.load):
        with pytest.raises(ValueError, match=words):
            load(path)


def test_names_of_scores_cannot_control_the_terminal(path: Path) -> None:
    adapter = fitted(alpha="auto")
    one = adapter.evaluation_
    name = "\x1b[2J"
    adapter.evaluation_ = Evaluation(
        {name: one.before["map"]}, {name: one.after["map"]}, queries=one.queries
    )
    with pytest.raises(ValueError, match="the names of the scores"):
        save_adapter(path, adapter)


def test_damaged_and_other_files_are_refused(path: Path) -> None:
    with pytest.raises(OSError, match="does not exist"):
        load_adapter(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="damaged or no model"):
        load_adapter(path)
    X, y = load_iris(return_X_y=True)
    save(path, LDG(2, n_neighbors=4, gamma=0.5).fit(X, y))
    with pytest.raises(ValueError, match="a model of another kind"):
        load_adapter(path)


def run(model: Any, vectors: FloatArray) -> FloatArray:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found: FloatArray = session.run(None, {"vectors": vectors.astype(np.float32)})[0]
    return found


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("side", ["query", "both", "two"])
def test_onnx_maps_as_the_adapter_does(metric: str, side: str) -> None:
    queries, documents, _ = turned()
    adapter = fitted(side=side, metric=metric)
    model = to_onnx(adapter)
    np.testing.assert_allclose(
        run(model, queries), adapter.transform_queries(queries), atol=1e-5
    )
    of_documents = to_onnx(adapter, side="document")
    np.testing.assert_allclose(
        run(of_documents, documents), adapter.transform_documents(documents), atol=1e-5
    )
    nodes = [node.op_type for node in model.graph.node]
    assert nodes == ["MatMul"] + ["LpNormalization"] * (metric == "cosine")
    assert [one.version for one in model.opset_import] == [17]
    assert model.ir_version == 8


def test_onnx_of_a_metric() -> None:
    X, y = load_iris(return_X_y=True)
    nca = NCA(2, max_iter=200).fit(X, y)
    np.testing.assert_allclose(
        run(to_onnx(nca), X), nca.transform(X), rtol=1e-3, atol=1e-3
    )


def test_onnx_refuses_bad_arguments() -> None:
    with pytest.raises(NotFittedError):
        to_onnx(RetrievalAdapter())
    with pytest.raises(ValueError, match="'query' or 'document'"):
        to_onnx(RetrievalAdapter(), side="both")


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("side", ["query", "two"])
def test_faiss_ranks_as_the_adapter_does(metric: str, side: str) -> None:
    import faiss

    adapter = fitted(metric=metric, side=side)
    queries, documents, _ = turned()
    kind = faiss.IndexFlatIP if metric == "cosine" else faiss.IndexFlatL2
    index = kind(8)
    index.add(adapter.transform_documents(documents).astype(np.float32))
    transformed = to_faiss(adapter, index)
    scores, positions = transformed.search(queries.astype(np.float32), 5)
    expected, cosines = adapter.rank(queries, documents, 5)
    assert (positions == expected).mean() > 0.99
    if metric == "cosine":
        np.testing.assert_allclose(scores, cosines, atol=1e-5)
    assert transformed.ntotal == 200
    with pytest.raises(ValueError, match="index has 3 dimensions, and the map 8"):
        to_faiss(adapter, faiss.IndexFlatIP(3))
