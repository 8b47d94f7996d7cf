from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.mutations.callers import callers
from benchmarks.mutations.mutants import mutants, mutated

MODULE = """\
LIMIT = 10


def larger(a, b):
    if a > b:
        return a
    return b


def is_small(x):
    return x < LIMIT


def down(n):
    while n > 0:
        n -= 1
    return n


def nobody_calls(x):
    return x + 1
"""
TESTS = """\
from vicinal.room.module import down, is_small, larger


def test_larger():
    assert larger(2, 1) == 2
    assert larger(1, 2) == 2


def test_is_small():
    assert is_small(3)


def test_down():
    assert down(3) == 0


def test_that_fails_anyway():
    assert larger(2, 1) == 3
"""
PROGRAM = """
import json, sys
from pathlib import Path
from benchmarks.mutations import trial
from benchmarks.mutations.mutants import mutants
from benchmarks.mutations.reach import Reach, record
root = Path(sys.argv[1])
trial._AT_LEAST = 2.0
record(root / "map", root, ("tests",), jobs=2)
if len(sys.argv) > 2:
    (root / "tests/room/test_new.py").write_text(sys.argv[2])
with trial.Trials(Reach(root / "map", root), 2, root) as tried:
    every = mutants(root / "src/vicinal")
    found = {one.before: verdict for one, verdict in tried.verdicts(every)}
    own = "tests/room/test_module.py::test_"
    failing = tried.leave_out_failing([f"{own}down", f"{own}that_fails_anyway"])
    assert failing == {f"{own}that_fails_anyway"}
print(json.dumps({key: (one.verdict, one.by) for key, one in found.items()}))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one module and its tests."""
    for name, text in [
        ("src/vicinal/__init__.py", ""),
        ("src/vicinal/room/__init__.py", ""),
        ("src/vicinal/room/module.py", MODULE),
        ("tests/room/test_module.py", TESTS),
    ]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def verdicts(*arguments: object) -> dict[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_mutant_changes_one_place(project: Path) -> None:
    found = mutants(project / "src" / "vicinal")
    assert len(found) == 9
    for one in found:
        changed = mutated(MODULE, one.number).splitlines()
        before = MODULE.splitlines()
        assert [k + 1 for k in range(len(before)) if changed[k] != before[k]] == [
            one.line
        ]


def test_callers_of_compiled_functions(tmp_path: Path) -> None:
    for name, text in [
        ("room/row_steps.py", "def step(x):\n    return x\n\n\nLIMIT = 3\n"),
        (
            "room/kernels.py",
            "from vicinal.room.row_steps import step\n\n\n"
            "def by_steps(x):\n    return step(x)\n\n\n"
            "def other(x):\n    return by_name(x)\n\n\n"
            "def by_name(x):\n    return x\n",
        ),
        ("room/engine.py", "from vicinal.room import kernels\n\nkernels.by_steps(1)\n"),
        ("room/rules.py", 'KERNEL = "by_name"\n'),
        ("elsewhere/words.py", 'by_steps = "by_name"\n'),
    ]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    engine, rules = ("room/engine.py", 3), ("room/rules.py", 1)
    assert callers("room/row_steps.py", 2, tmp_path) == {engine}
    assert callers("room/row_steps.py", 5, tmp_path) == {engine}
    assert callers("room/kernels.py", 13, tmp_path) == {rules}
    assert callers("room/kernels.py", 1, tmp_path) == {engine, rules}


@pytest.mark.slow
def test_verdicts(project: Path) -> None:
    found = verdicts(project)
    own = "tests/room/test_module.py::"
    assert found["n -= 1"] == ["killed", "exit -1"]
    assert found["n > 0"] == ["killed", f"{own}test_down"]
    assert found["x < LIMIT"][0] == found["10"][0] == "survived"
    # The larger of equal numbers is either.
    assert found["a > b"][0] == "survived"
    assert found["x + 1"][0] == "survived"


@pytest.mark.slow
def test_tests_that_are_newer_than_the_map_count(project: Path) -> None:
    new = (
        "from vicinal.room.module import is_small\n"
        "def test_limit():\n    assert not is_small(10)"
    )
    found = verdicts(project, new)
    by = "tests/room/test_new.py::test_limit"
    assert found["x < LIMIT"] == found["10"] == ["killed", by]
