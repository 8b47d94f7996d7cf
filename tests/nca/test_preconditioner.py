from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from vicinal._typing import FloatArray, IntArray
from vicinal.classic import MLKR
from vicinal.nca._stochastic import Preconditioner, sample_rows


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def classes(n: int, D: int, n_classes: int = 3) -> tuple[FloatArray, IntArray]:
    """Classes far apart, of one skew covariance, in very different units."""
    draw = np.random.default_rng(1)
    mix = draw.normal(size=(D, D))
    y = draw.integers(n_classes, size=n)
    means = 20 * draw.normal(size=(n_classes, D))
    X = (means[y] + draw.normal(size=(n, D))) @ mix
    return X * 10.0 ** draw.integers(-3, 4, size=D), y


def within(X: FloatArray, y: IntArray) -> FloatArray:
    residuals = X.copy()
    for c in np.unique(y):
        residuals[y == c] -= X[y == c].mean(axis=0)
    return residuals.T @ residuals / len(X)


def test_spread_whitens_inside_the_classes() -> None:
    X, y = classes(2000, 5)
    preconditioner = Preconditioner.find(X, y, 2, False, rng())
    assert preconditioner.projection is None
    np.testing.assert_allclose(
        within(X @ preconditioner.whitening, y), np.eye(5), atol=0.05
    )
    # Not all of the points together, whose classes are far apart.
    assert np.cov((X @ preconditioner.whitening).T).trace() > 50


def test_without_classes_all_points_are_whitened() -> None:
    X, y = classes(2000, 5, n_classes=1)
    preconditioner = Preconditioner.find(X, None, 2, False, rng())
    np.testing.assert_allclose(
        within(X @ preconditioner.whitening, y), np.eye(5), atol=0.05
    )


def test_the_ridge_bounds_what_directions_without_variance_get() -> None:
    X, y = classes(500, 4)
    X = np.column_stack([X, X[:, 0]])  # one direction has none
    preconditioner = Preconditioner.find(X, y, 2, False, rng())
    variances = np.linalg.eigvalsh(within(X @ preconditioner.whitening, y))
    assert variances[0] == pytest.approx(0, abs=1e-6)
    assert variances[1:] == pytest.approx(1, abs=0.1)
    assert np.isfinite(preconditioner.whitening).all()


@pytest.mark.parametrize("diagonal", [False, True])
def test_start_and_back_undo_each_other(diagonal: bool) -> None:
    X, y = classes(300, 6)
    preconditioner = Preconditioner.find(X, y, 2, diagonal, rng())
    A = np.random.default_rng(2).normal(size=6 if diagonal else (2, 6))
    assert preconditioner.whitening.ndim == (1 if diagonal else 2)
    np.testing.assert_allclose(
        preconditioner.back(preconditioner.start(A)), A, rtol=1e-6
    )
    np.testing.assert_allclose(
        preconditioner.start(preconditioner.back(A)), A, rtol=1e-6, atol=1e-9
    )
    # The images are the same in either coordinates.
    if not diagonal:
        np.testing.assert_allclose(
            (X @ preconditioner.whitening) @ preconditioner.start(A).T,
            X @ A.T,
            rtol=1e-6,
        )


def test_a_diagonal_frame_is_the_deviations_inside_the_classes() -> None:
    X, y = classes(300, 6)
    preconditioner = Preconditioner.find(X, y, 2, True, rng())
    np.testing.assert_allclose(
        preconditioner.whitening, 1 / np.sqrt(np.diag(within(X, y)))
    )


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_units_of_the_features_cancel(diagonal: bool) -> None:
    X, y = classes(400, 5)
    units = np.array([1e-4, 1.0, 1e5, 3.0, 0.1])
    plain = Preconditioner.find(X, y, 2, diagonal, rng()).whitening
    other = Preconditioner.find(X * units, y, 2, diagonal, rng()).whitening
    if diagonal:
        np.testing.assert_allclose(other * units, plain, rtol=1e-8)
    else:
        # Up to the signs of the directions, and so is x · spread.
        images, others = X @ plain, (X * units) @ other
        np.testing.assert_allclose(images @ images.T, others @ others.T, rtol=1e-4)


