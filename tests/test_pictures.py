"""Maps to the plane, and their evidence."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes, load_iris, load_wine, make_blobs
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from sklearn.metrics import accuracy_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from vicinal import LCA, LDG, NCA
from vicinal._typing import FloatArray
from vicinal.neighborhood import kernels
from vicinal.pictures import NeighborLayout, SupervisedMap, align, faithfulness

X, y = load_iris(return_X_y=True)
WINE, GRAPES = load_wine(return_X_y=True)
WINE = scale(WINE)


@pytest.mark.filterwarnings("ignore:held-out:UserWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for one in (NeighborLayout(random_state=0), SupervisedMap(cv=3, random_state=0))
        for pair in estimator_checks_generator(one)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


# --- the layout


def naive_step(
    points: FloatArray, i: int, j: int, drawn: list[int], rate: float
) -> FloatArray:
    """Return points + rate · ∇ log q_ij / (q_ij + Σ_m q_im), by differences."""

    def objective(Z: FloatArray) -> float:
        q = [1 / (1 + np.square(Z[i] - Z[m]).sum()) for m in [j, *drawn]]
        return float(np.log(q[0] / sum(q)))

    gradient = np.zeros_like(points)
    for index in np.ndindex(*points.shape):
        moved = np.zeros_like(points)
        moved[index] = 1e-6
        change = objective(points + moved) - objective(points - moved)
        gradient[index] = change / 2e-6
    return points + rate * gradient


def test_a_step_is_along_the_gradient() -> None:
    rng = np.random.default_rng(0)
    points, near = rng.normal(size=(5, 2)), np.array([[1]])
    seed = 3
    others = points.copy()
    query = points[:1].copy()
    kernels.place(query, others, near, 1, 2, seed)
    drawn = [int(kernels._hash(m, seed) % np.uint64(5)) for m in range(2)]
    # The query is apart from the row that it began at, and the others stay.
    alone = np.concatenate([points[:1], points])
    expected = naive_step(alone, 0, 2, [m + 1 for m in drawn], 0.5)
    np.testing.assert_allclose(query, expected[:1], atol=1e-8)
    np.testing.assert_array_equal(others, points)


def test_clusters_stay_together_and_apart() -> None:
    points, codes = make_blobs(300, n_features=10, centers=4, random_state=0)
    layout = NeighborLayout(random_state=0).fit_transform(points)
    near = NearestNeighbors(n_neighbors=5).fit(layout).kneighbors()[1]
    assert (codes[near] == codes[:, None]).all()
    assert trustworthiness(points, layout, n_neighbors=15) > 0.9


def test_the_place_of_a_row_does_not_depend_on_the_others() -> None:
    layout = NeighborLayout(random_state=0).fit(WINE[:120])
    placed = layout.transform(WINE[120:])
    np.testing.assert_allclose(layout.transform(WINE[170:]), placed[50:])
    np.testing.assert_allclose(layout.transform(WINE[:9]), layout.embedding_[:9])


def test_rows_that_coincide_have_finite_places() -> None:
    points = np.repeat(X[:5], 20, axis=0)
    layout = NeighborLayout(random_state=0).fit(points)
    assert np.isfinite(layout.embedding_).all()
    assert np.isfinite(layout.transform(X[:8])).all()
    assert np.isfinite(NeighborLayout().fit_transform(np.ones((9, 2)))).all()


def test_rows_far_from_the_origin_have_the_same_layout() -> None:
    near = NeighborLayout(random_state=0).fit(X)
    far = NeighborLayout(random_state=0).fit(X + 1024.0)
    assert faithfulness(X, far.embedding_)[0] == pytest.approx(
        faithfulness(X, near.embedding_)[0], abs=0.01
    )


# --- what is measured


@pytest.mark.parametrize("n", [17, 150])
def test_faithfulness_is_scikit_learns(n: int) -> None:
    plane = PCA(2).fit_transform(WINE)[:n]
    k = min(15, (n - 1) // 2)
    trust, kept = faithfulness(WINE[:n], plane)
    assert trust == pytest.approx(trustworthiness(WINE[:n], plane, n_neighbors=k))
    before, after = (
        NearestNeighbors(n_neighbors=k).fit(one).kneighbors(return_distance=False)
        for one in (WINE[:n], plane)
    )
    common = [len({*a} & {*b}) / k for a, b in zip(before, after, strict=True)]
    assert kept == pytest.approx(np.mean(common))


def test_a_sample_estimates_faithfulness() -> None:
    plane = PCA(2).fit_transform(WINE)
    whole = faithfulness(WINE, plane)
    some = faithfulness(WINE, plane, max_rows=100, random_state=0)
    np.testing.assert_allclose(some, whole, atol=0.03)


def test_planes_are_aligned() -> None:
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(20, 2))
    turned = 3 * plane @ np.array([[0.6, 0.8], [0.8, -0.6]]) + [5, -7]
    np.testing.assert_allclose(align(turned, turned, plane), plane)


def test_held_out_rows_are_placed_without_their_label() -> None:
    # Were the label of a row seen, its place would change with it.
    found = SupervisedMap(LDG(2), random_state=0).fit(WINE, GRAPES)
    assert found.cross_fitted_embedding_.shape == (178, 2)
    assert found.score_ > 0.9
    assert found.train_score_ > 0.9
    assert found.p_value_ == pytest.approx(1 / 201)
    assert abs(found.null_scores_.mean() - 0.34) < 0.04
    near = NearestNeighbors(n_neighbors=5).fit(found.embedding_).kneighbors()[1]
    votes = [np.bincount(one).argmax() for one in GRAPES[near]]
    assert found.train_score_ == pytest.approx(accuracy_score(GRAPES, votes), abs=0.02)


class Telltale(BaseEstimator):
    """A metric that has learned the labels of its rows by heart."""

    def fit(self, X: FloatArray, y: Any) -> Telltale:
        self.known_ = {one.tobytes(): label for one, label in zip(X, y, strict=True)}
        return self

    def transform(self, X: FloatArray) -> FloatArray:
        labels = [10.0 * self.known_.get(one.tobytes(), X[0, 0] % 2) for one in X]
        return np.column_stack([labels, 0.1 * X])


@pytest.mark.parametrize("layout", ["neighbors", "pca"])
def test_a_metric_that_knows_its_rows_by_heart_is_found_out(layout: str) -> None:
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(150, 4)), rng.integers(2, size=150)
    found = SupervisedMap(Telltale(), layout, random_state=0)
    with pytest.warns(UserWarning, match="not better than chance"):
        found.fit(noise, labels)
    assert found.train_score_ > 0.95
    assert abs(found.score_ - 0.5) < 0.15
    with pytest.warns(UserWarning, match="not better than chance"):
        display = found.plot()
    assert display.figure_.get_suptitle() == "not better than chance"


def test_a_linear_plane_of_noise_is_found_out() -> None:
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(200, 150)), rng.integers(3, size=200)
    with pytest.warns(UserWarning, match="not better than chance"):
        found = SupervisedMap(NCA(2), "pca", random_state=0).fit(noise, labels)
    assert found.train_score_ > 0.9
    assert found.p_value_ > 0.05


@pytest.mark.slow
def test_noise_is_rarely_taken_for_more() -> None:
    p_values = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        noise, labels = rng.normal(size=(90, 6)), rng.integers(2, size=90)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = SupervisedMap(LDG(2), random_state=0).fit(noise, labels)
        p_values.append(found.p_value_)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.15
    assert 0.3 < np.mean(p_values) < 0.7


# --- kinds of rows and targets


def test_names_are_classes() -> None:
    names = np.array(["a", "b", "c"])[y]
    found = SupervisedMap("passthrough", random_state=0).fit(X, names)
    assert found.classes_.tolist() == ["a", "b", "c"]
    display = found.plot()
    legend = [text.get_text() for text in display.ax_[1].get_legend().get_texts()]
    assert legend == ["a", "b", "c"]
    assert "held out: 5-NN accuracy" in display.ax_[1].get_title()
    assert "seen in fit: 5-NN accuracy" in display.ax_[0].get_title()


def test_continuous_targets_have_a_scale_and_r2() -> None:
    rows, progress = load_diabetes(return_X_y=True)
    found = SupervisedMap(random_state=0).fit(20 * rows, progress)
    assert 0.1 < found.score_ < 0.7
    assert found.p_value_ < 0.05
    assert not hasattr(found, "classes_")
    display = found.plot()
    assert len(display.figure_.axes) == 4  # two of them are colour bars
    assert "R²" in display.ax_[1].get_title()


@pytest.mark.parametrize("metric", ["auto", LCA()])
def test_without_labels_faithfulness_is_measured(metric: Any) -> None:
    found = SupervisedMap(metric, random_state=0).fit(WINE)
    assert found.trustworthiness_ > 0.85
    assert not hasattr(found, "score_")
    assert len(found.plot().ax_) == 1


def test_tables_are_taken_as_they_are() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=120)
    frame = pd.DataFrame(
        {
            "color": np.where(codes == 1, "red", "blue"),
            "size": np.where(rng.random(120) < 0.1, np.nan, rng.normal(size=120)),
        }
    )
    found = SupervisedMap(cv=2, random_state=0).fit(frame, codes)
    assert found.score_ > 0.95
    assert found.transform(frame[:3]).shape == (3, 2)
    with pytest.raises(ValueError, match="X must be numbers"):
        SupervisedMap().fit(frame)
    with pytest.raises(ValueError, match="X must be numbers"):
        SupervisedMap("passthrough").fit(frame, codes)


def test_many_columns_are_shortened_first() -> None:
    rng = np.random.default_rng(0)
    wide = np.column_stack([WINE, 0.1 * rng.normal(size=(178, 200))])
    found = SupervisedMap(cv=None, random_state=0).fit(wide, GRAPES)
    assert found.metric_[0].n_components_ == 89
    assert not hasattr(found, "score_")


def test_a_metric_may_be_a_pipeline() -> None:
    metric = make_pipeline(StandardScaler(), LDG())
    found = SupervisedMap(metric, n_components=3, random_state=0)
    assert found.fit_transform(WINE, GRAPES).shape == (178, 3)
    assert found.get_feature_names_out().tolist()[0] == "supervisedmap0"
    with pytest.raises(ValueError, match="set n_components=2"):
        found.plot()


# --- bad input


def test_one_class_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one class only, 0.*Leave y out"):
        SupervisedMap().fit(X, np.zeros(150, dtype=int))


def test_more_classes_than_a_third_of_the_rows_are_refused() -> None:
    with pytest.raises(ValueError, match=r"75 classes in 150 rows.*to float"):
        SupervisedMap().fit(X, np.arange(150) // 2)


@pytest.mark.parametrize(
    ("layout", "library"),
    [("umap", "umap"), ("opentsne", "openTSNE"), ("pacmap", "pacmap")],
)
def test_a_missing_library_is_named(
    layout: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"{library}: pip install 'vicinal\[maps\]'"):
        SupervisedMap(layout=layout, cv=None).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "library"),
    [("umap", "umap"), ("opentsne", "openTSNE"), ("pacmap", "pacmap")],
)
def test_other_layouts(layout: str, library: str) -> None:
    pytest.importorskip(library)
    found = SupervisedMap(layout=layout, cv=2, random_state=0).fit(WINE, GRAPES)
    assert found.score_ > 0.9
    placed = found.transform(WINE[:20] + 1e-3)
    apart = np.linalg.norm(placed - found.embedding_[:20], axis=1)
    assert np.median(apart) < 0.2 * np.ptp(found.embedding_)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match="layout"):
        SupervisedMap(layout="tsne").fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SupervisedMap().fit(X, y[:9])


def test_another_fit_leaves_nothing_of_the_first() -> None:
    found = SupervisedMap("passthrough", cv=2, random_state=0).fit(X, y)
    found.fit(X)
    assert not {"score_", "train_score_", "classes_"} & set(vars(found))
    assert len(found.plot().ax_) == 1


def test_a_start_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"init must have shape \(40, 2\)"):
        NeighborLayout(init=np.zeros((2, 3))).fit(np.zeros((40, 4)))


def test_a_fit_without_evidence_keeps_none_of_an_earlier_one() -> None:
    model = SupervisedMap(layout="pca", random_state=0).fit(X, y)
    model.set_params(cv=None).fit(X)
    for name in ("p_value_", "null_scores_", "score_", "train_score_", "classes_"):
        assert not hasattr(model, name)


def test_a_fold_that_fails_leaves_an_unfitted_map() -> None:
    class FailsOnFolds(BaseEstimator):
        def fit(self, X: Any, y: Any) -> Any:
            if len(X) < 150:
                raise ValueError("too few")
            return self

        def transform(self, X: Any) -> Any:
            return X

    model = SupervisedMap(FailsOnFolds(), "pca")
    with pytest.raises(ValueError, match="too few"):
        model.fit(X, y)
    assert not hasattr(model, "embedding_")
    assert not hasattr(model, "n_features_in_")


def test_both_pictures_give_a_class_one_color() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(61, 3))
    y = np.array(["a"] + ["b"] * 30 + ["c"] * 30)
    with pytest.warns(UserWarning, match="chance"):
        model = SupervisedMap(layout="pca", random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="chance"):
        display = model.plot()
    seen, held = (
        [one.get_facecolor()[0].tolist() for one in ax.collections]
        for ax in display.ax_
    )
    assert seen == held
    assert len(seen) == 3
