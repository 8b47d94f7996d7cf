"""Copies of the project in which mutants are tried against their tests."""

import multiprocessing
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.mutations.callers import callers, is_compiled
from benchmarks.mutations.forked import Outcome, run_tests
from benchmarks.mutations.mutants import Mutant, mutated
from benchmarks.mutations.reach import PACKAGE, Reach

HERE = Path(__file__).parents[2]
_COPIED = ("src", "tests", "docs", "benchmarks")
_FILES = ("pyproject.toml", "conftest.py", "noxfile.py", "README.md", "CHANGELOG.md")
# Of a mutant's tests, so many seconds are run: the first part alone, which most mutants
# do not survive. A run may take some times longer than the map says.
FIRST, MOST = 8.0, 60.0
_TIMES, _AT_LEAST = 2.0, 20.0


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant.

    Attributes
    ----------
    verdict : str
        "killed", "survived" or "untested".
    by : str
        The test that noticed, or how the run ended.
    seconds : float
        How long it took.
    not_run : int
        Tests that reach the mutant, beyond the bound of `MOST` seconds.
    """

    verdict: str
    by: str
    seconds: float
    not_run: int


class Trials:
    """Copies of the project, in each of which one mutant at a time is tried.

    Parameters
    ----------
    reach : Reach
        Which tests reach which lines.
    jobs : int
        How many copies.
    root : Path
        The project.
    """

    def __init__(self, reach: Reach, jobs: int, root: Path = HERE) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._trials = [
            Trial(Path(self._folder.name) / str(k), reach, root) for k in range(jobs)
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def verdicts(self, mutants: list[Mutant]) -> Iterator[tuple[Mutant, Verdict]]:
        """Yield mutants with what became of them, as they are done."""
        # Processes: pytest is forked, which a process with several threads must not be.
        context = multiprocessing.get_context("fork")
        todo, done = context.SimpleQueue(), context.SimpleQueue()
        for one in [*mutants, *([None] * len(self._trials))]:
            todo.put(one)
        workers = [
            context.Process(target=_work, args=(trial, todo, done))
            for trial in self._trials
        ]
        for worker in workers:
            worker.start()
        for _ in mutants:
            yield done.get()
        for worker in workers:
            worker.join()

    def leave_out_failing(self, tests: list[str]) -> set[str]:
        """Run tests without a mutant, and leave those that fail out of all trials."""
        found = self._trials[0].leave_out_failing(tests)
        for trial in self._trials:
            trial.failing = self._trials[0].failing
        return found


def _work(trial: "Trial", todo: Any, done: Any) -> None:
    """Be the process of one copy, until there are no more mutants."""
    while (mutant := todo.get()) is not None:
        done.put((mutant, trial.verdict(mutant)))


class Trial:
    """A copy of the project, and the tests that must notice a change of a module.

    Parameters
    ----------
    folder : Path
        Where the copy lies, beside what the tests write; nothing is there yet.
    reach : Reach
        Which tests reach which lines.
    root : Path
        The project.
    """

    def __init__(self, folder: Path, reach: Reach, root: Path = HERE) -> None:
        self.folder = folder / "project"
        self._reach = reach
        self._kernel_cache = folder / "kernels"
        self.failing: set[str] = set()
        for name in filter(lambda name: (root / name).exists(), _COPIED):
            shutil.copytree(root / name, self.folder / name)
        for name in filter(lambda name: (root / name).exists(), _FILES):
            shutil.copy2(root / name, self.folder / name)
        # Python and Numba know a file by its time in seconds: each mutant has its own.
        self._time = int(time.time())

    def verdict(self, mutant: Mutant) -> Verdict:
        """Write a mutant into the copy, and run its tests until one fails."""
        began = time.monotonic()
        tests, not_run = self.tests_of(mutant)
        by = ""
        for batch in tests:
            left = [test for test in batch if test not in self.failing]
            with self._written(mutant):
                outcome = self._run(left, mutant.path)
            if not outcome.is_quiet:
                by = outcome.test or f"exit {outcome.code}"
                break
        verdict = "killed" if by else "survived" if tests else "untested"
        return Verdict(verdict, by, time.monotonic() - began, not_run)

    def leave_out_failing(self, tests: list[str]) -> set[str]:
        """Run tests without a mutant, and return those that fail; none is to blame.

        They are left out from then on: whole files, where a file was to be run. Names
        that are no test's are passed over.
        """
        tests = [test for test in tests if "::" in test]
        found: set[str] = set()
        while left := [test for test in tests if test not in found]:
            outcome = self._run(left)
            if outcome.is_quiet:
                break
            if outcome.test not in left:
                raise RuntimeError(f"Without a mutant: exit {outcome.code}, {left}")
            found.add(outcome.test)
        self.failing |= found | {_file(test) for test in found}
        return found

    def tests_of(self, mutant: Mutant) -> tuple[list[list[str]], int]:
        """Return a mutant's tests in batches, and how many more reach it.

        Parameters
        ----------
        mutant : Mutant
            Its tests are those that reach it, or call it where it is compiled; where
            none is known to, because it runs in other processes, those of its room and
            of the modules that import it. The module's own come first, those of the
            room, and others; the quickest first. Files of the room that the map does
            not know are run whole: the module's own before all others.
        """
        room = Path(mutant.path).parent.as_posix()
        reaching = self._reaching(mutant)
        tests = reaching or self._around(mutant.path)
        # What a fixture or a cache holds is reached by the first test that asks for it.
        files = {_file(test) for test in reaching if _distance(test, mutant.path) < 2}
        known = self._reach.seconds
        near = {test for test in known if _file(test) in files}
        tests = sorted(
            tests, key=lambda test: (_distance(test, mutant.path), known[test])
        )
        tests += sorted(near - set(tests), key=lambda test: known[test])
        new = self._reach.new_tests(room)
        own = [file for file in new if _distance(file, mutant.path) == 0]
        first: list[str] = []
        rest: list[str] = []
        not_run, total = 0, 0.0
        for test in tests:
            total += known[test] + 0.01
            if _file(test) in new:
                continue
            if total > MOST and (first or rest):
                not_run += test in reaching
            else:
                (first if total <= FIRST else rest).append(test)
        other = [file for file in new if file not in own]
        return [batch for batch in (own, first, other, rest) if batch], not_run

    def _reaching(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach a mutant, or the callers of a compiled one."""
        if not is_compiled(mutant.path):
            return self._reach.of(mutant.path, mutant.line)
        lines = callers(mutant.path, mutant.line, self.folder / PACKAGE)
        return list({test for caller in lines for test in self._reach.of(*caller)})

    def _around(self, place: str) -> list[str]:
        """Return the tests of a room, and those that reach its module's importers."""
        room = (Path("tests") / Path(place).parent).as_posix()
        found = {test for test in self._reach.seconds if _room(test) == room}
        for importer in _importers(place, self.folder / PACKAGE):
            found.update(self._reach.of(importer, 0))
        return list(found)

    def _run(self, tests: list[str], place: str = "") -> Outcome:
        """Run tests; where a compiled module is mutated, with a cache of its own."""
        expected = sum(self._reach.seconds.get(test, 10.0) for test in tests)
        compiles = is_compiled(place) or place.endswith("compiling.py")
        cache = self._kernel_cache if compiles else None
        shutil.rmtree(self._kernel_cache, ignore_errors=True)
        limit = _AT_LEAST + _TIMES * expected
        return run_tests(self.folder, tests, limit, cache)

    @contextmanager
    def _written(self, mutant: Mutant) -> Iterator[None]:
        """Let a mutant stand in the place of its module for a while."""
        path = self.folder / PACKAGE / mutant.path
        original, times = path.read_text(), path.stat()
        self._time += 1
        path.write_text(mutated(original, mutant.number))
        os.utime(path, (self._time, self._time))
        try:
            yield
        finally:
            path.write_text(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _file(test: str) -> str:
    return test.partition("::")[0]


def _room(test: str) -> str:
    return Path(_file(test)).parent.as_posix()


def _distance(test: str, place: str) -> int:
    """Return 0 for a module's own tests, 1 for those of its room, 2 for others.

    What docstrings say of defaults is tested in no time, and in one file.
    """
    room, stem = Path(place).parent, Path(place).stem.strip("_")
    own = (
        Path("tests") / room / f"test_{stem}.py",
        Path("tests") / "test_docstrings.py",
        PACKAGE / place,
    )
    if _file(test) in {path.as_posix() for path in own}:
        return 0
    return 1 if _room(test) == (Path("tests") / room).as_posix() else 2


def _importers(place: str, root: Path) -> set[str]:
    """Return the modules that import one, and those that import these of its room."""
    texts = {
        path.relative_to(root).as_posix(): path.read_text()
        for path in root.rglob("*.py")
    }
    found: set[str] = set()
    new = {place}
    while new:
        names = [one.removesuffix(".py").replace("/", ".") for one in new]
        imports = re.compile(
            "|".join(
                rf"from vicinal\.{room}(?:\.{stem}\b| import [^\n]*\b{stem}\b)"
                for room, _, stem in (name.rpartition(".") for name in names)
            )
        )
        new = {one for one, text in texts.items() if imports.search(text)} - found
        found |= new
        new = {one for one in new if Path(one).parent == Path(place).parent}
    return found - {place}
