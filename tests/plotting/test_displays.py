from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from vicinal import LDG, NCA, TableNCAClassifier, compare
from vicinal.plotting import (
    PALETTE,
    ComparisonDisplay,
    ConvergenceDisplay,
    EmbeddingDisplay,
    MetricDisplay,
    NeighborsDisplay,
    ShapeDisplay,
)

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def nca() -> NCA:
    return NCA(2, max_iter=200).fit(X, y)


def offsets(ax: Any) -> Any:
    return np.concatenate([drawn.get_offsets() for drawn in ax.collections])


def test_the_embedding_is_the_transformed_rows(nca: NCA) -> None:
    display = EmbeddingDisplay.from_estimator(nca, X, NAMES)
    np.testing.assert_allclose(offsets(display.ax_), nca.transform(X))
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["setosa", "versicolor", "virginica"]
    assert display.figure_ is display.ax_.figure
    display.figure_.canvas.draw()


def test_more_dimensions_are_seen_by_principal_components() -> None:
    ldg = LDG(4).fit(X, y)
    display = EmbeddingDisplay.from_estimator(ldg, X)
    expected = PCA(2).fit_transform(ldg.transform(X))
    np.testing.assert_allclose(np.abs(display.points), np.abs(expected), atol=1e-8)
    assert display.ax_.get_xlabel() == "first principal component"


def test_one_dimension_is_a_line() -> None:
    display = EmbeddingDisplay.from_estimator(LDG(1).fit(X, y), X, y)
    assert not display.points[:, 1].any()
    assert display.ax_.get_xlabel() == "first dimension"


def test_numbers_are_coloured_on_a_scale(nca: NCA) -> None:
    display = EmbeddingDisplay.from_estimator(nca, X, X[:, 0])
    assert len(display.figure_.axes) == 2  # the second is the colour bar
    assert display.ax_.get_legend() is None


def test_more_classes_than_colours_have_other_marks() -> None:
    many = np.arange(150) % 10
    display = EmbeddingDisplay(X[:, :2], many).plot()
    looks = {
        (tuple(drawn.get_facecolor()[0]), len(drawn.get_paths()[0]))
        for drawn in display.ax_.collections
    }
    assert len(looks) == 10


def test_the_curve_is_the_fits(nca: NCA) -> None:
    ax: Any = plt.subplots()[1]
    pipeline = make_pipeline(StandardScaler(), NCA(1, max_iter=200)).fit(X, y)
    ConvergenceDisplay.from_estimator(nca, ax=ax)
    display = ConvergenceDisplay.from_estimator(pipeline, ax=ax, name="one")
    np.testing.assert_array_equal(
        display.line_.get_ydata(), pipeline[-1].objective_curve_
    )
    first, second = ax.lines
    assert first.get_color() != second.get_color()
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["NCA", "one"]


def test_shares_sum_to_one_and_the_largest_is_on_top(nca: NCA) -> None:
    display = MetricDisplay.from_estimator(nca, max_features=2)
    squares = (nca.components_**2).sum(axis=0)
    np.testing.assert_allclose(display.shares, squares / squares.sum())
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names[-1] == f"x{squares.argmax()}"
    assert len(names) == 2


def test_shares_of_pixels_are_a_picture() -> None:
    pixels, digits = load_digits(return_X_y=True)
    ldg = LDG(2, n_neighbors=3, gamma=0.1).fit(pixels[:200], digits[:200])
    display = MetricDisplay.from_estimator(ldg, image_shape=(8, 8))
    assert display.ax_.images[0].get_array().shape == (8, 8)
    with pytest.raises(ValueError, match="does not fit 64 features"):
        MetricDisplay.from_estimator(ldg, image_shape=(8, 9))


def test_feature_names_are_those_seen_in_fit() -> None:
    frame = load_iris(as_frame=True)
    ldg = LDG(2).fit(frame.data, y)
    display = MetricDisplay.from_estimator(ldg)
    assert list(display.feature_names) == list(frame.data.columns)
    with pytest.raises(ValueError, match="1 feature_names for 4 features"):
        MetricDisplay.from_estimator(ldg, feature_names=["a"])


def test_feature_names_come_through_a_pipeline() -> None:
    frame = load_iris(as_frame=True)
    named = make_pipeline(StandardScaler(), LDG(2)).fit(frame.data, y)
    display = MetricDisplay.from_estimator(named)
    assert list(display.feature_names) == list(frame.data.columns)
    for steps in [(FunctionTransformer(), LDG(2)), (LDG(2),)]:
        display = MetricDisplay.from_estimator(make_pipeline(*steps).fit(X, y))
        assert list(display.feature_names) == ["x0", "x1", "x2", "x3"]


def test_names_are_drawn_as_they_are(nca: NCA) -> None:
    odd = np.array(["_hidden", r"$\frac{$", "a $b$ c"])
    display = EmbeddingDisplay.from_estimator(nca, X, odd[y])
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == sorted(odd)
    drawn = [
        display.figure_,
        MetricDisplay.from_estimator(nca, feature_names=[*odd, "d"]).figure_,
        NeighborsDisplay.from_estimator(nca, X, 60, 4, y=odd[y]).figure_,
        NeighborsDisplay.from_estimator(
            nca, X, 60, 4, y=odd[y], image_shape=(2, 2)
        ).figure_,
    ]
    for figure in drawn:
        figure.canvas.draw()


