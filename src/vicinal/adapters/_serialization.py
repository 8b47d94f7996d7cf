"""Adapters in files and in other runtimes: safetensors, ONNX, FAISS."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from vicinal import __version__
from vicinal._files import atomic_write
from vicinal.adapters._evaluation import Evaluation
from vicinal.adapters._retrieval_adapter import RetrievalAdapter
from vicinal.neighbors import import_extra

_FORMAT = "vicinal.adapter.1"
_MAPS = ("query_components", "document_components")
_SCORES = ("before", "after", "queries")
_KEYS = {"format", "side", "metric", "alpha", "temperature", "is_adapted", "version"}
_KEYS |= {"scores", "seed"}


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
    check_is_fitted(adapter)
    library = import_extra("safetensors.numpy", "cli")
    tensors = {name: getattr(adapter, f"{name}_") for name in _MAPS}
    header = {
        "format": _FORMAT,
        "side": adapter.side,
        "metric": adapter.metric_,
        "alpha": adapter.alpha_,
        "temperature": adapter.temperature_,
        "is_adapted": adapter.is_adapted_,
        "version": __version__,
        "scores": [],
        "seed": 0,
    }
    if hasattr(adapter, "evaluation_"):
        evaluation = adapter.evaluation_
        header |= {"scores": list(evaluation.before), "seed": evaluation.seed}
        tensors["before"] = np.stack(list(evaluation.before.values()))
        tensors["after"] = np.stack(list(evaluation.after.values()))
        tensors["queries"] = np.asarray(evaluation.queries, dtype=np.int64)
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    text = json.dumps(header, allow_nan=False)
    metadata = {"vicinal_adapter": text, "sha256": _digest(text, tensors)}
    content = library.save(tensors, metadata)
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


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
    library = import_extra("safetensors", "cli")
    file = Path(path)
    if not file.is_file():
        raise OSError(f"{file} is not a file; name an adapter that was saved before.")
    try:
        with library.safe_open(str(file), framework="numpy") as opened:
            metadata, names = opened.metadata() or {}, set(opened.keys())
            known = names in (set(_MAPS), {*_MAPS, *_SCORES})
            _check(known and "vicinal_adapter" in metadata, "unexpected contents")
            for name in names:
                # Checked first, since NumPy does not know all types of safetensors.
                dtype = opened.get_slice(name).get_dtype()
                allowed = ("I64",) if name == "queries" else ("F32", "F64")
                _check(dtype in allowed, f"the type of {name}")
            tensors = {name: opened.get_tensor(name) for name in names}
        text = metadata["vicinal_adapter"]
        unchanged = metadata.get("sha256") == _digest(text, tensors)
        _check(unchanged, "it was edited after it was written")
        return _unpack(json.loads(text), tensors)
    except library.SafetensorError as error:
        raise ValueError(f"{file.name} is damaged or not an adapter.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{file.name} is not a valid adapter: {reason}.") from error


def _unpack(header: Any, tensors: dict[str, NDArray[Any]]) -> RetrievalAdapter:
    """Build the adapter from untrusted parts."""
    _check(isinstance(header, dict) and set(header) == _KEYS, "the keys of the header")
    _check(header["format"] == _FORMAT, "its format is of another version")
    _check(header["side"] in ("query", "both", "two"), "the side")
    _check(header["metric"] in ("cosine", "euclidean"), "the metric")
    alpha, temperature = header["alpha"], header["temperature"]
    numbers = all(type(x) in (int, float) for x in (alpha, temperature))
    _check(
        numbers and 0 <= alpha < np.inf and 0 < temperature < np.inf,
        "alpha or temperature",
    )
    _check(type(header["is_adapted"]) is bool, "is_adapted")
    query_map, document_map = (tensors[name] for name in _MAPS)
    _check(
        query_map.ndim == 2
        and query_map.shape == document_map.shape
        and 0 < len(query_map) <= query_map.shape[1],
        "the shapes of the maps",
    )
    _check(np.isfinite([query_map, document_map]).all(), "the maps are not finite")
    d, n_features = query_map.shape
    adapter = RetrievalAdapter(
        side=header["side"], n_components=None if d == n_features else d
    )
    adapter.query_components_, adapter.document_components_ = query_map, document_map
    adapter.metric_ = header["metric"]
    adapter.alpha_, adapter.temperature_ = float(alpha), float(temperature)
    adapter.is_adapted_, adapter.n_iter_ = header["is_adapted"], 0
    adapter.n_features_in_ = n_features
    if "queries" in tensors:
        adapter.evaluation_ = _unpack_evaluation(header, tensors)
    return adapter


def _unpack_evaluation(header: Any, tensors: dict[str, NDArray[Any]]) -> Evaluation:
    """Build the evaluation from untrusted parts."""
    names, seed = header["scores"], header["seed"]
    before, after, queries = (tensors[name] for name in _SCORES)
    _check(
        isinstance(names, list)
        and all(re.fullmatch(r"[a-z]{1,20}(@[0-9]{1,9})?", name) for name in names)
        and len(set(names)) == len(names) > 0,
        "the names of the scores",
    )
    _check(type(seed) is int and 0 <= seed < 2**32, "the seed")
    scored = ~np.isnan(before)
    _check(
        queries.ndim == 1
        and queries.size == np.unique(queries[queries >= 0]).size > 0
        and before.shape == after.shape == (len(names), len(queries))
        and np.array_equal(scored, ~np.isnan(after))
        and scored.any(axis=1).all()
        # Scores are between 0 and 1, up to rounding.
        and all(((x >= 0) & (x <= 1 + 1e-6))[scored].all() for x in (before, after)),
        "the evaluation",
    )
    return Evaluation(
        dict(zip(names, before, strict=True)),
        dict(zip(names, after, strict=True)),
        seed,
        queries.astype(np.intp),
    )


def _digest(text: str, tensors: dict[str, NDArray[Any]]) -> str:
    """Return a checksum of the header and the tensors."""
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(tensors.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _check(holds: Any, part: str) -> None:
    """Raise ValueError naming the part of a file that is wrong."""
    if not holds:
        raise ValueError(part)


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
