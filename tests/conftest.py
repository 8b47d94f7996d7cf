"""A browser, for the tests of the report and of the site."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        message = f"No browser to test with: none of {', '.join(_NAMES)} is installed."
        if os.environ.get("VICINAL_NEEDS_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as driver:
        # Inside a container, root has no sandbox to put it in.
        started = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()
