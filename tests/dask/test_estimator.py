"""What the estimators on Dask share with those in memory: scikit-learn's protocols."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

import pandas as pd
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.dask.data import chunked, classes_in_noise
from vicinal.dask import LCA, LDG, NCA, NCAClassifier

X, y = classes_in_noise(200)


@pytest.fixture(scope="module")
def fitted() -> LDG:
    return LDG(2, n_neighbors=5, gamma=0.6).fit(*chunked(X, y, 100))


def test_chunks_stay_arrays_whatever_the_output(fitted: LDG) -> None:
    model = clone(fitted).fit(*chunked(X, y, 100)).set_output(transform="pandas")
    rows, _ = chunked(X, y, 80)
    Z = model.transform(rows)
    expected = fitted.to_local().transform(X)
    np.testing.assert_allclose(Z[5:90].compute(), expected[5:90], atol=1e-9)
    assert type(Z.compute()) is np.ndarray
    # In memory, and of the ordinary estimator, the output is what was asked for.
    assert isinstance(model.transform(X), pd.DataFrame)
    assert isinstance(model.to_local().transform(X), pd.DataFrame)
    with sklearn.config_context(transform_output="pandas"):
        assert type(fitted.transform(rows).compute()) is np.ndarray


@pytest.mark.parametrize(("given", "found"), [("f4", "f4"), ("f8", "f8"), ("i4", "f8")])
def test_mapped_points_are_of_the_type_that_was_promised(
    fitted: LDG, given: str, found: str
) -> None:
    Z = fitted.transform(chunked(X.astype(given), y, 80)[0])
    assert Z.dtype == Z.compute().dtype == np.dtype(found)
    assert fitted.transform(chunked(X.astype(given), y)[0][:0]).compute().dtype == found


def test_the_ordinary_estimator_has_settings_of_its_own(fitted: LDG) -> None:
    model = clone(fitted).set_output(transform="pandas").fit(*chunked(X, y, 100))
    model.to_local().set_output(transform="default")
    assert isinstance(model.transform(X), pd.DataFrame)


def test_clones_keep_output_and_metadata_requests(client: Any) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        model = NCAClassifier(2, client=client).set_output(transform="pandas")
        model.set_score_request(sample_weight=True)
        copied = clone(model)
        requests = copied.get_metadata_routing().score.requests
    assert requests == {"sample_weight": True}
    assert copied._sklearn_output_config == {"transform": "pandas"}
    assert copied.client is client
    assert model.client is client


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (LDG(), "transform"),
        (NCA(), "transform"),
        (LCA(), "transform"),
        (LCA(), "predict"),
        (LCA(), "score_samples"),
        (NCAClassifier(), "predict"),
        (NCAClassifier(), "predict_proba"),
    ],
)
def test_what_is_not_fitted_says_so(model: Any, method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(model, method)(chunked(X, y)[0])


@pytest.mark.parametrize("model", [NCA(2), NCAClassifier(2), LDG(2), LCA()])
def test_arrays_in_memory_are_refused_by_fit(model: Any) -> None:
    told = r"X must be a Dask array .*, got ndarray: pass dask\.array\.from_array\("
    with pytest.raises(TypeError, match=told):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("kind", "without"),
    [
        (NCA, {"solver", "tol", "n_neighbors", "anneal", "early_stopping"}),
        (NCAClassifier, {"solver", "tol", "n_neighbors", "anneal", "early_stopping"}),
        (LDG, {"refine", "max_iter", "tol"}),
        (LCA, {"smoothing"}),
    ],
)
def test_parameters_are_those_of_the_local_estimator(
    kind: Any, without: set[str]
) -> None:
    ours, theirs = kind().get_params(), kind._local().get_params()
    assert ours["client"] is None
    assert without <= set(theirs) - set(ours)
    shared = set(ours) & set(theirs)
    assert {k: ours[k] for k in shared} == {k: theirs[k] for k in shared}
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        kind(**dict.fromkeys(without, 1))
