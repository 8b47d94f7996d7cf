from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from typer.core import TyperGroup
from typer.main import get_command

import vicinal
from tests.app.cli.conftest import run
from vicinal.app.cli import build_app, main

if TYPE_CHECKING:
    from pathlib import Path


def test_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = ["iris", "wine", "digits", "breast_cancer"]
    assert run("datasets").stdout.split() == bundled
    np.savez(tmp_path / "mine.npz", X=np.ones((2, 1)), y=np.arange(2))
    monkeypatch.setenv("VICINAL_DATA", str(tmp_path))
    assert run("datasets").stdout.split() == [*bundled, "mine"]


def test_version() -> None:
    for option in ("--version", "-V"):
        outcome = run(option)
        assert outcome.exit_code == 0
        assert outcome.stdout == f"vicinal {vicinal.__version__}\n"


def test_short_options_and_completion() -> None:
    assert run("-V").stdout == run("--version").stdout
    assert run("-h").stdout == run("--help").stdout
    for command in ("compare", "fit", "transform", "neighbors", "predict", "datasets"):
        outcome = run(command, "-h")
        assert outcome.exit_code == 0
        assert outcome.stdout == run(command, "--help").stdout
    assert "--install-completion" in run("-h").stdout


def test_every_argument_and_option_says_what_it_is() -> None:
    group = get_command(build_app())
    assert isinstance(group, TyperGroup)
    assert len(group.commands) >= 6
    for command in [group, *group.commands.values()]:
        for parameter in command.params:
            assert getattr(parameter, "help", None), (command.name, parameter.name)


def test_help_in_a_process_of_its_own() -> None:
    outcome = subprocess.run(
        [sys.executable, "-c", "from vicinal.app.cli import main; main()", "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert "Usage: vicinal [OPTIONS] COMMAND" in outcome.stdout
    for part in ("compare", "datasets", "--version"):
        assert part in outcome.stdout


def test_help_does_not_wait_for_heavy_imports() -> None:
    program = (
        "import sys\n"
        "from vicinal.app.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'sklearn', 'numba', 'polars'} & set(sys.modules)\n"
        "sys.exit(','.join(heavy) or 0)\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program, "--help"],
        capture_output=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_the_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit, match=r"pip install 'vicinal\[cli\]'"):
        main()


def test_a_terminal_that_knows_few_letters() -> None:
    program = "from vicinal.app.cli import main; main()"
    arguments = ["compare", "iris", "--methods", "euclidean", "--splits", "2"]
    outcome = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    assert any(line.startswith("euclidean: ") for line in outcome.stdout.splitlines())


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vicinal", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"vicinal {vicinal.__version__}\n"
