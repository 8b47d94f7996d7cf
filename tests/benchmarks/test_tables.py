"""The harness of `python -m benchmarks.tables`."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris

from benchmarks.tables import elo, scores
from benchmarks.tables.data import Table, classes
from benchmarks.tables.million import mixed
from benchmarks.tables.models import MODELS, Model, NearestBy, heom


@pytest.fixture
def iris(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    X["large"] = pd.Categorical(np.where(X.iloc[:, 0] > 6, "yes", "no"))
    X.iloc[::9, 1] = np.nan
    y = np.append(np.asarray(y)[:-2], [3, 3])  # a class of two rows
    table = Table("iris", X, y)
    monkeypatch.setattr(scores, "reported_tables", lambda _: iter([table]))


@pytest.mark.usefixtures("iris")
def test_runs_are_stored_and_not_computed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    scores.run("classification", n_splits=2, models=["5-NN"], stores=[first])
    before = first.read_text()
    (line,) = json.loads(before)["runs"]  # both splits
    assert line["split"] == [0, 1]
    one = scores.stored([first])[1]
    assert (one["table"], one["model"], one["split"]) == ("iris", "5-NN", 1)
    assert one["score"] > 0.9
    assert 0 < one["log_loss"] < 1
    assert one["fit"] > 0
    assert one["versions"]["numpy"] == np.__version__
    assert "2 rows of classes of 1 or 2 are left out" in capsys.readouterr().out
    # Further files are read only.
    scores.run(
        "classification",
        n_splits=2,
        models=["5-NN", "linear"],
        stores=[second, first],
    )
    out = capsys.readouterr().out
    assert "iris, 5-NN, split" not in out
    assert "iris, linear, split 1" in out
    assert "| linear |" in out
    assert first.read_text() == before
    assert {one["model"] for one in scores.stored([second])} == {"linear"}
    scores.run("classification", models=["random forest"], stores=[second], minutes=0)
    assert "iris, random forest" not in capsys.readouterr().out


@pytest.mark.usefixtures("iris")
def test_missing_models_and_failures_leave_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(MODELS, "LightGBM", Model("no_such_module", ("A", "B")))
    raw = Model("sklearn.linear_model", ("LogisticRegression", "Ridge"))
    monkeypatch.setitem(MODELS, "CatBoost", raw)
    names = ["LightGBM", "CatBoost", "5-NN"]
    scores.run("classification", n_splits=1, models=names)
    out = capsys.readouterr().out
    assert "LightGBM: not installed" in out
    assert "iris, CatBoost: ValueError" in out
    assert "iris, 5-NN, split 0" in out


def _of(accuracies: list[float], fit: float) -> NDArray[np.float64]:
    return np.array([[a, 0.5, fit, 0.1] for a in accuracies])


def test_summary_of_known_scores() -> None:
    known = {
        "one": {
            "HistGradientBoosting": _of([0.80, 0.82], 1.0),
            "NCA": _of([0.90, 0.92], 4.0),
            "5-NN": _of([0.70, 0.80], 0.1),
        },
        "two": {
            "HistGradientBoosting": _of([0.70, 0.70], 1.0),
            "NCA": _of([0.70, 0.70], 1.0),
            "5-NN": _of([0.60, 0.90], 0.1),
        },
        "three": {"NCA": _of([0.5, 0.5], 1.0)},
    }
    text = scores.summary(known)
    trees, nca = (
        next(line for line in text.splitlines() if line.startswith(f"| {name} "))
        for name in ("HistGradientBoosting", "NCA")
    )
    assert text.startswith("2 tables")
    assert nca.split(" | ")[1:4] == ["80.50", "+5.00 ± 5.00", "1.75"]
    # Geometric and arithmetic mean of 4 and 1.
    assert nca.split(" | ")[6:8] == ["2.00", "2.50"]
    # 5-NN is 5 points above on "two", by a third of its standard error.
    assert scores.far_below(known, "HistGradientBoosting") == ["one"]
    assert trees.endswith("| 1 |")


def test_odds_of_ten_are_400_points() -> None:
    wins = np.array([[0, 10, 5], [1, 0, 1], [5, 10, 0]], dtype=float)
    np.testing.assert_allclose(elo.ratings(wins, 1), [1400, 1000, 1400], atol=1)


def test_games_are_won_by_auc_log_loss_or_r2() -> None:
    common = {"split": 0, "score": 0.5}
    binary = common | {"table": "a", "task": "classification", "log_loss": 1.0}
    many = common | {"table": "b", "task": "classification"}
    numbers = common | {"table": "c", "task": "regression"}
    trees, forest = {"model": "CatBoost"}, {"model": "random forest"}
    runs: list[scores.Run] = [
        binary | trees | {"auc": 0.9},
        binary | forest | {"auc": 0.8, "log_loss": 0.1},
        many | trees | {"log_loss": 0.5},
        many | forest | {"log_loss": 0.4},
        many | {"model": "RBF-SVM"},
        numbers | trees,
        numbers | forest,
    ]
    wins, names = elo.games(runs)
    assert names == ["CatBoost", "random forest"]
    np.testing.assert_array_equal(wins[:, 0, 1], [1, 0, 0.5])
    np.testing.assert_array_equal(wins[:, 1, 0], [0, 1, 0.5])
    text = elo.table(runs)
    assert "| random forest | 1000 | 1000 to 1000 | measured |" in text
    assert "| kNN | 613 |  | as published |" in text


def test_heom_of_numbers_categories_and_gaps() -> None:
    colors = pd.CategoricalDtype(["red", "blue"])
    rows = pd.DataFrame({"a": [0.0, 4.0, np.nan], "b": ["red", "blue", None]})
    rows = rows.astype({"b": colors})
    new = pd.DataFrame({"a": [1.0], "b": ["red"]}).astype({"b": colors})
    expected = np.sqrt([[1 / 16, 9 / 16 + 1, 2]])
    np.testing.assert_allclose(heom(new, rows, np.array([False, True])), expected)
    # Five of these six are nearer than a gap in both columns.
    many = pd.concat([rows.iloc[:1]] * 2 + [rows.iloc[1:2]] * 3 + [rows.iloc[2:]])
    model = NearestBy(heom).fit(many, np.array([1, 1, 0, 0, 0, 1]))
    assert model.predict(new).tolist() == [0]


def test_csv_tables_are_read_with_categories_and_gaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tables").mkdir()
    text = "name,color,n,target\nA,red,1,x\nB,,2,y\nC,red,,x\nD,NA,4,y\n"
    (tmp_path / "tables" / "small.csv").write_text(text)
    monkeypatch.setenv("VICINAL_DATA", str(tmp_path))
    table = classes("small")
    # A name for each row is left out; "NA" is a value, an empty cell is none.
    assert list(table.X.columns) == ["color", "n"]
    assert list(table.X["color"].cat.categories) == ["NA", "red"]
    assert table.X.isna().sum().tolist() == [1, 1]
    assert table.y.tolist() == [0, 1, 0, 1]


def test_the_made_tables_probabilities_are_those_of_its_classes() -> None:
    X, y, p = mixed(20_000, 0)
    assert X.shape == (20_000, 50)
    assert X.isna().mean().between(0.03, 0.07).all()
    for low in (0.0, 0.25, 0.5, 0.75):
        part = (p >= low) & (p < low + 0.25)
        error = np.sqrt(0.25 / part.sum())
        assert abs(y[part].mean() - p[part].mean()) < 4 * error
