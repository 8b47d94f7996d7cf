from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.utils import Bunch

from vicinal.datasets import available, load

if TYPE_CHECKING:
    from pathlib import Path

X = np.arange(12, dtype=np.float64).reshape(4, 3)
y = np.array([0, 1, 1, 0])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VICINAL_DATA", str(tmp_path))
    return tmp_path


def test_bundled_labels_are_class_names() -> None:
    bunch = load_breast_cancer()
    dataset = load("breast_cancer")
    np.testing.assert_array_equal(dataset.X, bunch.data)
    np.testing.assert_array_equal(dataset.y == "benign", bunch.target == 1)
    assert set(dataset.y.tolist()) == {"benign", "malignant"}
    assert dataset.feature_names is not None
    assert dataset.feature_names[0] == "mean radius"
    assert len(dataset.feature_names) == dataset.X.shape[1]
    assert dataset.is_test is None


def test_digits_are_integers() -> None:
    dataset = load("digits")
    assert dataset.y.dtype.kind == "i"
    np.testing.assert_array_equal(dataset.y, load_digits().target)


@pytest.mark.parametrize("name", ["iris", "wine", "digits", "breast_cancer"])
def test_bundled_needs_no_folder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VICINAL_DATA", raising=False)
    dataset = load(name)
    assert dataset.name == name
    assert dataset.X.dtype.kind == "f"
    assert dataset.y.shape == dataset.X.shape[:1]


def test_npz_with_everything(folder: Path) -> None:
    np.savez(
        folder / "mine.npz",
        X=X,
        y=y,
        class_names=np.array(["no", "yes"]),
        feature_names=np.array(["a", "b", "c"]),
        is_test=np.array([False, False, True, True]),
    )
    dataset = load("mine")
    np.testing.assert_array_equal(dataset.X, X)
    assert dataset.y.tolist() == ["no", "yes", "yes", "no"]
    assert dataset.feature_names == ["a", "b", "c"]
    assert dataset.is_test is not None
    assert dataset.is_test.tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("stored", "loaded"),
    [
        (np.uint8, np.float32),
        (np.int64, np.float32),
        (np.bool_, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
    ],
)
def test_npz_dtype(folder: Path, stored: Any, loaded: Any) -> None:
    np.savez(folder / "mine.npz", X=X.astype(stored), y=y)
    dataset = load("mine")
    assert dataset.X.dtype == loaded
    np.testing.assert_array_equal(dataset.X, X.astype(stored).astype(loaded))
    np.testing.assert_array_equal(dataset.y, y)
    assert dataset.feature_names is None


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X}, "no array y"),
        ({"y": y}, "no array X"),
        ({"X": X[0], "y": y}, "2-D array of numbers, not 1-D"),
        ({"X": X.astype(str), "y": y}, "2-D array of numbers, not 2-D of type <U"),
        ({"X": X.astype(complex), "y": y}, "type complex128"),
        ({"X": X, "y": y[:3]}, r"each of the 4 rows of X, but has shape \(3,\)"),
        ({"X": X, "y": y[:, None]}, r"shape \(4, 1\)"),
        ({"X": X, "y": y.astype("M8[s]")}, "type datetime64"),
        ({"X": X, "y": y, "class_names": np.array(["no"])}, "index class_names"),
        ({"X": X, "y": y - 1, "class_names": np.array(["a", "b"])}, "index class_name"),
        ({"X": X, "y": y / 2, "class_names": np.array(["a", "b"])}, "index class_name"),
        ({"X": X, "y": y, "class_names": np.array("ab")}, "index class_names"),
        ({"X": X, "y": y, "feature_names": np.array(["a"])}, "string for each column"),
        ({"X": X, "y": y, "feature_names": X[0]}, "string for each column"),
        ({"X": X, "y": y, "is_test": y}, "boolean for each row"),
        ({"X": X, "y": y, "is_test": y[:2] > 0}, "boolean for each row"),
    ],
)
def test_npz_that_is_no_data_set(
    folder: Path, arrays: dict[str, Any], message: str
) -> None:
    np.savez(folder / "bad.npz", **arrays)
    with pytest.raises(ValueError, match=message) as caught:
        load("bad")
    assert str(caught.value).startswith("bad.npz ")


