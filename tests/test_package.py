from __future__ import annotations

import subprocess
import sys

import pytest

import vicinal


@pytest.mark.parametrize(
    "name", ["adapters", "app", "classic", "datasets", "neighbors", "plotting"]
)
def test_rooms_are_attributes(name: str) -> None:
    program = f"import vicinal; print(vicinal.{name}.__name__)"
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert outcome.stdout.strip() == f"vicinal.{name}"
    assert name in dir(vicinal)


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    program = "import sys, vicinal; print({'numpy', 'polars'} & set(sys.modules))"
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert outcome.stdout.strip() == "set()"


def test_all_names_are_there() -> None:
    for name in dir(vicinal):
        assert getattr(vicinal, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nca_'"):
        _ = vicinal.nca_
