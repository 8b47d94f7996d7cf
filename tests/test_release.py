"""Files for a release agree with the package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

import vicinal

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())[
    "project"
]
RECIPE: dict[str, Any] = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())


def test_the_version_comes_from_one_place() -> None:
    """The package's number is the source; the other files repeat it."""
    assert "version" in PROJECT["dynamic"]
    assert RECIPE["context"]["version"] == vicinal.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == vicinal.__version__


def test_the_recipe_asks_for_the_same_dependencies() -> None:
    named = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["cli"]]
    found = [one.replace(" ", "") for one in RECIPE["requirements"]["run"]]
    assert found == ["python>=${{python_min}}", *named]
    assert PROJECT["requires-python"] == f">={RECIPE['context']['python_min']}"


def test_the_workflow_runs_every_session() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    run = workflow["jobs"]["nox"]["strategy"]["matrix"]["session"]
    sessions = re.findall(
        r"@nox\.session(?:\((.*)\))?\ndef (\w+)", (ROOT / "noxfile.py").read_text()
    )
    needed = {name for options, name in sessions if "default=False" not in options}
    assert set(run) == needed | {"mlflow", "integrations"}
