"""Neural estimators as safetensors files: architecture as data, weights as arrays."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["is_neural", "pack", "unpack"]

KEY = "vicinal-neural"
_FORMAT = 1
_TYPES = {"F32", "F64", "I64"}
_MOST_TENSORS = 10_000


def is_neural(model: Any) -> bool:
    """Whether something is a neural estimator; PyTorch is not imported for it."""
    return type(model).__module__.startswith("vicinal.neural.")


def pack(model: Any) -> bytes:
    """Return the content of a file.

    Raises
    ------
    ValueError
        When the network is a module of the user's own.
    """
    from safetensors.numpy import save

    from vicinal.neural.saved import from_parts, to_parts

    header, arrays = to_parts(model)
    arrays = {name: np.asarray(one, order="C") for name, one in arrays.items()}
    text = json.dumps({"format": _FORMAT, **header}, ensure_ascii=False)
    from_parts(_header(text), arrays)
    content: bytes = save(arrays, {KEY: text, "sha256": _digest(text, arrays)})
    return content


def unpack(opened: Any, metadata: dict[str, str]) -> Any:
    """Return the estimator of an opened file.

    Raises
    ------
    ValueError
        When parts do not fit each other, or were edited.
    """
    names = sorted(opened.keys())
    if len(names) > _MOST_TENSORS:
        raise ValueError("it holds too many arrays")
    for name in names:
        # Before it is read: NumPy does not know all the types that exist.
        if opened.get_slice(name).get_dtype() not in _TYPES:
            raise ValueError(f"{name}'s type")
    arrays = {name: opened.get_tensor(name) for name in names}
    text = metadata[KEY]
    if metadata.get("sha256") != _digest(text, arrays):
        raise ValueError("it was edited after it was written")
    header = _header(text)
    try:
        from vicinal.neural.saved import from_parts
    except ImportError as error:
        raise ValueError(str(error)) from error
    return from_parts(header, arrays)


def _header(text: str) -> dict[str, Any]:
    header = json.loads(text)
    if not isinstance(header, dict) or header.pop("format", None) != _FORMAT:
        raise ValueError(f"its format is not {_FORMAT}, which this version reads")
    return header


def _digest(text: str, arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
