"""The page for everybody: on a phone, by keyboard, in light and in dark.

What Lighthouse would look at: widths, contrasts, focus, what can be reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.app.report import comparisons
from tests.app.report.driving import click, lonely_row

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

PAGES = ["wine", "digits", "diabetes", "irises", "hostile", "passengers"]

# Every text of the page against what is behind it, as WCAG 2 counts.
CONTRASTS = """() => {
  const numbers = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = (top, under) => under.map((v, i) => top[i] * top[3] + v * (1 - top[3]));
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      layers.push(numbers(getComputedStyle(e).backgroundColor));
    }
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const words = walker.currentNode.textContent.trim();
    if (!words || element.closest("script, style, noscript, option")) continue;
    const style = getComputedStyle(element);
    if (style.visibility === "hidden" || !element.getClientRects().length) continue;
    const colour = numbers(element.closest("svg") ? style.fill : style.color);
    const paper = behind(element);
    const both = [light(over(colour, paper)), light(paper)];
    const ratio = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    found.push({ words: words.slice(0, 40), ratio, large });
  }
  return found;
}"""

FOCUSABLE = """() => [...document.querySelectorAll(
  "a[href], button, select, canvas[tabindex], summary, [tabindex='0']")]
  .filter((one) => one.getClientRects().length && !one.disabled)
  .filter((one) => !one.matches(".skip"))
  .map((one, i) => { one.dataset.reach = i; return i; })"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_all_texts_have_contrast(opened: Any, name: str, theme: str) -> None:
    page = opened(name, color_scheme=theme)
    page.click("#surprise")
    found = page.evaluate(CONTRASTS)
    assert len(found) > 50
    low = [one for one in found if one["ratio"] < (3 if one["large"] else 4.5)]
    assert low == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_scrolls_sideways(opened: Any, name: str, width: int) -> None:
    page = opened(name)
    page.set_viewport_size({"width": width, "height": 740})
    wider = "document.documentElement.scrollWidth - innerWidth"
    assert page.evaluate(wider) <= 0
    page.click("#surprise")
    assert page.evaluate(wider) <= 0
    inside = page.evaluate(
        """() => [...document.querySelectorAll("main *")]
          .filter((e) => !e.closest(".wide, nav, pre, thead, tfoot, .tip, svg"))
          .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
          .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert inside == []


@pytest.mark.parametrize("name", ["wine", "diabetes"])
def test_on_a_phone_scores_and_sections_are_in_sight(opened: Any, name: str) -> None:
    page = opened(name)
    page.set_viewport_size({"width": 360, "height": 740})
    for score in page.locator(".scores td.strong").all():
        box = score.bounding_box()
        assert box["width"] > 20
        assert box["x"] + box["width"] <= 360
    links = page.locator("nav a")
    assert links.count() >= 5
    last = links.last
    last.scroll_into_view_if_needed()
    last.click()
    page.wait_for_function("() => scrollY > 1000")
    assert page.url.endswith("#again")
    # Below what sticks to the top of the screen.
    page.wait_for_timeout(600)
    head = page.locator("header").bounding_box()["height"]
    assert page.locator("#again h2").bounding_box()["y"] >= head


def test_on_a_phone_the_panel_is_where_the_map_is(opened: Any) -> None:
    page = opened("wine")
    page.set_viewport_size({"width": 360, "height": 740})
    for method in (1, 3):
        row = lonely_row(page, method)
        click(page, method, row)
        called = comparisons.shown_rows(comparisons.wine())[row]
        assert f"row {called}" in page.inner_text("#chosen").lower()
        # Both at one moment: the page may still be scrolling.
        gap = page.evaluate(
            """k => document.querySelector('#panel').getBoundingClientRect().top
                - document.querySelectorAll('.map')[k].getBoundingClientRect().bottom
            """,
            method,
        )
        assert 0 <= gap < 60
        page.wait_for_function(
            "() => document.querySelector('#panel').getBoundingClientRect().top < 740"
        )
    # Turned to a wide screen, it is beside the maps again.
    page.set_viewport_size({"width": 1280, "height": 740})
    page.wait_for_function(
        "() => document.querySelector('#slot-maps > #panel') !== null"
    )


def test_on_a_wide_screen_the_panel_is_beside_the_map(opened: Any) -> None:
    page = opened("wine")
    assert page.locator("#slot-top > #panel").count() == 1
    click(page, 2, lonely_row(page, 2))
    assert page.locator("#slot-maps > #panel").count() == 1
    assert not page.locator(".vacant").is_visible()
    big = page.locator(".big-map canvas").first
    big.scroll_into_view_if_needed()
    big.press("ArrowRight")
    big.press("Enter")
    assert page.locator("#slot-top > #panel").count() == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["passengers", "diabetes"])
def test_everything_is_reached_by_tab_and_shows_it(
    opened: Any, name: str, theme: str
) -> None:
    page = opened(name, color_scheme=theme)
    wanted = set(page.evaluate(FOCUSABLE))
    reached = set()
    for _ in range(len(wanted) + 3):
        page.keyboard.press("Tab")
        seen = page.evaluate(
            """() => {
              const style = getComputedStyle(document.activeElement);
              return [document.activeElement.dataset.reach ?? null,
                style.outlineStyle, parseFloat(style.outlineWidth)];
            }"""
        )
        if seen[0] is not None:
            reached.add(int(seen[0]))
            assert seen[1] != "none", seen
            assert seen[2] >= 2, seen
    assert reached == wanted


def test_differences_between_neighbours_are_told(opened: Any) -> None:
    page = opened("passengers")
    page.click("#surprise")
    table = comparisons.passenger_table()
    shown = comparisons.shown_rows(comparisons.passengers())
    chosen = shown[int(page.locator("body").get_attribute("data-chosen"))]
    assert f"Passenger {chosen}, row {chosen}" in page.inner_text("#chosen")
    for button in page.locator("#near-after button, #near-before button").all():
        j = shown[int(button.get_attribute("data-index"))]
        assert f"Passenger {j}" in button.inner_text()
        lines = button.locator(".differs").all()
        for line in lines:
            name, values = line.locator("span").all_inner_texts()
            cells = ["missing" if v is None else str(v) for v in table[name]]
            assert values == f"{cells[chosen]} → {cells[j]}"
            assert cells[chosen] != cells[j]
        differ = [c for c in ("age", "sex", "port") if table[c][chosen] != table[c][j]]
        assert len(lines) == len(differ)


@pytest.mark.parametrize("width", [360, 1200])
def test_differences_are_not_cut_off(opened: Any, width: int) -> None:
    page = opened("passengers")
    page.set_viewport_size({"width": width, "height": 800})
    page.click("#surprise")
    cut = page.evaluate(
        """() => [...document.querySelectorAll(".differs span + span")]
            .filter((one) => one.scrollWidth > one.clientWidth + 1)
            .map((one) => one.innerText)"""
    )
    assert page.locator(".differs span + span").count() > 0
    assert cut == []


def test_commands_are_copied_as_they_are(opened: Any) -> None:
    page = opened("passengers")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.locator("#again .copy").first
    button.click()
    page.wait_for_function("() => document.activeElement.textContent === 'Copied'")
    text = page.evaluate("navigator.clipboard.readText()")
    assert text == "vicinal compare 'it'\"'\"'s mine.csv' --target s"


def test_commands_are_copied_without_the_right_to_the_clipboard(opened: Any) -> None:
    page = opened("passengers")
    page.evaluate(
        """() => Object.defineProperty(navigator, "clipboard", { value: undefined })"""
    )
    page.locator("#again .copy").first.click()
    page.wait_for_function("() => document.activeElement.textContent === 'Copied'")


def test_the_same_rows_before_and_after(opened: Any) -> None:
    page = opened("wine")
    names = page.locator(".big-map .map-name").all_inner_texts()
    assert len(names) == 2
    assert comparisons.wine().recommended in names
    assert page.locator(".big-map.advised").count() == 1
    boxes = [canvas.bounding_box() for canvas in page.locator(".big-map canvas").all()]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["y"] + boxes[0]["height"] < 900


def numbers_of_colours(page: Page) -> Any:
    return page.evaluate(
        """() => {
          const style = getComputedStyle(document.documentElement);
          return [..."0123456789"].map((i) => style.getPropertyValue(`--n${i}`).trim());
        }"""
    )


def test_numbers_have_other_colours_in_the_dark(opened: Any) -> None:
    light = numbers_of_colours(opened("diabetes", color_scheme="light"))
    dark = numbers_of_colours(opened("diabetes", color_scheme="dark"))
    assert light[0] == "#00224e"
    assert dark[0] != light[0]
