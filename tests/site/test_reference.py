"""Every public name has a page in the reference, with an example and its relations."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import BaseEstimator

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import reference  # noqa: E402

ENTRIES = [one for room in reference.rooms() for one in reference.public_entries(room)]


def lacks(value: Any) -> list[str]:
    """What the docstring of a public name does not have."""
    text = inspect.getdoc(value) or ""
    wanted = {"Examples": "an example", "See Also": "related names"}
    missing = [
        words
        for title, words in wanted.items()
        if f"{title}\n{'-' * len(title)}" not in text
    ]
    learns = inspect.isclass(value) and issubclass(value, BaseEstimator)
    if learns and "Cost:" not in text and "metric_learn" not in value.__module__:
        missing.append("its cost")
    return missing


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_docstrings_have_an_example_and_relations(entry: reference.Entry) -> None:
    assert lacks(entry.value) == []


def test_every_public_object_is_in_a_family() -> None:
    listed = {id(one.value) for _, entries in reference.families() for one in entries}
    assert [one.name for one in ENTRIES if id(one.value) not in listed] == []


def test_pages_are_written_and_old_ones_go(tmp_path: Path) -> None:
    (tmp_path / "generated").mkdir()
    (tmp_path / "generated" / "vicinal.Gone.rst").touch()
    reference.write(tmp_path)
    names = {path.stem for path in (tmp_path / "generated").iterdir()}
    assert "vicinal.NCA" in names
    assert "vicinal.Gone" not in names
    text = (tmp_path / "generated" / "vicinal.NCA.rst").read_text("utf-8")
    assert ".. autoclass:: NCA" in text
    assert "suggest_n_neighbors" in text
    assert ":doc:`/nca`" in text  # the guide


def test_a_name_that_lacks_something_is_found() -> None:
    class Bare(BaseEstimator):
        """Learn nothing."""

    assert lacks(Bare) == ["an example", "related names", "its cost"]


@pytest.mark.site
def test_pages_show_the_example(site: Path) -> None:
    pages = site / "api" / "generated"
    for _, entries in reference.families():
        for one in entries:
            text = (pages / f"{one.name}.html").read_text("utf-8")
            assert "doctest highlight-default" in text, one.name
