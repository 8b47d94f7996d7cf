from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import typer

from vicinal.app.cli.display import report_errors, with_option
from vicinal.app.tables.names import Note, TableError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("Input X contains NaN.\nMuch advice."), "Input X contains NaN."),
        (
            MemoryError("Unable to allocate 8 GiB"),
            "not enough memory (Unable to allocate 8 GiB). Give fewer rows or columns.",
        ),
        (
            RuntimeError("can't start new thread"),
            "can't start new thread: allow more processes (ulimit -u) or memory, or "
            "--jobs 1.",
        ),
        (
            ImportError("x.so: failed to map segment from shared object"),
            "not enough memory (x.so: failed to map segment from shared object). "
            "Give fewer rows or columns.",
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


@pytest.mark.parametrize("kind", [RuntimeError, ImportError])
def test_a_bug_keeps_its_traceback(kind: type[Exception]) -> None:
    with pytest.raises(kind, match="a bug"), report_errors():
        raise kind("a bug")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize("megabytes", [500, 1080, 1142])
def test_libraries_that_have_no_room_are_not_waited_for(
    tmp_path: Path, megabytes: int
) -> None:
    """In 500 MB BLAS waits without end, in the others it may send itself Ctrl-C."""
    (tmp_path / "a.csv").write_text("x,y\n" + "1,a\n2,b\n" * 20)
    command = ["-m", "vicinal", "fit", "a.csv", "--target", "y", "-o", "m.safetensors"]
    limited = f'ulimit -v {megabytes * 1000} && exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", limited, "sh", sys.executable, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("vicinal: not enough memory: this process may")
    assert done.stderr.count("\n") == 1


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
