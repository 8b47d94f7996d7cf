from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.app.report import comparisons
from vicinal.app.comparison import Comparison
from vicinal.app.report import sections as figures
from vicinal.app.report.fitted import FittedMetric
from vicinal.app.report.rows import Pixels, SourceColumns


def drawn_of(one: FittedMetric, names: list[str]) -> Any:
    return figures.contribution_bars(one, names, apart(names))


def apart(names: list[str]) -> SourceColumns:
    return SourceColumns(names, np.arange(len(names)), [None] * len(names))


def by_splits(comparison: Comparison) -> Comparison:
    """The same, judged by the scores of its splits and not by their rows."""
    setting = replace(comparison.setting, tests=())
    return replace(comparison, setting=setting, references=())


def metric(components: object, name: str = "nca") -> FittedMetric:
    nothing = np.zeros((0, 2))
    return FittedMetric(
        name,
        nothing,
        nothing,
        nothing,
        "",
        np.zeros((0, 1), int),
        np.array(components),
        None,
    )


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_and_inside(low: float, size: float) -> None:
    high = low + size
    found = figures.ticks(low, high)
    assert 1 <= len(found) <= 8
    slack = 1e-6 * (abs(low) + size)
    assert low - slack <= found[0] <= found[-1] <= high + slack
    assert found == sorted(found)


def test_ticks_of_one_number() -> None:
    assert figures.ticks(3.0, 3.0) == [3.0]


def test_nothing_has_no_sign() -> None:
    assert [f"{at:g}" for at in figures.ticks(-0.1, 1.0)] == ["0", "0.5", "1"]


def test_dots_lie_inside_their_intervals() -> None:
    drawn = figures.dots(comparisons.wine())
    assert drawn is not None
    for line in drawn["lines"]:
        assert 0 <= line["ends"][0] <= line["at"] <= line["ends"][1] <= 1
    assert [line["name"] for line in drawn["lines"] if line["advised"]] == [
        comparisons.wine().recommended
    ]


@pytest.mark.parametrize("scores", [[1.0, 0.4, 1.0], [0.0, 0.9, 0.0]])
def test_no_axis_goes_beyond_what_can_be(scores: list[float]) -> None:
    comparison = by_splits(comparisons.wine())
    results = tuple(
        replace(one, scores=np.array(scores), outcomes=())
        for one in comparison.results[:2]
    )
    drawn = figures.dots(replace(comparison, results=results))
    assert drawn is not None
    marks = [float(text) for _, text in drawn["ticks"]]
    assert 0 <= min(marks) <= max(marks) <= 100
    for line in drawn["lines"]:
        assert 0 <= line["ends"][0] <= line["at"] <= line["ends"][1] <= 1
    # The edge of the figure is the bound itself.
    assert (0.0, "0") in drawn["ticks"] or (1.0, "100") in drawn["ticks"]


def test_intervals_keep_a_small_distance_from_the_edges() -> None:
    comparison = by_splits(comparisons.wine())
    results = tuple(
        replace(one, scores=scores, outcomes=())
        for one, scores in zip(
            comparison.results[:2],
            (np.array([0.4, 0.41, 0.42]), np.array([0.6, 0.61, 0.62])),
            strict=True,
        )
    )
    drawn = figures.dots(replace(comparison, results=results, references=()))
    assert drawn is not None
    ends = [end for line in drawn["lines"] for end in line["ends"]]
    assert min(ends) == pytest.approx(0.04 / 1.08, abs=1e-3)
    assert max(ends) == pytest.approx(1.04 / 1.08, abs=1e-3)


def test_one_split_has_no_interval_and_no_score_no_dot() -> None:
    comparison = by_splits(comparisons.wine())
    first, *rest = comparison.results
    one = replace(first, scores=first.scores[:1], outcomes=())
    none = [replace(result, scores=np.array([np.nan])) for result in rest]
    drawn = figures.dots(replace(comparison, results=(one, *none)))
    assert drawn is not None
    (line,) = drawn["lines"]
    assert line["ends"] == [line["at"]] * 2
    assert figures.dots(replace(comparison, results=tuple(none))) is None


