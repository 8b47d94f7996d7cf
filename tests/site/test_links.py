"""Every link inside the site leads somewhere, and nothing is loaded from elsewhere."""

from pathlib import Path

import pytest

from tests.site.links import broken_links, dead_links, fetched

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.site
def test_links_lead_somewhere(site: Path) -> None:
    assert broken_links(site) == []


@pytest.mark.site
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    assert fetched(site) == []


def test_links_of_pages_lead_somewhere_in_a_checkout() -> None:
    # Without what Sphinx makes: the gallery and the reference.
    built = [DOCS / name for name in ("_build", "gallery", "api")]
    pages = [
        one for one in DOCS.rglob("*.md") if not any(b in one.parents for b in built)
    ]
    pages += [DOCS.parent / name for name in ("README.md", "CONTRIBUTING.md")]
    assert len(pages) > 20
    assert dead_links(pages, built) == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(
        "[1](b.md#here) [2](c.md) [3](#top) [4](https://x.org) [5](made/x.rst)\n"
        "```python\nfound[6](y)\n```\n`[7](z)`"
    )
    (tmp_path / "b.md").touch()
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "x.rst").touch()
    assert dead_links([page], [tmp_path / "made"]) == ["a.md: c.md", "a.md: made/x.rst"]


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.html").write_text(
        '<a href="deep/b.html#here">1</a><a href="deep/b.html#gone">2</a>'
        '<a href="c.html">3</a><a href="#top">4</a><a href="https://x.org/y">5</a>'
        '<img src="picture%20one.png"><img src="none.png"><p id="top">'
    )
    (tmp_path / "deep" / "b.html").write_text('<p id="here"><a href="../a.html#top">')
    (tmp_path / "picture one.png").touch()
    assert broken_links(tmp_path) == [
        "a.html: c.html",
        "a.html: deep/b.html#gone",
        "a.html: none.png",
    ]


def test_what_is_loaded_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<script src="https://cdn.org/x.js"></script><link href="//f.org/font.css">'
        '<a href="https://x.org/y">a link is no load</a><img src="own.png">'
    )
    assert fetched(tmp_path) == [
        "a.html: //f.org/font.css",
        "a.html: https://cdn.org/x.js",
    ]
