from __future__ import annotations

import pytest
import typer

from vicinal.cli.errors import report_errors


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("Input X contains NaN.\nMuch advice."), "Input X contains NaN."),
        (MemoryError(), "MemoryError"),
        (OSError("a \x1b[2J b"), "a �[2J b"),
    ],
)
def test_one_line(
    error: Exception, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as caught, report_errors():
        raise error
    assert caught.value.exit_code == 2
    assert capsys.readouterr().err == f"vicinal: {line}\n"
