from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from sklearn.neighbors import KNeighborsClassifier

from vicinal.app.methods.votes import Vote
from vicinal.app.models import NeighborPredictor, learn, load, predict_file, save
from vicinal.app.tables.prepared import prepare

if TYPE_CHECKING:
    from pathlib import Path


def test_the_same_as_k_nn_on_the_mapped_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vicinal.app.tables.reading.PIECE", 20)
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


def test_missing_cells_are_counted(tmp_path: Path) -> None:
    path = str(tmp_path / "t.csv")
    rows = [f"{i % 7},{'rgb'[i % 3]},{'ab'[i % 2]}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["x,colour,y", *rows]))
    model = learn(prepare(path, target="y"), "lda")
    assert predict_file(model, path, path, tmp_path / "o.csv").n_missing == 0
    (tmp_path / "new.csv").write_text("x,colour,y\n1,,a\n,r,\nNA,?,b\n")
    new = predict_file(model, str(tmp_path / "new.csv"), path, tmp_path / "o.csv")
    assert new.n_missing == 4


def test_unknown_categories_are_counted(tmp_path: Path) -> None:
    rows = [f"{'rgb'[i % 3]},{i % 3},{i % 2}" for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["colour,size,kind", *rows]))
    (tmp_path / "new.csv").write_text("colour,size\nr,1\npink,2\n,0\npink,1\n")
    model = learn(prepare(str(tmp_path / "t.csv"), target="kind"), "pca")
    new, known = (str(tmp_path / name) for name in ("new.csv", "t.csv"))
    found = predict_file(model, new, known, tmp_path / "out.csv")
    assert (found.unknown, found.n_missing) == ({"colour": 2}, 1)


def test_what_cannot_be_predicted_from() -> None:
    model = learn(prepare("iris"), "lda")
    with pytest.raises(ValueError, match="iris has only 150 rows with a target"):
        NeighborPredictor(model, "iris", 151)


@pytest.mark.parametrize(
    ("written", "task"),
    [
        (lambda k: f"{1.5 + k:.1f}".replace(".", ","), "classification"),
        (lambda k: f"{1500.5 + 1000 * k:,.1f}".translate({44: 46, 46: 44}), None),
        (lambda k: f"{1500 + 1000 * k:,}".replace(",", "."), None),
    ],
    ids=["classes 1,5", "numbers 1.500,5", "numbers 1.500"],
)
def test_targets_with_decimal_commas_are_known(
    tmp_path: Path, written: Any, task: str | None
) -> None:
    rng = np.random.default_rng(0)
    lines = ["x;z;note"]
    for k in np.arange(120) % 12 // 4:
        x, z = 3 * k + 0.1 * rng.normal(), rng.normal()
        lines.append(f"{x:.2f};{z:.2f};".replace(".", ",") + written(k))
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    model = learn(prepare(str(path), target="note", task=task), "standardised")
    done = predict_file(model, str(path), str(path), tmp_path / "p.csv", n_neighbors=1)
    assert len(done.truth) == 120
    assert done.truth == done.predicted


@pytest.mark.parametrize("method", ["lda", "nca-soft"])
def test_the_vote_is_stored_and_used(tmp_path: Path, method: str) -> None:
    wine = prepare("wine")
    model = learn(wine, method)
    assert model.vote is not None
    save(tmp_path / "m.safetensors", model)
    loaded = load(tmp_path / "m.safetensors")
    assert loaded.vote == model.vote
    predictor = NeighborPredictor(loaded, "wine")
    right = predictor.predict(wine.frame) == wine.y
    assert predictor.n_own == 178
    assert np.mean(right) > 0.95
    assert NeighborPredictor(loaded, "wine", 5).vote == Vote(5)
    assert learn(wine, "lda", n_neighbors=7).vote == Vote(7)


def test_a_row_is_no_neighbor_of_its_own_in_another_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=300), "y": rng.integers(2, size=300)})
    train, part = str(tmp_path / "train.csv"), str(tmp_path / "part.csv")
    frame.write_csv(train)
    frame[100:250].write_csv(part)
    model = learn(prepare(train), "standardised", n_neighbors=1)
    found = predict_file(model, part, train, tmp_path / "out.csv")
    assert found.n_own == 150
    # The labels are noise: each row's own label would be right every time.
    right = [a == b for a, b in zip(found.truth, found.predicted, strict=True)]
    assert np.mean(right) < 0.7
