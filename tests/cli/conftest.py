from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from vicinal.cli import build_app


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
