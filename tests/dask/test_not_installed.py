"""Where Dask is not installed, the message names the extra."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.app.cli.conftest import run


@pytest.fixture
def without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Dask's scheduler not be found, as on a machine without it."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    for name in [name for name in sys.modules if name.startswith("vicinal.dask")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.usefixtures("without_dask")
def test_the_extra_is_named() -> None:
    with pytest.raises(ImportError, match=r"pip install 'vicinal\[dask\]'"):
        import_module("vicinal.dask")


@pytest.mark.usefixtures("without_dask")
def test_the_command_names_it_too(tmp_path: Path) -> None:
    output = str(tmp_path / "model.safetensors")
    outcome = run("fit", str(tmp_path), "--cluster", "local", "-o", output)
    assert outcome.exit_code == 2
    assert "pip install 'vicinal[dask]'" in " ".join(outcome.output.split())
