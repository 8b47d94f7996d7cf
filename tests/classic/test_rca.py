import warnings
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.datasets import load_digits, load_wine
from sklearn.utils.estimator_checks import estimator_checks_generator

from vicinal.classic import RCA, chunklets_from_labels
from vicinal.nca._initialization import initial_components

X, y = load_wine(return_X_y=True)


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(RCA())),
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: RCA, check: Any) -> None:
    check(estimator)


def inner_covariance(X: Any, chunks: Any) -> Any:
    """Ĉ, as in the paper: over points in chunklets, around each chunklet's mean."""
    total, n = np.zeros((X.shape[1], X.shape[1])), 0
    for c in set(chunks[chunks >= 0].tolist()):
        for x in X[chunks == c] - X[chunks == c].mean(axis=0):
            total += np.outer(x, x)
            n += 1
    return total / n


def test_it_is_the_papers_map() -> None:
    chunks = chunklets_from_labels(y, 40, chunklet_size=3, random_state=0)
    found = RCA(shrinkage=0.0).fit(X, chunks).get_mahalanobis_matrix()
    expected = np.linalg.inv(inner_covariance(X, chunks))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_labels_are_chunklets() -> None:
    found = RCA(shrinkage=0.0).fit(X, y).get_mahalanobis_matrix()
    expected = np.linalg.inv(inner_covariance(X, y))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("d", [1, 2])
def test_few_rows_are_the_most_relevant(d: int) -> None:
    chunks = chunklets_from_labels(y, 40, chunklet_size=3, random_state=0)
    A = RCA(d, shrinkage=0.0).fit(X, chunks).components_
    inner = inner_covariance(X, chunks)
    np.testing.assert_allclose(A @ inner @ A.T, np.eye(d), atol=1e-8)
    inside = X[chunks >= 0]
    total = np.cov(inside.T, bias=True)
    # S_t = Ĉ + the scatter of the means: the largest ratios of the two.
    _, vectors = eigh(total, inner)
    best = vectors[:, ::-1][:, :d]
    overlap = np.linalg.svd(A @ inner @ best)[1]
    np.testing.assert_allclose(overlap, np.ones(d), atol=1e-6)


def test_nca_starts_from_the_same_map() -> None:
    rows = initial_components("rca", X, y, None, np.random.RandomState(0))
    ours = RCA(shrinkage=0.0).fit(X, y).get_mahalanobis_matrix()
    np.testing.assert_allclose(rows.T @ rows, ours, rtol=1e-6, atol=1e-9)


def test_singular_covariances() -> None:
    digits, labels = load_digits(return_X_y=True)  # with constant columns
    for shrinkage in ("auto", 0.0, 1.0):
        rca = RCA(shrinkage=shrinkage).fit(digits[:300], labels[:300])
        assert np.isfinite(rca.components_).all()
    chunklets = chunklets_from_labels(labels, 800, random_state=0)
    assert 0 < RCA().fit(digits, chunklets).shrinkage_ < 0.2
    wide = RCA().fit(digits[:40], labels[:40])
    assert wide.components_.shape == (39, 64)
    assert RCA(3).fit(digits[:40], labels[:40]).transform(digits).shape == (1797, 3)


def test_a_class_of_one_counts_for_nothing() -> None:
    labels = y.copy()
    labels[0] = 9
    found = RCA(shrinkage=0.0).fit(X, labels).get_mahalanobis_matrix()
    expected = RCA(shrinkage=0.0).fit(X, np.where(labels == 9, -1, y))
    np.testing.assert_allclose(found, expected.get_mahalanobis_matrix(), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        (np.arange(178), "expected chunklets of two points or more, but 178 of 178"),
        (np.append([5, -1], np.arange(176) % 4), "1 of 5 have a single one, as 5 has"),
        (np.full(178, -1), "y has no chunklet"),
        (np.where(y > 0, 1, -1), "only one class: 1 .-1 marks points"),
        (np.zeros(178), "only one class"),
    ],
)
def test_bad_chunklets(chunks: Any, message: str) -> None:
    rca = RCA()
    with pytest.raises(ValueError, match=message):
        rca.fit(X, chunks)
    assert not hasattr(rca, "n_features_in_")


def test_too_many_rows() -> None:
    with pytest.raises(ValueError, match="n_components=14 is more than"):
        RCA(14).fit(X, y)


def test_a_class_called_minus_one_is_warned_of() -> None:
    X, y = load_wine(return_X_y=True)
    with pytest.warns(
        UserWarning, match="59 rows with y = -1 are taken for rows in no"
    ):
        RCA().fit(X, y - 1)
    # As a class, up to twice as large as the largest of the others.
    sizes = np.repeat([-1, 0, 1], [20, 10, 10])
    with pytest.warns(UserWarning, match="20 rows with y = -1"):
        RCA().fit(X[:40], sizes)
    chunklets = chunklets_from_labels(y, 20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RCA().fit(X[:41], np.append(sizes, -1))
        RCA().fit(X, chunklets)
        RCA().fit(X, np.where(y == 0, "-1", y.astype(str)))


def test_shrinkage_is_chosen_on_rows_held_out() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    # Noise in two directions that are no axes hides what tells the classes apart.
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    Z = rng.normal(size=(300, 6)) * [30, 30, 1, 1, 1, 1]
    Z[:, 2] += 4 * labels
    assert RCA().fit(Z @ turn, labels).shrinkage_ < 0.1
    # Many features and few rows: their covariances are all noise.
    Z = rng.normal(size=(60, 40)) * np.geomspace(1, 100, 40)
    Z[:, :3] += 3 * np.eye(3)[labels[:60]]
    assert RCA().fit(Z, labels[:60]).shrinkage_ > 0.1
