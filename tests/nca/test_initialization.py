import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from vicinal._typing import FloatArray
from vicinal.nca._initialization import (
    candidate_starts,
    diagonal_start,
    initial_components,
)

X, y = load_iris(return_X_y=True)


def start(init: object, n_components: int | None = 2, codes: object = y) -> FloatArray:
    rng = np.random.RandomState(0)
    return initial_components(init, X, codes, n_components, rng)  # type: ignore[arg-type]


def test_each_start_is_what_its_name_says() -> None:
    np.testing.assert_array_equal(start("identity"), np.eye(2, 4))
    np.testing.assert_allclose(start("pca"), PCA(2).fit(X).components_, rtol=1e-11)
    lda = LinearDiscriminantAnalysis().fit(X, y).scalings_.T
    # The same directions and, but for one factor that its versions differ in, sizes.
    factors = np.abs(start("auto") / lda)
    np.testing.assert_allclose(factors, factors[0, 0], rtol=1e-9)
    assert factors[0, 0] == pytest.approx(1, abs=0.02)
    random = np.random.RandomState(0).standard_normal((2, 4))
    np.testing.assert_array_equal(start("random"), random)


def test_lda_is_that_of_the_thesis() -> None:
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(4), [70, 20, 6, 4])  # classes of very different sizes
    points = rng.normal(size=(100, 5)) + 2 * rng.normal(size=(4, 5))[codes]
    points -= points.mean(axis=0)
    means = np.stack([points[codes == c].mean(axis=0) for c in range(4)])
    between = means.T @ means / 4  # eq. 3.16
    residuals = points - means[codes]
    within = residuals.T @ residuals / 100  # eq. 3.17
    _, vectors = eigh(between, within)
    expected = vectors[:, ::-1][:, :3].T
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = initial_components("lda", points, codes, 3, np.random.RandomState(0))
    np.testing.assert_allclose(np.abs((found * expected).sum(axis=1)), 1, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
    rca = initial_components("rca", points, codes, 3, np.random.RandomState(0))
    assert subspace_angles(found[:2].T, rca[:2].T).max() > 0.05


@pytest.mark.parametrize("init", ["lda", "rca"])
def test_rounding_does_not_decide_on_a_start(init: str) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(80, 7)) @ rng.normal(size=(7, 7))
    codes = np.arange(80) % 2
    points[:, 0] += codes

    def matrix(points: FloatArray) -> FloatArray:
        A = initial_components(init, points, codes, 4, np.random.RandomState(0))
        return A.T @ A

    expected = matrix(points)
    jittered = points * (1 + 1e-13 * rng.normal(size=points.shape))
    for other in (np.asfortranarray(points), jittered):
        np.testing.assert_allclose(
            matrix(other), expected, atol=1e-8 * np.abs(expected).max()
        )


@pytest.mark.parametrize(("n", "n_features"), [(700, 60), (60, 700), (900, 600)])
def test_subspaces_are_those_of_scikit_learn(n: int, n_features: int) -> None:
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 5
    sizes = np.geomspace(1, 30, n_features)
    points = rng.normal(size=(n, n_features)) * sizes + 3 * rng.normal(size=(5, 1))[
        codes
    ] * rng.normal(size=n_features)
    random_state = np.random.RandomState(0)
    pca = initial_components("pca", points, codes, 3, random_state)
    exact = PCA(3, svd_solver="full").fit(points).components_
    np.testing.assert_allclose(pca, exact, atol=1e-9)
    np.testing.assert_array_equal(
        initial_components("pca", points, codes, 3, random_state, 2), pca
    )
    if n < n_features:
        return  # scikit-learn's LDA has no unique answer here
    lda = initial_components("lda", points, codes, 4, random_state)
    theirs = LinearDiscriminantAnalysis().fit(points, codes).scalings_.T
    angles = subspace_angles(lda.T, theirs[:4].T)
    assert angles.max() < 1e-7
    np.testing.assert_array_equal(
        initial_components("lda", points, codes, 4, random_state, 2), lda
    )


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("d", [2, None])
def test_a_linear_fit_reaches_ten_times_as_far_along_as_across(
    d: int | None, unit: float
) -> None:
    weights = unit * np.array([1.0, -2.0, 0.5, 3.0])
    rng = np.random.RandomState(0)
    starts = candidate_starts("auto", X, None, d, rng, targets=X @ weights)
    first, A = starts["identity" if d is None else "pca"], starts["linear"]
    if d is None:
        _, sizes, directions = np.linalg.svd(A)
        np.testing.assert_allclose(sizes, [10, 1, 1, 1])
        direction = directions[0]
    else:  # it takes the place of the last row
        np.testing.assert_array_equal(A[0], first[0])
        assert np.linalg.norm(A[1]) == pytest.approx(10)
        direction = A[1]
    assert abs(np.corrcoef(X @ direction, X @ weights)[0, 1]) > 0.99


def test_an_array_is_copied() -> None:
    given = np.eye(3, 4)
    taken = start(given, None)
    np.testing.assert_array_equal(taken, given)
    assert not np.shares_memory(taken, given)
    np.testing.assert_array_equal(start(given.tolist(), 3), given)


