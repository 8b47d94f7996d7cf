"""Damaged, unwritable, foreign and shared folders of compiled kernels."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from numpy.random import Generator

from benchmarks.hostile.cases import CLOCK_SECONDS, Wrong
from benchmarks.hostile.data import choose

_PROGRAM = """
import warnings; warnings.simplefilter("ignore")
import numpy as np
from vicinal import NCA
X = np.random.default_rng(0).normal(size=(30, 3))
print(NCA(max_iter=3).fit(X, np.arange(30) % 3).components_.sum().round(6))
"""


def case(rng: Generator) -> bool:
    """Fit with a cache of kernels in a bad state, in a new process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "kernels"
        folder.mkdir()
        answer = _fit(folder)
        kind = choose(rng, _damaged, _damaged, _folders, _file, _read_only, _shared)
        folder = kind(rng, folder, answer)
        if _fit(folder) != answer:
            raise Wrong(f"another map with a cache in the state {kind.__name__}")
        return False


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _damaged(rng: Generator, folder: Path, _: str) -> Path:
    for path in _files(folder):
        if rng.random() < 0.5:
            _damage(rng, path)
    return folder


def _folders(rng: Generator, folder: Path, _: str) -> Path:
    """Put folders in the place of files."""
    for path in _files(folder):
        if rng.random() < 0.5:
            path.unlink()
            path.mkdir()
    return folder


def _file(_: Generator, folder: Path, __: str) -> Path:
    """Put a file in the place of the folder."""
    taken = folder.with_name("taken")
    taken.write_text("not a folder")
    return taken


def _read_only(_: Generator, folder: Path, __: str) -> Path:
    for path in (*_files(folder), folder):
        path.chmod(0o444 if path.is_file() else 0o555)
    return folder


def _shared(_: Generator, folder: Path, answer: str) -> Path:
    """Let two processes compile into one empty folder at the same time."""
    for path in _files(folder):
        path.unlink()
    with subprocess.Popen(**_command(folder)) as beside:  # type: ignore[call-overload]
        found = _fit(folder)
        other = beside.communicate()[0].strip()
    if {found, other} != {answer}:
        raise Wrong(f"two processes that share a cache: {found!r}, {other!r}")
    return folder


def _damage(rng: Generator, path: Path) -> None:
    data = path.read_bytes()
    cut = int(rng.integers(len(data) + 1))
    path.write_bytes(
        choose(rng, b"", data[:cut], rng.bytes(300), data[:cut] + b"\0" * 9)
    )


def _command(folder: Path) -> dict[str, object]:
    return {
        "args": [sys.executable, "-c", _PROGRAM],
        "env": os.environ | {"NUMBA_CACHE_DIR": str(folder)},
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }


def _fit(folder: Path) -> str:
    with subprocess.Popen(**_command(folder)) as process:  # type: ignore[call-overload]
        said, errors = process.communicate(timeout=CLOCK_SECONDS)
    if process.returncode:
        raise Wrong(f"a bad cache ends a fit: {errors.strip().splitlines()[-1]}")
    return str(said).strip()
