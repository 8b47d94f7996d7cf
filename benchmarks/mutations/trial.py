"""A copy of the project in which one mutant at a time is tried against its tests."""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.mutations.mutants import Mutant, mutated

HERE = Path(__file__).parents[2]
_COPIED = ("src", "tests", "docs", "benchmarks")
_FILES = ("pyproject.toml", "conftest.py", "noxfile.py", "README.md", "CHANGELOG.md")
# A mutant may loop for ever, or ask for all of the memory: seconds of CPU, and of the
# clock, which on a busy machine says little.
_SECONDS, _LATEST, _BYTES = 900, 7200, 8 * 2**30
# Rooms whose tests stand elsewhere, or whose users' tests are their tests, too.
_ALSO = {
    "neighborhood": ("tests/objectives",),
    "base": ("tests/nca/test_bad_input.py", "tests/ldg/test_bad_input.py"),
}
# Exit codes of pytest.
_PASSED, _FAILED, _NONE_COLLECTED = 0, 1, 5


class Trial:
    """A copy of the project, and the tests that must notice a change of a module.

    Parameters
    ----------
    folder : Path
        Where the copy lies; it is made where it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._passing: set[str] = set()
        self._failing: list[str] = []
        if folder.exists():
            shutil.rmtree(folder)
        ignored = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
        for name in _COPIED:
            shutil.copytree(HERE / name, folder / name, ignore=ignored)
        for name in _FILES:
            shutil.copy2(HERE / name, folder / name)

    def verdict(self, mutant: Mutant) -> tuple[str, str, float]:
        """Return "killed", "survived" or "untested", by what, and after how long."""
        path = self.folder / "src" / "vicinal" / mutant.path
        original = path.read_text()
        began = time.monotonic()
        tried = False
        for tests in self.tests_of(mutant.path):
            code = _FAILED
            while code not in (_PASSED, _NONE_COLLECTED):
                with _written(path, mutated(original, mutant.number)):
                    code, by = self._run(tests)
                tried = tried or code != _NONE_COLLECTED
                if code in (_PASSED, _NONE_COLLECTED):
                    break
                if by not in self._failing and self._notices(by):
                    return "killed", by, time.monotonic() - began
        return "survived" if tried else "untested", "", time.monotonic() - began

    def _notices(self, test: str) -> bool:
        """Return whether a test passes without the mutant; else it is left out."""
        if "::" in test and test not in self._passing:
            if self._run([test])[0] != _PASSED:
                self._failing.append(test)
                return False
            self._passing.add(test)
        return True

    def tests_of(self, place: str) -> Iterator[list[str]]:
        """Yield the tests of a module: its mirrored file, then the rest of its room."""
        tests = self.folder / "tests"
        room, stem = Path(place).parent.as_posix(), Path(place).stem.strip("_")
        folder = tests / room
        own = sorted(folder.glob(f"test_{stem}.py"))
        if own:
            yield [str(path) for path in own]
        if room == ".":
            rest = sorted(tests.glob("test_*.py"))
        else:
            rest = sorted(set(folder.glob("test_*.py")) - set(own))
            rest += [self.folder / name for name in _ALSO.get(room, ())]
        yield [str(self.folder / "src" / "vicinal" / place), *map(str, rest)]

    def _run(self, tests: list[str]) -> tuple[int, str]:
        """Return pytest's exit code, or -1 after too long, and its last words."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "--no-header"]
        command += ["-p", "no:cacheprovider", "--tb=no", *tests]
        command += [f"--deselect={test}" for test in self._failing]
        paths = f"{self.folder / 'src'}{os.pathsep}{self.folder}"
        try:
            done = subprocess.run(  # noqa: S603  our own tests
                command,
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": paths},
                capture_output=True,
                text=True,
                timeout=_LATEST,
                check=False,
                preexec_fn=_bounded,
            )
        except subprocess.TimeoutExpired:
            return -1, "no end"
        for line in done.stdout.splitlines():
            if line.startswith(("FAILED ", "ERROR ")):
                return done.returncode, line.split(" ", 1)[1].split(" - ")[0]
        return done.returncode, "ended by the system"


@contextmanager
def _written(path: Path, text: str) -> Iterator[None]:
    """Let a file hold something else for a while."""
    original, times = path.read_text(), path.stat()
    path.write_text(text)
    try:
        yield
    finally:
        path.write_text(original)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