def low_rank(n: int = 1500, D: int = 120) -> tuple[FloatArray, IntArray]:
    """Ten strong directions that tell the classes, and much weak noise."""
    draw = np.random.default_rng(3)
    y = draw.integers(4, size=n)
    latent = 3 * draw.normal(size=(4, 10))[y] + draw.normal(size=(n, 10))
    axes = np.linalg.qr(draw.normal(size=(D, 10)))[0]
    return 5 * latent @ axes.T + 0.1 * draw.normal(size=(n, D)), y


def hidden(order: str, n: int = 1500, D: int = 120) -> tuple[FloatArray, IntArray]:
    """Strong directions that tell nothing, and a weak one that tells all."""
    draw = np.random.default_rng(4)
    y = draw.integers(2, size=n)
    if order == "alternating":
        y = np.arange(n) % 2
    elif order == "sorted":
        y = np.sort(y)
    X = draw.normal(size=(n, D)) * np.repeat([10.0, 0.01], [20, D - 20])
    X[:, -1] += 0.05 * (2 * y - 1)
    return X @ np.linalg.qr(draw.normal(size=(D, D)))[0], y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit", [1e-25, 1.0, 1e25])
def test_directions_that_tell_nothing_are_left_out(dtype: Any, unit: float) -> None:
    X, y = low_rank()
    X = (X * unit).astype(dtype)
    preconditioner = Preconditioner.find(X, y, 3, False, rng())
    assert preconditioner.projection is not None
    assert preconditioner.projection.shape[0] == 120
    assert 5 <= preconditioner.projection.shape[1] <= 60
    assert preconditioner.projection.dtype == dtype
    np.testing.assert_allclose(
        preconditioner.projection.T @ preconditioner.projection,
        np.eye(preconditioner.projection.shape[1]),
        atol=1e-5,
    )
    lda = LinearDiscriminantAnalysis()
    plain = (X / np.float64(unit)).astype(np.float64)
    assert (
        lda.fit(plain @ preconditioner.projection, y).score(
            plain @ preconditioner.projection, y
        )
        > 0.95
    )


def test_where_the_points_lie_is_no_direction() -> None:
    X, y = low_rank()
    plain, moved = (
        Preconditioner.find(points, y, 3, False, rng()).projection
        for points in (X, X + 100)
    )
    assert plain is not None
    assert moved is not None
    np.testing.assert_allclose(
        np.abs(moved.T @ plain), np.eye(plain.shape[1]), atol=1e-6
    )


@pytest.mark.parametrize("order", ["random", "sorted", "alternating"])
def test_a_weak_direction_that_tells_all_is_kept(order: str) -> None:
    X, y = hidden(order)
    assert Preconditioner.find(X, y, 2, False, rng()).projection is None


def test_up_to_a_hundred_features_all_directions_are_kept() -> None:
    X, y = low_rank()
    # Of 100 features as of 120, ten directions would do.
    assert Preconditioner.find(X[:, :100], y, 3, False, rng()).projection is None
    assert Preconditioner.find(X[:, :101], y, 3, False, rng()).projection is not None


def test_when_nothing_is_left_out() -> None:
    X, y = low_rank()
    assert Preconditioner.find(X, None, 3, False, rng()).projection is None
    assert Preconditioner.find(X, y, 3, True, rng()).projection is None
    assert (
        Preconditioner.find(X, y, 3, False, rng(), all_directions=True).projection
        is None
    )
    assert (
        Preconditioner.find(X, y, 61, False, rng()).projection is None
    )  # twice that is over half
    preconditioner = Preconditioner.find(X, y, 30, False, rng())
    assert preconditioner.projection is not None
    assert preconditioner.projection.shape[1] == 60


