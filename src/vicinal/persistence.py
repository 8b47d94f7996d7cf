"""Saved models: a safetensors file with arrays and a JSON header, and no code.

The header says the kind of model; `_KINDS` names the module that converts each kind to
a JSON-able dict and arrays (`to_parts`) and back (`from_parts`). This module converts
fitted estimators.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import is_dataclass
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from vicinal._files import atomic_write
from vicinal.neighbors import import_extra

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

__all__ = ["AdapterFileError", "load", "save"]

_FORMAT = 1
# Imported only when a model of the kind is saved or loaded.
_KINDS = {
    "estimator": "vicinal.persistence",
    "table": "vicinal.app.models.saved",
}
# A file can only name public estimators of these packages, ...
_PACKAGES = (
    *("vicinal.nca", "vicinal.lca", "vicinal.ldg", "vicinal.classic"),
    *(
        "vicinal.adapters",
        "vicinal.additive",
        "vicinal.compat.metric_learn",
        "vicinal.neural",
    ),
)
# ... transformers whose fitted state is arrays and numbers, and neighbor searches,
# which are fitted again.
_TRANSFORMERS = {
    "sklearn.preprocessing": (
        *("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"),
        "Normalizer",
    ),
    "sklearn.impute": ("SimpleImputer",),
    "sklearn.decomposition": ("PCA",),
    "sklearn.feature_selection": ("VarianceThreshold",),
    "sklearn.pipeline": ("Pipeline",),
}
_SEARCHES = {
    kind.__name__: kind for kind in (KNeighborsClassifier, KNeighborsRegressor)
}
# Types that NumPy knows; safetensors has others.
_DTYPES = {f"{kind}{bits}" for kind in "IU" for bits in (8, 16, 32, 64)}
_DTYPES |= {"F16", "F32", "F64", "BOOL"}


class AdapterFileError(ValueError):
    """The file holds a retrieval adapter instead of a model.

    See Also
    --------
    vicinal.adapters.load_adapter : Reads such a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from vicinal.adapters import RetrievalAdapter, save_adapter
    >>> from vicinal.app import models
    >>> vectors = np.random.default_rng(0).normal(size=(30, 4))
    >>> pairs = [(i, i + 1) for i in range(29)]
    >>> adapter = RetrievalAdapter(alpha=0.1).fit(vectors[:-1], vectors, pairs)
    >>> with TemporaryDirectory() as folder:
    ...     save_adapter(Path(folder) / "map.safetensors", adapter)
    ...     try:
    ...         models.load(Path(folder) / "map.safetensors")
    ...     except models.AdapterFileError:
    ...         print("an adapter")
    an adapter
    """


def save(path: str | os.PathLike[str], model: Any) -> None:
    """Write a fitted estimator or a model of a table to a safetensors file.

    Parameters
    ----------
    path : str or path-like
        The file, usually ending in ``.safetensors``. An existing file is replaced once
        the new one is complete.
    model : estimator or SavedModel
        A fitted estimator of vicinal, or a pipeline that ends with one after
        scikit-learn's scalers, `SimpleImputer` or `PCA`: saved whole, including the
        training points that its predictions need. A `callback`, and a `random_state`
        that is a generator, are saved as None. Of a search, like `GridSearchCV`,
        `best_estimator_` is saved. Of another fitted estimator, or
        pipeline, with a linear `transform`, only the transform is saved, by
        `vicinal.app.models.from_estimator`.

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If the model cannot be stored without code. Nothing is written.

    See Also
    --------
    vicinal.load : Read the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> import vicinal
    >>> from vicinal import NCAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> nca = NCAClassifier(2, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     vicinal.save(Path(folder) / "nca.safetensors", nca)
    ...     again = vicinal.load(Path(folder) / "nca.safetensors")
    >>> bool((again.predict_proba(X) == nca.predict_proba(X)).all())
    True
    """
    pack = import_extra("safetensors.numpy", "cli").save
    kind, model = _kind(getattr(model, "best_estimator_", model))
    module = import_module(_KINDS[kind])
    header, arrays = module.to_parts(model)
    arrays = {name: np.asarray(one, order="C") for name, one in arrays.items()}
    text = json.dumps(
        {"type": kind, "format": _FORMAT, **header}, ensure_ascii=False, allow_nan=False
    )
    module.from_parts(_header(text)[1], arrays)  # what cannot be loaded is not written
    content = pack(arrays, {"vicinal": text, "sha256": digest(text, arrays)})
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file that may come from anyone.

    Parameters
    ----------
    path : str or path-like
        A file written by `save`.

    Returns
    -------
    estimator or SavedModel
        The model, as it was saved.

    Raises
    ------
    ValueError, OSError
        If the file does not exist, is damaged, was edited or holds something else. No
        code of the file is executed.

    See Also
    --------
    vicinal.save : Write the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> import vicinal
    >>> X, y = load_iris(return_X_y=True)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ldg.safetensors"
    ...     vicinal.save(path, vicinal.LDG(2, random_state=0).fit(X, y))
    ...     vicinal.load(path)
    LDG(n_components=2, random_state=0)
    """
    safetensors = import_extra("safetensors", "cli")
    file = Path(path)
    if file.is_dir() or not file.exists():
        state = "is a folder" if file.is_dir() else "does not exist"
        error_type = IsADirectoryError if file.is_dir() else FileNotFoundError
        raise error_type(f"{file} {state}; name a saved model.")
    try:
        with safetensors.safe_open(str(file), framework="numpy") as opened:
            metadata = opened.metadata() or {}
            _demand("vicinal" in metadata, "it was not written by vicinal.save")
            names = opened.keys()
            for name in names:  # before it is read, as NumPy does not know all types
                dtype = opened.get_slice(name).get_dtype()
                _demand(dtype in _DTYPES, f"{name} has type {dtype}")
            arrays = {name: opened.get_tensor(name) for name in names}
        text = metadata["vicinal"]
        unchanged = metadata.get("sha256") == digest(text, arrays)
        _demand(unchanged, "it was edited after it was written")
        kind, header = _header(text)
        return import_module(_KINDS[kind]).from_parts(header, arrays)
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"{file.name} is cut short, damaged or no model ({_line(error)}); name a "
            "file that vicinal.save or `vicinal fit` wrote."
        ) from error
    except (
        *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError),
        *(RecursionError, ImportError),
    ) as error:
        raise ValueError(
            f"{file.name} is not a model to trust: {_line(error).rstrip('.')}; save it "
            "again."
        ) from error


