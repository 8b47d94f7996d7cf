"""The additive metric in a comparison, and in a model file."""

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from vicinal import TableNCAClassifier, TableNCARegressor, compare
from vicinal.app.comparison import runner, runs
from vicinal.app.methods.votes import Vote
from vicinal.app.models import (
    NeighborPredictor,
    column_shares,
    learn,
    load,
    nearest_rows,
    save,
)
from vicinal.app.tables.prepared import prepare

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 6))
y = np.where(np.abs(X[:, 0]) > 0.7, "far", "near")


def waves(n: int = 400) -> tuple[Any, Any]:
    """Return rows on which only curves and trees do well."""
    rows = np.random.default_rng(1).normal(size=(n, 8))
    height = 2 * np.sin(3 * rows[:, 0]) + np.square(rows[:, 1]) + 0.3 * rows[:, 2]
    return rows, np.where(height > 1, "high", "low")


def test_curves_beat_standardised_columns(tmp_path: Path) -> None:
    result = compare(X, y, methods="standardised,table-nca", n_splits=3, random_state=0)
    scores = {one["name"]: one["mean"] for one in result.to_dict()["methods"]}
    assert scores["table-nca"] > scores["standardised"] + 0.05
    assert "Use table-nca" in result.verdict()
    result.to_html(tmp_path / "report.html")
    assert "table-nca" in (tmp_path / "report.html").read_text("utf-8")


def test_numbers() -> None:
    target = np.square(X[:, 0]) + 0.1 * rng.normal(size=400)
    result = compare(X, target, methods="standardised,table-nca", n_splits=3)
    scores = {one["name"]: one["mean"] for one in result.to_dict()["methods"]}
    assert scores["table-nca"] > scores["standardised"]


def test_an_estimator_predicts_by_its_own_rule() -> None:
    model = TableNCAClassifier(8, max_iter=5, random_state=0)
    result = compare(
        X, y, methods=[("mine", make_pipeline(model))], score="log-loss", n_splits=1,
        random_state=0,
    )  # fmt: skip
    (found,) = [one for one in result.to_dict()["methods"] if one["name"] == "mine"]
    assert found["vote"] is not None
    assert found["mean"] < log_loss(y, np.full(400, np.mean(y == "near")))


def test_it_takes_part_if_trees_are_ahead_of_every_metric() -> None:
    shares: list[float] = []
    result = compare(
        *waves(), n_splits=4, on_progress=lambda n, total, _: shares.append(n / total)
    )
    assert max(shares) == shares[-1] == 1
    assert sum(share == 1 for share in shares) == 1
    assert result.recommended == "table-nca"
    assert result["table-nca"].scores.shape == (4,)
    assert "because gradient boosting is ahead" in result.notes[-1]
    assert result.verdict().startswith("Use table-nca")
    assert "gradient boosting" in result.verdict()


@pytest.mark.parametrize("options", [{"references": False}, {"methods": "lda"}])
def test_it_takes_no_part_unasked(options: dict[str, Any]) -> None:
    result = compare(*waves(200), n_splits=3, **options)
    assert "table-nca" not in [one.name for one in result.results]


def test_no_time_is_spent_if_neighbors_keep_up() -> None:
    result = compare("wine", "target", n_splits=3)
    assert "table-nca" not in [one.name for one in result.results]
    assert "table-nca" not in " ".join(result.notes)


def test_nothing_is_recommended_if_curves_do_not_help_either() -> None:
    rows, labels = rng.normal(size=(200, 3)), np.arange(200) % 10 > 2
    result = compare(rows, labels, n_splits=3)
    assert "because a constant is as good" in result.notes[-1]
    assert result.recommended is None
    assert "do without neighbours" in result.verdict()


