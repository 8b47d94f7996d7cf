"""Additive metrics in files, and files that lie."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vicinal
from vicinal import TableNCAClassifier, TableNCARegressor
from vicinal.persistence import digest, to_parts

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "number": rng.normal(size=60),
        "kind": rng.choice(["u", "v"], 60),
        "grade": pd.Categorical(rng.choice(["a", "b"], 60), ["b", "a"], ordered=True),
    }
)
FRAME.loc[:5, "number"] = np.nan
y = np.where(rng.random(60) < 0.5, "no", "yes")


@pytest.fixture(scope="module")
def fitted() -> TableNCAClassifier:
    model = TableNCAClassifier(4, max_iter=2, n_estimators=2, random_state=0)
    return model.fit(FRAME, y)


@pytest.mark.parametrize("form", ["additive", "diagonal"])
def test_an_estimator_comes_back(form: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    model = TableNCARegressor(form=form, max_iter=2, random_state=0)
    model.fit(FRAME, rng.normal(size=60))
    vicinal.save(path, model)
    again = vicinal.load(path)
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))
    np.testing.assert_array_equal(again.predict(), model.predict())
    one, other = again.explain(FRAME[:2]), model.explain(FRAME[:2])
    np.testing.assert_array_equal(one.shares, other.shares)
    assert b"pickle" not in path.read_bytes()


ENCODER, FORM = "state/_encoder/state", "state/_form/state"


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (f"{FORM}/n_components", 2**31 - 1),
        (f"{FORM}/n_components", 4.0),
        (f"{FORM}/n_frequencies", 10**400),
        (f"{FORM}/n_levels", 10**9),
        (f"{FORM}/n_numbers", 1),
        ("state/_form", None),
        ("params/form", "round"),
        ("state/_members/list", []),
        ("state/_members", None),
        ("state/classes_", {"objects": ["no"], "shape": [1]}),
        ("state/classes_", None),
        ("state/n_features_in_", 10**9),
        ("state/feature_names_in_", {"objects": ["a"], "shape": [1]}),
        ("state/_kept", None),
        ("state/_rows", None),
        ("state/_targets", 1.0),
        ("state/_weights", None),
        ("state/_encoder", None),
        (f"{ENCODER}/categorical/list", [0, 1]),
        (f"{ENCODER}/categorical/list", ["kind"]),
        (f"{ENCODER}/categories/list", []),
        (f"{ENCODER}/ordered/list", []),
        (f"{ENCODER}/flagged/list", [7]),
        (f"{ENCODER}/dates/list", [7]),
    ],
)
def test_headers_that_lie(fitted: Any, where: str, value: Any, tmp_path: Path) -> None:
    header, arrays = to_parts(fitted)
    header = json.loads(json.dumps(header))
    *path, last = where.split("/")
    inside = header["model"]
    for key in path:
        inside = inside[int(key) if key.isdecimal() else key]
    assert last in inside
    inside[last] = value
    refused(tmp_path / "model.safetensors", header, arrays)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, np.nan) for name in ("_rows", "_targets", "points", "parameters")],
        *[(name, None) for name in ("_rows", "_kept", "_targets", "points")],
        *[("knots", value) for value in (np.nan, -1e9)],
        ("held", None),
        ("_rows", 1e6),
        ("_rows", 0.5),
        ("_kept", -5),
    ],
)
def test_arrays_that_lie(fitted: Any, name: str, value: Any, tmp_path: Path) -> None:
    header, arrays = to_parts(fitted)
    place = next(one for one in arrays if one.endswith(f".{name}"))
    array = arrays[place].copy()
    if value is None:
        array = array[:-1]
    else:
        array.flat[-1] = value
    refused(tmp_path / "model.safetensors", header, {**arrays, place: array})


def refused(path: Path, header: Any, arrays: Any) -> None:
    """Write a file with a valid checksum, and expect that it is refused."""
    from safetensors.numpy import save_file

    arrays = {name: np.asarray(one, order="C") for name, one in arrays.items()}
    text = json.dumps({"type": "estimator", "format": 1, **header})
    save_file(arrays, path, {"vicinal": text, "sha256": digest(text, arrays)})
    with pytest.raises(ValueError, match="not a model to trust"):
        vicinal.load(path)
