from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from vicinal.app.cli import build_app

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # The last three colour the output even where nobody looks at it.
    for variable in ("VICINAL_DATA", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    monkeypatch.setenv("COLUMNS", "120")


def run(*arguments: object) -> Any:
    return CliRunner().invoke(build_app(), [str(argument) for argument in arguments])


def assert_error_line(outcome: Any, message: str) -> None:
    """One sentence on standard error, exit code 2, no traceback."""
    assert outcome.exit_code == 2, outcome.output
    assert isinstance(outcome.exception, SystemExit)
    assert outcome.stderr.startswith("vicinal: ")
    assert message in outcome.stderr
    assert outcome.stderr.count("\n") == 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the command is run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def works(*arguments: str) -> str:
    """Run the command, which must work; return what it prints."""
    outcome = run(*arguments)
    assert outcome.exit_code == 0, outcome.output
    return str(outcome.stdout)


def flowers(path: Path) -> str:
    """Write a table whose names and cells look like markup."""
    lines = ["id,<script>alert(1)</script>,width,[bold]kind"]
    for i in range(40):
        kind = ["<b>a</b>", "[red]b"][i % 2]
        lines.append(f"{i},{'rg'[i % 3 == 0]},{i * 37 % 11 + 9 * (i % 2)},{kind}")
    path.write_text("\n".join(lines))
    return str(path)