def digest(text: str, arrays: Arrays) -> str:
    """Return the checksum of a header and its arrays.

    Parameters
    ----------
    text : str
        The header as JSON.
    arrays : dict of str to ndarray
        The arrays by name.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    found = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def to_parts(estimator: Any) -> tuple[dict[str, Any], Arrays]:
    """Convert a fitted estimator to a JSON-able header and arrays.

    Parameters
    ----------
    estimator : estimator
        One of vicinal, or a pipeline that ends with one.

    Returns
    -------
    header : dict
        Class, parameters and fitted attributes.
    arrays : dict of str to ndarray
        The arrays that the header refers to.
    """
    from vicinal import __version__

    check_is_fitted(estimator)
    arrays: Arrays = {}
    encoded = _encode(estimator, type(estimator).__name__, arrays)
    return {"vicinal": __version__, "model": encoded}, arrays


def from_parts(header: dict[str, Any], arrays: Arrays) -> Any:
    """Rebuild an estimator from the parts of a file that may come from anyone.

    Parameters
    ----------
    header : dict
        As returned by `to_parts`.
    arrays : dict of str to ndarray
        As returned by `to_parts`.

    Returns
    -------
    estimator
        Fitted.
    """
    estimator = _decode(header["model"], arrays)
    _demand(isinstance(estimator, BaseEstimator), "it holds no estimator")
    check_is_fitted(estimator)
    if hasattr(estimator, "_check_loaded"):
        estimator._check_loaded()
    return estimator


def _kind(model: Any) -> tuple[str, Any]:
    """Return the kind of a model, and the object to store."""
    bases = [one.__module__ for one in type(model).__mro__]
    if isinstance(model, Pipeline) and model.steps:
        bases += [one.__module__ for one in type(model.steps[-1][1]).__mro__]
    if any(one.startswith("vicinal.app.models") for one in bases):
        return "table", model
    if any(one.startswith("vicinal.dask.") for one in bases):
        return "estimator", model.to_local()
    if any(one.startswith("vicinal.") for one in bases):
        return "estimator", model
    return "table", import_module(_KINDS["table"]).from_estimator(model)


def _encode(value: Any, place: str, arrays: Arrays) -> Any:
    """Return a value as JSON; arrays go to `arrays`, under the name of their place."""

    def inside(children: dict[Any, Any]) -> dict[str, Any]:
        return {
            str(name): _encode(child, f"{place}.{name}", arrays)
            for name, child in children.items()
        }

    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.ndarray | np.generic):
        return _encode_array(value, place, arrays)
    if isinstance(value, np.dtype) and value.kind in "biuf":
        return {"dtype": value.str}
    if kind in (list, tuple):
        return {kind.__name__: [*inside(dict(enumerate(value))).values()]}
    if kind is dict and all(type(key) is str for key in value):
        return {"dict": inside(value)}
    return _encode_object(value, place, inside)


def _encode_object(
    value: Any, place: str, inside: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Return an estimator, or a data class of vicinal, as JSON."""
    kind = type(value)
    if kind in _SEARCHES.values():
        y = value._y if kind is KNeighborsRegressor else value.classes_[value._y]
        parts = {"X": value._fit_X, "y": y}
        return {
            "search": kind.__name__,
            "params": inside(value.get_params(deep=False)),
            "fit": inside(parts),
        }
    if isinstance(value, BaseEstimator):
        params = value.get_params(deep=False)
        state = {k: v for k, v in value.__getstate__().items() if k not in params}
        for name in ("callback", "random_state", "memory"):
            if not isinstance(params.get(name), Integral):
                params |= {name: None} if name in params else {}
        return {
            "estimator": _public_name(kind),
            "params": inside(params),
            "state": inside(state),
        }
    if _is_state(kind):
        fields = getattr(value, "_fields", None) or getattr(value, "__dict__", None)
        named = {k: getattr(value, k) for k in fields or value.__dataclass_fields__}
        return {
            "object": f"{kind.__module__}:{kind.__qualname__}",
            "state": inside(named),
        }
    raise ValueError(
        f"{place} is a {kind.__name__}, which a file without code cannot store; use "
        "joblib, or save the linear map alone, by vicinal.app.models.from_estimator."
    )


