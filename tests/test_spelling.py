"""Names in the code are spelt as NumPy spells its own; prose may be British."""

from __future__ import annotations

import io
import re
import tokenize
from importlib.resources import files
from pathlib import Path

import pytest

import vicinal

# NumPy's own name.
ALLOWED = {"writeable", "CancelledError"}


@pytest.fixture(scope="module")
def american() -> dict[str, str]:
    words = files("codespell_lib") / "data" / "dictionary_en-GB_to_en-US.txt"
    return dict(line.split("->") for line in words.read_text("utf-8").splitlines())


def british_names(source: str, american: dict[str, str]) -> list[str]:
    """Name every identifier with a British word, with the American one beside it."""
    return sorted(
        {
            f"{token.string}: {american[word.lower()]}"
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.NAME and token.string not in ALLOWED
            for word in re.findall("[A-Z]?[a-z]+", token.string)
            if word.lower() in american
        }
    )


def test_names_are_american(american: dict[str, str]) -> None:
    (package,) = vicinal.__path__
    found = {
        str(path): names
        for path in Path(package).rglob("*.py")
        if (names := british_names(path.read_text("utf-8"), american))
    }
    assert not found


def test_a_british_name_is_found(american: dict[str, str]) -> None:
    source = '''"""The colour of a neighbour."""  # in prose: a neighbour
neighbour_weights = NormalisedTo(neighbor="behaviour")
flags.writeable = False
'''
    assert british_names(source, american) == [
        "NormalisedTo: normalized",
        "neighbour_weights: neighbor",
    ]
