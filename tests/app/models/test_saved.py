from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from vicinal.app.methods.registry import METHODS
from vicinal.app.models import from_pipeline, learn
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


QUICK = ["euclidean", "standardised", "whitened", "pca", "lda", "fda", "nca"]


@pytest.mark.parametrize("name", QUICK)
def test_a_model_does_what_its_pipeline_does(name: str, flowers: Prepared) -> None:
    method = METHODS[name]
    y = np.unique(np.asarray(flowers.y), return_inverse=True)[1]
    pipeline = method.pipeline(flowers.X, y, None, 0).fit(flowers.X, y)
    Z = from_pipeline(pipeline, flowers, name).transform(flowers.frame)
    expected = pipeline.transform(flowers.X)
    # The same up to a translation, which changes no distance.
    np.testing.assert_allclose(
        Z - Z.mean(axis=0), expected - expected.mean(axis=0), atol=1e-8
    )
    learned = learn(flowers, name)
    np.testing.assert_allclose(learned.transform(flowers.frame), Z, atol=1e-8)
    assert learned.classes == ("x", "y")
    assert learned.target == "kind"
    assert learned.names_out[0] == f"{name}0"


def test_pieces_map_as_the_whole(flowers: Prepared) -> None:
    model = learn(flowers, "lda")
    whole = model.transform(flowers.frame)
    parts = [model.transform(flowers.frame[i : i + 7]) for i in range(0, 60, 7)]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-12, atol=1e-12)


def test_float32_stays(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    np.savez(tmp_path / "t.npz", X=X, y=np.arange(30) % 2)
    prepared = prepare(str(tmp_path / "t.npz"))
    assert learn(prepared, "pca").transform(prepared.frame).dtype == np.float32
