"""NCA on sparse rows: the same as on dense ones, in far less memory."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from vicinal import NCA, NCAClassifier
from vicinal.objectives import NCAObjective

X, y = load_digits(n_class=4, return_X_y=True)
X, y = X[:240], y[:240]
S = sparse.csr_array(X)
pytestmark = pytest.mark.filterwarnings("ignore:NCA.* did not converge")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["expected", "log", "class-density", "squared-error"])
def test_objective(kind: str, dtype: Any) -> None:
    A = np.random.default_rng(0).normal(size=(3, 64)) / 30
    dense = NCAObjective(X.astype(dtype), y, kind).value_and_gradient(A)
    found = NCAObjective(S.astype(dtype), y, kind).value_and_gradient(A)
    rel = 1e-4 if dtype == np.float32 else 1e-10
    assert found[0] == pytest.approx(dense[0], rel=rel)
    np.testing.assert_allclose(
        found[1], dense[1], atol=10 * rel * np.abs(dense[1]).max()
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"solver": "stochastic", "max_iter": 3},
        {"early_stopping": True},
        {"alpha": "auto"},
        {"n_neighbors": 20},
        {"init": "random"},
        {"init": "identity"},
        {"warm_start": True},
    ],
    ids=str,
)
def test_every_way_to_fit(settings: dict[str, Any]) -> None:
    model = NCA(4, max_iter=settings.pop("max_iter", 10), random_state=0, **settings)
    Z = model.fit(S, y).transform(S)
    assert isinstance(Z, np.ndarray)
    np.testing.assert_allclose(Z, model.transform(X), atol=1e-9)
    assert model.objective_curve_[-1] >= model.objective_curve_[0]
    model.fit(sparse.coo_array(X), y)  # converted


def _random_rows(n: int, n_features: int, density: float) -> Any:
    """Return random sparse rows, with any version of SciPy."""
    rng = np.random.default_rng(0)
    m = int(density * n * n_features)
    where = rng.integers(n, size=m), rng.integers(n_features, size=m)
    return sparse.csr_array((rng.random(m), where), (n, n_features))


def test_the_start_is_that_of_dense_rows() -> None:
    found = NCA(4, init="pca", max_iter=1).fit(S, y).objective_curve_[0]
    dense = NCA(4, init="pca", max_iter=1).fit(X, y).objective_curve_[0]
    assert found == pytest.approx(dense, rel=1e-6)


def test_classifier() -> None:
    model = NCAClassifier(4).fit(S[::2], y[::2])
    proba = model.predict_proba(S[1::2])
    np.testing.assert_allclose(proba, model.predict_proba(X[1::2]), atol=1e-9)
    assert model.score(S[1::2], y[1::2]) > 0.9


def test_what_would_make_it_dense_is_refused() -> None:
    refused: list[dict[str, Any]] = [{"form": "diagonal"}, {"init": "lda"}]
    for settings in [*refused, {"init": "whiten"}]:
        with pytest.raises(ValueError, match="would make sparse X dense"):
            NCA(**settings).fit(S, y)
    wide = _random_rows(100, 30_000, 0.01)
    with pytest.raises(ValueError, match="Give a smaller n_components"):
        NCA().fit(wide, np.arange(100) % 2)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        NCA(2).partial_fit(S, y)


def test_no_dense_copy_is_made() -> None:
    wide = _random_rows(400, 20_000, 0.005)
    labels = np.arange(400) % 4
    NCA(2, max_iter=2).fit(wide, labels)
    tracemalloc.start()
    NCA(2, max_iter=2).fit(wide, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400 * 20_000 * 8 / 2


def test_the_unit_of_sparse_rows_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.3, size=(60, 10)).astype(float)
    labels = np.arange(60) % 3
    counts[:, 0] += labels
    maps = [
        NCA(4, max_iter=5, tol=1)
        .fit(sparse.csr_array(unit * counts), labels)
        .components_
        for unit in (1.0, 8.0)
    ]
    np.testing.assert_allclose(8 * maps[1], maps[0], rtol=1e-9)
