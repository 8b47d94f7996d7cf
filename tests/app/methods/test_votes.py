from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from vicinal.app.methods.votes import OWN_RULE, Vote, Voters, choose_vote
from vicinal.nca import NCAClassifier, NCARegressor

RNG = np.random.default_rng(0)
Z, QUERIES = RNG.normal(size=(200, 3)), RNG.normal(size=(50, 3))
CODES = (Z[:, 0] > 0).astype(int) + (Z[:, 1] > 1)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_the_same_as_scikit_learn(weights: str) -> None:
    vote = Vote(7, weights)  # type: ignore[arg-type]
    knn = KNeighborsClassifier(7, weights=weights).fit(Z, CODES)
    found = Voters(Z, CODES, 3, smooth=False).predict(QUERIES, vote)
    np.testing.assert_allclose(found, knn.predict_proba(QUERIES))
    numbers = KNeighborsRegressor(7, weights=weights).fit(Z, Z[:, 0])
    found = Voters(Z, Z[:, 0], 0).predict(QUERIES, vote)
    np.testing.assert_allclose(found, numbers.predict(QUERIES))


def test_equal_rows_alone_vote() -> None:
    found = Voters(Z, CODES, 3, smooth=False).predict(Z[:5], Vote(7, "distance"))
    np.testing.assert_allclose(found, np.eye(3)[CODES[:5]])


def test_no_probability_is_zero() -> None:
    found = Voters(Z, CODES, 3).predict(QUERIES, Vote(1))
    assert (found > 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_all_rows_vote_as_in_nca() -> None:
    model = NCAClassifier(random_state=0).fit(Z, CODES)
    voters = Voters(model.transform(Z), CODES, 3)
    found = voters.predict(model.transform(QUERIES), OWN_RULE)
    np.testing.assert_allclose(found, model.predict_proba(QUERIES), atol=1e-6)
    numbers = NCARegressor(random_state=0).fit(Z, Z[:, 0])
    voters = Voters(numbers.transform(Z), Z[:, 0], 0)
    found = voters.predict(numbers.transform(QUERIES), OWN_RULE)
    np.testing.assert_allclose(found, numbers.predict(QUERIES), atol=1e-6)


@pytest.mark.parametrize("vote", [Vote(3), Vote(9, "soft", 0.5), OWN_RULE])
def test_a_row_does_not_vote_for_itself(vote: Vote) -> None:
    own = np.array([0, -1])
    found = Voters(Z, CODES, 3, smooth=False).predict(Z[:2], vote, own)
    alone = Voters(Z[1:], CODES[1:], 3, smooth=False).predict(Z[:1], vote)
    np.testing.assert_allclose(found[0], alone[0], atol=1e-12)
    whole = Voters(Z, CODES, 3, smooth=False).predict(Z[1:2], vote)
    np.testing.assert_allclose(found[1], whole[0], atol=1e-12)


def test_noise_asks_for_many_neighbors_and_borders_for_few() -> None:
    X = RNG.uniform(size=(1000, 2))
    noisy = ((X[:, 0] > 0.5) ^ (RNG.uniform(size=1000) < 0.3)).astype(int)
    assert (choose_vote(Voters(X, noisy, 2)).n_neighbors or 0) >= 25
    board = ((8 * X).astype(int).sum(axis=1) % 2).astype(int)
    assert (choose_vote(Voters(X, board, 2)).n_neighbors or 0) <= 9
    smooth = choose_vote(Voters(X, X[:, 0] + RNG.normal(size=1000), 0))
    assert (smooth.n_neighbors or 0) >= 25