@pytest.mark.parametrize(
    ("n_components", "codes", "chosen"),
    [
        (2, y, "rca"),  # below the number of classes
        (3, y, "pca"),
        (None, y, "identity"),
        (2, np.arange(150), "pca"),  # LDA needs more points than classes
        (1, np.zeros(150, dtype=int), "pca"),
    ],
)
def test_auto_chooses(n_components: int | None, codes: object, chosen: str) -> None:
    np.testing.assert_allclose(
        start("auto", n_components, codes),
        start(chosen, n_components, codes),
        rtol=1e-10,
        atol=1e-12,
    )


def within_class_covariance(A: FloatArray) -> FloatArray:
    Z = X @ A.T
    residuals = Z - np.stack([Z[y == c].mean(axis=0) for c in range(3)])[y]
    return np.asarray(residuals.T @ residuals / len(Z))


@pytest.mark.parametrize("d", [1, 2, 4])
def test_rca_gives_the_classes_unit_covariance(d: int) -> None:
    np.testing.assert_allclose(
        within_class_covariance(start("rca", d)), np.eye(d), atol=1e-8
    )


@pytest.mark.parametrize("d", [1, 2, 4])
def test_whitening_gives_all_points_unit_covariance(d: int) -> None:
    Z = X @ start("whiten", d).T
    np.testing.assert_allclose(np.cov(Z.T, bias=True), np.eye(d).squeeze(), atol=1e-8)


def test_rca_at_low_rank_keeps_what_separates_the_classes() -> None:
    leading = X @ start("rca", 1).T
    lda = X @ start("lda", 1).T
    assert abs(np.corrcoef(leading[:, 0], lda[:, 0])[0, 1]) > 0.99


def test_lda_is_completed_where_the_classes_are_too_few() -> None:
    A = start("lda", 4)
    np.testing.assert_array_equal(A[:2], start("lda", 2))
    assert np.linalg.matrix_rank(A) == 4


@pytest.mark.parametrize("init", ["rca", "whiten"])
def test_scale_is_undone(init: str) -> None:
    for unit in (1e-20, 1e20):
        rng = np.random.RandomState(0)
        A = initial_components(init, X * unit, y, 2, rng)
        np.testing.assert_allclose(A * unit, start(init, 2), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("init", ["rca", "whiten"])
def test_a_feature_in_a_small_unit_is_whitened_too(init: str) -> None:
    points = X * [1, 1, 1, 1e-5]
    A = initial_components(init, points, y, None, np.random.RandomState(0))
    np.testing.assert_allclose(
        np.linalg.svd(points @ A.T - (points @ A.T).mean(axis=0))[1],
        np.linalg.svd(X @ start(init, None).T - (X @ start(init, None).T).mean(axis=0))[
            1
        ],
        rtol=1e-3,
    )


def test_a_constant_column_is_no_trouble_to_whitening() -> None:
    points = np.column_stack([X, np.ones(150)])
    for init in ("rca", "whiten"):
        A = initial_components(init, points, y, None, np.random.RandomState(0))
        assert np.isfinite(A).all()
        np.testing.assert_allclose(A[:, 4], 0, atol=1e-12)


def test_a_diagonal_start_whitens_each_column_and_leaves_a_constant_one() -> None:
    points = np.column_stack([X, np.ones(150)])
    expected = [*(1 / X.std(axis=0)), 1]
    np.testing.assert_allclose(diagonal_start("whiten", points), expected)


@pytest.mark.parametrize("init", ["rca", "whiten", "lda"])
def test_more_features_than_points(init: str) -> None:
    points = np.random.default_rng(0).normal(size=(20, 300))
    codes = np.repeat([0, 1], 10)
    A = initial_components(init, points, codes, 5, np.random.RandomState(0))
    assert A.shape == (5, 300)
    assert np.isfinite(A).all()
    assert np.linalg.matrix_rank(A) == 5


def test_lda_without_scatter_is_an_error_and_auto_goes_on() -> None:
    points = np.repeat(np.eye(3, 4), 5, axis=0)
    codes = np.repeat([0, 1, 2], 5)
    rng = np.random.RandomState(0)
    with pytest.raises(ValueError, match="no class has points that differ"):
        initial_components("lda", points, codes, 2, rng)
    np.testing.assert_array_equal(
        initial_components("auto", points, codes, 2, rng),
        initial_components("pca", points, codes, 2, rng),
    )


def test_without_classes_there_is_no_lda() -> None:
    with pytest.raises(ValueError, match="init='lda' needs classes"):
        start("lda", 2, None)
    np.testing.assert_array_equal(start("auto", 2, None), start("pca", 2))


def test_classes_with_one_mean_are_completed() -> None:
    points = np.repeat([[1.0, 0], [-1, 0], [0, 1], [0, -1]], 3, axis=0)
    points = np.vstack([points, points, points + 5])
    codes = np.repeat([0, 1, 2], 12)
    rng = np.random.RandomState(0)
    A = initial_components("lda", points, codes, 2, rng)
    assert np.linalg.matrix_rank(A) == 2


@pytest.mark.parametrize(
    ("init", "n_components", "message"),
    [
        (np.eye(2, 3), None, "3 columns, but X has 4 features"),
        (np.ones((5, 4)), None, "5 rows, more than the 4 features"),
        (np.eye(2, 4), 3, "2 rows, but n_components=3"),
        (np.full((2, 4), np.nan), 2, "contains NaN"),
        (np.zeros(4), None, "Expected 2D array"),
        ("pca", 5, "n_components=5 is more than the 4 features"),
    ],
)
def test_impossible_starts_are_named(
    init: object, n_components: int | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        start(init, n_components)
