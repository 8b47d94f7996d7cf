from __future__ import annotations

import pytest
import typer

from vicinal.app.cli.display import report_errors, with_option
from vicinal.app.tables.names import Note, TableError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("Input X contains NaN.\nMuch advice."), "Input X contains NaN."),
        (
            MemoryError("Unable to allocate 8 GiB"),
            "not enough memory (Unable to allocate 8 GiB). Give fewer rows or columns.",
        ),
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


@pytest.mark.parametrize("kind", [RuntimeError, ImportError])
def test_a_bug_keeps_its_traceback(kind: type[Exception]) -> None:
    with pytest.raises(kind, match="a bug"), report_errors():
        raise kind("a bug")


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("no option here.", "no option here."),
        (TableError("Name it."), "Name it."),
        (TableError("Name it.", "target"), "Name it (--target)."),
        (TableError("Drop it.", "drop", "a b"), "Drop it (--drop 'a b')."),
        (Note("as 1234", "decimal", ","), "as 1234 (--decimal ,)"),
    ],
)
def test_the_option_is_appended(message: object, shown: str) -> None:
    assert with_option(message) == shown
