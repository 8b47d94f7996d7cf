import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks import data

X = np.arange(12.0).reshape(6, 2)


def test_checksums_do_not_depend_on_names_of_classes_and_precision(
    tmp_path: Path,
) -> None:
    np.savez(tmp_path / "a.npz", X=X, y=["b", "b", "a", "c", "a", "b"])
    np.savez(tmp_path / "b.npz", X=X.astype(np.float32), y=[0, 0, 7, 5, 7, 0])
    np.savez(tmp_path / "c.npz", X=X, y=["b", "b", "a", "c", "a", "a"])
    a, b, c = (data.described(tmp_path / f"{name}.npz") for name in "abc")
    assert a == b
    assert a["sha256"] != c["sha256"]
    assert a["size"] == c["size"] == "6 × 2"


def test_files_are_compared_with_the_manifest(tmp_path: Path) -> None:
    np.savez(tmp_path / "same.npz", X=X, y=X[:, 0])
    np.savez(tmp_path / "other.npz", X=X + 1, y=X[:, 0])
    entry = data.described(tmp_path / "same.npz")
    manifest = dict.fromkeys(("same.npz", "other.npz", "absent.npz"), entry)
    assert data.check(tmp_path, manifest) == {
        "same.npz": "ok",
        "other.npz": "differs",
        "absent.npz": "missing",
    }


def test_fetched_tables_have_the_benchmarks_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": ["x", "y"]})
    bunch = SimpleNamespace(data=frame, target=pd.Series(["no", "yes"]))
    monkeypatch.setattr(data, "fetch_openml", lambda **_: bunch)
    data.fetch(tmp_path / "tables" / "mixed.csv", 1)
    text = (tmp_path / "tables" / "mixed.csv").read_text(encoding="utf-8")
    assert text == "a,b,target\n1.0,x,no\n,y,yes\n"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (["b", "a", "b", "a", "b", "a"], [1, 0, 1, 0, 1, 0]),
        (["1", "2", "1", "2", "1", "2"], [0, 1, 0, 1, 0, 1]),
        (["0.5", "2", "1", "2", "1", "2"], [0.5, 2, 1, 2, 1, 2]),
    ],
)
def test_fetched_targets_are_classes_from_zero_or_numbers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: list[str],
    expected: list[float],
) -> None:
    bunch = SimpleNamespace(data=X, target=np.array(target))
    monkeypatch.setattr(data, "fetch_openml", lambda **_: bunch)
    data.fetch(tmp_path / "plain.npz", 2)
    with np.load(tmp_path / "plain.npz", allow_pickle=False) as arrays:
        assert arrays["X"].dtype == np.float32
        np.testing.assert_array_equal(arrays["y"], expected)


def test_the_manifest_names_sources_and_checksums() -> None:
    manifest = json.loads(data.MANIFEST.read_text(encoding="utf-8"))
    assert all(one["source"] for one in manifest.values())
    assert all(len(one["sha256"]) == 64 for one in manifest.values())
