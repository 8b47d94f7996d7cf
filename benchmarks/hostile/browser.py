"""The report in Chromium, clicked through at random; there, no word is a command."""

import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from numpy.random import Generator

from benchmarks.hostile.cases import Wrong
from benchmarks.hostile.data import choose

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PATH = next(filter(None, map(shutil.which, _NAMES)), None)
NOTE = "" if _PATH else "no Chromium is installed: nothing was looked at"


@cache
def _pages() -> tuple[Any, list[Path]]:
    """Start the browser, and write reports of hostile and of usual tables."""
    from playwright.sync_api import sync_playwright

    from tests.app.report import comparisons

    folder = Path(tempfile.mkdtemp())
    pages = []
    for made in (comparisons.hostile, comparisons.irises, comparisons.diabetes):
        pages.append(folder / f"{made.__name__}.html")
        made().to_html(pages[-1])
    driver = sync_playwright().start()
    launched = driver.chromium.launch(executable_path=_PATH, args=["--no-sandbox"])
    return launched, pages


def case(rng: Generator) -> bool:
    """Open a report, click, type and resize at random, and listen for errors."""
    if _PATH is None:
        return False
    browser, pages = _pages()
    # Smooth scrolling would still be under way when the next click comes.
    page = browser.new_page(offline=True, reduced_motion="reduce")
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(f"error in the page: {error}"))
    page.on("dialog", lambda dialog: wrong.append(f"a dialog: {dialog.message}"))
    page.on("request", lambda request: _watch(request.url, wrong))
    path = choose(rng, *pages)
    page.goto(path.as_uri())
    keys = ("Tab", "Enter", "Escape", "ArrowDown", "ArrowRight", " ", "+", "-")
    for _ in range(int(rng.integers(5, 40))):
        kind = choose(rng, "click", "click", "button", "key", "wheel", "resize")
        if kind == "click":
            page.mouse.click(*(float(rng.uniform(0, 1200)) for _ in "xy"))
        elif kind == "button":
            buttons = page.locator("button:visible, select:visible, summary:visible")
            if n := buttons.count():
                buttons.nth(int(rng.integers(n))).click(force=True, timeout=3000)
        elif kind == "key":
            page.keyboard.press(str(choose(rng, *keys)))
        elif kind == "wheel":
            page.mouse.wheel(0, float(rng.normal() * 800))
        else:
            width, height = (int(rng.integers(200, 1500)) for _ in "wh")
            page.set_viewport_size({"width": width, "height": height})
    page.close()
    if wrong:
        raise Wrong(f"{path.name}: {wrong[0]}")
    return False


def _watch(url: str, wrong: list[str]) -> None:
    if not url.startswith(("file:", "data:", "blob:")):
        wrong.append(f"a request: {url}")
