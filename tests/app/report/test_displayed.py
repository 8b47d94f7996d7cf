from dataclasses import replace

import numpy as np
import pytest

from tests.app.report import comparisons
from vicinal.app.comparison import Setting
from vicinal.app.report.rows import select_rows


def test_the_rows_of_the_page_are_held_out() -> None:
    setting = comparisons.wine().setting
    rows = select_rows(setting, 1000, None, None)
    test = np.sort(setting.tests[0])
    np.testing.assert_array_equal(rows.X, setting.X[test])
    np.testing.assert_array_equal(rows.crowd, rows.X)
    np.testing.assert_array_equal(rows.train, np.delete(setting.X, test, axis=0))
    assert setting.y is not None
    assert rows.target is not None
    assert [rows.classes[code] for code in rows.target] == setting.y[test].tolist()
    assert rows.pixels is None


def test_many_rows_become_points_to_click_and_a_crowd() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 3)), np.arange(5000) % 2
    setting = Setting(X, y, "classification", np.arange(5000), 5000, list("abc"))
    setting = replace(setting, target=y, classes=("a", "b"))
    rows = select_rows(setting, 100, None, None, max_crowd=1200, max_train=700)
    assert (len(rows.X), len(rows.crowd), rows.n_held_out) == (100, 1200, 1500)
    assert len(rows.train) == 700
    np.testing.assert_array_equal(rows.crowd[rows.shown], rows.X)
    assert not set(rows.train[:, 0]).intersection(rows.crowd[:, 0])


def test_a_part_has_all_classes_and_the_given_row_numbers() -> None:
    setting = comparisons.wine().setting
    # As if every other row had been left out before.
    setting = replace(setting, rows=2 * setting.rows)
    rows = select_rows(setting, 30, None, None)
    assert len(rows.X) == 30
    assert rows.n_held_out == 54
    assert rows.target is not None
    assert set(rows.target.tolist()) == {0, 1, 2}
    np.testing.assert_array_equal(rows.X, setting.X[rows.numbers // 2])


def test_pixels_follow_their_rows() -> None:
    setting = comparisons.digits().setting
    rows = select_rows(setting, 50, (8, 8), None)
    assert rows.pixels is not None
    drawn = rows.pixels.thumbnails.reshape(len(rows.X), 64)
    np.testing.assert_allclose(drawn, rows.X * 255 / 16, atol=0.5)
    assert rows.pixels.of_features is not None


def test_features_are_found_among_the_pixels_when_some_were_left_out() -> None:
    setting = comparisons.digits().setting
    pixels = setting.X
    kept = np.flatnonzero(np.ptp(pixels, axis=0))
    rows = select_rows(replace(setting, X=pixels[:, kept]), 50, (8, 8), pixels)
    assert rows.pixels is not None
    assert rows.pixels.of_features is not None
    # Pixels that are equal in all shown rows cannot be told apart, and need not be.
    seen = pixels[rows.numbers]
    np.testing.assert_array_equal(seen[:, rows.pixels.of_features], seen[:, kept])
    assert np.unique(rows.pixels.of_features).size == kept.size


def test_features_that_are_no_pixels() -> None:
    setting = comparisons.wine().setting
    images = np.random.RandomState(0).rand(178, 12)
    pixels = select_rows(setting, 50, (3, 4), images).pixels
    assert pixels is not None
    assert pixels.of_features is None


def test_large_pictures_become_small_ones() -> None:
    setting = comparisons.wine().setting
    images = np.zeros((178, 70 * 40))
    images[:, :40] = 1.0  # the first line of each
    pixels = select_rows(setting, 200, (70, 40), images).pixels
    assert pixels is not None
    assert pixels.thumbnails.shape == (54, 24, 14)
    # Means of 3 × 3 pixels, one line of which is white.
    assert pixels.thumbnails[0, 0].tolist() == [85] * 14
    assert not pixels.thumbnails[0, 1:].any()


def test_missing_and_constant_pixels() -> None:
    setting = comparisons.wine().setting
    pixels = select_rows(setting, 200, (1, 2), np.full((178, 2), np.nan)).pixels
    assert pixels is not None
    assert not pixels.thumbnails.any()


def test_shapes_that_do_not_fit() -> None:
    setting = comparisons.wine().setting
    with pytest.raises(ValueError, match=r"image_shape 4x4 needs X of shape \(178, 16"):
        select_rows(setting, 50, (4, 4), None)
    with pytest.raises(ValueError, match=r"needs images of shape"):
        select_rows(setting, 50, (4, 4), np.zeros((2, 16)))
    with pytest.raises(ValueError, match="need an image_shape"):
        select_rows(setting, 50, None, np.zeros((178, 16)))
