from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import vicinal
from tests.app.cli.conftest import assert_error_line, flowers, run, works

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("folder")


def test_regression_and_no_target(folder: Path) -> None:
    data = flowers(folder / "flowers.csv")
    out = works(
        *f"fit {data} --target width --task regression --method pca".split(),
        *["--n-components", "1", "--rows", "30", "-o", "r.st"],
    )
    assert "R² " in out
    assert "30 of 40 rows, drawn at random" in out
    assert vicinal.load("r.st").parameters == {"n_components": 1, "random_state": 0}
    assert "own class" not in works("neighbors", "r.st", data, "--query", "0")
    out = works("fit", "iris", "--no-target", "--method", "whitened", "-o", "n.st")
    assert "no target" in out
    assert "3-NN" not in out
    out = works("neighbors", "n.st", "iris", "--query", "0", "-k", "2")
    assert out.splitlines()[0].strip() == "nearest to row 0"


def test_dimensions_that_a_method_cannot_give() -> None:
    out = works("fit", "iris", "--method", "lda", "--n-components", "3", "-o", "m.st")
    assert "lda: 4 features to 2 dimensions (it cannot give 3)" in out


def test_warnings_become_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    from vicinal.app import models

    learn = models.learn

    def warn(*arguments: Any, **options: Any) -> Any:
        warnings.warn("did not\nconverge", UserWarning, stacklevel=1)
        return learn(*arguments, **options)

    monkeypatch.setattr("vicinal.app.models.learn", warn)
    outcome = run("fit", "iris", "--method", "pca", "-o", "m.st")
    assert outcome.exit_code == 0
    assert "note: did not converge\n" in outcome.stderr
    assert "converge" not in outcome.stdout


def test_warnings_name_columns_and_classes(folder: Path) -> None:
    rows = [f"{'rgb'[i % 3]},{i * 37 % 101 / 7:.3f}" for i in range(90)]
    (folder / "c.csv").write_text("\n".join(["colour,size", *rows]))
    outcome = run("fit", "c.csv", "--no-target", "--method", "lca", "-o", "m.st")
    said = "note: The density is high at the few values of 'colour', and compares only"
    assert outcome.stderr.startswith(said), outcome.stderr
    rows = [
        f"{i * 37 % 101 / 7:.3f},{'rare' if i > 86 else 'often'}" for i in range(90)
    ]
    (folder / "r.csv").write_text("\n".join(["size,class", *rows]))
    outcome = run("fit", "r.csv", "--method", "ldg", "-o", "m.st")
    assert "note: These classes have few rows: rare (3).\n" in outcome.stderr


def test_iterations_can_be_limited() -> None:
    works("fit", "iris", "--method", "nca", "--max-iter", "3", "-o", "m.st")
    assert vicinal.load("m.st").parameters["max_iter"] == 3


@pytest.mark.parametrize("name", ["x.csv", "x.Parquet", "x.html"])
def test_a_model_is_not_called_like_a_table(folder: Path, name: str) -> None:
    outcome = run("fit", "iris", "--method", "pca", "-o", name)
    assert_error_line(outcome, "another kind of file; write the model to x.safetensors")
    assert not [*folder.iterdir()]


def test_more_dimensions_than_features() -> None:
    command = ("fit", "iris", "--method", "pca", "--n-components", "1000")
    message = "n_components=1000 exceeds the 4 features; ask for 4 or fewer"
    assert_error_line(run(*command, "-o", "m.st"), message)


def test_noise_has_no_direction_to_write(folder: Path) -> None:
    noise = np.random.default_rng(0).normal(size=(200, 4))
    lines = [",".join(f"{value:.4f}" for value in row) for row in noise]
    (folder / "noise.csv").write_text("\n".join(["a,b,c,d", *lines, ""]))
    command = ("fit", "noise.csv", "--no-target", "--method", "lca-gauss")
    message = "they look like noise, and there is nothing to write"
    assert_error_line(run(*command, "-o", "noise.safetensors"), message)
    assert not (folder / "noise.safetensors").exists()
