"""A learned map as an ONNX model: one product, and a division by the length."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FloatArray

OPSET = 17
"""Of the model; every runtime since 2022 knows it."""
_IR_VERSION = 8


def to_onnx(model: Any, *, side: str = "query") -> Any:
    """Return the map of a fitted adapter or metric as an ONNX model.

    Parameters
    ----------
    model : RetrievalAdapter or metric
        A fitted adapter, or an estimator with `components_`, like
        :class:`vicinal.NCA` or :class:`vicinal.PairNCA`.
    side : {"query", "document"}, default="query"
        Which of an adapter's maps.

    Returns
    -------
    onnx.ModelProto
        Opset 17. The input "vectors" has shape (N, n_features) and the output "mapped"
        (N, n_components), both float32. It is one MatMul; for an adapter under the
        cosine an LpNormalization follows. Of a vector of zeros, which has no cosine,
        runtimes make what they like. Write it with
        ``onnx.save(model, "adapter.onnx")``.

    Raises
    ------
    ImportError
        When the package onnx is missing: ``pip install 'vicinal[onnx]'``.

    See Also
    --------
    vicinal.adapters.save_adapter : Keeps an adapter for vicinal.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import RetrievalAdapter, to_onnx
    >>> vectors = np.random.default_rng(0).normal(size=(30, 4))
    >>> pairs = [(i, i + 1) for i in range(29)]
    >>> adapter = RetrievalAdapter(alpha=0.1).fit(vectors[:-1], vectors, pairs)
    >>> [node.op_type for node in to_onnx(adapter).graph.node]
    ['MatMul']
    """
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError as error:
        raise ImportError("This needs onnx: pip install 'vicinal[onnx]'.") from error
    components, unit_length = _map_of(model, side)
    d, n_features = components.shape
    image = "image" if unit_length else "mapped"
    nodes = [helper.make_node("MatMul", ["vectors", "components"], [image])]
    if unit_length:
        nodes.append(
            helper.make_node("LpNormalization", [image], ["mapped"], axis=1, p=2)
        )
    graph = helper.make_graph(
        nodes,
        "vicinal",
        [_tensor(helper, TensorProto, "vectors", n_features)],
        [_tensor(helper, TensorProto, "mapped", d)],
        [numpy_helper.from_array(np.ascontiguousarray(components.T), "components")],
    )
    made = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=_IR_VERSION,
        producer_name="vicinal",
    )
    checker.check_model(made)
    return made


def _tensor(helper: Any, proto: Any, name: str, width: int) -> Any:
    return helper.make_tensor_value_info(name, proto.FLOAT, ["N", width])


def _map_of(model: Any, side: str) -> tuple[FloatArray, bool]:
    """Return the map in float32, and whether lengths are divided by."""
    if side not in ("query", "document"):
        raise ValueError(f"side must be 'query' or 'document', got {side!r}.")
    check_is_fitted(model)
    if hasattr(model, "components_"):
        return model.components_.astype(np.float32), False
    components = getattr(model, f"{side}_components_")
    return components.astype(np.float32), model.metric_ == "cosine"
