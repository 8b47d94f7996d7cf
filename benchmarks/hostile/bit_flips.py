"""Model files with flipped bits, cut, grown, or with other bytes in their header."""

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

import vicinal
from benchmarks.hostile.cases import Wrong, refused
from benchmarks.hostile.data import choose
from benchmarks.hostile.files import command


@cache
def _model(kind: str) -> bytes:
    """Return a model file of a table with categories, or of a whole estimator."""
    rng = np.random.default_rng(0)
    if kind == "estimator":
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "m.safetensors"
            X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
            vicinal.save(path, vicinal.NCAClassifier(2, random_state=0).fit(X, y))
            return path.read_bytes()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [f"{rng.normal()},{'uvw'[k % 3]},{k % 2}" for k in range(60)]
        (folder / "a.csv").write_text("x,kind,y\n" + "\n".join(lines))
        command(["fit", "a.csv", "--target", "y", "-o", "m.safetensors"], folder)
        return (folder / "m.safetensors").read_bytes()


def case(rng: Generator) -> bool:
    """Damage a model file and load it: it is refused, or it is the very same."""
    original = _model(str(choose(rng, "table", "estimator")))
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


def _with_header(rng: Generator, original: bytes) -> bytearray:
    """Return the model with one value of its header changed, still valid JSON."""
    length = int.from_bytes(original[:8], "little")
    header = json.loads(original[8 : 8 + length])
    key = str(choose(rng, *header))
    inner = header[key]
    if isinstance(inner, dict) and inner:
        name = str(choose(rng, *inner))
        others: tuple[Any, ...] = (
            "",
            "F8",
            "I64",
            [],
            [0, 10**18],
            {},
            None,
            -1,
            "\x1b[31m",
            10**30,
        )
        inner[name] = choose(rng, *(one for one in others if one != inner[name]))
    else:
        header[key] = None
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return bytearray(len(text).to_bytes(8, "little") + text + original[8 + length :])
