"""Pages to open in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.app.report import comparisons

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from vicinal.app.comparison import Comparison


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    wanted: list[tuple[Callable[[], Comparison], dict[str, Any]]] = [
        (comparisons.wine, {}),
        (comparisons.digits, {"image_shape": (8, 8)}),
        (comparisons.diabetes, {}),
        (comparisons.irises, {}),
        (comparisons.hostile, {}),
        (
            comparisons.passengers,
            {
                "frame": comparisons.passenger_table(),
                "decisions": comparisons.PASSENGER_DECISIONS,
                "command": ["vicinal", "compare", "it's mine.csv", "--target", "s"],
            },
        ),
    ]
    for comparison, options in wanted:
        comparison().to_html(folder / f"{comparison.__name__}.html", **options)
    return folder


@pytest.fixture
def opened(browser: Browser, pages: Path) -> Iterator[Callable[..., Page]]:
    """Open a page; when the test is over, nothing must have gone wrong in it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    troubles: list[str] = []

    def open_page(name: str, **media: Any) -> Page:
        page = context.new_page()
        page.on("console", lambda said: troubles.append(said.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.emulate_media(**media)
        page.goto((pages / f"{name}.html").as_uri())
        return page

    asked: list[str] = []
    yield open_page
    context.close()
    assert troubles == []
    assert asked
    assert all(url.startswith(pages.as_uri()) for url in asked)
