"""What a folder of pages links to, and which of it is not there."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_LINK = re.compile(r"\]\(([^()\s]+)\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


class _Page(HTMLParser):
    """Collects a page's anchors and what it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.targets.add(value)


def dead_links(pages: Iterable[Path], built: Sequence[Path]) -> list[str]:
    """Return every link of Markdown pages to a file that is not there, or is built."""
    found = []
    for page in pages:
        text = _CODE.sub("", page.read_text(encoding="utf-8"))
        for target in _LINK.findall(text):
            link = urlsplit(target)
            if link.scheme or not link.path:
                continue
            goal = (page.parent / unquote(link.path)).resolve()
            if not goal.exists() or any(one in goal.parents for one in built):
                found.append(f"{page.name}: {target}")
    return found


def broken_links(folder: Path) -> list[str]:
    """Return every link inside the folder that leads nowhere, with its page."""
    pages = {
        path.resolve(): _Page(path.read_text("utf-8"))
        for path in folder.rglob("*.html")
        if "_static" not in path.parts  # the theme's own templates
    }
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            link = urlsplit(target)
            if link.scheme or link.netloc:
                continue
            goal = (path.parent / unquote(link.path)).resolve() if link.path else path
            anchor = unquote(link.fragment)
            if not goal.exists() or (
                anchor and goal in pages and anchor not in pages[goal].anchors
            ):
                broken.append(f"{path.relative_to(folder.resolve())}: {target}")
    return sorted(broken)


def fetched(folder: Path) -> list[str]:
    """Return what pages load from elsewhere: scripts, styles, pictures, fonts."""
    found = []
    for path in folder.rglob("*.html"):
        loading = _Loading()
        loading.feed(path.read_text("utf-8"))
        found += [f"{path.relative_to(folder)}: {one}" for one in loading.found]
    return sorted(found)


class _Loading(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        target = given.get("src") or (given.get("href") if tag == "link" else None)
        if target and urlsplit(target).netloc:
            self.found.append(target)
