from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import vicinal
from vicinal.app.models import learn, transform_file
from vicinal.app.tables.embeddings import read_embeddings
from vicinal.app.tables.notation import read_vectors
from vicinal.app.tables.prepared import prepare

if TYPE_CHECKING:
    from pathlib import Path

    from vicinal._typing import FloatArray

X = np.random.default_rng(0).normal(size=(30, 5))


def written(path: Path, cells: list[str]) -> Path:
    lines = [f'{i},"{cell}",{"ab"[i % 2]}' for i, cell in enumerate(cells)]
    path.write_text("\n".join(["id,embedding,label", *lines]) + "\n")
    return path


def as_json(rows: FloatArray) -> list[str]:
    return [str(row) for row in rows.tolist()]


@pytest.mark.parametrize("form", ["json", "numpy", "lines"])
def test_lists_in_text_are_vectors(tmp_path: Path, form: str) -> None:
    cells = as_json(X)
    if form == "numpy":
        cells = [str(row) for row in X]
    if form == "lines":
        cells = [cell.replace(", ", ",\n ") for cell in cells]
    found = prepare(written(tmp_path / "t.csv", cells))
    assert [one.kind for one in found.decisions] == ["identifier", "vector", "target"]
    assert found.feature_names[:2] == ["embedding[0]", "embedding[1]"]
    np.testing.assert_allclose(found.X, X, atol=1e-8)
    read = read_embeddings(str(tmp_path / "t.csv"))
    np.testing.assert_allclose(read.vectors, X, atol=1e-8)


def test_a_model_of_text_vectors_maps_a_text_file(tmp_path: Path) -> None:
    data = prepare(written(tmp_path / "t.csv", as_json(X)))
    model = learn(data, "pca", n_components=2)
    vicinal.save(tmp_path / "m.st", model)
    again = vicinal.load(tmp_path / "m.st")
    transform_file(again, str(tmp_path / "t.csv"), tmp_path / "out.npy")
    np.testing.assert_allclose(
        np.load(tmp_path / "out.npy"), again.map(again.scaled(X))
    )
    cells = [*as_json(X[:7]), "[1, 2]", *as_json(X[8:])]
    wrong = written(tmp_path / "wrong.csv", cells)
    with pytest.raises(
        ValueError, match=r"with 5 numbers, but line 9 of wrong.csv has '\[1, 2\]'"
    ):
        transform_file(again, str(wrong), tmp_path / "out.npy")


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("[0.1 ... 0.3]", "but '[0.1 ... 0.3]' is not one; write all numbers"),
        ("[0.1, red]", "but '[0.1, red]' is not one"),
        ("[1, 2]", "lists of 2 to 5 numbers"),
    ],
)
def test_lists_that_are_no_vectors_say_why(
    tmp_path: Path, cell: str, reason: str
) -> None:
    path = written(tmp_path / "t.csv", [*as_json(X), cell])
    with pytest.raises(ValueError, match="no column to learn from") as error:
        prepare(path)
    assert reason in str(error.value)


def test_missing_vectors_stay_missing() -> None:
    cells = pl.Series(["[1, 2]", None, "[]", "1, 2"])
    assert read_vectors(cells).to_list() == [[1.0, 2.0], None, None, None]