def test_it_does_not_run_after_the_time_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = time.perf_counter()
    clock = SimpleNamespace(perf_counter=lambda: now)
    monkeypatch.setattr(runner, "time", clock)

    def run(*given: Any, **limits: Any) -> Any:
        nonlocal now
        now += 3
        return runs.run_method(*given, **limits)

    monkeypatch.setattr(runner, "run_method", run)
    result = compare(*waves(), n_splits=1, time_budget=24.5)  # eight methods
    assert "table-nca" not in [one.name for one in result.results]
    assert "table-nca was left out: the time budget was over" in "".join(result.notes)
    assert "ahead of every metric that ran" in result.verdict()


def frame(n: int = 300) -> pl.DataFrame:
    rows = np.random.default_rng(2)
    size = rows.normal(size=n)
    color, gaps = rows.choice(["red", "green", "blue"], n), rows.random(n) < 0.1
    return pl.DataFrame(
        {
            "size": [None if g else x for g, x in zip(gaps, size, strict=True)],
            "color": color,
            "weight": rows.normal(size=n),
            "kind": np.where((np.abs(size) > 0.7) ^ (color == "red"), "a", "b"),
            "price": np.square(size) + (color == "red"),
        }
    )


@pytest.mark.parametrize("target", ["kind", "price"])
def test_a_model_file_holds_the_curves(tmp_path: Path, target: str) -> None:
    table, path = frame(), tmp_path / "model.safetensors"
    table.write_csv(tmp_path / "table.csv")
    source = str(tmp_path / "table.csv")
    prepared = prepare(source, target=target)
    save(path, learn(prepared, "table-nca"))
    model = load(path)
    assert str(model.vote) == "all soft"
    assert model.transform(prepared.frame).shape == (300, len(model.components))
    # The estimator itself, fitted on the same numbers.
    rows = model.scaled(prepared.X)
    assert np.isnan(rows).any()
    kind = TableNCAClassifier if target == "kind" else TableNCARegressor
    labels = table[target].to_numpy()
    direct = kind(random_state=0).fit(rows, labels)
    others = frame(400)[300:]
    others.write_csv(tmp_path / "others.csv")
    wanted = direct.predict(model.prepare(others))
    found = NeighborPredictor(model, source).predict(others)
    if target == "kind":
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_a_model_file_explains_neighbors_and_holds_no_rows(tmp_path: Path) -> None:
    frame().write_csv(tmp_path / "table.csv")
    source = str(tmp_path / "table.csv")
    save(tmp_path / "m", learn(prepare(source, target="kind"), "table-nca"))
    model = load(tmp_path / "m")
    assert len(model.curves._rows) == 1
    assert not model.curves._rows.any()
    found = nearest_rows(model, source, 0, 5)
    columns, shares = column_shares(model, source, 0, found.learned.rows)
    assert set(columns) == {"size", "color", "weight", "price"}
    np.testing.assert_allclose(shares.sum(axis=1), found.learned.distances, rtol=1e-5)
    assert np.isfinite(found.euclidean.distances).all()


def test_curves_of_another_table_are_refused(tmp_path: Path) -> None:
    frame().write_csv(tmp_path / "table.csv")
    prepared = prepare(str(tmp_path / "table.csv"), target="kind")
    model = learn(prepared, "table-nca", max_iter=1)
    mixed = replace(model, curves=TableNCAClassifier(max_iter=1).fit(X[:, :2], y))
    with pytest.raises(ValueError, match="the curves cannot be valid"):
        save(tmp_path / "m", mixed)
    with pytest.raises(ValueError, match="the vote cannot be valid"):
        save(tmp_path / "m", replace(model, vote=Vote(None, "plain", n_maps=3)))


def test_with_many_rows_it_takes_part_from_the_first_split(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "MANY_ROWS", 300)
    ran = []

    def run(*given: Any, **limits: Any) -> Any:
        ran.append(given[1].name)
        return runs.run_method(*given, **limits)

    monkeypatch.setattr(runner, "run_method", run)
    result = compare(*waves(), n_splits=2, time_budget=1000)
    assert ran.index("table-nca") == 8  # after the usual methods
    assert result["table-nca"].scores.shape == (2,)
