"""Pytest in a forked process: what all tests import is there before the first one."""

import importlib
import multiprocessing
import os
import resource
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

# Tests import these, or what they test does; none of them imports the project.
_HEAVY = (
    "numpy", "scipy.optimize", "scipy.stats", "scipy.sparse.linalg", "numba", "polars",
    "sklearn.utils.estimator_checks", "sklearn.pipeline", "sklearn.neighbors",
    "pandas", "matplotlib.pyplot", "typer.testing", "jinja2", "torch",
)  # fmt: skip
_BYTES = 8 * 2**30
# Exit codes of pytest, and what stands for a process that did not end by itself.
PASSED, FAILED, NONE_COLLECTED, NO_END, DIED = 0, 1, 5, -1, -2


@dataclass(frozen=True)
class Outcome:
    """How a run of pytest ended.

    Attributes
    ----------
    code : int
        Pytest's exit code, `NO_END` or `DIED`.
    test : str
        The first test that failed; "" where there is none.
    """

    code: int
    test: str = ""

    @property
    def is_quiet(self) -> bool:
        """Whether nothing failed."""
        return self.code in (PASSED, NONE_COLLECTED)


def preload() -> None:
    """Import what is heavy, with the settings that conftest.py makes before that."""
    os.environ |= {"SCIPY_ARRAY_API": "1", "MPLBACKEND": "Agg"}
    for name in _HEAVY:
        with suppress(ImportError):
            importlib.import_module(name)


def run_tests(
    root: Path, tests: list[str], seconds: float, kernel_cache: Path | None = None
) -> Outcome:
    """Run tests of a project until one fails, in a process that is bounded.

    Parameters
    ----------
    root : Path
        The project.
    tests : list of str
        Files, or tests by pytest's names.
    seconds : float
        Of processor time, after which the run is ended; a busy machine has a minute
        and ten times as long by the clock.
    kernel_cache : Path or None
        Where Numba keeps what it compiles; None leaves that to it.
    """
    ours, its = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    arguments = (its, root, tests, int(seconds) + 1, kernel_cache)
    process = context.Process(target=_test, args=arguments)
    process.start()
    its.close()
    outcome = Outcome(NO_END)
    with suppress(EOFError):
        if ours.poll(60 + 10 * seconds):
            outcome = Outcome(DIED)
            outcome = Outcome(*ours.recv())
    # Its process group: tests may have left processes of their own.
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)
    process.join()
    return Outcome(NO_END) if process.exitcode == -signal.SIGXCPU else outcome


class _First:
    """A plugin of pytest that remembers the first failure."""

    def __init__(self) -> None:
        self.test = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.test:
            self.test = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.test:
            self.test = report.nodeid


def _test(
    pipe: Connection, root: Path, tests: list[str], seconds: int, cache: Path | None
) -> None:
    """Be the forked process."""
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    os.chdir(root)
    paths = [str(root / "src"), str(root)]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    if cache is not None:
        os.environ["NUMBA_CACHE_DIR"] = str(cache)
        sys.modules["numba"].config.CACHE_DIR = str(cache)
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        if name != __name__:
            del sys.modules[name]
    first = _First()
    # Of the plugins, only the one whose options pyproject.toml gives is needed.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = ["-p", "xdist.plugin", "-p", "no:cacheprovider", "-n0"]
    options += ["-x", "-q", "--tb=no"]
    options += [f"--basetemp={root.parent / 'basetemp'}"]
    code = int(pytest.main([*options, *tests], plugins=[first]))
    pipe.send((code, first.test))
    os._exit(0)
