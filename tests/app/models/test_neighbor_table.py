from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from vicinal.app.models import find_rows, learn, neighbor_table
from vicinal.app.tables.prepared import prepare

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_against_all_distances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr("vicinal.app.tables.reading.PIECE", 40)
    monkeypatch.setattr("vicinal.app.tables.delimited._CHUNK", 500)
    wine = prepare("wine")
    model = learn(wine, "lda")
    path = str(tmp_path / f"t.{suffix}")
    getattr(wine.frame, f"write_{suffix}")(path)
    seen: list[int] = []
    found = neighbor_table(model, path, n_neighbors=5, on_rows=seen.append)
    Z = model.transform(wine.frame)
    everything = np.linalg.norm(Z[:, None] - Z, axis=2)
    np.fill_diagonal(everything, np.inf)
    order = np.argsort(everything, axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(found["row"].to_numpy().reshape(178, 5), order)
    np.testing.assert_allclose(
        found["distance"].to_numpy().reshape(178, 5),
        np.take_along_axis(everything, order, 1),
    )
    assert found["query"].to_list() == np.repeat(np.arange(178), 5).tolist()
    assert wine.y is not None
    assert found["target"].to_list() == wine.y[order.ravel()].tolist()
    assert seen[-1] == 178
    # Among the rows of another table, a row may well be its own nearest.
    other = str(tmp_path / f"u.{suffix}")
    getattr(wine.frame, f"write_{suffix}")(other)
    found = neighbor_table(model, path, among=other, rows=[9, 3], n_neighbors=1)
    assert found["query"].to_list() == found["row"].to_list() == [9, 3]


def test_of_equals_the_first_and_no_more_than_there_are(tmp_path: Path) -> None:
    path = str(tmp_path / "t.parquet")
    pl.DataFrame({"x": [0.0, 1, 0, 0, 5], "z": [1.0, 1, 1, 1, 2]}).write_parquet(path)
    model = learn(prepare(path, no_target=True), "standardised")
    found = neighbor_table(model, path, rows=[2], n_neighbors=2)
    assert found["row"].to_list() == [0, 3]
    found = neighbor_table(model, path, rows=[2], n_neighbors=99)
    assert found["row"].to_list() == [0, 3, 1, 4]


def test_rows_by_what_they_are_called(tmp_path: Path) -> None:
    path = str(tmp_path / "t.csv")
    rows = [f"a{i},{i % 4},{i * i % 7}" for i in range(20)] + ["a3,1,1"]
    (tmp_path / "t.csv").write_text("\n".join(["id,x,rank", *rows]) + "\n")
    assert find_rows(path, "id", ["a7", "a3"]) == [7, 3, 20]
    model = learn(prepare(path, no_target=True), "standardised")
    with pytest.raises(ValueError, match="'rank' cannot be shown"):
        neighbor_table(model, path, show=["rank"])
    with pytest.raises(ValueError, match="no row 21"):
        neighbor_table(model, path, rows=[0, 21])
    with pytest.raises(ValueError, match="no row -1"):
        neighbor_table(model, path, rows=[-1])
    found = neighbor_table(model, path, rows=[5], name="id", show=["x", "id"])
    assert found.columns == [
        *["query", "query_id", "rank", "row", "row_id", "distance", "x"]
    ]
