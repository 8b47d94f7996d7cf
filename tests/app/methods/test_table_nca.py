"""The additive metric in a comparison."""

from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from vicinal import TableNCAClassifier, compare
from vicinal.app.models.learning import method_named

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 6))
y = np.where(np.abs(X[:, 0]) > 0.7, "far", "near")


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


def test_a_file_holds_no_curves() -> None:
    assert not method_named("table-nca").linear
