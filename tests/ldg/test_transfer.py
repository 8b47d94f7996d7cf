import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.ldg.oracles import ldg_scatters, transfer_scatters
from vicinal import LDG, TransferLDG
from vicinal._typing import FloatArray, IntArray
from vicinal.base.selection import held_out

FIXED: dict[str, Any] = {"n_neighbors": 6, "gamma": 0.6, "alpha": 0.3}


def domain(n: int, seed: int, shift: float, size: float) -> tuple[FloatArray, IntArray]:
    """Three classes along three features, and three features of noise alone."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    points = rng.normal(size=(n, 6)) + 3 * np.eye(3, 6)[labels]
    return size * points + shift, labels


X_source, y_source = domain(120, 0, 0.0, 1.0)
X, y = domain(12, 1, 5.0, 2.0)
X_test, y_test = domain(90, 2, 5.0, 2.0)
SOURCE: dict[str, Any] = {"X_source": X_source, "y_source": y_source}


@pytest.mark.filterwarnings("ignore:These classes have too few")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for model in (
            TransferLDG(),
            TransferLDG(2, n_neighbors=5, gamma=0.5, standardize=False),
        )
        for pair in estimator_checks_generator(model)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: TransferLDG, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("standardize", [False, True])
def test_the_map_is_equation_7s(alpha: float, standardize: bool) -> None:
    model = TransferLDG(
        6, n_neighbors=6, gamma=0.6, alpha=alpha, standardize=standardize
    ).fit(X, y, **SOURCE)
    target, source = (scale(X), scale(X_source)) if standardize else (X, X_source)
    V_t, A_t = transfer_scatters(target, y, source, y_source, 6, model.var_floor)
    V_s, A_s = ldg_scatters(source, y_source, 6, model.var_floor)
    values, vectors = np.linalg.eigh(
        (1 - alpha) * (V_t - 0.6 * A_t) + alpha * (V_s - 0.6 * A_s)
    )
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-7, atol=1e-7)
    for points, mapped in (
        (target, model.transform(X)),
        (source, model.transform_source(X_source)),
    ):
        np.testing.assert_allclose(np.abs(mapped), np.abs(points @ vectors), atol=1e-6)


def test_directions_beyond_the_rank_of_equation_7_are_those_of_least_variance() -> None:
    """α = 0 and six target rows: V_t − γA_t has rank 18 in 30 features."""
    rng = np.random.default_rng(0)
    y_many, y_few = np.arange(120) % 3, np.arange(6) % 3
    X_many = (
        rng.normal(size=(120, 30)) * np.linspace(1, 3, 30) + 3 * np.eye(3, 30)[y_many]
    )
    X_few = rng.normal(size=(6, 30)) + 3 * np.eye(3, 30)[y_few]
    turn = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    settings: dict[str, Any] = {"n_neighbors": 6, "gamma": 0.6, "alpha": 0.0}
    model, turned = (
        TransferLDG(20, standardize=False, **settings).fit(
            X_few @ B, y_few, X_source=X_many @ B, y_source=y_many
        )
        for B in (np.eye(30), turn)
    )
    np.testing.assert_allclose(
        np.abs(turned.components_ @ turn.T), np.abs(model.components_), atol=1e-6
    )
    V, A = transfer_scatters(X_few, y_few, X_many, y_many, 6, model.var_floor)
    values, vectors = np.linalg.eigh(V - 0.6 * A)
    null = vectors[:, np.abs(values) < 1e-10]
    assert null.shape[1] == 12
    tied = np.flatnonzero(np.abs(model.eigenvalues_) < 1e-10)
    assert len(tied) > 3
    both = np.vstack([X_many, X_few])
    expected = np.linalg.eigvalsh(np.cov((both @ null).T, bias=True))
    found = (both @ model.components_[tied].T).var(axis=0)
    np.testing.assert_allclose(found, expected[: len(tied)])


def test_prediction_is_3nn_over_both_domains() -> None:
    model = TransferLDG(random_state=0).fit(X, y, **SOURCE)
    knn = KNeighborsClassifier(3).fit(
        np.vstack([model.transform(X), model.transform_source(X_source)]),
        np.r_[y, y_source],
    )
    Z = model.transform(X_test)
    np.testing.assert_array_equal(model.predict(X_test), knn.predict(Z))
    np.testing.assert_array_equal(model.predict_proba(X_test), knn.predict_proba(Z))
    assert model.score(X_test, y_test) == knn.score(Z, y_test) > 0.7
    alone = KNeighborsClassifier(3).fit(X, y)
    assert model.score(X_test, y_test) > alone.score(X_test, y_test)


def test_choices() -> None:
    model = TransferLDG(random_state=0).fit(X, y, **SOURCE)
    on_source = LDG(random_state=0).fit(scale(X_source), y_source)
    assert model.n_neighbors_ == on_source.n_neighbors_
    assert model.gamma_ == on_source.gamma_
    assert model.alpha_ in (0.0, 0.1, 0.3, 0.5)
    assert model.n_components_ == 6  # of 3 + 5, what there is
    wide = np.hstack([X, X]), np.hstack([X_source, X_source])
    doubled = TransferLDG(n_neighbors=4).fit(
        wide[0], y, X_source=wide[1], y_source=y_source
    )
    assert doubled.n_components_ == 8
    fixed = TransferLDG(2, **FIXED).fit(X, y, **SOURCE)
    assert (fixed.n_neighbors_, fixed.gamma_, fixed.alpha_) == (6, 0.6, 0.3)


def test_ties_go_to_the_largest_alpha() -> None:
    far_apart = X_source + 1e3 * np.eye(3, 6)[y_source]
    model = TransferLDG(n_neighbors=4, gamma=1.0, random_state=0).fit(
        far_apart[:15], y_source[:15], X_source=far_apart, y_source=y_source
    )
    assert model.alpha_ == 0.5


@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_chosen_by_refitting_without_what_is_held_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels, few = np.arange(80) % 2, np.sort(np.arange(20) % 2)
    # Where the classes differ is not quite the same in the two domains.
    source = rng.normal(size=(80, 12)) + 2 * labels[:, None] * np.eye(12)[0]
    target = rng.normal(size=(20, 12)) + 2 * few[:, None] * np.eye(12)[1]
    given = {"X_source": source, "y_source": labels}
    fixed: dict[str, Any] = {"n_neighbors": 8, "gamma": 1.0, "standardize": False}
    folds = list(held_out(few, np.random.RandomState(seed)))
    assert [held.sum() for held in folds] == [4] * 5
    assert np.all(np.sum(folds, axis=0) == 1)
    right = {}
    for alpha in (0.0, 0.1, 0.3, 0.5):
        model = TransferLDG(7, alpha=alpha, **fixed)
        right[alpha] = sum(
            (
                model.fit(target[~held], few[~held], **given).predict(target[held])
                == few[held]
            ).sum()
            for held in folds
        )
    expected = max(right, key=lambda alpha: (right[alpha], alpha))
    chosen = TransferLDG(7, **fixed, random_state=seed).fit(target, few, **given)
    assert chosen.alpha_ == expected


def test_without_a_source_it_is_ldg() -> None:
    points = scale(X_source)
    model = TransferLDG(3, n_neighbors=6, gamma=0.6).fit(X_source, y_source)
    ldg = LDG(3, n_neighbors=6, gamma=0.6).fit(points, y_source)
    np.testing.assert_allclose(
        model.transform(X_source), ldg.transform(points), atol=1e-8
    )
    np.testing.assert_array_equal(model.components_, model.source_components_)
    assert model.alpha_ == 1
    assert model.score(X_source, y_source) > 0.9


def test_more_features_than_rows() -> None:
    noise = np.random.default_rng(3).normal(size=(132, 200))
    target, source = np.hstack([X, noise[:12]]), np.hstack([X_source, noise[12:]])
    model = TransferLDG(**FIXED).fit(target, y, X_source=source, y_source=y_source)
    assert model.components_.shape == (8, 206)
    B = model.components_ * target.std(axis=0)
    np.testing.assert_allclose(B @ B.T, np.eye(8), atol=1e-9)


@pytest.mark.parametrize("standardize", [False, True])
def test_constant_features_have_no_weight(standardize: bool) -> None:
    target, source = X.copy(), X_source.copy()
    target[:, 4], source[:, 5] = 1.0, -3.0
    model = TransferLDG(4, **FIXED, standardize=standardize).fit(
        target, y, X_source=source, y_source=y_source
    )
    for components in (model.components_, model.source_components_):
        np.testing.assert_array_equal(components[:, 4:], 0)
        assert (components[:, :4] != 0).any()
    with pytest.raises(ValueError, match="more than the 4 features that vary"):
        model.set_params(n_components=5).fit(
            target, y, X_source=source, y_source=y_source
        )


def test_domains_of_different_sizes_and_types() -> None:
    digits, labels = load_digits(return_X_y=True)
    names = np.array([f"digit {label}" for label in labels])
    few = np.flatnonzero(np.isin(labels, [2, 5]))[:9]  # a part of the classes
    model = TransferLDG(n_neighbors=8, gamma=0.6, random_state=0).fit(
        digits[few].astype(np.float32), names[few],
        X_source=digits[200:600], y_source=names[200:600],
    )  # fmt: skip
    assert model.components_.dtype == np.float32
    assert model.transform(digits[:3].astype(np.float32)).dtype == np.float32
    assert len(model.classes_) == 10
    assert model.predict(digits[:5].astype(np.float32)).dtype == names.dtype


def test_clone_pickle_frames_and_metric() -> None:
    columns = list("abcdef")
    target = pd.DataFrame(X, columns=columns)
    source = pd.DataFrame(X_source, columns=columns)
    model = TransferLDG(2, **FIXED).set_output(transform="pandas")
    model.fit(target, y, X_source=source, y_source=y_source)
    assert model.transform(target).columns.tolist() == ["transferldg0", "transferldg1"]
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(target), model.predict(target))
    fresh = clone(model).fit(target, y, X_source=source, y_source=y_source)
    np.testing.assert_array_equal(fresh.components_, model.components_)
    Z = np.asarray(model.transform(target))
    np.testing.assert_allclose(
        model.pair_distance(np.stack([X[:3], X[3:6]], axis=1)),
        np.linalg.norm(Z[:3] - Z[3:6], axis=1),
    )
    with pytest.raises(ValueError, match="feature names"):
        model.fit(target, y, X_source=source[columns[::-1]], y_source=y_source)


def test_the_source_is_routed_through_a_pipeline() -> None:
    alone = TransferLDG(2, **FIXED).fit(X, y, **SOURCE)
    with config_context(enable_metadata_routing=True):
        asking = TransferLDG(2, **FIXED).set_fit_request(X_source=True, y_source=True)
        pipeline = make_pipeline(FunctionTransformer(), asking).fit(X, y, **SOURCE)
    np.testing.assert_array_equal(pipeline[-1].components_, alone.components_)


def test_threads_do_not_change_the_result() -> None:
    maps = [
        TransferLDG(2, random_state=0, n_jobs=n).fit(X, y, **SOURCE).components_
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(*maps)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X_source": X_source[:, :5]}, "X has 6 features, but X_source has 5"),
        ({"y_source": y_source % 2}, r"no rows of these classes of y: \[2\]"),
        ({"y_source": None}, "go together"),
        ({"X_source": None}, "go together"),
        ({"y_source": y_source[:-1]}, "inconsistent numbers"),
        ({"y_source": y_source.astype(str)}, "Mix of label input types"),
        ({"X_source": np.full_like(X_source, np.nan)}, "X_source contains NaN"),
        ({"X_source": X_source[0]}, "Expected 2D array"),
        ({"y_source": np.zeros(120)}, "y_source has only one class"),
        ({"y_source": np.linspace(0, 1, 120)}, "continuous"),
        ({"X_source": np.ones_like(X_source)}, "No feature varies"),
    ],
)
def test_wrong_sources(given: dict[str, Any], message: str) -> None:
    model = TransferLDG(2, **FIXED).fit(X, y, **SOURCE)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **{**SOURCE, **given})
    assert vars(model) == before


def test_wrong_targets() -> None:
    with pytest.raises(ValueError, match="only one class"):
        TransferLDG().fit(
            X[::3], y[::3], X_source=X_source[::3], y_source=y_source[::3]
        )
    with pytest.raises(ValueError, match="only one class"):
        TransferLDG().fit(X[::3], y[::3])
    with pytest.raises(ValueError, match="No feature varies in every domain"):
        TransferLDG().fit(X[:1], y[:1], **SOURCE)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 1.5}, "'alpha' parameter"),
        ({"alpha": "loo"}, "'alpha' parameter"),
        ({"gamma": -1.0}, "'gamma' parameter"),
        ({"n_components": 7}, "more than the 6 features"),
        ({"standardize": "yes"}, "'standardize' parameter"),
        ({"class_prior": [1, 2]}, "each of the 3 classes"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    model = TransferLDG(**parameters)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **SOURCE)
    assert vars(model) == before
