"""NCA of soft labels and of match matrices, as fits."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from sklearn.datasets import load_iris

from vicinal import NCA, NCAClassifier

X, y = load_iris(return_X_y=True)
Y = np.eye(3)[y]


@pytest.mark.parametrize("objective", ["expected", "log"])
@pytest.mark.parametrize("form", ["full", "diagonal"])
def test_hard_labels_give_the_map_of_classes(objective: str, form: str) -> None:
    settings: dict[str, Any] = {"objective": objective, "form": form, "max_iter": 300}
    settings |= {"alpha": 1e-3, "init": "identity"}
    plain = NCA(**settings).fit(X, y)
    soft = NCA(**settings).fit(X, Y)
    assert soft.objective_curve_[-1] == pytest.approx(plain.objective_curve_[-1], 1e-4)
    same = csr_array((y[:, None] == y).astype(float))
    listed = NCA(**settings).fit(X, same)
    assert listed.objective_curve_[-1] == pytest.approx(soft.objective_curve_[-1], 1e-4)
    np.testing.assert_allclose(
        listed.effective_neighbors_, soft.effective_neighbors_, rtol=0.05
    )


def test_doubt_counts() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 4))
    p = 1 / (1 + np.exp(-3 * points[:, 0]))  # the first feature alone says which
    model = NCA(1, max_iter=200, objective="log").fit(
        points, np.column_stack([p, 1 - p])
    )
    assert np.abs(model.components_[0]).argmax() == 0


def test_mini_batches_and_weights() -> None:
    model = NCA(2, solver="stochastic", max_iter=5, batch_size=50, n_references=80)
    model.set_params(random_state=0).fit(X, Y, sample_weight=np.arange(150) % 3)
    assert np.isnan(model.effective_neighbors_).sum() == 50
    assert model.components_.shape == (2, 4)


@pytest.mark.parametrize(
    ("parameters", "labels", "words"),
    [
        ({}, 0.5 * Y, "must sum to 1"),
        ({}, csr_array((150, 3)), "must have shape"),
        ({"objective": "class-density"}, Y, "needs a class for each row"),
        ({"n_components": "auto"}, Y, "n_components='auto' needs a class"),
        ({"alpha": "auto"}, Y, "alpha='auto' needs a class"),
        ({"anneal": True}, Y, "anneal=True needs a class"),
        ({"early_stopping": True}, Y, "early_stopping=True needs a class"),
        ({"n_neighbors": 10}, Y, "n_neighbors=10 needs a class"),
        ({"form": "diagonal", "n_components": 2}, Y, "n_components must be None"),
    ],
)
def test_what_is_wrong_is_said(
    parameters: dict[str, Any], labels: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        NCA(**parameters).fit(X, labels)


def test_a_classifier_wants_classes() -> None:
    with pytest.raises(ValueError, match="1d array"):
        NCAClassifier().fit(X, Y)


def test_objectives_that_need_classes() -> None:
    Y = np.eye(2)[np.arange(40) % 2]
    X = np.random.default_rng(0).normal(size=(40, 3))
    for objective in ("class-density", "squared-error"):
        with pytest.raises(ValueError, match=f"{objective}.* needs a class for each"):
            NCA(objective=objective).fit(X, Y)


def test_matches_that_come_twice_add_up_before_they_are_checked() -> None:
    twice = coo_array(([0.7, 0.7, 0.5], ([0, 0, 1], [1, 1, 0])), (4, 4))
    with pytest.raises(ValueError, match="between 0 and 1"):
        NCA().fit(np.random.default_rng(0).normal(size=(4, 2)), twice)


def test_all_features_may_be_named_with_weights_of_features() -> None:
    settings: dict[str, Any] = {"form": "diagonal", "alpha": 1e-3, "max_iter": 200}
    named = NCA(4, **settings).fit(X, Y)
    np.testing.assert_array_equal(
        named.components_, NCA(**settings).fit(X, Y).components_
    )
    with pytest.raises(ValueError, match="n_components must be None, not 2"):
        NCA(2, **settings).fit(X, Y)


def test_matches_of_rows_without_weight_are_none() -> None:
    matches = csr_array(([1.0], ([0], [1])), (150, 150))
    weights = np.ones(150)
    weights[1] = 0
    with pytest.raises(ValueError, match="No two rows match"):
        NCA().fit(X, matches, sample_weight=weights)
