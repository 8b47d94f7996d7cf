import pickle
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.covariance import ledoit_wolf
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from vicinal._typing import FloatArray, IntArray
from vicinal.classic import ITML, TransferITML


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(TransferITML(max_iter=20))),
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: TransferITML, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def domain(n: int, away: float, seed: int) -> tuple[FloatArray, IntArray]:
    """Three classes told apart by two features; the third says which domain it is."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    points = rng.normal(size=(n, 6))
    points[:, :2] += 4 * np.array([[0, 0], [1, 0], [0, 1]])[labels]
    points[:, 2] += away * rng.choice([-1, 1], size=n)
    return points, labels


source, of_source = domain(300, 0.0, 0)
X, y = domain(9, 10.0, 1)
fresh, of_fresh = domain(200, 10.0, 2)


def fitted(gamma: float = 1.0, **parameters: Any) -> TransferITML:
    model = TransferITML(gamma, random_state=0, **parameters)
    return model.fit(X, y, X_source=source, y_source=of_source)


def test_the_feature_that_only_tells_the_domains_apart_is_played_down() -> None:
    M = fitted().get_mahalanobis_matrix()
    assert M[2, 2] < 0.5 * min(M[0, 0], M[1, 1])


def test_the_source_helps_the_target() -> None:
    model = fitted()
    both, classes = np.vstack([source, X]), np.concatenate([of_source, y])

    def score(A: FloatArray) -> float:
        knn = KNeighborsClassifier(3).fit(both @ A.T, classes)
        return float(knn.score(fresh @ A.T, of_fresh))

    assert score(model.components_) > score(np.eye(6)) + 0.1


def test_only_pairs_across_the_domains_count() -> None:
    """Moving both domains alike changes nothing; and the bounds are of pairs across."""
    alone = fitted(0.1).get_mahalanobis_matrix()
    moved = TransferITML(0.1, random_state=0).fit(
        X + 5, y, X_source=source + 5, y_source=of_source
    )
    np.testing.assert_allclose(moved.get_mahalanobis_matrix(), alone, rtol=1e-6)
    # One source row of each class and one target row of each: nine pairs in all, so
    # that the bounds are percentiles of those nine distances.
    few = TransferITML(0.1, random_state=0).fit(X[:3], y[:3], source[:3], of_source[:3])
    squares = ((X[:3, None] - source[:3]) ** 2).sum(axis=2)
    assert few.bounds_[0] == pytest.approx(squares.min())
    assert few.bounds_[1] == pytest.approx(squares.max())


def test_without_a_source_it_is_itml() -> None:
    np.testing.assert_array_equal(
        TransferITML(0.1, random_state=0).fit(source, of_source).components_,
        ITML(0.1, random_state=0).fit(source, of_source).components_,
    )


def test_classes_in_one_domain_only_and_names_for_classes() -> None:
    names = np.array(["b", "c", "d", "a"])
    labels = np.where(np.arange(300) % 10, of_source, 3)  # the target lacks "a"
    model = TransferITML(0.1, random_state=0, n_constraints=180)
    model.fit(X, names[y], source, names[labels])
    numbers = TransferITML(0.1, random_state=0, n_constraints=180)
    numbers.fit(X, y + 1, source, (labels + 1) % 4)
    np.testing.assert_array_equal(model.components_, numbers.components_)


def test_one_target_row_is_enough() -> None:
    model = TransferITML(0.1, random_state=0).fit(X[:1], y[:1], source, of_source)
    assert np.isfinite(model.components_).all()
    with pytest.raises(ValueError, match="only one class"):
        TransferITML().fit(X[::3], y[::3])


def test_the_covariance_is_that_of_both_domains() -> None:
    M = fitted(1e-9, prior="covariance").get_mahalanobis_matrix()
    expected = np.linalg.inv(ledoit_wolf(np.vstack([X, source]))[0])
    np.testing.assert_allclose(M, expected, atol=1e-6)


def test_source_rows_are_routed_through_a_pipeline() -> None:
    with config_context(enable_metadata_routing=True):
        asking = TransferITML(0.1, random_state=0).set_fit_request(
            X_source=True, y_source=True
        )
        pipeline = make_pipeline(asking, KNeighborsClassifier())
        pipeline.fit(X, y, X_source=source, y_source=of_source)
    np.testing.assert_array_equal(pipeline[0].components_, fitted(0.1).components_)


def test_float32_and_pickle() -> None:
    model = TransferITML(0.1, random_state=0).fit(
        X.astype(np.float32), y, source.astype(np.float32), of_source
    )
    assert model.components_.dtype == np.float32
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.transform(X), model.transform(X))


@pytest.mark.parametrize(
    ("X_source", "y_source", "message"),
    [
        (source, None, "go together"),
        (None, of_source, "go together"),
        (source[:, :4], of_source, "X has 6 features, but X_source has 4"),
        (source, of_source[:-1], "inconsistent numbers of samples"),
        (source, of_source + 7, "No class has rows in both"),
        (source, source[:, 0], "continuous"),
        (source, of_source.astype(str), "Mix of label input types"),
        (np.where(source > 3, np.nan, source), of_source, "X_source contains NaN"),
    ],
)
def test_a_source_that_cannot_serve(X_source: Any, y_source: Any, message: str) -> None:
    model = TransferITML()
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, X_source=X_source, y_source=y_source)
    assert vars(model) == before
