"""Using a page: clicking on its maps, reading its lists, running its commands."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def click(page: Page, method: int, row: int) -> None:
    canvas = page.locator(".map canvas").nth(method)
    canvas.scroll_into_view_if_needed()
    x, y = page.evaluate("([m, i]) => vicinal.position(m, i)", [method, row])
    # The border is not part of the drawing.
    canvas.click(position={"x": x + 1, "y": y + 1})


def listed(page: Page, side: str) -> list[int]:
    buttons = page.locator(f"#near-{side} button").all()
    return [int(button.get_attribute("data-index") or -1) for button in buttons]


def lonely_row(page: Page, method: int) -> int:
    """A row that no other covers on the map."""
    return int(
        page.evaluate(
            """(m) => {
              const n = JSON.parse(document.getElementById("data").textContent).n;
              const places = Array.from({length: n}, (_, i) => vicinal.position(m, i));
              const room = places.map(([x, y], i) => Math.min(...places.map(
                ([u, v], j) => i === j ? Infinity : Math.hypot(x - u, y - v))));
              return room.indexOf(Math.max(...room));
            }""",
            method,
        )
    )


def read_by_a_shell(line: str) -> list[str]:
    """The arguments that a shell makes of a line."""
    script = f"printf '%s\\0' {line}"
    ran = subprocess.run(["/bin/bash", "-c", script], capture_output=True, check=True)
    return ran.stdout.decode().split("\0")[:-1]
