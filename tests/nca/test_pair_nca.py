"""PairNCA as an estimator: what it finds, and scikit-learn's own checks of it."""

from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import _num_samples

from vicinal import PairNCA
from vicinal._typing import FloatArray, IntArray


def agreeing(
    n: int = 120, n_features: int = 6, seed: int = 0
) -> tuple[FloatArray, IntArray]:
    """Return points and pairs that agree in the first two features alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    X[n // 2 :, :2] = X[: n // 2, :2] + 0.05 * rng.normal(size=(n // 2, 2))
    return X, np.column_stack([np.arange(n // 2), np.arange(n // 2, n)])


def share_of_first_two(model: PairNCA) -> float:
    size = np.linalg.norm(model.components_, axis=0)
    return float(size[:2].sum() / size.sum())


class PairNCAOfLabels(PairNCA):
    """Pairs of successive rows of a class: scikit-learn's checks give labels."""

    def fit(self, X: ArrayLike, y: ArrayLike | None) -> Self:
        labels = np.asarray(y).reshape(-1)
        if y is None or len(labels) != _num_samples(X) or len(labels) < 2:
            return super().fit(X, [[0, 1]])  # what is wrong is PairNCA's to say
        order = np.argsort(labels, kind="stable")
        same = labels[order][1:] == labels[order][:-1]
        pairs = np.column_stack([order[:-1][same], order[1:][same]])
        if not len(pairs):
            pairs = np.array([[0, 1]])
        return super().fit(X, pairs)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(PairNCAOfLabels(max_iter=5, random_state=0))),
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("normalization", ["pairs", "all", "anchor"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_components": 2},
        {"form": "diagonal"},
        {"solver": "cg"},
        {"solver": "bold-driver", "max_iter": 500},
        pytest.param(
            {"solver": "stochastic", "batch_size": 60, "n_references": 60},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_it_finds_the_features_that_agree(
    normalization: str, parameters: dict[str, Any]
) -> None:
    X, pairs = agreeing()
    settings = {"max_iter": 200, "alpha": 0.01, "random_state": 0, **parameters}
    model = PairNCA(normalization=normalization, **settings).fit(X, pairs)
    assert share_of_first_two(model) > 0.8
    assert model.transform(X).shape == (120, parameters.get("n_components", 6))
    if "form" in parameters:
        assert model.feature_weights_.shape == (6,)


def test_weights_decide_between_pairs() -> None:
    X, pairs = agreeing()
    wrong = np.random.default_rng(1).permutation(pairs.ravel()).reshape(-1, 2)
    both = np.vstack([pairs, wrong])
    weights = np.repeat([1.0, 0.0], 60)
    weighted = PairNCA(alpha=0.01, max_iter=200).fit(X, both, weights)
    alone = PairNCA(alpha=0.01, max_iter=200).fit(X, pairs)
    np.testing.assert_allclose(weighted.components_, alone.components_)


def test_going_on_and_float32() -> None:
    X, pairs = agreeing()
    model = PairNCA(warm_start=True, max_iter=3, alpha=0.01)
    with pytest.warns(ConvergenceWarning):
        model.fit(X.astype(np.float32), pairs)
    assert model.components_.dtype == np.float32
    first = model.objective_curve_[-1]
    model.set_params(max_iter=200).fit(X.astype(np.float32), pairs)
    assert model.objective_curve_[-1] > first


def test_weights_of_features_after_a_map_of_low_rank() -> None:
    X, pairs = agreeing()
    model = PairNCA(2, warm_start=True, alpha=0.01, max_iter=200).fit(X, pairs)
    model.set_params(form="diagonal", n_components=None).fit(X, pairs)
    fresh = PairNCA(form="diagonal", alpha=0.01, max_iter=200).fit(X, pairs)
    np.testing.assert_allclose(model.feature_weights_, fresh.feature_weights_)


@pytest.mark.parametrize("form", ["full", "diagonal"])
@pytest.mark.parametrize("unit", [2.0**-20, 2.0**20])
def test_the_unit_of_the_data_does_not_matter(form: str, unit: float) -> None:
    X, pairs = agreeing()
    plain, scaled = (
        PairNCA(form=form, max_iter=500).fit(points, pairs) for points in (X, unit * X)
    )
    np.testing.assert_allclose(
        unit * scaled.components_, plain.components_, rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize(
    ("parameters", "pairs", "words"),
    [
        ({}, [[0, 120]], "row 120, but X has 120"),
        ({}, [[1, 1]], "with itself"),
        ({"normalization": "rows"}, [[0, 1]], "normalization"),
        ({"init": "lda"}, [[0, 1]], "init"),
        ({"form": "diagonal", "n_components": 2}, [[0, 1]], "n_components must be"),
        ({"n_components": 7}, [[0, 1]], "6 features"),
    ],
)
def test_what_is_wrong_is_said(
    parameters: dict[str, Any], pairs: Any, words: str
) -> None:
    model = PairNCA(**parameters)
    with pytest.raises(ValueError, match=words):
        model.fit(agreeing()[0], pairs)
    assert not hasattr(model, "n_features_in_")