def _encode_array(value: Any, place: str, arrays: Arrays) -> dict[str, Any]:
    array = np.asarray(value)
    if array.dtype.kind == "O":
        flat = [
            one.item() if isinstance(one, np.generic) else one for one in array.flat
        ]
        if not all(one is None or type(one) in (bool, int, float, str) for one in flat):
            raise ValueError(f"{place} is an array of objects, which cannot be stored.")
        encoded = [_encode(one, place, arrays) for one in flat]
        return {"objects": encoded, "shape": list(array.shape)}
    node: dict[str, Any] = {"array": place}
    if array.dtype.kind == "U":  # as code points
        node["text"] = True
        array = np.asarray(array, order="C", dtype=array.dtype.newbyteorder("="))
        array = array.reshape(-1).view(np.uint32).reshape(*array.shape, -1)
    elif array.dtype.kind not in "biuf" or array.itemsize > np.float64().itemsize:
        raise ValueError(
            f"{place} is an array of {array.dtype}, which cannot be stored."
        )
    elif array.flags.f_contiguous and not array.flags.c_contiguous:
        node["order"] = "F"  # the last bits of a product depend on it
    if isinstance(value, np.generic):
        node["scalar"] = True
    arrays[place] = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
    return node


def _decode(node: Any, arrays: Arrays) -> Any:
    """Return the value that `_encode` has stored."""
    if node is None or isinstance(node, bool | int | float | str):
        return node
    _demand(isinstance(node, dict) and bool(node), "the header")
    tag = next(iter(node))
    content = node[tag]
    if tag == "float":
        _demand(content in ("nan", "inf", "-inf"), "a number")
        return float(content)
    if tag == "dtype":
        _demand(re.fullmatch(r"[<|][biuf][1248]", str(content)) is not None, "a dtype")
        return np.dtype(content)
    if tag == "array":
        return _decode_array(node, arrays)
    if tag in ("list", "tuple", "objects"):
        _demand(isinstance(content, list), f"a {tag}")
        items = [_decode(one, arrays) for one in content]
        if tag == "objects":
            array = np.empty(len(items), dtype=object)
            array[:] = items
            return array.reshape(node["shape"])
        return items if tag == "list" else tuple(items)
    if tag == "dict":
        return _decoded(content, arrays)
    return _decode_object(node, tag, arrays)


