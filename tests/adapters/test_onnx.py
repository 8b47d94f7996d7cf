"""The ONNX model beside the adapter, run by onnxruntime."""

from typing import Any

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from tests.adapters.data import turned
from vicinal import NCA
from vicinal._typing import FloatArray
from vicinal.adapters import RetrievalAdapter, to_onnx
from vicinal.adapters._onnx import OPSET


def run(model: Any, vectors: FloatArray) -> FloatArray:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found: FloatArray = session.run(None, {"vectors": vectors.astype(np.float32)})[0]
    return found


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("side", ["query", "both", "two"])
def test_the_runtime_maps_as_the_adapter_does(metric: str, side: str) -> None:
    queries, documents, pairs = turned()
    adapter = RetrievalAdapter(side=side, metric=metric, alpha=0.1, temperature=0.5)
    adapter.fit(queries, documents, pairs)
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
    assert [one.version for one in model.opset_import] == [OPSET]


def test_a_metric_goes_too() -> None:
    X, y = load_iris(return_X_y=True)
    nca = NCA(2, max_iter=200).fit(X, y)
    np.testing.assert_allclose(
        run(to_onnx(nca), X), nca.transform(X), rtol=1e-3, atol=1e-3
    )


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(NotFittedError):
        to_onnx(RetrievalAdapter())
    with pytest.raises(ValueError, match="'query' or 'document'"):
        to_onnx(RetrievalAdapter(), side="both")
