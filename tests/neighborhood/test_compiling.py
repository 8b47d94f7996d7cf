"""Compiled kernels on disk: what is damaged or cannot be written is done without."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.caching import FunctionCache

from vicinal._typing import FloatArray
from vicinal.neighborhood.kernels import kernel as compile_kernel


def twice(row: FloatArray) -> float:
    total = 0.0
    for value in row:
        total += 2 * value
    return total


def compiled() -> Any:
    """Return a kernel as a new process would have it, called once."""
    kernel = compile_kernel(twice)
    assert kernel(np.ones(3)) == 6
    return kernel


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def files(folder: Path, ending: str) -> list[Path]:
    found = sorted(folder.rglob(f"*.{ending}"))
    assert found
    return found


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def test_what_is_compiled_is_kept() -> None:
    assert hits(compiled()) == 0
    assert hits(compiled()) == 1


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def garbage(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(500))


def of_no_class(path: Path) -> None:
    path.write_bytes(b"cnowhere\nNothing\n.")


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [emptied, cut, garbage, of_no_class])
def test_damaged_files_are_compiled_anew_and_replaced(
    ending: str, damage: Callable[[Path], None], folder: Path
) -> None:
    compiled()
    for path in files(folder, ending):
        damage(path)
    assert hits(compiled()) == 0
    assert hits(compiled()) == 1


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_folder_in_place_of_a_file(ending: str, folder: Path) -> None:
    compiled()
    for path in files(folder, ending):
        path.unlink()
        path.mkdir()
    assert hits(compiled()) == hits(compiled()) == 0


def test_a_file_in_place_of_the_folder(folder: Path) -> None:
    kernel = compile_kernel(twice)
    for path in folder.iterdir():
        shutil.rmtree(path)
        path.write_bytes(b"")
    assert kernel(np.ones(3)) == 6


def test_a_folder_that_cannot_be_made(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "file").write_bytes(b"")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder / "file" / "below"))
    compiled()


@pytest.mark.parametrize("error", [PermissionError, OSError, EOFError, MemoryError])
@pytest.mark.parametrize("method", ["_load_overload", "_save_overload"])
def test_any_error_of_the_cache(
    error: type[Exception], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error(28, "No space left on device")

    monkeypatch.setattr(FunctionCache, method, fail)
    compiled()


FIT = """
import resource, sys
import numpy as np
from vicinal.neighborhood import NeighborWeights, log_sums
if "full" in sys.argv:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
points = np.arange(6.0).reshape(3, 2)
print(*log_sums(points, points, np.zeros(3)))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="limits on files are POSIX's")
def test_the_engine_in_new_processes(tmp_path: Path) -> None:
    def run(cache: Path, *arguments: str) -> str:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
        command = [sys.executable, "-c", FIT, *arguments]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    expected = run(tmp_path / "cache", "full")
    assert not [path for path in tmp_path.rglob("*.nb?") if path.stat().st_size]
    assert run(tmp_path / "cache") == expected
    for path in [*files(tmp_path, "nbi"), *files(tmp_path, "nbc")]:
        cut(path)
    assert run(tmp_path / "cache") == expected
