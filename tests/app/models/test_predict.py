from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from sklearn.neighbors import KNeighborsClassifier

from vicinal.app.models import NeighborPredictor, learn, predict_file
from vicinal.app.tables.prepared import prepare

if TYPE_CHECKING:
    from pathlib import Path


def test_the_same_as_k_nn_on_the_mapped_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vicinal.app.tables.sources.PIECE", 20)
    wine = prepare("wine")
    assert wine.y is not None
    model = learn(wine, "pca", n_components=3)
    train, test = str(tmp_path / "train.parquet"), str(tmp_path / "test.parquet")
    wine.frame[::2].write_parquet(train)
    wine.frame[1::2].write_parquet(test)
    out = tmp_path / "out.csv"
    found = predict_file(model, test, train, out, n_neighbors=5)
    Z = model.transform(wine.frame)
    knn = KNeighborsClassifier(5).fit(Z[::2], wine.y[::2])
    expected = knn.predict(Z[1::2])
    assert found.n_rows == len(found.truth) == 89
    assert found.truth == wine.y[1::2].tolist()
    assert found.predicted == expected.tolist()
    written = pl.read_csv(out)
    assert written["predicted"].to_list() == expected.tolist()
    np.testing.assert_allclose(written["share"], knn.predict_proba(Z[1::2]).max(axis=1))


def test_whole_numbers_as_classes(tmp_path: Path) -> None:
    path = str(tmp_path / "t.csv")
    rows = [f"{i % 7 + 10 * (i % 2)},{i % 2}.0" for i in range(40)]
    rows += ["3,"]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    model = learn(prepare(path, target="y"), "lda")
    found = predict_file(model, path, path, tmp_path / "o.csv")
    # The row without a class is predicted, and not compared with anything.
    assert (found.n_rows, len(found.truth)) == (41, 40)
    assert found.truth == found.predicted
    assert set(found.truth) == {"0", "1"}


def test_what_cannot_be_predicted_from() -> None:
    model = learn(prepare("iris"), "lda")
    with pytest.raises(ValueError, match="iris has only 150 rows with a target"):
        NeighborPredictor(model, "iris", 151)
