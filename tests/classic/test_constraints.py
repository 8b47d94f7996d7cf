import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vicinal.classic import (
    chunklets_from_labels,
    nearest_triplets,
    pairs_from_labels,
    quadruplets_from_labels,
    triplets_from_labels,
)

# A class of a hundred, one of ten, one of four, and one alone.
Y = np.repeat([0, 1, 2, 3], [100, 10, 4, 1])


@given(seed=st.integers(0, 2**16))
@settings(max_examples=25, deadline=None)
def test_they_are_what_they_say(seed: int) -> None:
    pairs, signs = pairs_from_labels(Y, 60, random_state=seed)
    assert pairs.shape == (60, 2)
    assert ((Y[pairs[:, 0]] == Y[pairs[:, 1]]) == (signs == 1)).all()
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert (signs == 1).sum() == 30
    assert len(np.unique(np.sort(pairs, axis=1), axis=0)) == 60
    triplets = triplets_from_labels(Y, 60, random_state=seed)
    a, b, c = Y[triplets.T]
    assert ((a == b) & (a != c)).all()
    assert (triplets[:, 0] != triplets[:, 1]).all()
    four = quadruplets_from_labels(Y, 60, random_state=seed)
    assert (Y[four[:, 0]] == Y[four[:, 1]]).all()
    assert (Y[four[:, 2]] != Y[four[:, 3]]).all()
    chunks = chunklets_from_labels(Y, 20, chunklet_size=3, random_state=seed)
    for c in range(20):
        assert (chunks == c).sum() == 3
        assert len(np.unique(Y[chunks == c])) == 1


def test_classes_are_drawn_alike_whatever_their_size() -> None:
    labels = np.repeat([0, 1, 2], [4000, 400, 100])
    triplets = triplets_from_labels(labels, 3000, random_state=0)
    anchors = np.bincount(labels[triplets[:, 0]], minlength=3)
    # 1,000 of each, within five standard deviations of a fair draw.
    assert np.abs(anchors - 1000).max() < 5 * np.sqrt(3000 * 2 / 9)
    others = np.bincount(labels[triplets[:, 2]], minlength=3)
    assert np.abs(others - 1000).max() < 5 * np.sqrt(3000 * 2 / 9)
    pairs, signs = pairs_from_labels(labels, 3000, random_state=0)
    for sign in (1, -1):
        rows = labels[pairs[signs == sign]].ravel()
        assert np.abs(np.bincount(rows) / len(rows) - 1 / 3).max() < 0.06
    chunks = chunklets_from_labels(labels, 90, random_state=0)
    owners = [labels[chunks == c][0] for c in range(90)]
    np.testing.assert_array_equal(np.bincount(owners), [30, 30, 30])


def test_seeds() -> None:
    first, again, other = (
        pairs_from_labels(Y, 50, random_state=seed)[0] for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_where_there_are_few_all_are_found() -> None:
    pairs, signs = pairs_from_labels(["a", "a", "b"], 100, random_state=0)
    found = {(*pair, sign) for pair, sign in zip(pairs.tolist(), signs, strict=True)}
    assert found == {(0, 1, 1), (0, 2, -1), (1, 2, -1)}


def test_nearest_triplets_are_all_of_the_near() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    labels = np.arange(30) % 3
    labels[0] = 3  # alone
    found = nearest_triplets(X, labels, 2, 4)
    assert len(found) == 29 * 8
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    for i in range(1, 30):
        own = [j for j in range(30) if labels[j] == labels[i] and j != i]
        other = [j for j in range(30) if labels[j] != labels[i]]
        near = set(sorted(own, key=lambda j: squares[i, j])[:2])
        far = set(sorted(other, key=lambda j: squares[i, j])[:4])
        mine = found[found[:, 0] == i]
        assert {tuple(row[1:]) for row in mine} == {(a, b) for a in near for b in far}


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="No two rows"):
        pairs_from_labels([0, 1, 2])
    with pytest.raises(ValueError, match="one class"):
        triplets_from_labels([0, 0, 0])
    with pytest.raises(ValueError, match="n_pairs must be at least 1"):
        pairs_from_labels(Y, 0)
    with pytest.raises(ValueError, match=r"60 chunks of 2 points .* 1 to 57"):
        chunklets_from_labels(Y, 60)
    with pytest.raises(ValueError, match="at least 2 points"):
        chunklets_from_labels(Y, 2, chunklet_size=1)
    with pytest.raises(ValueError, match="continuous"):
        quadruplets_from_labels([0.1, 0.2, 0.7])
