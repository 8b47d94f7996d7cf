from __future__ import annotations

import json
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import vicinal
from vicinal import persistence
from vicinal.app.models import SavedModel, load, saved
from vicinal.app.tables.columns import Columns

if TYPE_CHECKING:
    from pathlib import Path

FRAME = pl.DataFrame(
    {
        "<script>": [1.5, 2, None, 4],
        "c": list("aabb"),
        "l": [1, 2] * 2,
        "d": ["31.12.2024", "1.1.2025"] * 2,
    }
)


def model(**changes: Any) -> SavedModel:
    columns = Columns.learn(FRAME, "l")
    plain = SavedModel(
        method="nca",
        task="classification",
        columns=columns,
        median=np.array([2.0, 0.5, 0.5]),
        mean=np.array([1.0, 0.0, 0.0]),
        scale=np.array([2.0, 1.0, 1.0]),
        components=np.arange(6.0).reshape(2, 3),
        target="l",
        classes=("<script>alert(1)</script>", "é"),
        parameters={"n_components": 2},
        versions={"vicinal": "0"},
    )
    return replace(plain, **changes)


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    vicinal.save(path, model())
    again = vicinal.load(str(path))
    for name in ("method", "task", "columns", "target", "classes", "parameters"):
        assert getattr(again, name) == getattr(model(), name)
    np.testing.assert_array_equal(again.transform(FRAME), model().transform(FRAME))
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_transform_is_what_the_file_says(tmp_path: Path) -> None:
    """The four arrays and the header are enough, without vicinal."""
    vicinal.save(tmp_path / "m.safetensors", model())
    t = load_file(tmp_path / "m.safetensors")
    day = 20088
    X = np.array([[1.5, 0, day], [2, 0, day + 1], [np.nan, 1, day], [4, 1, day + 1]])
    filled = np.where(np.isnan(X), t["median"], X)
    expected = (filled - t["mean"]) / t["scale"] @ t["components"].T
    np.testing.assert_allclose(model().transform(FRAME), expected)


NUMBERS = st.floats(-1e6, 1e6, width=32)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    components=st.lists(
        st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=3
    ),
    dtype=st.sampled_from([np.float32, np.float64]),
    classes=st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True),
    order=st.sampled_from(["C", "F"]),
)
def test_any_model_comes_back(
    tmp_path: Path, components: Any, dtype: Any, classes: list[str], order: Any
) -> None:
    A = np.array(components, dtype=dtype, order=order)
    vicinal.save(tmp_path / "m", model(components=A, classes=tuple(classes)))
    again = vicinal.load(tmp_path / "m")
    np.testing.assert_array_equal(again.components, A, strict=True)
    assert again.classes == tuple(classes)


@pytest.mark.parametrize(
    "changes",
    [
        {"components": np.ones((2, 4))},
        {"components": np.ones((0, 3))},
        {"components": np.ones((4, 3))},
        {"method": "\x1b]0;title\x07"},
        {"method": "\ud800"},
        {"components": np.full((2, 3), np.nan)},
        {"components": np.ones(3)},
        {"median": np.array([1.0, np.inf, 0.0])},
        {"scale": np.array([1.0, 0.0, 1.0])},
        {"mean": np.zeros(2)},
        {"task": "cooking"},
        {"classes": ("a", "a")},
        {"method": ""},
        {"parameters": {"alpha": float("nan")}},
    ],
)
def test_what_does_not_fit_is_not_written(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        vicinal.save(tmp_path / "m.safetensors", model(**changes))
    assert list(tmp_path.iterdir()) == []


def message(path: Path) -> str:
    with pytest.raises((ValueError, OSError)) as caught:
        load(path)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(("save it again.", "wrote.", "saved model."))
    return text


def test_every_cut_is_noticed(tmp_path: Path) -> None:
    whole = tmp_path / "m.safetensors"
    vicinal.save(whole, model())
    content = whole.read_bytes()
    path = tmp_path / "cut.safetensors"
    for length in range(0, len(content), 13):
        path.write_bytes(content[:length])
        message(path)
    path.write_bytes(content + b"more")
    message(path)


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    whole = tmp_path / "m.safetensors"
    vicinal.save(whole, model())
    content = bytearray(whole.read_bytes())
    path = tmp_path / "edited.safetensors"
    for place in range(0, len(content), 5):
        edited = bytearray(content)
        edited[place] ^= 1
        path.write_bytes(edited)
        message(path)


def forged(path: Path, edit: Any = None, tensors: dict[str, Any] | None = None) -> Path:
    """Write a model with a header that was edited and signed again."""
    vicinal.save(path, model())
    arrays = {**load_file(path), **(tensors or {})}
    (length,) = struct.unpack("<Q", path.read_bytes()[:8])
    header = json.loads(path.read_bytes()[8 : 8 + length])
    described = json.loads(header["__metadata__"]["vicinal"])
    text = edit(described) if edit is not None else None
    if not isinstance(text, str):
        text = json.dumps(described)
    save_file(
        arrays, path, {"vicinal": text, "sha256": persistence.digest(text, arrays)}
    )
    return path


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda d: d.update(format=2), "format 2, and this version reads 1"),
        (lambda d: d.update(format=True), "format True"),
        (lambda d: d.update(extra=1), "extra"),
        (lambda d: d.pop("task") and None, "task"),
        (lambda d: d.update(method=3), "method"),
        (lambda d: d.update(method="m" * 1000), "method"),
        (lambda d: d.update(task=["none"]), "task"),
        (lambda d: d.update(target=3), "target"),
        (lambda d: d.update(classes="ab"), "classes"),
        (lambda d: d.update(classes=[1]), "classes"),
        (lambda d: d.update(parameters=[]), "parameters"),
        (lambda d: d.update(versions={"a": 1}), "versions"),
        (lambda d: d.update(columns={}), "description of the columns"),
        (lambda d: d["columns"]["categories"].update(c=["a", "z"]), "features' names"),
        (lambda d: d.update(feature_names=["a", "b", "c"]), "features' names"),
        (lambda d: "[" * 100_000, "is not a model to trust"),
        (lambda d: "{", "is not a model to trust"),
        (lambda d: "3", "no object"),
        (lambda d: json.dumps(d).replace('"0"', "NaN"), "NaN in the header"),
    ],
)
def test_forged_headers(tmp_path: Path, edit: Any, expected: str) -> None:
    assert expected in message(forged(tmp_path / "m.safetensors", edit))


