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

from tests.adapters.data import turned
from vicinal import NCA
from vicinal._typing import FloatArray
from vicinal.adapters import (
    RetrievalAdapter,
    load_adapter,
    save_adapter,
    to_faiss,
    to_onnx,
)
from vicinal.adapters._serialization import _digest


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


def rewrite(path: Path, change: dict[str, Any], **tensors: Any) -> None:
    with safe_open(str(path), framework="numpy") as opened:
        header = json.loads(opened.metadata()["vicinal_adapter"])
        held = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    held |= tensors
    text = json.dumps(header | change)
    metadata = {"vicinal_adapter": text, "sha256": _digest(text, held)}
    save_file(held, str(path), metadata)


@pytest.mark.parametrize(
    ("change", "tensors", "words"),
    [
        ({"format": "vicinal.adapter.2"}, {}, "another version"),
        ({"side": "left"}, {}, "the side"),
        ({"side": ["query"]}, {}, "the side"),
        ({"metric": None}, {}, "the metric"),
        ({"alpha": -1.0}, {}, "alpha or temperature"),
        ({"alpha": float("inf")}, {}, "alpha or temperature"),
        ({"temperature": "0"}, {}, "alpha or temperature"),
        ({"temperature": float("nan")}, {}, "alpha or temperature"),
        ({"is_adapted": 1}, {}, "is_adapted"),
        ({"more": 1}, {}, "the keys of the header"),
        ({}, {"query_components": np.zeros((3, 8))}, "shapes"),
        ({}, {"query_components": np.full((8, 8), np.nan)}, "not finite"),
        ({}, {"query_components": np.zeros((8, 8), dtype=np.int32)}, "type"),
        ({}, {"other": np.zeros(3)}, "unexpected contents"),
        ({"seed": True}, {}, "the seed"),
        ({"seed": -1}, {}, "the seed"),
        ({"seed": 2**32}, {}, "the seed"),
        ({"scores": 3}, {}, "the scores"),
        ({"scores": [["mrr"]] * 8}, {}, "not a valid adapter"),
        ({"scores": ["\x1b[2J"] * 8}, {}, "the scores"),
        ({"scores": ["mrr"] * 8}, {}, "the scores"),
        ({"scores": ["mrr"]}, {}, "the evaluation"),
        ({}, {"before": np.zeros((8, 3))}, "the evaluation"),
        ({}, {"before": np.zeros(8)}, "the evaluation"),
        ({}, {"before": np.full((8, 120), 2.0)}, "the evaluation"),
        ({}, {"after": np.full((8, 120), np.inf)}, "the evaluation"),
        ({}, {"after": np.full((8, 120), np.nan)}, "the evaluation"),
        ({}, {"queries": np.arange(3)}, "the evaluation"),
        ({}, {"queries": np.zeros(120, dtype=np.int64)}, "the evaluation"),
        ({}, {"queries": np.arange(120) - 1}, "the evaluation"),
        ({}, {"queries": np.arange(120.0)}, "type of queries"),
        ({}, {"queries": np.zeros((), dtype=np.int64)}, "the evaluation"),
    ],
)
def test_invalid_files_are_refused(
    path: Path, change: dict[str, Any], tensors: dict[str, Any], words: str
) -> None:
    save_adapter(path, fitted(alpha="auto"))
    rewrite(path, change, **tensors)
    with pytest.raises(ValueError, match=words):
        load_adapter(path)


def test_damaged_files_are_refused(path: Path) -> None:
    with pytest.raises(OSError, match="is not a file"):
        load_adapter(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="damaged or not an adapter"):
        load_adapter(path)
    save_adapter(path, fitted())
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    with pytest.raises(ValueError, match="damaged or not an adapter"):
        load_adapter(path)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ValueError, match="edited after it was written"):
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
