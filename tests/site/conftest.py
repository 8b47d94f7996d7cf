"""The built site, as files and behind an address."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Page

BUILT = Path(__file__).parents[2] / "docs" / "_build" / "html"


@pytest.fixture(scope="session")
def site() -> Path:
    if not (BUILT / "index.html").exists():
        pytest.fail("The site is not built: run `nox -s docs`.")
    return BUILT


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    handler = partial(_Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Open a page; when the test is over, nothing must have gone wrong in it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    troubles: list[str] = []
    asked: list[str] = []

    def note(said: ConsoleMessage) -> None:
        if said.type == "error":
            troubles.append(f"{said.location['url']}: {said.text}")

    def open_page(name: str, width: int = 1280, **media: Any) -> Page:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 800})
        page.on("console", note)
        page.on("pageerror", lambda error: troubles.append(f"{name}: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        page.emulate_media(**media)
        page.goto(f"{address}/{name}", wait_until="load")
        return page

    yield open_page
    context.close()
    assert troubles == []
    assert asked
    # Nothing is fetched from elsewhere.
    assert {url for url in asked if not url.startswith((address, "data:"))} == set()
