"""CONTRIBUTING's "Add a method", followed from outside the package."""

# mypy: disable-error-code="no-untyped-def"

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.utils.estimator_checks import check_estimator

import vicinal
from vicinal.app.cli import main
from vicinal.app.methods.registry import METHODS, register
from vicinal.base.metric import LinearMetric, labeled
from vicinal.objectives import NCAObjective
from vicinal.optimize import maximize


class Pull:
    """A toy loss: −Σ_j [c_i = c_j] d²_ij / (1 + d²_ij)."""

    def prepare(self, y, sample_weight):
        return y, sample_weight

    def weigh(self, distances, rows, data):
        y, weight = data
        same = -1.0 * weight * (y[rows][:, None] == y)
        values = (same * distances / (1 + distances)).sum(axis=1)
        distances[:] = same / np.square(1 + distances)
        return values


class ToyMetric(LinearMetric):
    """Pulls classes together, with a fixed trace."""

    def __init__(self, max_iter: int = 5) -> None:
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> "ToyMetric":
        with self._unchanged_on_error():
            points, _, codes = labeled(self, X, y)
            start = np.eye(points.shape[1]) / (points.std() + 1e-12)
            objective = NCAObjective(points, codes, Pull(), n_jobs=1)
            result = maximize(objective, start, max_iter=self.max_iter)
            A, self.n_iter_ = result.x, max(1, result.nit)
            size = np.linalg.norm(A) or 1.0
            self.components_ = (A / size).astype(points.dtype)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@pytest.fixture
def registered() -> Iterator[None]:
    register("toy", ToyMetric, "a toy", ("classification",))
    yield
    METHODS.pop("toy")


def test_it_is_a_scikit_learn_estimator() -> None:
    check_estimator(ToyMetric())


def test_it_takes_part_in_a_comparison(registered: None) -> None:
    X, y = load_wine(return_X_y=True)
    result = vicinal.compare(X, y, methods=["standardised", "toy"], n_splits=2)
    assert {one.name for one in result.results} == {"standardised", "toy"}


def test_the_command_knows_it(
    registered: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "toy.safetensors"
    monkeypatch.setattr(
        "sys.argv", ["vicinal", "fit", "wine", "--method", "toy", "-o", str(path)]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0, capsys.readouterr().err
    assert vicinal.load(path).method == "toy"


def test_a_name_is_registered_once(registered: None) -> None:
    with pytest.raises(ValueError, match="already registered"):
        register("toy", ToyMetric)
