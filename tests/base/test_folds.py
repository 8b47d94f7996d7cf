import numpy as np
import pytest

from vicinal.base.selection import held_out, sample_of_classes


@pytest.mark.parametrize("sizes", [(30, 20), (7, 3, 1), (2, 2, 2), (1, 1, 9)])
@pytest.mark.parametrize("n_folds", [3, 5])
def test_folds_share_the_rows_out_and_leave_some_of_every_class(
    sizes: tuple[int, ...], n_folds: int
) -> None:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    folds = list(held_out(codes, np.random.RandomState(0), n_folds))
    times = np.sum(folds, axis=0)
    assert times.max() == 1
    for held in folds:
        assert held.any()
        assert set(codes[~held]) == set(codes)
    # Whoever has others of the class beside him in the folds is held out once.
    large = np.bincount(codes)[codes] >= n_folds
    np.testing.assert_array_equal(times[large], 1)
    assert not times[np.bincount(codes)[codes] == 1].any()


def test_folds_are_even_in_every_class() -> None:
    codes = np.repeat([0, 1], [50, 10])
    for held in held_out(codes, np.random.RandomState(1)):
        assert np.bincount(codes[held]).tolist() == [10, 2]


def test_one_row_cannot_be_held_out() -> None:
    assert list(held_out(np.zeros(1, dtype=int), np.random.RandomState(0))) == []


def test_a_sample_has_some_of_every_class() -> None:
    codes = np.repeat([0, 1, 2], [900, 99, 1])
    rows = sample_of_classes(codes, 100, np.random.RandomState(0))
    assert np.bincount(codes[rows]).tolist() == [90, 10, 1]
    assert np.all(np.diff(rows) > 0)
    every = sample_of_classes(codes, 1000, np.random.RandomState(0))
    np.testing.assert_array_equal(every, np.arange(1000))