def test_the_axis_covers_the_references() -> None:
    comparison = comparisons.wine()
    constant, *others = comparison.references
    low = replace(constant, scores=np.array([0.01, 0.02, 0.03]))
    drawn = figures.dots(replace(comparison, references=(low, *others)))
    assert drawn is not None
    known = (*comparison.results, *comparison.references)
    assert [line["name"] for line in drawn["lines"]] == [one.name for one in known]
    places = {line["name"]: line["at"] for line in drawn["lines"]}
    assert min(places, key=lambda name: places[name]) == low.name
    assert 0 <= min(places.values()) < max(places.values()) <= 1


def test_features_in_the_order_of_their_shares() -> None:
    drawn = drawn_of(metric([[1.0, 3.0, 0.0], [0.0, 0.0, 2.0]]), list("abc"))
    assert drawn is not None
    assert [bar["feature"] for bar in drawn["bars"]] == ["b", "c", "a"]
    assert [bar["percent"] for bar in drawn["bars"]] == ["64%", "29%", "7.1%"]
    assert drawn["directions"] == ["71%", "29%"]
    # Along the first direction, b counts three times as much as a, and c nothing.
    assert [bar["loadings"][0][2] for bar in drawn["bars"]] == [
        "+0.95",
        "+0.00",
        "+0.32",
    ]


def test_features_of_one_column_are_shown_as_one() -> None:
    columns = SourceColumns(["age", "port"], np.array([0, 1, 1]), [None, "C", "S"])
    one = metric([[1.0, 2.0, -2.0]])
    drawn = figures.contribution_bars(one, ["age", "port=C", "port=S"], columns)
    assert drawn is not None
    port, age = drawn["bars"]
    assert (port["feature"], port["percent"]) == ("port", "89%")
    assert (age["feature"], age["percent"]) == ("age", "11%")
    # Its values are on both sides, and told apart in words.
    minus, plus, text = port["loadings"][0]
    assert minus == plus == 1
    assert text == "port=C +0.67, port=S -0.67"
    assert age["loadings"][0][0] == 0


def test_many_features_become_a_few_and_the_rest() -> None:
    drawn = drawn_of(metric(np.eye(40)), [f"x{j}" for j in range(40)])
    assert drawn is not None
    assert (len(drawn["bars"]), drawn["rest"], drawn["rest_share"]) == (15, 25, "62%")


def test_plain_metrics_have_no_directions() -> None:
    drawn = drawn_of(metric(np.eye(3), "euclidean"), list("abc"))
    assert drawn is not None
    assert drawn["directions"] == []


@pytest.mark.parametrize("entry", [0.0, np.nan, np.inf])
def test_maps_that_listen_to_nothing(entry: float) -> None:
    empty = metric(np.full((2, 2), entry))
    pixels = Pixels(np.zeros((0, 1, 2), np.uint8), (1, 2), np.arange(2))
    with np.errstate(invalid="ignore"):
        assert drawn_of(empty, ["a", "b"]) is None
        assert figures.contributions_by_pixel(empty, pixels) is None


def test_pixels_that_were_left_out_are_not_heard() -> None:
    pixels = Pixels(np.zeros((0, 1, 3), np.uint8), (1, 3), np.array([2, 0]))
    drawn = figures.contributions_by_pixel(metric([[1.0, -2.0]]), pixels)
    assert drawn is not None
    # Pixels 2 and 0 have shares of 0.2 and 0.8; in the direction the larger is plus.
    assert drawn["share"] == "/wBA"
    assert drawn["directions"] == [("100%", "/4BA")] or drawn["directions"] == [
        ("100%", "/4BB")
    ]


def test_confusions_name_the_commonest_mistakes() -> None:
    counts = np.array([[8, 2, 0], [0, 10, 0], [5, 0, 0]])
    drawn = figures.confusion("nca", counts, ["a", "b", "c"])
    assert (drawn["wrong"], drawn["total"]) == (7, 25)
    assert drawn["errors"] == [("c", "a", 5), ("a", "b", 2)]
    assert drawn["rows"][0] == [(8, 8), (2, 2), (0, 0)]


def test_a_class_without_rows_is_no_harm() -> None:
    drawn = figures.confusion("nca", np.zeros((50, 50), int), ["a"] * 50)
    assert not drawn["fits"]
    assert drawn["errors"] == []
