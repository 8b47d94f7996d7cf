"""What README shows is what is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import run

README = Path(__file__).parents[1] / "README.md"
# The last two columns are times.
_TIMES = re.compile(r"\s+\d+\.\d{3}\s+\d+\.\d$")


def _lines(text: str) -> list[str]:
    return [_TIMES.sub("", line).rstrip() for line in text.strip().splitlines()]


@pytest.mark.slow
def test_a_comparison_prints_what_the_readme_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The line that keeps the metric is made of what was typed.
    monkeypatch.setattr("sys.argv", ["vicinal", "compare", "wine"])
    text = README.read_text(encoding="utf-8")
    shown = text.split("```text\n")[1].split("```")[0]
    outcome = run("compare", "wine", "--time-budget", "none")
    assert _lines(outcome.stdout) == _lines(shown)


@pytest.mark.slow
def test_the_first_snippet_prints_what_it_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = README.read_text(encoding="utf-8")
    snippet = text.split("```python\n")[1].split("```")[0]
    exec(snippet, {})  # noqa: S102
    printed = capsys.readouterr().out.splitlines()
    said = [line[2:] for line in snippet.splitlines() if line.startswith("# ")]
    assert len(printed) == len(said) == 2
    for one, other in zip(printed, said, strict=True):
        assert other.startswith(one)
