from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from vicinal.app.models import learn, nearest_rows
from vicinal.app.tables.prepared import prepare

if TYPE_CHECKING:
    from pathlib import Path

    from vicinal._typing import FloatArray


def naive(Z: FloatArray, query: int, k: int) -> list[int]:
    order = np.argsort(np.linalg.norm(Z - Z[query], axis=1), kind="stable")
    return [int(i) for i in order if i != query][:k]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("query", [0, 77, 177])
def test_against_all_distances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, query: int
) -> None:
    monkeypatch.setattr("vicinal.app.tables.reading.PIECE", 40)
    monkeypatch.setattr("vicinal.app.tables.delimited._CHUNK", 500)
    prepared = prepare("wine")
    model = learn(prepared, "lda")
    path = tmp_path / f"t.{suffix}"
    frame = prepared.frame
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    found = nearest_rows(model, str(path), query, 7)
    y = np.asarray(prepared.y)
    X = model.prepare(frame)
    for side, Z in ((found.euclidean, X), (found.learned, model.map(X))):
        assert side.rows.tolist() == naive(Z, query, 7)
        np.testing.assert_allclose(
            side.distances, np.linalg.norm(Z[side.rows] - Z[query], axis=1)
        )
        assert side.labels == y[side.rows].tolist()
    assert found.label == y[query]
    assert found.query == query


def test_duplicates_missing_labels_and_small_tables(tmp_path: Path) -> None:
    model = learn(prepare("iris"), "standardised")
    frame = prepare("iris").frame[[0, 0, 0, 5]]
    path = str(tmp_path / "t.parquet")
    frame.drop("target").write_parquet(path)
    found = nearest_rows(model, path, 1, 10)
    assert found.learned.rows.tolist() == [0, 2, 3]
    assert found.learned.distances[:2].tolist() == [0, 0]
    assert found.label is None
    assert found.learned.labels is None
    frame.with_columns(target=pl.lit(None, dtype=pl.String)).write_parquet(path)
    assert nearest_rows(model, path, 1, 1).learned.labels == [""]
    frame.head(1).write_parquet(path)
    assert nearest_rows(model, path, 0, 1).learned.rows.tolist() == []


@pytest.mark.parametrize("query", [-1, 150, 10**30])
def test_no_such_row(query: int) -> None:
    model = learn(prepare("iris"), "standardised")
    with pytest.raises(ValueError, match=f"no row {query}: iris has 150 rows"):
        nearest_rows(model, "iris", query)
    with pytest.raises(ValueError, match="at least 1 neighbour, not 0"):
        nearest_rows(model, "iris", 0, 0)


def test_of_rows_equally_near_the_first_come_first(tmp_path: Path) -> None:
    """In one piece or in many, and however few of the equals are asked for."""
    path = str(tmp_path / "t.parquet")
    frame = pl.DataFrame({"x": np.tile([0.0, 1.0, 2.0], 400), "z": [0.5, 1.5] * 600})
    frame.write_parquet(path)
    model = learn(prepare(path, no_target=True), "standardised")
    same = np.flatnonzero((frame["x"] == 0) & (frame["z"] == 0.5))
    found = nearest_rows(model, path, 600, 150).learned
    assert found.rows.tolist() == [row for row in same.tolist() if row != 600][:150]
