"""Adapters as safetensors files: two matrices and a JSON header, nothing that runs."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from vicinal import __version__
from vicinal._files import atomic_write
from vicinal.adapters._adapter import RetrievalAdapter
from vicinal.adapters._stored_evaluation import read_evaluation, stored_evaluation

FORMAT = 1
_TENSORS = ("query_components", "document_components")
_KEYS = {"format", "side", "metric", "alpha", "temperature", "is_adapted", "version"}
_LARGEST = 2_000_000_000


def save_adapter(path: str | os.PathLike[str], adapter: RetrievalAdapter) -> None:
    """Write a fitted adapter, whole or not at all.

    Parameters
    ----------
    path : str or path-like
        Usually ends in ``.safetensors``. A file that is there is replaced.
    adapter : RetrievalAdapter
        Fitted. Its maps and what they mean are kept, and its evaluation, if any.

    Raises
    ------
    ImportError
        When safetensors is missing: ``pip install 'vicinal[cli]'``.
    ValueError, OSError
        When no file can be written there.

    See Also
    --------
    vicinal.adapters.load_adapter : Reads the file.
    vicinal.adapters.to_onnx : Writes it for other runtimes.

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
    packed = _safetensors("safetensors.numpy").save
    tensors = {
        name: np.ascontiguousarray(getattr(adapter, f"{name}_")) for name in _TENSORS
    }
    text = json.dumps(
        {
            "format": FORMAT,
            "side": adapter.side,
            "metric": adapter.metric_,
            "alpha": adapter.alpha_,
            "temperature": adapter.temperature_,
            "is_adapted": adapter.is_adapted_,
            "version": __version__,
            "evaluation": stored_evaluation(getattr(adapter, "evaluation_", None)),
        },
        allow_nan=False,
    )
    metadata = {"vicinal_adapter": text, "sha256": _digest(text, tensors)}
    content = packed(tensors, metadata)
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


def load_adapter(path: str | os.PathLike[str]) -> RetrievalAdapter:
    """Read an adapter that anybody may have sent.

    Parameters
    ----------
    path : str or path-like
        A file that `save_adapter` or ``vicinal adapt`` wrote.

    Returns
    -------
    RetrievalAdapter
        Fitted, with the evaluation that it was saved with.

    Raises
    ------
    ValueError, OSError
        With one sentence, when the file is not there, was cut short or edited, or is
        something else. Nothing in it is ever executed.

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
    library = _safetensors("safetensors")
    file = Path(path)
    if not file.is_file():
        raise OSError(f"{file} is no file; name an adapter that `vicinal adapt` wrote.")
    if not 8 < file.stat().st_size < _LARGEST:
        raise ValueError(f"{file.name} is no adapter: it is empty or far too large.")
    try:
        with library.safe_open(str(file), framework="numpy") as opened:
            metadata = opened.metadata() or {}
            _demand(
                set(opened.keys()) == set(_TENSORS) and "vicinal_adapter" in metadata,
                "it holds other things than `vicinal adapt` writes",
            )
            for name in _TENSORS:
                # Before it is read: NumPy does not know all the types that exist.
                known = opened.get_slice(name).get_dtype() in ("F32", "F64")
                _demand(known, f"{name}'s type")
            tensors = {name: opened.get_tensor(name) for name in _TENSORS}
        text = metadata["vicinal_adapter"]
        unchanged = metadata.get("sha256") == _digest(text, tensors)
        _demand(unchanged, "it was edited after it was written")
        return _adapter(json.loads(text), tensors)
    except library.SafetensorError as error:
        raise ValueError(
            f"{file.name} is cut short, damaged or no adapter; write it again."
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(
            f"{file.name} is not an adapter to trust: {reason}; write it again."
        ) from error


def _adapter(stored: Any, tensors: dict[str, NDArray[Any]]) -> RetrievalAdapter:
    """Build the adapter out of parts that may not fit."""
    _demand(isinstance(stored, dict), "the header")
    # Older files have no evaluation.
    evaluation = read_evaluation(stored.pop("evaluation", None))
    _demand(set(stored) == _KEYS, "the header's keys")
    _demand(stored["format"] == FORMAT, "its format is of another version")
    _demand(stored["side"] in ("query", "both", "two"), "the side")
    _demand(stored["metric"] in ("cosine", "euclidean"), "the metric")
    numbers = [stored["alpha"], stored["temperature"]]
    _demand(
        all(type(one) in (int, float) and np.isfinite(one) for one in numbers)
        and numbers[0] >= 0
        and numbers[1] > 0,
        "alpha or temperature",
    )
    _demand(type(stored["is_adapted"]) is bool, "is_adapted")
    first, second = (tensors[name] for name in _TENSORS)
    _demand(first.ndim == 2 and first.shape == second.shape, "the maps' shapes")
    _demand(0 < len(first) <= first.shape[1], "the maps' shapes")
    _demand(
        bool(np.isfinite(first).all() and np.isfinite(second).all()),
        "the maps are not finite",
    )
    d, n_features = first.shape
    adapter = RetrievalAdapter(
        side=stored["side"], n_components=None if d == n_features else d
    )
    adapter.query_components_, adapter.document_components_ = first, second
    adapter.metric_ = stored["metric"]
    adapter.alpha_, adapter.temperature_ = map(float, numbers)
    adapter.is_adapted_, adapter.n_iter_ = stored["is_adapted"], 0
    adapter.n_features_in_ = n_features
    if evaluation is not None:
        adapter.evaluation_ = evaluation
    return adapter


def _digest(text: str, tensors: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in _TENSORS:
        array = tensors[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _safetensors(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            "Files of adapters need safetensors: pip install 'vicinal[cli]'."
        ) from error


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
