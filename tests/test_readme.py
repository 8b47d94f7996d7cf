"""What README shows is what is printed."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.app.cli.conftest import run
from vicinal import __version__

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
    assert len(printed) == len(said) == 4
    for one, other in zip(printed, said, strict=True):
        assert other.startswith(one)


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """hatch_build.py, without hatchling, which is there when packages are built."""
    interface = SimpleNamespace(MetadataHookInterface=object)
    place = "hatchling.metadata.plugin.interface"
    monkeypatch.setitem(sys.modules, place, interface)
    spec = spec_from_file_location("hatch_build", README.with_name("hatch_build.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_of_the_description_lead_to_the_version(builder: ModuleType) -> None:
    text = '![a](b/c.png) <img src="d.png"> [e](f.md#g) [h](#i) [j](https://k.org/l)'
    assert builder.absolute(text, "https://x.org/v", "1.2") == (
        "![a](https://x.org/v/raw/v1.2/b/c.png) "
        '<img src="https://x.org/v/raw/v1.2/d.png"> '
        "[e](https://x.org/v/blob/v1.2/f.md#g) [h](#i) [j](https://k.org/l)"
    )


@pytest.mark.parametrize("home", ["", "https://x.org/v/"])
def test_the_description_is_readme(
    builder: ModuleType, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.delenv("VICINAL_HOME", raising=False)
    hook = builder.CustomMetadataHook()
    hook.root, hook.config = str(README.parent), {"home": home}
    metadata: dict[str, dict[str, str]] = {}
    hook.update(metadata)
    text = metadata["readme"]["text"]
    relative = re.findall(r'(?:\]\(|src=")(?!https?:|#)[^)"\s]+', text)
    if home:
        assert relative == []
        assert f"https://x.org/v/raw/v{__version__}/docs/images/before.png" in text
    else:
        assert relative
        assert text == README.read_text("utf-8")
