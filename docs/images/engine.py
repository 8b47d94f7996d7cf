"""Draw engine.svg anew: ``python docs/images/engine.py``."""

from html import escape
from pathlib import Path

HERE = Path(__file__).parent
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1a1a1a}.b{font-weight:600}"
    ".s{font-size:11.5px;fill:#444}rect{stroke-width:1.5;rx:5}"
    ".data{fill:#fff3d6;stroke:#b37700}.blas{fill:#e3f1fa;stroke:#0072b2}"
    ".rule{fill:#fbe3d8;stroke:#d55e00}.out{fill:#e2f4ec;stroke:#009e73}"
    "path{fill:none;stroke:#666;stroke-width:1.6;marker-end:url(#a)}"
)
# Class, left, top, width, height, and lines of text: the first one is bold.
BOXES = [
    ("data", 10, 40, 150, 160, """points Z = X Aᵀ
n × d

rows i are taken
in blocks of about
4 MB, by threads"""),
    ("blas", 215, 40, 230, 70, """a block of rows × all points
inner products ⟨z_i, z_j⟩
(BLAS)"""),
    ("rule", 215, 130, 230, 70, """the rule, row by row
weights v_ij, a value for i
(a compiled kernel of a few lines)"""),
    ("out", 500, 40, 250, 160, """before the next block comes
L Z: the gradient is 2 (L Z)ᵀX  (NCA)
XᵀL X: the next covariance  (LCA)
Σ_j p_ij t_j: predictions
log Σ_j exp(−d²): densities
summed in the blocks' order: the same
bits for any number of threads"""),
]  # fmt: skip
ARROWS = ["M160 75H211", "M330 110V126", "M445 165H496"]


def draw() -> str:
    """Return the drawing as SVG."""
    parts = [
        f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}"/>'
        + "".join(
            f'<text class="{"s" if k else "b"}" x="{x + 10}" y="{y + 21 + 19 * k}">'
            f"{escape(line)}</text>"
            for k, line in enumerate(text.splitlines())
        )
        for kind, x, y, width, height, text in BOXES
    ]
    parts += [f'<path d="{way}"/>' for way in ARROWS]
    note = "At no time are there n × n numbers: only the blocks that threads work on."
    title = "The pair engine: points, blocks, a rule, and what is made of it"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 240" role="img" '
        f'aria-label="{title}"><style>{STYLE}</style><defs><marker id="a" '
        'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z" style="fill:#666;stroke:none;'
        'marker-end:none"/></marker></defs>'
        f'<text class="b" x="10" y="20">One evaluation, for any method</text>'
        + "\n".join(parts)
        + f'<text class="s" x="10" y="226">{note}</text></svg>\n'
    )


if __name__ == "__main__":
    (HERE / "engine.svg").write_text(draw(), "utf-8")
