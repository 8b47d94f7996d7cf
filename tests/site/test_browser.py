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
    for name in ("index.html", "which-method.html", "how/engine.html"):
        page = opened(name)
        sizes = page.evaluate(
            "[...document.querySelectorAll('article img')].map(i => i.naturalWidth)"
        )
        assert sizes
        assert min(sizes) > 0
