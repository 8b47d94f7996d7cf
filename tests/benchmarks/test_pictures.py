"""The harness of `python -m benchmarks.pictures`."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import pictures


def test_runs_are_stored_and_not_computed_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(pictures, "REPORTED", ("wine",))
    store = tmp_path / "store.json"
    options = ["--store", str(store), "--splits", "2", "--tables", "wine"]
    models = ["--models", "SupervisedMap|NCA(2)|evidence"]
    pictures.main([*options, *models])
    first = capsys.readouterr().out
    runs = json.loads(store.read_text())
    assert len(runs) == 6
    scores = [one["accuracy"] for one in runs if one["model"] == "SupervisedMap"]
    mean, error = 100 * np.mean(scores), 100 * np.std(scores, ddof=1) / 2**0.5
    assert f"| wine | {mean:.1f} ± {error:.1f} |" in first
    assert "| wine | 0.9" in first  # the evidence
    monkeypatch.setattr(pictures, "run", lambda *_: pytest.fail("was run before"))
    pictures.main([*options, *models])
    assert capsys.readouterr().out == first


@pytest.mark.parametrize("name", pictures.CHANCE[:2])
def test_noise_has_as_many_labels_as_rows(name: str) -> None:
    X, numbers, y = pictures.read(name, 0)
    assert X is numbers
    assert len(X) == len(y)
    assert np.unique(y).size in (2, 3)
