"""Tables of vectors, and of which belong to which."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from vicinal.app.tables.embeddings import read_embeddings, read_relevance


def written(folder: Path, name: str, columns: dict[str, object]) -> str:
    path = folder / name
    frame = pl.DataFrame(columns)
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return str(path)


def test_vectors_with_names_and_texts(tmp_path: Path) -> None:
    columns = {"id": ["a", "b"], "text": ["x", "y"], "vector": [[1.0, 2.0], [3.0, 4.0]]}
    found = read_embeddings(written(tmp_path, "q.parquet", columns))
    assert found.ids == ["a", "b"]
    assert found.texts == ["x", "y"]
    assert found.vectors.tolist() == [[1, 2], [3, 4]]
    assert "ids from 'id'; texts from 'text'" in found.columns


def test_a_column_for_each_number(tmp_path: Path) -> None:
    columns = {"id": [7, 8], "v0": [1.0, 2.0], "v1": [3.0, 4.0]}
    found = read_embeddings(written(tmp_path, "q.csv", columns))
    assert found.ids == ["7", "8"]
    assert found.texts is None
    assert found.vectors.tolist() == [[1, 3], [2, 4]]


def test_rows_without_names_have_numbers(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    np.save(path, np.eye(3))
    found = read_embeddings(str(path))
    assert found.ids == ["0", "1", "2"]
    assert "ids are the rows' numbers" in found.columns
    assert found.vectors.shape == (3, 3)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": ["a", "a"], "v": [[1.0], [2.0]]}, "'a' twice"),
        ({"id": ["a", None], "v": [[1.0], [2.0]]}, "no name in row 1"),
        ({"id": ["a", "b"], "v": [[1.0], [2.0, 3.0]]}, "has no vectors"),
        ({"id": ["a", "b"], "v": [[1.0], None]}, "Row 1 of .* no whole vector"),
        ({"id": ["a", "b"], "v": [[1.0], [float("inf")]]}, "Row 1"),
        ({"id": ["a", "b"], "text": ["x", "y"]}, "has no vectors"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, columns: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        read_embeddings(written(tmp_path, "q.parquet", columns))


def test_columns_that_are_asked_for_must_be_there(tmp_path: Path) -> None:
    path = written(tmp_path, "q.parquet", {"text": ["a"], "v": [[1.0]]})
    with pytest.raises(ValueError, match="no column 'txt'"):
        read_embeddings(path, text="txt")


def test_relevance_by_names(tmp_path: Path) -> None:
    columns = {"id": ["a", "b"], "vector": [[1.0], [2.0]]}
    both = read_embeddings(written(tmp_path, "q.parquet", columns))
    named = {"doc": ["b", "a"], "query": ["a", "a"], "grade": [1, 3]}
    expected = [[0, 1, 1], [0, 0, 3]]
    path = written(tmp_path, "r.csv", named)
    assert read_relevance(path, both, both).pairs.tolist() == expected
    plain = written(tmp_path, "p.csv", {"from": ["a", "b"], "to": ["b", "a"]})
    assert read_relevance(plain, both, both).pairs.tolist() == [[0, 1, 1], [1, 0, 1]]
    wrong: list[tuple[dict[str, object], str]] = [
        ({"query": ["c"], "document": ["a"]}, "names 'c', which"),
        ({"query": ["a"]}, "column of queries and one of documents"),
        ({"query": ["a"], "document": ["b"], "grade": ["high"]}, "must be numbers"),
    ]
    for one, words in wrong:
        with pytest.raises(ValueError, match=words):
            read_relevance(written(tmp_path, "w.csv", one), both, both)