def test_labels_in_a_column_are_labels_all_the_same(nca: NCA) -> None:
    with pytest.warns(DataConversionWarning):
        display = EmbeddingDisplay.from_estimator(nca, X, NAMES[:, None])
    assert display.y is not None
    assert display.y.shape == (150,)
    with pytest.warns(DataConversionWarning):
        NeighborsDisplay.from_estimator(nca, X, 0, y=NAMES[:, None])
    with pytest.raises(ValueError, match="should be a 1d array"):
        EmbeddingDisplay.from_estimator(nca, X, X)


def test_neighbours_before_and_after(nca: NCA) -> None:
    display = NeighborsDisplay.from_estimator(nca, X, -1, n_neighbors=5, y=NAMES)
    assert display.query == 149
    for near, far, points in zip(
        display.neighbors, display.distances, (X, nca.transform(X)), strict=True
    ):
        search = NearestNeighbors(n_neighbors=5).fit(points)
        distances, _ = search.kneighbors()
        np.testing.assert_allclose(far, distances[149])
        assert 149 not in near
        apart = np.linalg.norm(points[near] - points[149], axis=1)
        np.testing.assert_allclose(apart, far)
    said = [text.get_text() for text in display.ax_.texts]
    assert said[0] == f"{display.neighbors[0, 0]}\n{NAMES[display.neighbors[0, 0]]}"
    assert display.ax_.get_xlabel() == "nearest first"
    assert not any(spine.get_visible() for spine in display.ax_.spines.values())
    display.figure_.canvas.draw()


def test_neighbours_as_pictures() -> None:
    pixels, digits = load_digits(return_X_y=True)
    pixels, digits = pixels[:200], digits[:200]
    ldg = LDG(2, n_neighbors=3, gamma=0.1).fit(pixels, digits)
    display = NeighborsDisplay.from_estimator(
        ldg, pixels, 3, n_neighbors=4, image_shape=(8, 8), y=digits
    )
    tiles = display.ax_.child_axes
    assert len(tiles) == 10
    drawn = tiles[1].images[0].get_array()
    np.testing.assert_array_equal(drawn.ravel(), pixels[display.neighbors[0, 0]])
    for side in range(2):
        for tile, row in zip(
            tiles[5 * side + 1 :], display.neighbors[side], strict=False
        ):
            color = PALETTE[0 if digits[row] == digits[3] else 5]
            assert tile.spines["top"].get_edgecolor() == to_rgba(color)
            assert not tile.title.get_parse_math()  # a label is no formula
    display.figure_.canvas.draw()
    heights = [tile.get_position().y0 for tile in tiles]
    assert min(heights[:5]) > max(heights[5:])  # before learning, above


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": 150}, "query == 150, must be <= 149"),
        ({"query": 0, "n_neighbors": 150}, "n_neighbors == 150, must be <= 149"),
        ({"query": 0, "image_shape": (2, 3)}, "does not fit 4 features"),
    ],
)
def test_neighbours_of_no_row(nca: NCA, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NeighborsDisplay.from_estimator(nca, X, **options)


def test_half_a_row_has_no_neighbours(nca: NCA) -> None:
    for query, k in [(1.5, 8), (1, 2.5)]:
        with pytest.raises(TypeError, match="must be an instance of int"):
            NeighborsDisplay.from_estimator(nca, X, query, k)  # type: ignore[arg-type]


def test_scores_with_their_intervals() -> None:
    result = compare(X, y, methods=["euclidean", "lda"], n_splits=3)
    _, ax = plt.subplots()
    display = result.plot(ax=ax)
    assert isinstance(display, ComparisonDisplay)
    assert display.ax_ is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == ["euclidean", "lda"]
    low, high = result.interval("lda")
    np.testing.assert_allclose(display.intervals[1], [100 * low, 100 * high])
    single = compare(X, y, methods=["lda"], n_splits=1)
    once = single.plot()
    expected = 100 * np.array([single.interval("lda")])
    np.testing.assert_allclose(once.intervals, expected)


def test_what_is_not_fitted_or_cannot_be_drawn() -> None:
    for display in (ConvergenceDisplay, MetricDisplay):
        with pytest.raises(NotFittedError):
            display.from_estimator(NCA())
    with pytest.raises(NotFittedError):
        EmbeddingDisplay.from_estimator(NCA(), X)
    with pytest.raises(ValueError, match="LDG has no objective_curve_"):
        ConvergenceDisplay.from_estimator(LDG(2).fit(X, y))


def test_without_matplotlib_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'vicinal\[plot\]'"):
        EmbeddingDisplay(X[:, :2]).plot()


def test_long_names_are_not_cut_at_the_edge() -> None:
    names = [f"a feature with quite a long name {j}" for j in range(5)]
    display = MetricDisplay(np.full(5, 0.2), names).plot()
    display.figure_.canvas.draw()
    for label in display.ax_.get_yticklabels():
        assert label.get_window_extent().x0 >= 0


def test_curves_of_an_additive_metric() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.choice(["u", "v"], 80)})
    labels = frame["a"] > 0
    frame.loc[:3, "a"] = np.nan
    model = TableNCAClassifier(4, max_iter=3, random_state=0).fit(frame, labels)
    display = ShapeDisplay.from_estimator(model, n_directions=1)
    assert [ax.get_title() for ax in display.axes_] == ["a", "b"]
    _, values, _ = model.shape_functions()[0]
    line, gap = display.axes_[0].get_lines()
    assert len(line.get_xdata()) == len(values) - 1  # but the missing value
    assert gap.get_linestyle() == ":"
    named = [one.get_text() for one in display.axes_[1].get_xticklabels()]
    assert named == ["u", "v"]
