from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vicinal
from vicinal.app.cli.process import PipeSafeStream, guard_streams

FIT = [
    sys.executable,
    "-m",
    "vicinal",
    *["fit", "iris", "--method", "lda", "-o", "m.st"],
]


def test_streams_are_guarded_once_however_many_commands_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output, errors = sys.stdout, sys.stderr
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(sys, "stderr", errors)
    guard_streams().failure = OSError("of the command before")
    again = guard_streams()
    assert again is sys.stdout
    assert again.failure is None
    assert again.unguarded is output
    behind: Any = sys.stderr
    assert behind.unguarded is errors


def test_a_reader_that_leaves_does_not_cost_the_file(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    outcome = subprocess.run(
        FIT, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (outcome.returncode, outcome.stderr) == (0, b"")
    assert vicinal.load(tmp_path / "m.st").method == "lda"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_behind_standard_output_does_not_cost_the_file(
    tmp_path: Path,
) -> None:
    with Path("/dev/full").open("w") as full:
        outcome = subprocess.run(
            FIT, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert outcome.returncode == 2
    line = "vicinal: standard output cannot be written: No space left on device.\n"
    assert outcome.stderr.decode() == line
    assert vicinal.load(tmp_path / "m.st").method == "lda"


@pytest.mark.skipif(os.name != "posix", reason="closes a descriptor by the shell")
def test_no_standard_output_at_all(tmp_path: Path) -> None:
    line = ["sh", "-c", 'exec "$@" >&-', "sh", *FIT]
    outcome = subprocess.run(line, cwd=tmp_path, stderr=subprocess.PIPE, check=False)
    assert (outcome.returncode, outcome.stderr) == (0, b"")
    assert vicinal.load(tmp_path / "m.st").method == "lda"


def test_a_failure_is_kept_and_the_rest_dropped(tmp_path: Path) -> None:
    with (tmp_path / "out.txt").open("w") as file:
        stream = PipeSafeStream(file)
        assert stream.write("one") == 3
        assert stream.name == file.name
        os.close(file.fileno())
        spare = os.open(tmp_path / "out.txt", os.O_RDONLY)
        assert spare == file.fileno()
        stream.flush()
        assert isinstance(stream.failure, OSError)
        assert stream.write("two") == 3
        stream.flush()
    assert (tmp_path / "out.txt").read_text() == ""
