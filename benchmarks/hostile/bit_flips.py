"""Model files with flipped bits, cut, grown, with other bytes in their header, or lies.

A lie is a file with a valid checksum whose header or arrays were changed.
"""

import json
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from safetensors.numpy import load, save

import vicinal
from benchmarks.hostile.cases import Wrong, refused
from benchmarks.hostile.data import choose
from benchmarks.hostile.files import command
from vicinal.persistence import digest

_TABLE = pd.DataFrame(
    {
        "x": np.random.default_rng(0).normal(size=60),
        "kind": [*"uvw"] * 20,
        "y": [*"ab"] * 30,
    }
)
_KINDS = ["table", "estimator", "additive"]
_KINDS += ["neural"] if find_spec("torch") else []
# Values of a header that fit nowhere.
_OTHERS: tuple[Any, ...] = (
    *("", "F8", "I64", [], [0, 10**18], {}, None, -1, 0, 0.5, True, 10**30),
    *("\x1b[31m", {"float": "nan"}, {"list": []}, {"dict": {}}, {"dtype": "<f4"}),
)


@cache
def _model(kind: str) -> bytes:
    """Return a model file of a table with categories, or of a whole estimator."""
    X, y = _TABLE[["x", "kind"]], _TABLE["y"]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "m.safetensors"
        if kind == "table":
            _TABLE.to_csv(Path(name) / "a.csv", index=False)
            command(["fit", "a.csv", "--target", "y", "-o", path.name], Path(name))
        elif kind == "estimator":
            numbers = np.random.default_rng(0).normal(size=(60, 3))
            model = vicinal.NCAClassifier(2, random_state=0)
            vicinal.save(path, model.fit(numbers, np.arange(60) % 3))
        elif kind == "additive":
            tables = vicinal.TableNCAClassifier(2, max_iter=2, random_state=0)
            vicinal.save(path, tables.fit(X, y))
        else:
            from vicinal.neural import NeuralNCAClassifier

            network = NeuralNCAClassifier(2, max_iter=2, n_blocks=1, random_state=0)
            vicinal.save(path, network.fit(X, y))
        return path.read_bytes()


def case(rng: Generator) -> bool:
    """Damage a model file and load it: it is refused, or it is the very same."""
    model = str(choose(rng, *_KINDS))
    original = _model(model)
    if model in ("additive", "neural") and rng.random() < 0.5:
        return _lie(rng, original)
    data = bytearray(original)
    kind = choose(rng, "flip", "flip", "flip", "cut", "grow", "header", "swap")
    if kind == "flip":
        for _ in range(int(rng.integers(1, 4))):
            data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        del data[int(rng.integers(len(data))) :]
    elif kind == "grow":
        data += rng.bytes(int(rng.integers(1, 99)))
    elif kind == "swap":
        i, j = sorted(rng.integers(len(data), size=2))
        data[i:j] = data[i:j][::-1]
    else:
        data = _with_header(rng, original)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.safetensors"
        path.write_bytes(data)

        def work() -> None:
            vicinal.load(path)
            if bytes(data) != original:
                raise Wrong(f"a damaged model ({kind}) is taken for a whole one")

        return refused(work)


def _lie(rng: Generator, original: bytes) -> bool:
    """Load a file that was changed and signed: it is refused, or it predicts."""
    length = int.from_bytes(original[:8], "little")
    header = json.loads(json.loads(original[8 : 8 + length])["__metadata__"]["vicinal"])
    arrays = load(original)
    for _ in range(int(rng.integers(1, 3))):
        if rng.random() < 0.5:
            _change_header(rng, header)
        else:
            name = str(choose(rng, *arrays))
            arrays[name] = _other_array(rng, arrays[name])
    arrays = {name: np.asarray(one, order="C") for name, one in arrays.items()}
    text = json.dumps(header)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.safetensors"
        path.write_bytes(
            save(arrays, {"vicinal": text, "sha256": digest(text, arrays)})
        )
        try:
            model = vicinal.load(path)
        except ValueError as error:
            if "is not a model to trust" not in str(error):
                raise
            return True

    def work() -> None:
        rows = _TABLE[["x", "kind"]]
        found = model.predict_proba(rows)
        if found.shape != (60, 2) or not np.allclose(found.sum(axis=1), 1):
            raise Wrong("a file that lies gives probabilities that are none")
        if not np.isin(model.predict(rows), model.classes_).all():
            raise Wrong("a file that lies predicts a class that it does not name")

    return refused(work)


def _change_header(rng: Generator, header: dict[str, Any]) -> None:
    """Replace or remove one value somewhere below "model"."""
    places: list[tuple[Any, Any]] = []

    def walk(inside: Any) -> None:
        keys = inside if isinstance(inside, dict) else range(len(inside))
        for key in keys:
            places.append((inside, key))
            if isinstance(inside[key], dict | list):
                walk(inside[key])

    walk(header["model"])
    inside, key = choose(rng, *places)
    kind = choose(rng, "other", "other", "elsewhere", "remove")
    if kind == "remove":
        del inside[key]
    elif kind == "elsewhere":
        other, name = choose(rng, *places)
        inside[key] = json.loads(json.dumps(other[name]))
    else:
        inside[key] = choose(rng, *_OTHERS)


def _other_array(rng: Generator, array: Any) -> Any:
    """Return an array of other values, of another shape, or of another type."""
    kind = choose(rng, "value", "value", "bits", "cut", "type", "shape", "empty")
    array = array.copy()
    if kind == "value" and array.size:
        at = rng.integers(array.size)
        with np.errstate(all="ignore"):
            extremes = (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e30, 0.5)
            array.flat[at] = np.asarray(choose(rng, *extremes)).astype(array.dtype)
    elif kind == "bits" and array.size:
        data = bytearray(array.tobytes())
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        if array.dtype != bool:
            return np.frombuffer(bytes(data), array.dtype).reshape(array.shape)
    elif kind == "cut":
        return array[:-1] if array.ndim else array[None]
    elif kind == "type":
        with np.errstate(all="ignore"):
            return array.astype(choose(rng, "f4", "f8", "i8", "i4", "u1", "?"))
    elif kind == "shape":
        return choose(rng, array[None], array.T, array.reshape(-1), array[..., None])
    elif kind == "empty":
        return array.reshape(-1)[:0]
    return array


def _with_header(rng: Generator, original: bytes) -> bytearray:
    """Return the model with one value of its header changed, still valid JSON."""
    length = int.from_bytes(original[:8], "little")
    header = json.loads(original[8 : 8 + length])
    key = str(choose(rng, *header))
    inner = header[key]
    if isinstance(inner, dict) and inner:
        name = str(choose(rng, *inner))
        inner[name] = choose(rng, *(one for one in _OTHERS if one != inner[name]))
    else:
        header[key] = None
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return bytearray(len(text).to_bytes(8, "little") + text + original[8 + length :])
