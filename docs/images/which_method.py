"""Draw which-method.svg anew: ``python docs/images/which_method.py``.

The tree of docs/which-method.md: what you have, what you want, and what to take.
"""

from html import escape
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Leaf(NamedTuple):
    """What is wanted, and what to take."""

    want: str
    take: str


TREE = {
    "classes for each row": [
        Leaf("predictions with probabilities", "NCAClassifier"),
        Leaf("a picture", "SupervisedMap"),
        Leaf("fewer dimensions", "NCA(n)"),
        Leaf("more columns than rows, or a fast fit", "LDG"),
        Leaf("which columns matter", 'NCA(form="diagonal")'),
        Leaf("I do not know yet", "vicinal compare"),
    ],
    "a number for each row": [
        Leaf("predictions", "NCARegressor"),
    ],
    "pairs": [
        Leaf("queries should find documents", "RetrievalAdapter"),
        Leaf("pairs that belong together", "PairNCA"),
        Leaf("pairs alike, and pairs not", "classic.ITML"),
    ],
    "few labels, many elsewhere": [
        Leaf("a map for here", "TransferLDG"),
    ],
    "no labels": [
        Leaf("a density, or new outliers", "LCA"),
        Leaf("few directions among much noise", "LCAGauss"),
        Leaf("clusters, how many is not known", "ModeClustering"),
    ],
}
WIDTH, ROW, GAP = 780, 34, 16
HAVE, WANT, TAKE = 6, 272, 580  # where the three columns begin
STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1a1a1a}"
    ".have{font-weight:600}.take{font:600 13.5px ui-monospace,monospace;fill:#00466e}"
    ".head{font-size:12px;fill:#595959}"
    "path{fill:none;stroke:#8a8a8a;stroke-width:1.5}"
    "rect.have{fill:#fff3d6;stroke:#b37700}rect.take{fill:#e3f1fa;stroke:#0072b2}"
)


def draw() -> str:
    """Return the tree as SVG."""
    parts: list[str] = []
    for x, head in ((HAVE, "You have"), (WANT, "You want"), (TAKE, "Take")):
        parts.append(f'<text class="head" x="{x + 8}" y="16">{head}</text>')
    y = 30.0
    for have, leaves in TREE.items():
        middle = y + (len(leaves) * ROW) / 2
        parts.append(_box("have", HAVE, middle, WANT - HAVE - 34, have))
        for leaf in leaves:
            at = y + ROW / 2
            bend = WANT - 17
            parts.append(f'<path d="M{WANT - 34} {middle}H{bend}V{at}H{WANT - 2}"/>')
            parts.append(
                f'<text x="{WANT + 4}" y="{at + 5}">{escape(leaf.want)}</text>'
            )
            parts.append(_box("take", TAKE, at, WIDTH - TAKE - 6, leaf.take))
            y += ROW
        y += GAP
    title = "A tree: what you have, what you want, and which method to take"
    box = f"0 0 {WIDTH} {y - GAP + 6:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" '
        f'role="img" aria-label="{title}"><style>{STYLE}</style>'
        + "\n".join(parts)
        + "</svg>\n"
    )


def _box(kind: str, x: float, middle: float, width: float, text: str) -> str:
    return (
        f'<rect class="{kind}" x="{x}" y="{middle - 13}" width="{width}" height="26" '
        f'rx="5"/><text class="{kind}" x="{x + 8}" y="{middle + 5}">'
        f"{escape(text)}</text>"
    )


if __name__ == "__main__":
    (HERE / "which-method.svg").write_text(draw(), "utf-8")