def test_start_and_back_with_directions_left_out() -> None:
    X, y = low_rank()
    preconditioner = Preconditioner.find(X, y, 3, False, rng())
    assert preconditioner.projection is not None
    kept = preconditioner.projection @ preconditioner.projection.T
    A = np.random.default_rng(5).normal(size=(3, 120))
    np.testing.assert_allclose(
        preconditioner.back(preconditioner.start(A)), A @ kept, atol=1e-8
    )
    B = np.random.default_rng(6).normal(size=(3, preconditioner.projection.shape[1]))
    np.testing.assert_allclose(
        preconditioner.start(preconditioner.back(B)), B, atol=1e-8
    )
    images = X @ preconditioner.projection @ preconditioner.whitening @ B.T
    np.testing.assert_allclose(images, X @ preconditioner.back(B).T, atol=1e-8)
    np.testing.assert_allclose(
        preconditioner.unwhitening(B) @ preconditioner.projection.T,
        preconditioner.back(B),
        atol=1e-12,
    )


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("case", ["constant", "all equal", "one class", "few rows"])
def test_awkward_data(case: str, diagonal: bool) -> None:
    X, y = classes(300, 6)
    if case == "constant":
        X[:, 2] = 7.0
    elif case == "all equal":
        X[:] = 3.0
    elif case == "one class":
        y[:] = 0
    else:
        draw = np.random.default_rng(7)
        X, y = draw.normal(size=(20, 150)), np.arange(20) % 3
    preconditioner = Preconditioner.find(X, y, 2, diagonal, rng())
    assert np.isfinite(preconditioner.whitening).all()
    D = X.shape[1]
    A = np.random.default_rng(8).normal(size=D if diagonal else (2, D))
    there_and_back = preconditioner.back(preconditioner.start(A))
    assert np.isfinite(there_and_back).all()
    if preconditioner.projection is None:
        np.testing.assert_allclose(there_and_back, A, rtol=1e-5, atol=1e-7)


def test_more_features_than_a_covariance_is_worth() -> None:
    X = np.random.default_rng(9).normal(size=(30, 2001)).astype(np.float32)
    preconditioner = Preconditioner.find(X, np.arange(30) % 2, 2, False, rng())
    assert preconditioner.projection is None
    assert preconditioner.whitening.shape == (2001,)


@pytest.mark.parametrize(
    ("shape", "n_rows"), [((100, 3), 100), ((9000, 3), 5000), ((9000, 600), 6000)]
)
def test_the_sample(shape: tuple[int, int], n_rows: int) -> None:
    rows = sample_rows(np.broadcast_to(0.0, shape), rng())
    assert len(np.unique(rows)) == len(rows) == n_rows
    assert np.all(np.diff(rows) > 0)
    assert rows[-1] < shape[0]


def test_units_of_noise_do_not_hide_the_signal() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=2000)
    points = rng.normal(size=(2000, 120))
    points[:, :4] += 3 * np.eye(4)[labels]
    points[:, 40:70] *= 1e4  # all of the variance, and nothing to tell
    preconditioner = Preconditioner.find(
        points, labels, 2, False, np.random.default_rng(1)
    )
    assert preconditioner.projection is None


def test_classes_without_any_spread() -> None:
    labels = np.repeat([0, 1], 50)
    for dtype in (np.float32, np.float64):
        points = np.eye(2, 128, dtype=dtype)[labels]
        preconditioner = Preconditioner.find(
            points, labels, 2, False, np.random.default_rng(0)
        )
        assert (
            np.abs(preconditioner.back(preconditioner.start(np.ones((2, 128))))).max()
            < 1e3
        )
        assert np.isfinite(preconditioner.whitening).all()
        assert np.abs(preconditioner.whitening).max() < 1e6


@pytest.mark.parametrize("value", [0.1, 0.7, 1.1])
def test_rounding_of_a_large_constant_is_no_residual(value: float) -> None:
    points = rng().normal(size=(47, 3)) * 1e70
    points[:, 2] = value * 1e70
    found = Preconditioner.find(points, None, 1, False, rng())
    assert np.isfinite(found.whitening).all()
    MLKR(1, solver="stochastic", max_iter=1).fit(points, points[:, 0] / 1e70)
