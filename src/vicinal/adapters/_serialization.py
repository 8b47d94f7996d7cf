"""Adapters in files and in other runtimes: safetensors, ONNX, FAISS."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vicinal import persistence
from vicinal.adapters._retrieval_adapter import RetrievalAdapter
from vicinal.neighbors import import_extra


def save_adapter(path: str | os.PathLike[str], adapter: RetrievalAdapter) -> None:
    """Write a fitted adapter to a file; an error leaves no partial file.

    Parameters
    ----------
    path : str or path-like
        Usually ends in ``.safetensors``. An existing file is replaced.
    adapter : RetrievalAdapter
        Fitted adapter. Its maps, settings and evaluation, if any, are saved.

    Raises
    ------
    ImportError
        If safetensors is missing: ``pip install 'vicinal[cli]'``.
    ValueError, OSError
        If the file cannot be written.

    See Also
    --------
    vicinal.adapters.load_adapter : Reads the file.
    vicinal.adapters.to_onnx : Converts the map for other runtimes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from vicinal.adapters import RetrievalAdapter, load_adapter, save_adapter
    >>> vectors = np.random.default_rng(0).normal(size=(30, 4))
    >>> pairs = [(i, i + 1) for i in range(29)]
    >>> adapter = RetrievalAdapter(alpha=0.1).fit(vectors[:-1], vectors, pairs)
    >>> with TemporaryDirectory() as folder:
    ...     save_adapter(Path(folder) / "a.safetensors", adapter)
    ...     again = load_adapter(Path(folder) / "a.safetensors")
    >>> bool((again.query_components_ == adapter.query_components_).all())
    True
    """
    persistence.save(path, adapter)


def load_adapter(path: str | os.PathLike[str]) -> RetrievalAdapter:
    """Read an adapter from a file, which may come from an untrusted source.

    Parameters
    ----------
    path : str or path-like
        File written by `save_adapter` or ``vicinal adapt``.

    Returns
    -------
    RetrievalAdapter
        Fitted adapter, with the evaluation it was saved with.

    Raises
    ------
    ValueError, OSError
        If the file does not exist, is damaged or edited, or is not an adapter. Nothing
        in the file is executed.

    See Also
    --------
    vicinal.adapters.save_adapter : Writes the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from vicinal.adapters import RetrievalAdapter, load_adapter, save_adapter
    >>> vectors = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    >>> pairs = [(i, i + 1) for i in range(29)]
    >>> adapter = RetrievalAdapter(alpha=0.1).fit(vectors[:-1], vectors, pairs)
    >>> with TemporaryDirectory() as folder:
    ...     save_adapter(Path(folder) / "map.safetensors", adapter)
    ...     again = load_adapter(Path(folder) / "map.safetensors")
    >>> again.query_components_.shape
    (4, 4)
    """
    name = Path(path).name
    adapter = persistence.load(path)
    if not isinstance(adapter, RetrievalAdapter):
        raise ValueError(  # noqa: TRY004 -- of the file, not of an argument
            f"{name} is a model of another kind, not an adapter."
        )
    return adapter


def to_onnx(model: Any, *, side: str = "query", opset: int = 17) -> Any:
    """Convert the map of a fitted adapter or metric to an ONNX model.

    Parameters
    ----------
    model : RetrievalAdapter or metric
        A fitted adapter, or an estimator with `components_`, like
        :class:`vicinal.NCA` or :class:`vicinal.PairNCA`.
    side : {"query", "document"}, default="query"
        Which map of an adapter to convert.
    opset : int, default=17
        Version of ONNX's operators; runtimes since 2022 support 17.

    Returns
    -------
    onnx.ModelProto
        The input "vectors" has shape (N, n_features) and the output "mapped"
        (N, n_components), both float32. It is one MatMul; for an adapter under the
        cosine an LpNormalization follows. The result for a vector of zeros, which has
        no cosine, depends on the runtime. Write it with
        ``onnx.save(model, "adapter.onnx")``.

    Raises
    ------
    ImportError
        If the package onnx is missing: ``pip install 'vicinal[onnx]'``.

    See Also
    --------
    vicinal.adapters.save_adapter : Saves an adapter for vicinal.

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
    onnx = import_extra("onnx", "onnx")
    if side not in ("query", "document"):
        raise ValueError(f"side must be 'query' or 'document', got {side!r}.")
    check_is_fitted(model)
    is_metric = hasattr(model, "components_")
    A = model.components_ if is_metric else getattr(model, f"{side}_components_")
    unit_length = not is_metric and model.metric_ == "cosine"
    product = "product" if unit_length else "mapped"
    make = onnx.helper
    nodes = [make.make_node("MatMul", ["vectors", "components"], [product])]
    if unit_length:
        nodes.append(
            make.make_node("LpNormalization", [product], ["mapped"], axis=1, p=2)
        )
    source, target = (
        make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", width])
        for name, width in (("vectors", A.shape[1]), ("mapped", A.shape[0]))
    )
    weights = np.ascontiguousarray(A.T, dtype=np.float32)
    opsets = [make.make_opsetid("", opset)]
    converted = make.make_model(
        make.make_graph(
            nodes,
            "vicinal",
            [source],
            [target],
            [onnx.numpy_helper.from_array(weights, "components")],
        ),
        opset_imports=opsets,
        ir_version=make.find_min_ir_version_for(opsets),
        producer_name="vicinal",
    )
    onnx.checker.check_model(converted)
    return converted


def to_faiss(adapter: RetrievalAdapter, index: Any) -> Any:
    """Put the map of the queries in front of a FAISS index of the documents.

    Parameters
    ----------
    adapter : RetrievalAdapter
        Fitted adapter.
    index : faiss.Index
        Index of the documents: as they are with side "query", so that an existing index
        can be used; otherwise of ``adapter.transform_documents(documents)``. It
        compares inner products or L2 distances under the cosine, and L2 distances under
        the Euclidean metric.

    Returns
    -------
    faiss.IndexPreTransform
        Its `search` takes queries as they come from the encoder. Its `add` would map
        documents as if they were queries: add to `index` instead.

    Raises
    ------
    ImportError
        If faiss is missing: ``pip install 'vicinal[ann]'``.

    See Also
    --------
    vicinal.neighbors.FaissIndex : A FAISS index of mapped vectors.

    Examples
    --------
    >>> import faiss
    >>> import numpy as np
    >>> from vicinal.adapters import RetrievalAdapter, to_faiss
    >>> vectors = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    >>> pairs = [(i, i + 1) for i in range(29)]
    >>> adapter = RetrievalAdapter(alpha=0.1).fit(vectors[:-1], vectors, pairs)
    >>> documents = faiss.IndexFlatL2(4)
    >>> documents.add(vectors)
    >>> distances, positions = to_faiss(adapter, documents).search(vectors[:2], 3)
    >>> positions.shape
    (2, 3)
    """
    faiss = import_extra("faiss", "ann")
    A = np.ascontiguousarray(adapter.query_components_, dtype=np.float32)
    d, n_features = A.shape
    if index.d != d:
        raise ValueError(f"The index has {index.d} dimensions, and the map {d}.")
    linear = faiss.LinearTransform(n_features, d, False)
    faiss.copy_array_to_vector(A.ravel(), linear.A)
    linear.is_trained = True
    steps = [linear]
    if adapter.metric_ == "cosine":
        steps.append(faiss.NormalizationTransform(d, 2.0))
    transformed = faiss.IndexPreTransform(index)
    for step in reversed(steps):
        transformed.prepend_transform(step)
    # Keeps Python from freeing objects that the new index points to.
    transformed.referenced_objects = [index, *steps]
    return transformed
