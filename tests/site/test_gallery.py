"""The gallery's programs: enough of them, and each ends in a picture."""

from __future__ import annotations

from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("plot_*.py"))


def test_there_are_as_many_as_the_front_page_says() -> None:
    numbers = {18: "eighteen", 19: "nineteen", 20: "twenty", 21: "twenty-one"}
    front = (EXAMPLES.parent / "docs" / "index.md").read_text("utf-8")
    assert f"{numbers[len(PROGRAMS)]} short programs" in front


def test_each_ends_in_a_picture() -> None:
    last = {path.name: path.read_text("utf-8").split("\n")[-2] for path in PROGRAMS}
    assert {name for name, line in last.items() if line != "plt.show()"} == set()
