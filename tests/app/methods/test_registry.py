from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances

from vicinal.app.methods.linear_map import linear_map
from vicinal.app.methods.registry import METHODS, TASKS, register, resolve_methods

WINE_X, WINE_Y = load_wine(return_X_y=True)
TARGETS: dict[str, tuple[Any, Any]] = {
    "classification": (WINE_X, WINE_Y),
    "regression": load_diabetes(return_X_y=True),
    "none": (WINE_X, None),
}
EACH = [(name, task) for name, m in METHODS.items() for task in m.tasks]


@pytest.mark.parametrize(
    ("name", "task"),
    [one for one in EACH if METHODS[one[0]].storable and not METHODS[one[0]].gaps],
)
def test_linear_map_gives_the_pipeline_s_distances(name: str, task: str) -> None:
    X, y = TARGETS[task]
    X, y = X[:150].copy(), None if y is None else y[:150]
    X[::9, 2] = np.nan
    pipeline = METHODS[name].pipeline(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pipeline.fit(X, y)
    learned = linear_map(pipeline)
    filled = np.where(np.isnan(X), learned.median, X)
    Z = ((filled - learned.mean) / learned.scale) @ learned.components.T
    expected = pairwise_distances(pipeline.transform(X))
    np.testing.assert_allclose(pairwise_distances(Z), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["pca", "lda", "fda", "lfda", "ldg", "lmnn", "mcml", "nca", "nca-log"]
)
def test_dimensions_as_asked(name: str) -> None:
    pipeline = METHODS[name].pipeline(WINE_X, WINE_Y, n_components=2)
    assert pipeline.fit(WINE_X, WINE_Y).transform(WINE_X).shape == (178, 2)


def test_every_task_has_usual_methods() -> None:
    for task in TASKS:
        assert len(resolve_methods(None, task)) >= 5
        assert set(resolve_methods(None, task)) <= set(resolve_methods("all", task))
    assert {m.name for m in resolve_methods("all", "classification")} >= {
        "itml",
        "nca-log",
    }


def test_names_in_one_string() -> None:
    assert [m.name for m in resolve_methods("nca,lda, pca", "classification")] == [
        "pca",
        "lda",
        "nca",
    ]


@pytest.mark.parametrize("names", ["lmn", [], "nca all", "lca"])
def test_unknown_names(names: Any) -> None:
    with pytest.raises(
        ValueError, match=r"methods must be some of euclidean, .*, or all"
    ):
        resolve_methods(names, "classification")


def test_a_similar_name_is_suggested() -> None:
    with pytest.raises(ValueError, match=r"got 'ldaa': did you mean 'lda'\?$"):
        resolve_methods("nca,ldaa", "classification")
    with pytest.raises(ValueError, match=r"numeric target, or all; got 'zzz'\.$"):
        resolve_methods("zzz", "regression")
    with pytest.raises(ValueError, match=r"without a target, or all; got none\.$"):
        resolve_methods([], "none")


@pytest.mark.parametrize(
    ("name", "task", "target"),
    [
        ("lca", "classification", "data without a target"),
        ("LCA", "classification", "data without a target"),
        ("lda", "regression", "classes"),
    ],
)
def test_a_method_of_another_task_is_explained(
    name: str, task: str, target: str
) -> None:
    with pytest.raises(ValueError, match=rf"got '{name}', which is for {target}\.$"):
        resolve_methods(name, task)


@pytest.mark.parametrize(
    "factory",
    [
        PCA,
        "sklearn.decomposition.PCA",
        lambda request: PCA(request.n_components),
    ],
)
def test_methods_can_be_registered(
    factory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vicinal.app.methods.registry.METHODS", dict(METHODS))
    method = register("mine", factory, "my own map")
    (found,) = resolve_methods("mine", "classification")
    assert found is method
    pipeline = method.pipeline(WINE_X, WINE_Y, n_components=2)
    assert pipeline.fit(WINE_X, WINE_Y).transform(WINE_X).shape == (178, 2)
    assert method not in resolve_methods(None, "classification")
    with pytest.raises(ValueError, match="'mine' is already registered"):
        register("mine", factory)
    with pytest.raises(ValueError, match="tasks must be some of"):
        register("other", factory, tasks=("ranking",))


def test_names_are_known_without_numerical_libraries() -> None:
    code = (
        "import sys; from vicinal.app.methods.registry import METHODS; "
        "assert 'nca' in METHODS; print('numpy' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "False"
