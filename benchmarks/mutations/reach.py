"""Which tests reach which lines: one run of the tests under coverage, kept in a folder.

The map outlives small changes: it holds a digest of every file, so that the lines of
unchanged modules stay known, and tests that were changed since are known as such.
"""

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage, CoverageData

PACKAGE = Path("src") / "vicinal"
# Rooms that are left out where their library is not installed: their tests need it.
_NEEDS = {"neural": "torch", "dask": "distributed"}
_LINES, _TESTS = "lines.sqlite", "tests.json"
_DOCSTRINGS = "tests/test_docstrings.py::"


class Reach:
    """Tests by the lines that they reach, how long they take, and what has changed.

    Parameters
    ----------
    folder : Path
        Where `record` left the map.
    root : Path
        The project as it is now.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        found = json.loads((folder / _TESTS).read_text())
        self.seconds: dict[str, float] = found["seconds"]
        now, before = digests(root), found["digests"]
        self._changed = {path for path in now if now[path] != before.get(path)}
        self._root = root
        self._lines = str(folder / _LINES)

    def of(self, place: str, line: int) -> list[str]:
        """Return the tests that reach what a line of a module changes, quickest first.

        Parameters
        ----------
        place : str
            The module, below the package's folder.
        line : int
            Of a statement in a function: the tests that reach that statement. Of a
            default: those that reach the function. Anything else runs when the module
            is imported, and counts for all tests that reach one of its functions; so
            does every line of a module that is not what it was. What docstrings say is
            tested, too, for all that is not in a function.
        """
        path = (PACKAGE / place).as_posix()
        spans, at_import = _bodies(ast.parse((self._root / path).read_text()), line)
        # Opened anew: a connection must not be taken into a forked process.
        data = CoverageData(self._lines)
        data.read()
        by_line = data.contexts_by_lineno(path)
        data.close()
        if path in self._changed:
            spans = [(1, max(by_line, default=1))]
        tests = {
            test
            for first, last in spans
            for reached in range(first, last + 1)
            for test in by_line.get(reached, ())
        }
        if at_import:
            tests |= {one for one in self.seconds if one.startswith(_DOCSTRINGS)}
        known = {test for test in tests if test in self.seconds}
        return sorted(known, key=lambda test: (self.seconds[test], test))

    def new_tests(self, room: str) -> list[str]:
        """Return the test files of a room that are not those of the map.

        A room inside another may have no tests of its own: they are the other's.
        """
        mapped = {test.partition("::")[0] for test in self.seconds} - self._changed
        folder = self._root / "tests" / room
        while not folder.is_dir():
            folder = folder.parent
        files = folder.glob("test_*.py")
        paths = (path.relative_to(self._root).as_posix() for path in files)
        return sorted(path for path in paths if path not in mapped)


def _bodies(tree: ast.Module, line: int) -> tuple[list[tuple[int, int]], bool]:
    """Return first and last lines of what a line decides, and if it runs at import."""
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    inside = [
        one for one in functions if one.lineno <= line <= (one.end_lineno or line)
    ]
    if not inside:
        return [_span(one.body) for one in functions], True
    inner = max(inside, key=lambda one: one.lineno)
    if line < inner.body[0].lineno:
        return [_span(inner.body)], True
    statements = [
        (node.lineno, _head_end(node))
        for node in ast.walk(inner)
        if isinstance(node, ast.stmt) and node is not inner
    ]
    return [max(span for span in statements if span[0] <= line <= span[1])], False


def _span(body: list[ast.stmt]) -> tuple[int, int]:
    return body[0].lineno, body[-1].end_lineno or body[-1].lineno


def _head_end(node: ast.stmt) -> int:
    """Return a statement's last line; of one with a body, the last line before it."""
    body: list[ast.AST] = getattr(node, "body", None) or getattr(node, "cases", [])
    if not body:
        return node.end_lineno or node.lineno
    first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
    return max(node.lineno, first.lineno - 1)  # type: ignore[attr-defined]


def digests(root: Path) -> dict[str, str]:
    """Return a digest of each module and test below a folder, by its path."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for part in (PACKAGE, Path("tests"))
        for path in sorted((root / part).rglob("*.py"))
    }


def record(
    folder: Path, root: Path, tests: tuple[str, ...] = ("tests", "src"), jobs: int = 1
) -> None:
    """Run the tests of a project under coverage, and keep which reach what.

    Parameters
    ----------
    folder : Path
        For the map; made where it is not there.
    root : Path
        The project.
    tests : tuple of str
        Files or folders in it.
    jobs : int
        Processes among which the files are dealt out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = (root / "src", root, Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-m", "benchmarks.mutations.reach"]
    parts = [folder / f"part-{part}" for part in range(jobs)]
    running = [
        subprocess.Popen(  # noqa: S603
            [*command, str(part), str(k), str(jobs), *tests], cwd=root, env=environment
        )
        for k, part in enumerate(parts)
    ]
    codes = [process.wait() for process in running]
    if any(codes):
        raise RuntimeError("The tests could not be recorded.")
    lines = CoverageData(str(folder / _LINES))
    lines.erase()
    seconds: dict[str, float] = {}
    for part in parts:
        of_part = CoverageData(str(part / _LINES))
        of_part.read()
        lines.update(of_part)
        seconds |= json.loads((part / _TESTS).read_text())
        shutil.rmtree(part)
    lines.write()
    found = {"seconds": seconds, "digests": digests(root)}
    (folder / _TESTS).write_text(json.dumps(found, indent=1))


class _Recorder:
    """A plugin of pytest: the running test is the context of the lines it reaches."""

    def __init__(self, coverage: Coverage, part: int, parts: int) -> None:
        self._coverage = coverage
        self._part, self._parts = part, parts
        self._unfit: set[str] = set()
        self._seconds: dict[str, float] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        files = list(dict.fromkeys(item.path for item in items))
        own = set(files[self._part :: self._parts])
        items[:] = [item for item in items if item.path in own]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._coverage.switch_context(item.nodeid)
        began = sum(os.times()[:4])
        result = yield
        self._seconds[item.nodeid] = round(sum(os.times()[:4]) - began, 2)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self._unfit.add(report.nodeid)

    @property
    def seconds(self) -> dict[str, float]:
        """The processor time of each test that passed, and of its processes."""
        return {
            test: seconds
            for test, seconds in self._seconds.items()
            if test not in self._unfit
        }


def main(folder: Path, part: int, parts: int, tests: list[str]) -> None:
    """Record one part of the tests in this process, whose folder is the project."""
    folder.mkdir(exist_ok=True)
    coverage = Coverage(
        str(folder / _LINES), source=[str(PACKAGE)], config_file=False, messages=False
    )
    coverage.set_option("run:relative_files", True)
    coverage.erase()
    recorder = _Recorder(coverage, part, parts)
    options = ["-n0", "-q", "--tb=line", "-p", "no:cacheprovider"]
    left_out = [room for room, name in _NEEDS.items() if find_spec(name) is None]
    options += [f"--ignore=tests/{room}" for room in ("site", *left_out)]
    options += [f"--ignore=src/vicinal/{room}" for room in left_out]
    coverage.start()
    pytest.main([*options, *tests], plugins=[recorder])
    coverage.stop()
    coverage.save()
    (folder / _TESTS).write_text(json.dumps(recorder.seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
