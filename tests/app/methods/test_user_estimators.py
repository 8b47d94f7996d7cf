from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA, KernelPCA
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vicinal import NCA, NCAClassifier, compare
from vicinal.app.methods.linear_map import affine_map, linear_map
from vicinal.app.methods.registry import resolve_methods
from vicinal.datasets import load


def test_names() -> None:
    long = NCA(2, max_iter=1234, tol=1e-9, random_state=12345, verbose=1)
    scaled = make_pipeline(StandardScaler(), PCA(2))
    given = [NCA(2), long, ("  my\nown ", PCA()), scaled]
    found = [one.name for one in resolve_methods(given, "classification")]
    assert found == ["NCA(n_components=2)", "NCA", "my own", "StandardScaler+PCA"]
    both = resolve_methods([NCA(2), "lda", ("mine", PCA(2))], "classification")
    assert [one.name for one in both] == ["lda", "NCA(n_components=2)", "mine"]
    for alone in (NCA(2), make_pipeline(PCA(2))):
        assert len(resolve_methods(alone, "regression")) == 1
    everything = resolve_methods(["all", PCA(2)], "none")
    assert everything[-1].name == "PCA(n_components=2)"
    assert len(everything) > 3


def test_a_pipeline_is_taken_as_it_is_and_others_are_scaled() -> None:
    X, y = load("wine").X, np.unique(load("wine").y, return_inverse=True)[1]
    plain = make_pipeline(PCA(2))
    steps = {}
    for one in resolve_methods([plain, ("mine", PCA(2))], "classification"):
        steps[one.name] = one.pipeline(X, y).named_steps
    assert steps["PCA"]["scale"] == "passthrough"
    assert type(steps["mine"]["scale"]).__name__ == "AutoScaler"
    # The one that was given is never fitted.
    assert steps["PCA"]["metric"] is not plain


def test_own_estimators_take_part() -> None:
    wine = load("wine")
    mine = make_pipeline(StandardScaler(), PCA(2))
    result = compare(
        wine.X, wine.y, methods=["euclidean", ("mine", mine), NCA(1)], n_splits=2
    )
    names = [one.name for one in result.results]
    assert names == ["euclidean", "mine", "NCA(n_components=1)"]
    assert result["mine"].n_components.tolist() == [2, 2]
    assert result["mine"].mean > result["euclidean"].mean
    page = result.to_html()
    assert "your own estimator" in page


def test_what_is_no_matrix_is_compared_and_not_drawn() -> None:
    iris = load("iris")
    bent = make_pipeline(StandardScaler(), KernelPCA(2, kernel="rbf"))
    result = compare(iris.X, iris.y, methods=[bent], n_splits=1, n_neighbors=3)
    assert result.best.mean > 0.8
    assert "KernelPCA is not shown" in result.to_html()


@pytest.mark.parametrize(
    ("methods", "error", "message"),
    [
        ([NCA], TypeError, "NCA is a class; give an estimator, NCA"),
        ([3], TypeError, "methods are names, estimators, or pairs of the two; got 3"),
        ([("mine",)], ValueError, "is written like"),
        ([(1, PCA())], ValueError, "is written like"),
        ([("", PCA())], ValueError, "is written like"),
        ([LogisticRegression()], ValueError, "has no transform, so it defines"),
        (make_pipeline(PCA(), LogisticRegression()), ValueError, "leave it out"),
        (
            [PCA(2), PCA(2)],
            ValueError,
            r"two methods 'PCA\(n_components=2\)'; give you",
        ),
        ([("lda", PCA(2))], ValueError, "two methods 'lda'"),
        (["ldaa", PCA(2)], ValueError, "got 'ldaa'"),
        ([], ValueError, "got none"),
    ],
)
def test_mistakes(methods: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        resolve_methods(methods, "classification")


def test_the_names_of_reference_models_are_taken() -> None:
    iris = load("iris")
    with pytest.raises(ValueError, match="'majority class' is a reference model"):
        compare(iris.X, iris.y, methods=[("majority class", PCA(2))], n_splits=1)


def test_a_rule_that_no_vote_equals_is_no_vote() -> None:
    iris = load("iris")
    density = NCAClassifier(objective="class-density", max_iter=2, random_state=0)
    methods = [("soft", NCAClassifier(max_iter=2, random_state=0)), ("dense", density)]
    result = compare(iris.X, iris.y, methods=methods, n_splits=1)
    assert [str(one) for one in result["soft"].votes] == ["all soft"]
    assert [str(one) for one in result["dense"].votes] != ["all soft"]


def test_densities_need_a_score() -> None:
    with pytest.raises(ValueError, match="has no score"):
        resolve_methods([StandardScaler()], "none")
    X = load("iris").X
    result = compare(X, methods=["gaussian", ("mine", PCA(2))], n_splits=2)
    assert np.isfinite(result["mine"].mean)


@pytest.mark.parametrize(
    "transformer",
    [
        StandardScaler(),
        PCA(2),
        PCA(2, whiten=True),
        make_pipeline(StandardScaler(), PCA(3), StandardScaler()),
        make_pipeline(SelectKBest(k=2), StandardScaler()),
        NCA(2, max_iter=3, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*iteration.*")
def test_affine_maps_are_found(transformer: Any) -> None:
    wine = load("wine")
    transformer.fit(wine.X, wine.y)
    A, b = affine_map(transformer, wine.X.shape[1])
    expected = transformer.transform(wine.X)
    np.testing.assert_allclose(wine.X @ A.T + b, expected, rtol=1e-6, atol=1e-6)


def test_other_maps_are_refused() -> None:
    X = load("iris").X
    bent = KernelPCA(2, kernel="rbf").fit(X)
    with pytest.raises(ValueError, match="KernelPCA is not a linear map"):
        affine_map(bent, 4)


def test_linear_maps_of_own_pipelines() -> None:
    iris = load("iris")
    y = np.unique(iris.y, return_inverse=True)[1]
    mine = make_pipeline(StandardScaler(), PCA(2))
    (method,) = resolve_methods([mine], "classification")
    pipeline = method.pipeline(iris.X, y).fit(iris.X, y)
    found = linear_map(pipeline)
    Z = (iris.X - found.mean) / found.scale @ found.components.T
    expected = pipeline.transform(iris.X)
    np.testing.assert_allclose(Z - Z[0], expected - expected[0], atol=1e-9)
