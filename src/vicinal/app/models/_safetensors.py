"""Models as safetensors files: numbers and a JSON header, and nothing that runs.

See `docs/command.md` for how to read one without vicinal.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal._files import atomic_write
from vicinal.app.models._from_estimator import from_estimator
from vicinal.app.models._neural_file import KEY, is_neural, pack, unpack
from vicinal.app.models._saved import SavedModel
from vicinal.app.models._write_rows import TABLES
from vicinal.app.tables.columns import Columns

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["AdapterFileError", "SavedModel", "load", "save"]

FORMAT = 1
_TENSORS = ("median", "mean", "scale", "components")
_KEYS = {
    "format",
    "method",
    "task",
    "target",
    "classes",
    "parameters",
    "versions",
    "columns",
    "feature_names",
}
_TASKS = ("classification", "regression", "none")
_LARGEST = 4_000_000_000


class AdapterFileError(ValueError):
    """A file holds an adapter of queries and documents, and no model of a table.

    See Also
    --------
    vicinal.adapters.load_adapter : Reads such a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> import vicinal
    >>> from vicinal.adapters import RetrievalAdapter, save_adapter
    >>> from vicinal.app.models import AdapterFileError
    >>> vectors = np.random.default_rng(0).normal(size=(30, 4))
    >>> pairs = [(i, i + 1) for i in range(29)]
    >>> adapter = RetrievalAdapter(alpha=0.1).fit(vectors[:-1], vectors, pairs)
    >>> with TemporaryDirectory() as folder:
    ...     save_adapter(Path(folder) / "map.safetensors", adapter)
    ...     try:
    ...         vicinal.load(Path(folder) / "map.safetensors")
    ...     except AdapterFileError:
    ...         print("an adapter")
    an adapter
    """


def save(path: str | os.PathLike[str], model: SavedModel | Any) -> None:
    """Write a model or a fitted estimator, whole or not at all.

    Parameters
    ----------
    path : str or path-like
        Usually ends in ``.safetensors``. A file that is there is replaced.
    model : SavedModel or estimator
        What `vicinal.app.models.learn` returned; or a fitted estimator with a linear
        `transform`, as `vicinal.app.models.from_estimator` takes it; or one of
        `vicinal.neural`, which is kept whole, its training rows included.

    Raises
    ------
    OSError
        When it cannot be written; then nothing is.
    ValueError
        When the model's parts do not fit each other, or the estimator is not linear.

    See Also
    --------
    vicinal.load : Reads the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import vicinal
    >>> from vicinal.app.models import learn
    >>> from vicinal.app.tables.prepared import prepare
    >>> model = learn(prepare("wine"), "lda")
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "wine.safetensors"
    ...     vicinal.save(path, model)
    ...     again = vicinal.load(path)
    >>> bool((again.components == model.components).all()), again.method
    (True, 'lda')

    An estimator of your own, fitted on an array or a frame:

    >>> from sklearn.datasets import load_iris
    >>> from vicinal import NCA
    >>> X, y = load_iris(return_X_y=True)
    >>> nca = NCA(2, max_iter=200).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     vicinal.save(Path(folder) / "nca.safetensors", nca)
    ...     again = vicinal.load(Path(folder) / "nca.safetensors")
    >>> bool((again.transform(X) == nca.transform(X)).all())
    True
    """
    if is_neural(model):
        content = pack(model)
        with atomic_write(path) as temporary:
            temporary.write_bytes(content)
        return
    if not isinstance(model, SavedModel):
        model = from_estimator(model)
    from safetensors.numpy import save as packed

    tensors = {name: _plain(getattr(model, name)) for name in _TENSORS}
    described = {
        "format": FORMAT,
        "method": model.method,
        "task": model.task,
        "target": model.target,
        "classes": list(model.classes),
        "parameters": model.parameters,
        "versions": model.versions,
        "columns": model.columns.to_dict(),
        "feature_names": model.columns.feature_names,
    }
    text = json.dumps(described, ensure_ascii=False, allow_nan=False)
    _model(json.loads(text), tensors)
    metadata = {"vicinal": text, "sha256": _digest(text, tensors)}
    content = packed(tensors, metadata)
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that anybody may have sent.

    Parameters
    ----------
    path : str or path-like
        A file that `save` wrote.

    Returns
    -------
    SavedModel or estimator
        As it was saved; an estimator where it was one of `vicinal.neural`.

    Raises
    ------
    ValueError, OSError
        With one sentence, when the file is not there, was cut short or edited, or
        is something else. Nothing in it is ever executed.

    See Also
    --------
    vicinal.save : Writes the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import vicinal
    >>> from vicinal.app.models import learn
    >>> from vicinal.app.tables.prepared import prepare
    >>> with TemporaryDirectory() as folder:
    ...     vicinal.save(Path(folder) / "wine.safetensors", learn(prepare("wine"), "lda"))
    ...     model = vicinal.load(Path(folder) / "wine.safetensors")
    >>> model.method, model.components.shape
    ('lda', (2, 13))
    """
    from safetensors import SafetensorError, safe_open

    file = Path(path)
    if file.is_dir() or not file.exists():
        what = "is a folder" if file.is_dir() else "does not exist"
        raise OSError(f"{file} {what}; name a model that `vicinal fit` wrote.")
    if not 8 < file.stat().st_size < _LARGEST:
        raise ValueError(f"{file.name} is no model: it is empty or far too large.")
    try:
        with safe_open(str(file), framework="numpy") as opened:
            metadata = opened.metadata() or {}
            if KEY in metadata:
                return unpack(opened, metadata)
            _refuse_adapter(file.name, metadata)
            ours = set(opened.keys()) == set(_TENSORS) and "vicinal" in metadata
            _demand(ours, "it holds other things than `vicinal fit` writes")
            for name in _TENSORS:
                # Before it is read: NumPy does not know all the types that exist.
                known = opened.get_slice(name).get_dtype() in ("F32", "F64")
                _demand(known, f"{name}'s type")
            tensors = {name: opened.get_tensor(name) for name in _TENSORS}
        text = metadata["vicinal"]
        unchanged = metadata.get("sha256") == _digest(text, tensors)
        _demand(unchanged, "it was edited after it was written")
        return _model(json.loads(text, parse_constant=_refuse), tensors)
    except AdapterFileError:
        raise
    except SafetensorError as error:
        remedy = "write it again with `vicinal fit`."
        if file.suffix.lower() in TABLES:  # data would be written over
            remedy = "name, before the data, a model that `vicinal fit` wrote."
        raise ValueError(
            f"{file.name} is cut short, damaged or no model ({_line(error)}); {remedy}"
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{file.name} is not a model to trust: {_line(error).rstrip('.')}; write "
            "it again with `vicinal fit`."
        ) from error


