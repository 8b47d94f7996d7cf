from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import Pipeline

from vicinal.app.methods.linear_map import linear_map
from vicinal.app.methods.registry import METHODS
from vicinal.app.models import from_pipeline, learn, method_named
from vicinal.app.tables.prepared import Prepared, prepare

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def flowers(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    path: Path = tmp_path_factory.mktemp("models") / "flowers.csv"
    generator = np.random.default_rng(0)
    lines = ["colour,width,height,kind"]
    for i in range(60):
        a, b = generator.normal(i % 2, 0.3, 2)
        width = "NA" if i % 9 == 0 else f"{a:.3f}"
        lines.append(f"{'rgb'[i % 3]},{width},{b:.3f},{'xy'[i % 2]}")
    path.write_text("\n".join(lines))
    return prepare(str(path), target="kind")


@pytest.mark.filterwarnings("ignore:.*no finite optimum")
def test_methods_without_labels(flowers: Prepared) -> None:
    without = prepare("iris", no_target=True)
    for name in ("pca", "lca-diagonal"):
        model = learn(without, name)
        assert (model.task, model.target, model.classes) == ("none", None, ())
    labeled = learn(flowers, "lca-diagonal")
    assert (labeled.task, labeled.classes) == ("classification", ("x", "y"))
    with pytest.raises(ValueError, match="nca learns from a target of classes or num"):
        learn(without, "nca")
    with pytest.raises(ValueError, match="mlkr learns from a target of numbers"):
        learn(flowers, "mlkr")


def test_as_many_dimensions_as_features(flowers: Prepared) -> None:
    d = flowers.X.shape[1]
    assert learn(flowers, "pca", n_components=d).components.shape == (d, d)


def test_errors(flowers: Prepared) -> None:
    with pytest.raises(ValueError, match="no method 'ldaa'; did you mean 'lda'"):
        learn(flowers, "ldaa")
    with pytest.raises(ValueError, match="no method 'qqq'; there are euclidean"):
        method_named("qqq")
    if "neural-nca" not in METHODS:
        with pytest.raises(ValueError, match="neural-nca needs PyTorch"):
            learn(flowers, "neural-nca")
    with pytest.raises(ValueError, match="at least 1, not 0"):
        learn(flowers, "nca", n_components=0)


def test_a_wrong_vote_or_score_is_found_before_the_fit(
    flowers: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pipeline, "fit", lambda *_: pytest.fail("fitted"))
    with pytest.raises(ValueError, match="n_neighbors == 0, must be >= 1"):
        learn(flowers, "lda", n_neighbors=0)
    with pytest.raises(TypeError, match="n_neighbors must be an instance of"):
        learn(flowers, "lda", n_neighbors="five")
    with pytest.raises(ValueError, match="bogus"):
        learn(flowers, "lda", score="bogus", n_neighbors=5)


def test_a_vote_is_any_integer(flowers: Prepared) -> None:
    vote = learn(flowers, "lda", n_neighbors=np.int64(7)).vote
    assert vote is not None
    assert vote.n_neighbors == 7


def test_a_method_that_cannot_learn(tmp_path: Path) -> None:
    path = tmp_path / "twins.csv"
    path.write_text("a,kind\n" + "1,x\n2,y\n" * 10)
    with pytest.raises(ValueError, match="lda cannot learn from these rows"):
        learn(prepare(str(path), target="kind"), "lda")


def test_a_metric_without_dimensions(flowers: Prepared) -> None:
    pipeline = METHODS["pca"].pipeline(flowers.X, None).fit(flowers.X)
    pipeline.named_steps["metric"].components_ = np.empty((0, flowers.X.shape[1]))
    found = linear_map(pipeline)
    assert found.components.shape == (0, flowers.X.shape[1])
    message = "lca-gauss found no direction that tells these rows apart"
    with pytest.raises(ValueError, match=message):
        from_pipeline(pipeline, flowers, "lca-gauss")


def test_a_wide_table_needs_no_matrix_of_features_by_features() -> None:
    X = np.random.default_rng(0).normal(size=(12, 4000))
    frame = pl.DataFrame(X, schema=[f"c{i}" for i in range(4000)])
    prepared = prepare(frame.with_columns(y=pl.Series(["a", "b"] * 6)), target="y")
    tracemalloc.start()
    try:
        learn(prepared, "pca")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4000**2  # an eighth of it