@pytest.mark.parametrize(
    "tensors",
    [
        {"components": np.ones((2, 3), dtype=np.float16)},
        {"components": np.ones((2, 3), dtype=np.int64)},
        {"components": np.ones((2, 2, 3))},
        {"components": np.ones((2, 9))},
        {"scale": -np.ones(3)},
        {"median": np.full(3, np.inf)},
        {"surprise": np.ones(3)},
    ],
)
def test_forged_tensors(tmp_path: Path, tensors: dict[str, Any]) -> None:
    assert "is not a model to trust" in message(
        forged(tmp_path / "m.safetensors", tensors=tensors)
    )


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=5,
)
KEYS = (
    *("format", "type", "method", "task", "target", "classes", "parameters"),
    *("versions", "columns", "feature_names"),
)
DECISION = ("column", "kind", "reason", "form", "asked")
PLACES = [
    *((key,) for key in KEYS),
    *(("columns", key) for key in ("decisions", "categories", "lengths", "dtype")),
    *(("columns", "decisions", 3, key) for key in DECISION),
    *(("columns", "decisions", 0, key) for key in DECISION),
    ("columns", "decisions", 0),
    ("columns", "categories", "c"),
    ("columns", "categories", "c", 0),
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.sampled_from(PLACES), junk=JUNK)
def test_any_junk_in_the_header(
    tmp_path: Path, place: tuple[Any, ...], junk: Any
) -> None:
    """A header that was edited anywhere loads as a whole model or not at all."""

    def edit(described: dict[str, Any]) -> None:
        inner: Any = described
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = junk

    try:
        found = vicinal.load(forged(tmp_path / "m.safetensors", edit))
    except ValueError as error:
        assert "is not a model to trust" in str(error)  # noqa: PT017
    else:
        assert found.components.shape == (2, len(found.columns.feature_names))
        assert isinstance(found.method, str)


def test_a_good_forgery_loads(tmp_path: Path) -> None:
    assert vicinal.load(forged(tmp_path / "m.safetensors")).method == "nca"


def test_other_files(tmp_path: Path) -> None:
    assert "does not exist" in message(tmp_path / "none")
    assert "is a folder" in message(tmp_path)
    for content in (b"", b"a,b\n1,2\n", b"\x80\x04pickle" * 9, b"\xff" * 64):
        (tmp_path / "m").write_bytes(content)
        message(tmp_path / "m")
    save_file({"weights": np.ones(3)}, tmp_path / "m")
    assert "not written by vicinal.save" in message(tmp_path / "m")
    brain = {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}
    header = json.dumps(
        {**dict.fromkeys(saved._ARRAYS, brain), "__metadata__": {"vicinal": "{}"}}
    ).encode()
    (tmp_path / "m").write_bytes(struct.pack("<Q", len(header)) + header + b"\0\0")
    message(tmp_path / "m")


def test_a_full_disk_leaves_nothing_and_keeps_what_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.safetensors"
    vicinal.save(path, model())
    before = path.read_bytes()

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        vicinal.save(path, model(method="lda"))
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F16", "I64"])
def test_types_that_a_model_never_has(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "m.safetensors"
    vicinal.save(path, model())
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    bits = {"F4": 4, "F16": 16, "I64": 64}.get(kind, 8)
    header["mean"].update(dtype=kind, shape=[3 * 64 // bits])
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
    edited = kind in ("F16", "I64")
    assert ("edited" if edited else f"mean has type {kind}") in message(path)


def test_the_digest_knows_types_and_shapes() -> None:
    """The same bytes as other numbers, or in another shape, are another model."""
    zeros = dict.fromkeys(saved._ARRAYS, np.zeros((2, 3)))
    others = [np.zeros((3, 2)), np.zeros(6), np.zeros((2, 3), np.int64)]
    found = {persistence.digest("", {**zeros, "components": one}) for one in others}
    found |= {persistence.digest("", zeros), persistence.digest("text", zeros)}
    assert len(found) == 5


def test_the_same_bytes_as_numbers_of_another_type(tmp_path: Path) -> None:
    """Two rows of float64 are four of float32: finite, and of a shape that fits."""
    path = tmp_path / "m.safetensors"
    columns = Columns.learn(
        pl.DataFrame({name: [1.5, 2.5, 0.5] for name in "abcd"}), None
    )
    vectors = {name: np.ones(4) for name in ("median", "mean", "scale")}
    components = np.arange(8.0).reshape(2, 4)
    vicinal.save(path, model(columns=columns, components=components, **vectors))
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header["components"].update(dtype="F32", shape=[4, 4])
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
    assert "edited after it was written" in message(path)
