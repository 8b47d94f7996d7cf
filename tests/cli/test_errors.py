from __future__ import annotations

import pytest
import typer

from vicinal.cli.errors import report_errors, with_flags


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


def test_code_that_cannot_be_loaded_for_want_of_memory(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = OSError("Could not load libx.so")
    error.__cause__ = OSError("libx.so: cannot map: Cannot allocate memory")
    with pytest.raises(typer.Exit), report_errors():
        raise error
    assert "not enough memory (Could not load libx.so)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("n_neighbors=9 exceeds the 8 rows.", "--neighbors 9 exceeds the 8 rows."),
        ("n_splits must be 1 or more.", "--splits must be 1 or more."),
        # Columns may be called so.
        ("no column 'n_components' here", "no column 'n_components' here"),
        ("my_n_components=3 is odd", "my_n_components=3 is odd"),
        ("--max-iter is fine", "--max-iter is fine"),
    ],
)
def test_parameters_are_called_as_the_options_are(said: str, shown: str) -> None:
    assert with_flags(said) == shown
