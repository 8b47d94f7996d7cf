"""Neighbours by an index beside the exact ones, and the recall that is said of them."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from vicinal.app.models import Recall, learn, neighbor_table, search
from vicinal.app.tables.prepared import prepare
from vicinal.app.tables.reading import read_table
from vicinal.neighbors import UsearchIndex


@pytest.fixture
def table(tmp_path: Path) -> str:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(5)})
    frame = frame.with_columns(target=pl.Series(np.where(X[:, 0] > 0, "a", "b")))
    path = tmp_path / "many.parquet"
    frame.write_parquet(path)
    return str(path)


def test_an_index_finds_nearly_all(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = learn(prepare(table, target="target"), "pca")
    expected = neighbor_table(model, table, n_neighbors=4)
    monkeypatch.setattr(search, "_is_worth_an_index", lambda *_: True)
    said: list[Recall] = []
    found = neighbor_table(model, table, n_neighbors=4, on_recall=said.append)
    assert found.columns == expected.columns
    assert (found["row"] != found["query"]).all()
    both = (found["row"].to_numpy() == expected["row"].to_numpy()).mean()
    assert both > 0.95
    assert said[0].n_checked == 100
    assert 0.95 < said[0].recall <= 1
    # A row that was missed is replaced by one farther away, and by none nearer.
    ours, true = found["distance"].to_numpy(), expected["distance"].to_numpy()
    same = found["row"].to_numpy() == expected["row"].to_numpy()
    np.testing.assert_allclose(ours[same], true[same], rtol=1e-4)
    assert (ours >= true * (1 - 1e-4)).all()
    exact = neighbor_table(
        model, table, n_neighbors=4, exact=True, on_recall=said.append
    )
    assert exact.equals(expected)
    assert len(said) == 1


def test_what_is_missed_is_counted() -> None:
    exact = np.array([[1, 2], [3, -1]])
    found = np.array([[2, 9], [3, 4]])
    assert search._recall(found, exact) == Recall(2 / 3, 2)


def test_few_questions_need_no_index(table: str) -> None:
    model = learn(prepare(table, target="target"), "pca")
    said: list[Recall] = []
    neighbor_table(model, table, rows=[0, 1], on_recall=said.append)
    assert said == []


def test_nobody_has_no_row(table: str) -> None:
    """Each of all rows is asked for as many as there are: the last one is nobody."""
    model = learn(prepare(table, target="target"), "pca")
    Z = model.transform(read_table(table).frame)
    nearest = search._Nearest(Z[:3], 600, np.arange(3))
    nearest.update(UsearchIndex().build(Z[:200]).add(Z[200:]), 600)
    rows, distances = nearest.rows, nearest.distances
    assert (rows[:, -1] == -1).all()
    assert np.isposinf(distances[:, -1]).all()
    # An index finds nearly all, and not the same ones in every run.
    assert np.isin(np.arange(1, 600), rows[0]).mean() > 0.9
