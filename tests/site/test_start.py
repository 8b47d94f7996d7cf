"""What the page for people with a table shows is what is printed."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import pytest

from tests.app.cli.conftest import run

START = Path(__file__).parents[2] / "docs" / "start"
# The last two columns are times.
_TIMES = re.compile(r"\s+\d+\.\d{3}\s+\d+\.\d$")


def shown() -> list[str]:
    """Return the lines of the page's blocks of output, in their order."""
    text = (START / "table.md").read_text("utf-8")
    blocks = re.findall(
        r"```(?:text|{code-block} text\n:class: wrap\n)\n(.*?)```", text, re.S
    )
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def test_the_sample_is_what_its_program_writes(tmp_path: Path) -> None:
    shutil.copy(START / "fruit.py", tmp_path)
    runpy.run_path(str(tmp_path / "fruit.py"), run_name="__main__")
    written = (tmp_path / "fruit.csv").read_text("utf-8")
    assert written == (START / "fruit.csv").read_text("utf-8")


@pytest.mark.slow
def test_the_page_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(START / "fruit.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    printed = []
    for options in ([], ["--number", "weight"]):
        given = ["compare", "fruit.csv", "--target", "kind", *options]
        # The line that keeps the metric is made of what was typed.
        monkeypatch.setattr("sys.argv", ["vicinal", *given])
        printed += run(*given, "--time-budget", "none").stdout.splitlines()
    missing = {_TIMES.sub("", line).rstrip() for line in shown()} - {
        _TIMES.sub("", line).rstrip() for line in printed
    }
    assert len(shown()) > 15
    assert missing == set()


@pytest.mark.slow
def test_the_commands_that_follow_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(START / "fruit.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = (tmp_path / "fruit.csv").read_text("utf-8").splitlines()
    (tmp_path / "next.csv").write_text("\n".join(lines[:20]), "utf-8")
    text = (START / "table.md").read_text("utf-8")
    commands = re.findall(
        r"^vicinal ((?:fit|predict|neighbors|transform) .*)$", text, re.M
    )
    assert len(commands) == 4
    for command in commands:
        assert run(*command.split()).exit_code == 0
    predicted = (tmp_path / "predicted.csv").read_text().splitlines()
    assert predicted[0] == "crate,predicted,share,p_apple,p_pear,p_quince"
    assert (tmp_path / "mapped.csv").read_text().startswith("crate,lda0,lda1\n")
