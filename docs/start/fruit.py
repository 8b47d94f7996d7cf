"""Write fruit.csv anew, a table as people have them: ``python docs/start/fruit.py``."""

from datetime import date, timedelta
from pathlib import Path

import numpy as np

KINDS = ("apple", "pear", "quince")


def main() -> None:
    """Make rows of three kinds, and write them as a spreadsheet in Europe would."""
    rng = np.random.default_rng(0)
    lines = ["crate;weight;sugar;firmness;price;picked;colour;note;kind"]
    for k in range(300):
        kind = rng.choice(3, p=[0.5, 0.3, 0.2])
        size = rng.normal()  # large fruit is heavy, firm and dear: no kind has the say
        weight = 180 + 40 * size + 12 * (kind - 1) + rng.normal(0, 6)
        firmness = 60 + 9 * size - 4 * (kind - 1) + rng.normal(0, 1.5)
        sugar = 12 - 0.9 * (kind == 2) + rng.normal()
        price = 2.4 + 0.6 * size + rng.normal(0, 0.3)
        picked = date(2024, 8, 1) + timedelta(days=int(rng.integers(80)))
        cells = [
            str(4000 + k),
            "scale broken" if k in (41, 203) else f"{weight:.1f}",
            "" if rng.random() < 0.05 else f"{sugar:.2f}",
            "n/a" if rng.random() < 0.03 else f"{firmness:.1f}",
            f"{price:.2f} €",
            "" if rng.random() < 0.02 else f"{picked:%d.%m.%Y}",
            rng.choice(["red", "yellow", "green"]),
            f"row {rng.integers(1, 90)}, tree {rng.integers(1, 500)}, by hand",
            KINDS[kind],
        ]
        cells[1:5] = [cell.replace(".", ",") for cell in cells[1:5]]
        lines.append(";".join(cells))
    text = "\n".join(lines) + "\n"
    Path(__file__).with_name("fruit.csv").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