def _model(stored: Any, tensors: dict[str, NDArray[Any]]) -> SavedModel:
    """Build the model out of parts that may not fit."""
    _demand(isinstance(stored, dict), "the header is no object")
    _demand(
        stored.get("format") == FORMAT and type(stored["format"]) is int,
        f"it has format {stored.get('format')!r}, and this version reads {FORMAT}",
    )
    _demand(set(stored) == _KEYS, "the header has other keys")
    method, task, target = stored["method"], stored["task"], stored["target"]
    _demand(isinstance(method, str) and 0 < len(method) <= 100, "the method's name")
    # It is printed, and names columns.
    _demand(method.isprintable(), "the method's name")
    _demand(task in _TASKS, "the task")
    _demand(target is None or isinstance(target, str), "the target's name")
    classes = stored["classes"]
    _demand(_are_text(classes) and len(set(classes)) == len(classes), "the classes")
    parameters, versions = stored["parameters"], stored["versions"]
    _demand(isinstance(parameters, dict), "the parameters")
    _demand(isinstance(versions, dict) and _are_text([*versions.values()]), "versions")
    columns = Columns.from_dict(stored["columns"])
    names = columns.feature_names
    _demand(stored["feature_names"] == names, "the features' names")
    n_features = len(names)
    for name, tensor in tensors.items():
        _demand(tensor.dtype in (np.float32, np.float64), f"{name}'s type")
        known = tensor[~np.isnan(tensor)] if name == "median" else tensor
        _demand(bool(np.isfinite(known).all()), f"{name} is not finite")
        if name != "components":
            _demand(tensor.shape == (n_features,), f"{name}'s shape")
    components = tensors["components"]
    _demand(
        components.ndim == 2
        and components.shape[1] == n_features
        and 0 < len(components) <= n_features,
        "the shape of components",
    )
    _demand(bool((tensors["scale"] > 0).all()), "scale is not positive")
    return SavedModel(
        method=method,
        task=task,
        columns=columns,
        target=target,
        classes=tuple(classes),
        parameters=parameters,
        versions=versions,
        **tensors,
    )


def _plain(array: Any) -> NDArray[Any]:
    """Return a copy that lies in memory as safetensors takes it."""
    array = np.asarray(array)
    kind = np.float32 if array.dtype == np.float32 else np.float64
    return np.ascontiguousarray(array, dtype=kind)


def _digest(text: str, tensors: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in _TENSORS:
        array = tensors[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _are_text(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(one, str) for one in values)


def _refuse_adapter(name: str, metadata: dict[str, str]) -> None:
    if "vicinal_adapter" in metadata:
        raise AdapterFileError(
            f"{name} is an adapter that `vicinal adapt` wrote, no model of a table: "
            "`vicinal transform` maps vectors with it, and "
            "vicinal.adapters.load_adapter reads it."
        )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} in the header")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
