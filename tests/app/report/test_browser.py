"""The page in a real browser: Chromium, without a window.

Where no Chromium is installed, these tests are skipped; with the environment variable
VICINAL_NEEDS_BROWSER set, they fail instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from tests.app.report import comparisons
from tests.app.report.driving import click, listed, lonely_row
from vicinal.app.comparison import METHODS

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


def nearest(name: str, row: int) -> list[int]:
    setting = comparisons.wine().setting
    labels = comparisons.labels(comparisons.wine())
    codes = np.unique(labels, return_inverse=True)[1]
    shown = comparisons.shown_rows(comparisons.wine())
    X, codes = np.delete(setting.X, shown, axis=0), np.delete(codes, shown)
    metric = METHODS[name].pipeline(X, codes).fit(X, codes)
    search = NearestNeighbors(n_neighbors=8).fit(metric.transform(setting.X[shown]))
    found = search.kneighbors(return_distance=False)[row]
    return [int(j) for j in found]


def test_click_a_point_and_read_its_neighbours(opened: Any) -> None:
    page = opened("wine")
    row = lonely_row(page, 0)
    click(page, 0, row)
    assert page.locator("body").get_attribute("data-chosen") == str(row)
    shown = comparisons.shown_rows(comparisons.wine())
    assert f"Row {shown[row]}" in page.inner_text("#chosen")
    page.select_option("#before", label="euclidean")
    assert listed(page, "before") == nearest("euclidean", row)
    page.select_option("#after", label="lda")
    assert listed(page, "after") == nearest("lda", row)
    page.select_option("#after", label="nca")
    assert listed(page, "after") == nearest("nca", row)
    # The marks tell which of them share its class.
    y = comparisons.labels(comparisons.wine())[shown]
    same = [bool(y[j] == y[row]) for j in nearest("euclidean", row)]
    marks = page.locator("#near-before .mark").all_inner_texts()
    assert [mark == "✓" for mark in marks] == same
    assert f"{sum(same)} of 8 before" in page.inner_text("#chosen")


def test_neighbours_can_be_walked_along(opened: Any) -> None:
    page = opened("wine")
    page.click("#surprise")
    first = listed(page, "after")[0]
    page.locator("#near-after button").first.click()
    assert page.locator("body").get_attribute("data-chosen") == str(first)


def test_the_chosen_row_is_marked_in_every_map(opened: Any) -> None:
    page = opened("wine")
    canvases = page.locator(".map canvas")
    before = [canvas.evaluate("c => c.toDataURL()") for canvas in canvases.all()]
    click(page, 1, lonely_row(page, 1))
    after = [canvas.evaluate("c => c.toDataURL()") for canvas in canvases.all()]
    assert all(one != other for one, other in zip(before, after, strict=True))


def test_hidden_classes_disappear_from_all_maps(opened: Any) -> None:
    page = opened("wine")

    def visible() -> set[str | None]:
        canvases = page.locator(".map canvas").all()
        return {canvas.get_attribute("data-visible") for canvas in canvases}

    assert visible() == {"54"}
    toggle = page.get_by_role("button", name="class_1").first
    toggle.click()
    assert visible() == {str(54 - 21)}
    assert toggle.get_attribute("aria-pressed") == "false"
    toggle.click()
    assert visible() == {"54"}
    page.click("#hide-all")
    assert visible() == {"0"}
    # What cannot be seen cannot be chosen either.
    canvas = page.locator(".map canvas").first
    canvas.click()
    canvas.press("ArrowRight")
    canvas.press("Enter")
    assert page.locator("body").get_attribute("data-chosen") == "-1"
    page.click("#show-all")
    assert visible() == {"54"}


def test_zoom_by_buttons_and_wheel_and_moving(opened: Any) -> None:
    page = opened("wine")
    canvas = page.locator(".map canvas").first
    canvas.scroll_into_view_if_needed()

    def zoom() -> float:
        return float(canvas.get_attribute("data-zoom"))

    tools = page.locator(".map").first.locator(".tools button")
    tools.nth(0).click()
    assert zoom() == pytest.approx(1.5)
    tools.nth(1).click()
    assert zoom() == pytest.approx(1)
    # The wheel scrolls the page, until the map has the focus.
    canvas.hover()
    page.mouse.wheel(0, -100)
    page.wait_for_timeout(150)
    assert zoom() == pytest.approx(1)
    canvas.focus()
    canvas.scroll_into_view_if_needed()
    canvas.hover()
    before = page.evaluate("vicinal.position(0, 0)")
    page.mouse.wheel(0, -100)
    page.wait_for_function(
        "() => document.querySelector('.map canvas').dataset.zoom > 1.2"
    )
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    held = page.evaluate("vicinal.position(0, 0)")
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 70)
    page.mouse.up()
    moved = page.evaluate("vicinal.position(0, 0)")
    assert np.subtract(moved, held) == pytest.approx([30, 10], abs=0.01)
    tools.nth(2).click()
    assert page.evaluate("vicinal.position(0, 0)") == pytest.approx(before)
    # Dragging chooses nothing.
    assert page.locator("body").get_attribute("data-chosen") == "-1"


def test_all_of_it_by_keyboard(opened: Any) -> None:
    page = opened("wine")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    canvas = page.locator(".map canvas").nth(2)
    canvas.focus()
    page.keyboard.press("ArrowRight")
    start = int(canvas.get_attribute("data-focused"))
    page.keyboard.press("ArrowRight")
    there = int(canvas.get_attribute("data-focused"))
    assert there != start
    places = [page.evaluate("i => vicinal.position(2, i)", i) for i in (start, there)]
    assert places[1][0] > places[0][0]
    called = comparisons.shown_rows(comparisons.wine())[there]
    assert f"row {called}" in page.inner_text("#tip")
    page.keyboard.press("Enter")
    assert page.locator("body").get_attribute("data-chosen") == str(there)
    page.locator("#before").select_option(label="euclidean")
    assert listed(page, "before") == nearest("euclidean", there)
    canvas.focus()
    page.keyboard.press("+")
    assert float(canvas.get_attribute("data-zoom")) == pytest.approx(1.5)
    page.keyboard.press("0")
    assert float(canvas.get_attribute("data-zoom")) == pytest.approx(1)
    page.keyboard.press("Escape")
    assert page.locator("body").get_attribute("data-chosen") == "-1"
    assert "a row that changes most" in page.inner_text("#chosen")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "BUTTON"


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.closest('ol')?.id ?? 'nowhere'"))


def test_the_focus_is_not_lost_when_a_row_is_chosen(opened: Any) -> None:
    page = opened("wine")
    page.locator("#surprise").press("Enter")
    assert focused(page) == "near-after"
    second = page.locator("#near-before button").nth(1)
    there = second.get_attribute("data-index")
    second.press("Enter")
    assert page.locator("body").get_attribute("data-chosen") == there
    assert focused(page) == "near-before"


def test_points_reached_by_keyboard_are_in_view(opened: Any) -> None:
    page = opened("wine")
    canvas = page.locator(".map canvas").first
    canvas.focus()
    for _ in range(8):
        page.keyboard.press("+")
    width = canvas.evaluate("c => c.clientWidth")
    reached = set()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        row = int(canvas.get_attribute("data-focused"))
        x, y = page.evaluate("i => vicinal.position(0, i)", row)
        assert 0 <= x <= width
        assert 0 <= y <= width
        reached.add(row)
    assert len(reached) > 1
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


def test_a_reached_point_that_is_hidden_cannot_be_chosen(opened: Any) -> None:
    page = opened("wine")
    canvas = page.locator(".map canvas").first
    canvas.press("ArrowRight")
    page.click("#hide-all")
    canvas.press("Enter")
    assert page.locator("body").get_attribute("data-chosen") == "-1"


def test_a_point_under_the_pointer_tells_its_row(opened: Any) -> None:
    page = opened("wine")
    place = lonely_row(page, 0)
    row = comparisons.shown_rows(comparisons.wine())[place]
    canvas = page.locator(".map canvas").first
    canvas.scroll_into_view_if_needed()
    x, y = page.evaluate("i => vicinal.position(0, i)", place)
    canvas.hover(position={"x": x + 1, "y": y + 1})
    tip = page.locator("#tip")
    assert tip.is_visible()
    assert f"row {row}" in tip.inner_text()
    assert str(comparisons.labels(comparisons.wine())[row]) in tip.inner_text()
    page.mouse.move(0, 0)
    assert not tip.is_visible()


@pytest.mark.parametrize("prefers", ["light", "dark"])
def test_light_and_dark(opened: Any, prefers: str) -> None:
    page = opened("wine", color_scheme=prefers)

    def paper() -> str:
        colour = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(f"{colour}.match(/\\d+/g).map(Number)[0] > 127")
        return "light" if light else "dark"

    drawn = page.locator(".map canvas").first.evaluate("c => c.toDataURL()")
    assert paper() == prefers
    page.click("#theme")
    assert paper() != prefers
    again = page.locator(".map canvas").first.evaluate("c => c.toDataURL()")
    assert again != drawn
    page.click("#theme")
    assert paper() == prefers


def test_printed_pages_are_light_and_have_no_buttons(opened: Any) -> None:
    page = opened("wine", color_scheme="dark", media="print")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    assert not page.locator("#theme").is_visible()
    assert not page.locator(".tools").first.is_visible()
    assert page.locator(".map canvas").first.is_visible()
    corner = "c => Array.from(c.getContext('2d').getImageData(0, 0, 1, 1).data)"
    assert page.locator(".map canvas").first.evaluate(corner) == [255] * 4
    assert len(page.pdf()) > 10_000


def test_thumbnails_show_the_pixels(opened: Any) -> None:
    page = opened("digits")
    row = lonely_row(page, 1)
    click(page, 1, row)
    thumb = page.locator("#chosen canvas.thumb")
    gray = thumb.evaluate(
        "c => Array.from(c.getContext('2d').getImageData(0, 0, 8, 8).data)"
    )
    shown = comparisons.shown_rows(comparisons.digits())
    expected = comparisons.digits().setting.X[shown[row]] * 255 / 16
    np.testing.assert_allclose(gray[::4], expected, atol=0.5)
    assert page.locator("#near-after canvas.thumb").count() == 8


def test_numbers_as_targets(opened: Any) -> None:
    page = opened("diabetes")
    click(page, 1, lonely_row(page, 1))
    assert "Mean target" in page.inner_text("#chosen")
    assert page.locator("#maps .classes").count() == 0
    assert page.locator("#maps .scale-marks span").count() == 5


def test_no_target(opened: Any) -> None:
    page = opened("irises")
    click(page, 0, lonely_row(page, 0))
    assert "of its cluster" in page.inner_text("#chosen")
    assert page.locator("#maps .classes button").count() == 8


def test_names_with_markup_are_only_text(opened: Any) -> None:
    page = opened("hostile")
    page.click("#surprise")
    click(page, 0, lonely_row(page, 0))
    page.locator(".map canvas").first.focus()
    page.keyboard.press("ArrowLeft")
    assert "<script>" in page.title()
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert "<script>" in page.inner_text("#maps .classes")


def test_the_policy_stops_what_is_not_the_pages_own(
    browser: Browser, pages: Path
) -> None:
    """The other tests would pass without it: here it is seen to work."""
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda one: said.append(one.text))
    page.goto((pages / "wine.html").as_uri())
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "document.title = 'broken'";
          document.body.append(script);
          new Image().src = "https://example.org/x.png";
          new Image().src = "data:image/gif;base64,R0lGODlhAQABAAAAADs=";
        }"""
    )
    page.wait_for_timeout(100)
    assert page.title() == "wine"
    assert len(said) == 3
    assert all("Content Security Policy" in one for one in said)
    page.close()


def test_a_narrow_screen_has_nothing_to_scroll_sideways(opened: Any) -> None:
    page = opened("hostile")
    page.set_viewport_size({"width": 320, "height": 640})
    wider = "document.documentElement.scrollWidth - innerWidth"
    assert page.evaluate(wider) <= 0
    # Maps and long names have the whole column, and no more.
    column = page.locator("#maps").bounding_box()["width"]
    for part in ("#maps .classes", ".map canvas"):
        width = page.locator(part).first.bounding_box()["width"]
        assert width == pytest.approx(column, abs=1), part
