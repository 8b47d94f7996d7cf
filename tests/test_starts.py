import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from vicinal._starts import starting_map
from vicinal._typing import FloatArray

X, y = load_iris(return_X_y=True)


def start(init: object, n_components: int | None = 2, codes: object = y) -> FloatArray:
    rng = np.random.RandomState(0)
    return starting_map(init, X, codes, n_components, rng)  # type: ignore[arg-type]


def test_each_start_is_what_its_name_says() -> None:
    np.testing.assert_array_equal(start("identity"), np.eye(2, 4))
    np.testing.assert_array_equal(start("pca"), PCA(2).fit(X).components_)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_array_equal(start("lda"), lda.scalings_.T)
    random = np.random.RandomState(0).standard_normal((2, 4))
    np.testing.assert_array_equal(start("random"), random)


def test_an_array_is_copied() -> None:
    given = np.eye(3, 4)
    taken = start(given, None)
    np.testing.assert_array_equal(taken, given)
    assert not np.shares_memory(taken, given)
    np.testing.assert_array_equal(start(given.tolist(), 3), given)


@pytest.mark.parametrize(
    ("n_components", "codes", "chosen"),
    [
        (2, y, "lda"),  # below the number of classes
        (3, y, "pca"),
        (None, y, "identity"),
        (2, np.arange(150), "pca"),  # LDA needs more points than classes
        (1, np.zeros(150, dtype=int), "pca"),
    ],
)
def test_auto_chooses(n_components: int | None, codes: object, chosen: str) -> None:
    np.testing.assert_array_equal(
        start("auto", n_components, codes), start(chosen, n_components, codes)
    )


def test_classes_with_one_mean_leave_zero_rows() -> None:
    points = np.repeat([[1.0, 0], [-1, 0], [0, 1], [0, -1]], 3, axis=0)
    points = np.vstack([points, points, points + 5])
    codes = np.repeat([0, 1, 2], 12)
    rng = np.random.RandomState(0)
    A = starting_map("lda", points, codes, 2, rng)
    assert A.shape == (2, 2)
    assert (A[1] == 0).all()


@pytest.mark.parametrize(
    ("init", "n_components", "message"),
    [
        (np.eye(2, 3), None, "3 columns, but X has 4 features"),
        (np.ones((5, 4)), None, "5 rows, more than the 4 features"),
        (np.eye(2, 4), 3, "2 rows, but n_components=3"),
        (np.full((2, 4), np.nan), 2, "contains NaN"),
        (np.zeros(4), None, "Expected 2D array"),
        ("pca", 5, "n_components=5 is more than the 4 features"),
        ("lda", 3, "at most n_classes - 1 = 2 components"),
    ],
)
def test_impossible_starts_are_named(
    init: object, n_components: int | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        start(init, n_components)