def _decode_object(node: dict[str, Any], tag: str, arrays: Arrays) -> Any:
    content = node[tag]
    if tag == "search":
        search = _SEARCHES[content](**_decoded(node["params"], arrays))
        return search.fit(**_decoded(node["fit"], arrays))
    if tag == "estimator":
        return _decode_estimator(node, arrays)
    _demand(tag == "object", "the header")
    module, _, name = str(content).partition(":")
    # No module of the application, and none that starts it.
    ours = re.fullmatch(r"vicinal(\.(?!app\b|__)\w+)+", module) is not None
    _demand(ours and name.isidentifier(), f"the class {content}")
    kind = getattr(import_module(module), name)
    _demand(_is_state(kind) and kind.__module__ == module, f"the class {content}")
    state = _decoded(node["state"], arrays)
    if issubclass(kind, tuple):
        return kind(**state)
    value = kind.__new__(kind)
    for attribute, content in state.items():
        object.__setattr__(value, attribute, content)  # frozen dataclasses, too
    return value


def _decode_array(node: dict[str, Any], arrays: Arrays) -> Any:
    array = arrays[node["array"]]
    if node.get("text") is True:
        valid = array.dtype == np.uint32 and array.ndim > 0 and array.shape[-1] > 0
        _demand(valid and bool((array <= 0x10FFFF).all()), "a text")
        text = np.dtype((np.str_, array.shape[-1]))
        array = array.reshape(-1).view(text).reshape(array.shape[:-1])
    if node.get("order") == "F":
        array = np.asfortranarray(array)
    return array[()] if node.get("scalar") is True else array


def _decode_estimator(node: dict[str, Any], arrays: Arrays) -> Any:
    kind = _public_class(str(node["estimator"]))
    params = _decoded(node["params"], arrays)
    state = _decoded(node["state"], arrays)
    _demand(
        set(params) == set(kind._get_param_names()), f"{kind.__name__}'s parameters"
    )
    estimator = kind(**params)
    _demand(params.get("memory") is None, "a cache, which may hold code")
    for name in state:
        known = name in params or callable(getattr(kind, name, None))
        _demand(name.isidentifier() and not known, f"the attribute {name}")
    estimator.__setstate__(state)  # scikit-learn's warn if its version has changed
    n_features = vars(estimator).get("n_features_in_")
    components = vars(estimator).get("components_")
    if components is not None and n_features is not None:
        fits = getattr(components, "ndim", 0) == 2 and components.shape[1] == n_features
        _demand(fits and bool(np.isfinite(components).all()), "the components")
    return estimator


def _decoded(children: Any, arrays: Arrays) -> dict[str, Any]:
    _demand(isinstance(children, dict), "the header")
    return {name: _decode(child, arrays) for name, child in children.items()}


def _public_name(kind: type) -> str:
    """Return the public name of an estimator's class, if a file may name it."""
    name = kind.__name__
    packages = [one for one in _PACKAGES if kind.__module__.startswith(one)]
    packages += [one for one, names in _TRANSFORMERS.items() if name in names]
    for package in packages:
        if getattr(import_module(package), name, None) is kind:
            return f"{package}:{name}"
    raise ValueError(
        f"{name} is not one of the estimators that can be stored; use joblib, or save "
        "the linear map alone, by vicinal.app.models.from_estimator."
    )


def _public_class(name: str) -> Any:
    package, _, own = name.partition(":")
    public = _TRANSFORMERS.get(package, ())
    if package in _PACKAGES:
        public = import_module(package).__all__
    _demand(own in public, f"the class {name}")
    kind = getattr(import_module(package), own)
    found = isinstance(kind, type) and issubclass(kind, BaseEstimator)
    _demand(found, f"the class {name}")
    return kind


def _is_state(kind: Any) -> bool:
    """Whether a class of vicinal holds data alone: a dataclass or a named tuple."""
    return (
        isinstance(kind, type)
        and kind.__module__.startswith("vicinal.")
        and not issubclass(kind, BaseEstimator)
        and not hasattr(kind, "__del__")
        and (
            is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
        )
    )


def _header(text: str) -> tuple[str, dict[str, Any]]:
    """Return the kind and the rest of a file's header."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} in the header")

    header = json.loads(text, parse_constant=refuse)
    _demand(isinstance(header, dict), "the header is no object")
    found = header.pop("format", None)
    _demand(
        found == _FORMAT and type(found) is int,
        f"it has format {found!r}, and this version reads {_FORMAT}",
    )
    kind = header.pop("type", None)
    _demand(isinstance(kind, str) and kind in _KINDS, f"it holds a {kind!r}")
    return kind, header


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _demand(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)
