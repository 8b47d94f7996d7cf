"""The site in Chromium: narrow and wide, light and dark, searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

pytestmark = pytest.mark.site


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_scrolls_sideways(
    opened: Callable[..., Page], site: Path, width: int
) -> None:
    """On no page of a phone's width; of a screen's, one in six is looked at."""
    paths = [
        path.relative_to(site).as_posix()
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    ]
    if width > 360:
        paths = paths[::6]
    page = opened("index.html", width=width)
    start = page.url.removesuffix("index.html")
    wide = []
    for path in paths:
        page.goto(start + path, wait_until="load")
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(path)
    assert len(paths) > 25
    assert wide == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system(
    opened: Callable[..., Page], scheme: str
) -> None:
    page = opened("index.html", color_scheme=scheme)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    channels = [int(one) for one in color.strip("rgba()").split(",")[:3]]
    assert (min(channels) > 200) if scheme == "light" else (max(channels) < 60)


def test_the_search_finds_a_class(opened: Callable[..., Page]) -> None:
    page = opened("search.html?q=NCAClassifier")
    page.wait_for_selector("#search-results .search li a", timeout=20_000)
    found = page.locator("#search-results .search li a").all_inner_texts()
    assert any("NCAClassifier" in one for one in found)


def test_the_search_opens_from_the_header(opened: Callable[..., Page]) -> None:
    page = opened("index.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("outliers")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results .search li a", timeout=20_000)
    texts = page.locator("#search-results .search li a").all_inner_texts()
    assert any("outliers" in one.lower() for one in texts)


def test_the_front_page_leads_to_the_three_starts(opened: Callable[..., Page]) -> None:
    for name in ("table", "embeddings", "paper"):
        page = opened("index.html")
        link = page.locator(f'a.sd-stretched-link[href="start/{name}.html"]')
        page.locator(".sd-card", has=link).click()
        page.wait_for_url(f"**/start/{name}.html")
        assert page.locator("h1").count() == 1


def test_pictures_are_there(opened: Callable[..., Page]) -> None:
    for name in ("index.html", "which-method.html", "internals/engine.html"):
        page = opened(name)
        sizes = page.evaluate(
            "[...document.querySelectorAll('article img')].map(i => i.naturalWidth)"
        )
        assert sizes
        assert min(sizes) > 0


def test_code_of_the_starts_has_room(opened: Callable[..., Page]) -> None:
    """On a screen of 1280 pixels, no line is cut off."""
    page = opened("start/index.html")
    start = page.url.removesuffix("index.html")
    for name in ("table", "embeddings", "paper"):
        page.goto(f"{start}{name}.html", wait_until="load")
        cut = page.evaluate(
            "[...document.querySelectorAll('article pre')]"
            ".filter(one => one.scrollWidth > one.clientWidth + 1)"
            ".map(one => one.innerText)"
        )
        assert cut == [], name


def test_drawings_can_be_read_on_a_phone(opened: Callable[..., Page]) -> None:
    for name in ("which-method.html", "internals/engine.html"):
        page = opened(name, width=360)
        widths = page.evaluate(
            "[...document.querySelectorAll('.drawing img')].map(i => i.clientWidth)"
        )
        assert len(widths) == 1
        assert widths[0] >= 600


def test_the_front_page_leads_those_who_have_code(opened: Callable[..., Page]) -> None:
    page = opened("index.html")
    for name in (
        "migration/scikit-learn-nca",
        "migration-metric-learn",
        "migration/kernel-density",
        "migration/triplet-loss",
    ):
        assert page.locator(f'article a[href="{name}.html"]').count() == 1, name