def npy(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


HUGE = npy(y).replace(b"(4,), }" + b" " * 21, b"(" + b"9" * 22 + b",), }")


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (npy(np.array([{}, 1, 2, 3], dtype=object)), "without pickle"),
        (b"not an array", r"y\.npy holds no array"),
        (b"", r"y\.npy holds no array"),
        (npy(y)[:-8], r"y\.npy is shorter than its header says"),
        (HUGE, r"y\.npy is shorter than its header says"),
    ],
    ids=["pickle", "text", "empty", "cut off", "huge"],
)
def test_hostile_member(folder: Path, member: bytes, message: str) -> None:
    with zipfile.ZipFile(folder / "bad.npz", "w") as archive:
        archive.writestr("X.npy", npy(X))
        archive.writestr("y.npy", member)
    with pytest.raises(ValueError, match=message):
        load("bad")


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_headers_of_either_version(folder: Path, version: tuple[int, int]) -> None:
    with zipfile.ZipFile(folder / "mine.npz", "w") as archive:
        for name, array in (("X", X), ("y", y)):
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, version)
    np.testing.assert_array_equal(load("mine").X, X)


@pytest.mark.parametrize(
    ("dtype", "large", "memory", "message"),
    [
        (np.float64, 500_000, 1e9, "0.0 GB of numbers in 0.000 GB, as files do that"),
        (np.uint8, 500_000, 1e9, "write them with np.savez, not with np.savez_com"),
        (np.float64, 10**9, 1e6, "holds 0.0 GB of numbers, more than there is memory"),
    ],
)
def test_small_files_of_large_arrays_are_refused_unread(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    dtype: Any,
    large: int,
    memory: float,
    message: str,
) -> None:
    np.savez_compressed(folder / "bomb.npz", X=np.zeros((200_000, 1), dtype), y=y)
    monkeypatch.setattr("vicinal.datasets._LARGE", large)
    monkeypatch.setattr("vicinal.datasets.machine_memory", lambda: memory)
    monkeypatch.setattr("vicinal.datasets.read_array", pytest.fail)
    with pytest.raises(ValueError, match=message):
        load("bomb")


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 broken", npy(X)])
def test_file_that_is_no_archive(folder: Path, content: bytes) -> None:
    (folder / "bad.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.npz cannot be read as an \.npz file"):
        load("bad")


@pytest.mark.parametrize("name", ["../mine", "sub/mine", "sub\\mine", "C:mine", ""])
def test_a_name_is_not_a_path(folder: Path, name: str) -> None:
    inner = folder / "sub"
    inner.mkdir()
    for place in (inner, folder, folder.parent):
        np.savez(place / "mine.npz", X=X, y=y)
    with pytest.raises(ValueError, match="is not a data set's name"):
        load(name)


def test_unknown_name_says_what_to_do(folder: Path) -> None:
    np.savez(folder / "mine.npz", X=X, y=y)
    with pytest.raises(ValueError, match="'nope'") as caught:
        load("nope")
    for part in ("breast_cancer", "mine", "mnist", "VICINAL_DATA"):
        assert part in str(caught.value)


def test_available(folder: Path) -> None:
    for name in ("zebra", "ant", "iris", ".hidden", "with space"):
        np.savez(folder / f"{name}.npz", X=X, y=y)
    (folder / "notes.txt").touch()
    (folder / "folder.npz").mkdir()
    bundled = ["iris", "wine", "digits", "breast_cancer"]
    assert available() == [*bundled, "ant", "zebra"]


@pytest.mark.parametrize("value", [None, "", "/nowhere/at/all"])
def test_available_without_a_folder(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("VICINAL_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("VICINAL_DATA", value)
    assert available() == ["iris", "wine", "digits", "breast_cancer"]


def test_mnist_comes_from_openml(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def fetch(*args: Any, **options: Any) -> Bunch:
        asked.append((args, options))
        return Bunch(
            data=np.zeros((10_003, 2)),
            target=np.array(["7"] * 10_003, dtype=object),
            feature_names=["pixel1", "pixel2"],
        )

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    dataset = load("mnist")
    assert asked == [
        (("mnist_784",), {"version": 1, "as_frame": False, "parser": "liac-arff"})
    ]
    assert dataset.X.dtype == np.float32
    assert dataset.y.dtype.kind == "U"
    assert dataset.is_test is not None
    assert np.flatnonzero(dataset.is_test).tolist() == list(range(3, 10_003))

    np.savez(folder / "mnist.npz", X=X, y=y)
    assert load("mnist").X.shape == X.shape
    assert len(asked) == 1


def test_failed_download_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(*args: Any, **options: Any) -> Bunch:
        raise ConnectionError("no network")

    monkeypatch.delenv("VICINAL_DATA", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    with pytest.raises(OSError, match=r"no network.*VICINAL_DATA"):
        load("mnist")
