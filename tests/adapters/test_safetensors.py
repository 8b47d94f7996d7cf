"""Files of adapters: what is kept, and what is not to be trusted."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from tests.adapters.data import turned
from vicinal.adapters import RetrievalAdapter, load_adapter, save_adapter
from vicinal.adapters._safetensors import _digest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "adapter.safetensors"


def fitted(**parameters: Any) -> RetrievalAdapter:
    settings: dict[str, Any] = {"alpha": 0.1, "temperature": 0.5, **parameters}
    return RetrievalAdapter(**settings).fit(*turned())


@pytest.mark.parametrize(
    "parameters", [{}, {"side": "two", "n_components": 3}, {"metric": "cosine"}]
)
def test_what_is_written_can_be_read(path: Path, parameters: dict[str, Any]) -> None:
    adapter = fitted(**parameters)
    save_adapter(path, adapter)
    again = load_adapter(path)
    queries, documents, _ = turned()
    for one, other in zip(
        adapter.rank(queries, documents), again.rank(queries, documents), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert again.metric_ == adapter.metric_
    assert again.is_adapted_ == adapter.is_adapted_


def rewritten(path: Path, change: dict[str, Any], **tensors: Any) -> None:
    with safe_open(str(path), framework="numpy") as opened:
        header = json.loads(opened.metadata()["vicinal_adapter"])
        held = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    held |= tensors
    text = json.dumps(header | change)
    metadata = {"vicinal_adapter": text, "sha256": _digest(text, held)}
    save_file(held, str(path), metadata)


@pytest.mark.parametrize(
    ("change", "tensors", "words"),
    [
        ({"format": 2}, {}, "another version"),
        ({"side": "left"}, {}, "the side"),
        ({"metric": None}, {}, "the metric"),
        ({"alpha": -1.0}, {}, "alpha or temperature"),
        ({"temperature": "0"}, {}, "alpha or temperature"),
        ({"is_adapted": 1}, {}, "is_adapted"),
        ({"more": 1}, {}, "the header's keys"),
        ({"evaluation": {"before": []}}, {}, "the evaluation"),
        ({}, {"query_components": np.zeros((3, 8))}, "shapes"),
        ({}, {"query_components": np.full((8, 8), np.nan)}, "not finite"),
        ({}, {"query_components": np.zeros((8, 8), dtype=np.int32)}, "type"),
        ({}, {"other": np.zeros(3)}, "other things"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    path: Path, change: dict[str, Any], tensors: dict[str, Any], words: str
) -> None:
    save_adapter(path, fitted())
    rewritten(path, change, **tensors)
    with pytest.raises(ValueError, match=words):
        load_adapter(path)


def test_files_that_were_edited_or_cut_are_refused(path: Path) -> None:
    with pytest.raises(OSError, match="is no file"):
        load_adapter(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="empty or far too large"):
        load_adapter(path)
    save_adapter(path, fitted())
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    with pytest.raises(ValueError, match="cut short"):
        load_adapter(path)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ValueError, match="edited after it was written"):
        load_adapter(path)
