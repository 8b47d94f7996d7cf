"""The colours of the page against what they stand on, after WCAG 2."""

import re
from importlib.resources import files

import numpy as np
import pytest

STYLE = (files("vicinal.app.report") / "templates" / "report.css").read_text("utf-8")
COLOURS = re.compile(r"--([\w-]+): #([0-9a-f]{3}|[0-9a-f]{6});")
# All sets of colours, in the order in which they come: light, dark twice, print.
BLOCKS = [part for part in STYLE.split("}") if "--c7" in part]
SETS = [
    {
        name: hexes if len(hexes) == 6 else "".join(2 * c for c in hexes)
        for name, hexes in COLOURS.findall(block)
    }
    for block in BLOCKS
]
NAMES = ["light", "dark by the system", "dark by the button", "print"]
each_set = pytest.mark.parametrize(
    ("colors", "block"), list(zip(SETS, BLOCKS, strict=True)), ids=NAMES
)


def rgb(hexes: str) -> np.ndarray:
    return np.array([int(hexes[i : i + 2], 16) for i in (0, 2, 4)], dtype=float)


def luminance(colour: np.ndarray) -> float:
    part = colour / 255
    low, high = part / 12.92, ((part + 0.055) / 1.055) ** 2.4
    return float(np.where(part <= 0.04045, low, high) @ [0.2126, 0.7152, 0.0722])


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_black_on_white() -> None:
    assert contrast(rgb("000000"), rgb("ffffff")) == pytest.approx(21)


@each_set
def test_text_can_be_read(colors: dict[str, str], block: str) -> None:
    for text in ("ink", "soft", "accent", "good", "bad"):
        for paper in ("paper", "card", "wash"):
            assert contrast(rgb(colors[text]), rgb(colors[paper])) >= 4.5, text
    # The counts in the tables of confusion.
    shade = re.search(r"--shade: (\d+), (\d+), (\d+);", block)
    assert shade is not None
    strengths = re.findall(r"rgba\(var\(--shade\), (\.\d+)\)", STYLE)
    assert len(strengths) == 9
    for strength in map(float, strengths):
        under = rgb(colors["paper"])
        cell = under + strength * (np.array(shade.groups(), dtype=float) - under)
        assert contrast(rgb(colors["ink"]), cell) >= 4.5, strength


@each_set
def test_marks_can_be_seen(colors: dict[str, str], block: str) -> None:
    plot = rgb(colors["plot"])
    rim = contrast(rgb(colors["edge"]), plot)
    for i in range(8):
        # A pale mark is seen by its rim.
        assert max(contrast(rgb(colors[f"c{i}"]), plot), rim) >= 3, i
    for i in range(10):
        assert max(contrast(rgb(colors[f"n{i}"]), plot), rim) >= 3, i
    for line in ("faint", "share", "plus", "minus"):
        assert contrast(rgb(colors[line]), rgb(colors["paper"])) >= 3, line


def test_both_ways_to_the_dark_are_the_same() -> None:
    assert SETS[1] == SETS[2]
