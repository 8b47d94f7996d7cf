"""Compiled lists find what the plain search finds, whichever way they are filled."""

from itertools import pairwise

import numpy as np
import pytest

from vicinal._typing import FloatArray
from vicinal.neighborhood import nearest
from vicinal.neighborhood.nearest import Neighbors, nearest_of_each_class
from vicinal.neighborhood.threads import map_in_order


def on_a_grid(n: int, dtype: type) -> FloatArray:
    """Return points whose distances are exact, and often equal."""
    points = np.random.default_rng(0).integers(-3, 4, size=(n, 3))
    return points.astype(dtype)


def by_sorting(
    points: FloatArray, bounds: list[int], k: int, queries: FloatArray | None
) -> Neighbors:
    """Return the nearest by a stable sort of all distances."""
    Q = points if queries is None else queries
    squares = np.square(Q[:, None] - points).sum(axis=2).astype(np.float64)
    if queries is None:
        np.fill_diagonal(squares, np.inf)
    found = []
    for start, stop in pairwise(bounds):
        kept = max(1, min(k, stop - start - (queries is None)))
        order = np.argsort(squares[:, start:stop], axis=1, kind="stable")[:, :kept]
        found.append((order + start).astype(np.int32))
    return found


@pytest.mark.parametrize("way", ["plain", "lists", "both ways"])
@pytest.mark.parametrize("bounds", [[0, 150, 151, 400], [0, 90, 180, 400]])
@pytest.mark.parametrize("k", [1, 6, 50])
@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_equally_near_points_the_first_is_found(
    way: str, bounds: list[int], k: int, new: bool, dtype: type,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(nearest, "MANY_PAIRS", np.inf if way == "plain" else 0)
    large = 0 if way == "both ways" else np.inf
    monkeypatch.setattr(nearest, "LARGE_CLASSES", large)
    points = on_a_grid(400, dtype)
    queries = on_a_grid(450, dtype)[400:] if new else None
    expected = by_sorting(points, bounds, k, queries)
    for n_threads in (1, 3):
        found = nearest_of_each_class(
            points, np.array(bounds), k, queries, n_threads=n_threads
        )
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_blocks_in_any_order_end_in_the_same_lists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nearest, "MANY_PAIRS", 0)
    monkeypatch.setattr(nearest, "LARGE_CLASSES", 0)
    monkeypatch.setattr(nearest, "rows_per_block", lambda *_: 7)

    def backwards(work, parts, n_threads):  # type: ignore[no-untyped-def]
        return map_in_order(work, parts[::-1], n_threads)

    monkeypatch.setattr(nearest, "map_in_order", backwards)
    points, bounds = on_a_grid(120, np.float32), [0, 60, 120]
    found = nearest_of_each_class(points, np.array(bounds), 5)
    for ours, theirs in zip(found, by_sorting(points, bounds, 5, None), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_distances_are_held_no_longer_than_to_the_last_block() -> None:
    bounds = np.array([0, 10, 20])
    found = [np.zeros((20, 2), dtype=np.int32) for _ in range(2)]
    later = nearest._LaterPoints(bounds, found, 7, np.float64)
    for rows in (slice(7, 10), slice(0, 7)):
        with later.lists(rows, 1) as (distances, _):
            assert distances.shape == (10, 2)
        assert later._distances
        later.done(rows)
    assert not later._distances
