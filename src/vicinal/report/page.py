"""The page: its parts put together, and the template filled."""

from __future__ import annotations

import platform
from base64 import b64encode
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from vicinal import __version__
from vicinal.comparison import METHODS
from vicinal.report import figures
from vicinal.report.data import in_view, map_data
from vicinal.report.metrics import PLAIN, learned
from vicinal.report.rows import shown
from vicinal.report.text import as_json, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from vicinal.comparison import Comparison
    from vicinal.report.metrics import Learned
    from vicinal.report.rows import Shown

__all__ = ["Decision", "page"]


class Decision(Protocol):
    """What was decided about a column of the user's file, and why."""

    @property
    def column(self) -> str:
        """The column's name."""

    @property
    def kind(self) -> str:
        """What it was taken for."""

    @property
    def reason(self) -> str:
        """Why."""


def page(
    comparison: Comparison,
    *,
    title: str | None = None,
    decisions: Sequence[Decision] = (),
    notes: Iterable[str] = (),
    image_shape: tuple[int, int] | None = None,
    images: ArrayLike | None = None,
    command: str | None = None,
    max_points: int = 1500,
    on_progress: Callable[[int, int, str], object] | None = None,
) -> str:
    """Return a comparison as one page of HTML, with all that it needs inside.

    The metrics are learned once more, on the rows that the page shows: in two
    dimensions for the maps, and as they were compared for the neighbours. The scores
    are the comparison's, from rows that were held out.

    Parameters
    ----------
    comparison : Comparison
        What `vicinal.compare` returned.
    title : str, optional
        The heading; by default the name of the data.
    decisions : sequence of objects with attributes column, kind and reason
        What was decided about each column of a file.
    notes : iterable of str
        What else the reader should know.
    image_shape : tuple of two int, optional
        Height and width of the pictures, where rows are pictures.
    images : array-like of shape (n_samples, height * width), optional
        Their pixels; by default the features are.
    command : str, optional
        The command that made the page.
    max_points : int, default=1500
        At most how many rows to show; a random part with all classes where there are
        more.
    on_progress : callable, optional
        Called after each metric as ``on_progress(done, total, method)``.

    Returns
    -------
    str
        The same for the same comparison, to the letter.

    Raises
    ------
    ImportError
        When Jinja is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal import compare
    >>> from vicinal.report import page
    >>> iris = load_iris()
    >>> result = compare(iris.data, iris.target, methods=["euclidean", "lda"])
    >>> text = page(result, title="Irises")
    >>> "<title>Irises</title>" in text, "src=" in text
    (True, False)
    """
    template, style, script = _templates()
    setting = comparison.setting
    rows = shown(setting, max(2, max_points), image_shape, images)
    metrics, left_out = learned(comparison, rows, on_progress)
    all_notes = dict.fromkeys([*comparison.notes, *notes])
    text: str = template.render(
        title=short(title or setting.name, 120),
        policy=_policy(style, script),
        style=style,
        script=script,
        verdict=_sentence(comparison.verdict()),
        facts=_facts(comparison, rows),
        header=comparison.header,
        table=_table(comparison),
        dots=figures.dots(comparison, _factor(comparison)),
        measure=comparison.measure,
        maps=[_map(one, comparison) for one in metrics],
        data=as_json(map_data(comparison, rows, metrics)) if metrics else None,
        left_out=[_sentence(short(one, 400)) for one in left_out],
        part=(len(rows.X), rows.of_all) if len(rows.X) < rows.of_all else None,
        task=setting.task,
        n_neighbors=setting.n_neighbors,
        legend=_legend(rows),
        **_listening(metrics, rows, comparison),
        effective=_effective(metrics),
        confusions=_confusions(comparison, rows),
        decisions=[
            (short(one.column), short(one.kind, 80), short(one.reason, 300))
            for one in decisions
        ],
        notes=[_sentence(short(one, 600)) for one in all_notes],
        command=None if command is None else short(command, 4000),
        code=_code(comparison),
        versions=_versions(),
    )
    return text


def _templates() -> tuple[Any, str, str]:
    """Return the template, and the style and the script that go into it."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "The report needs Jinja: pip install 'vicinal[cli]'."
        ) from error
    made = Environment(
        loader=PackageLoader("vicinal.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters["thousands"] = "{:,}".format
    folder = files("vicinal.report") / "templates"
    style, script = (
        (folder / name).read_text("utf-8") for name in ("report.css", "report.js")
    )
    return made.get_template("page.html.j2"), style, script


def _policy(style: str, script: str) -> str:
    """Return a policy that lets nothing run but these two, and nothing be fetched."""

    def named(text: str) -> str:
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {named(style)}; script-src {named(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _sentence(text: str) -> str:
    """Return a text with a full stop; with a capital, unless a name begins it."""
    first, *_ = text.split(maxsplit=1) or [""]
    if first.strip(":;,") not in METHODS:
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _factor(comparison: Comparison) -> float:
    return 100.0 if comparison.setting.task == "classification" else 1.0


def _facts(comparison: Comparison, rows: Shown) -> list[str]:
    s = comparison.setting
    told = {
        "classification": f"{len(rows.classes)} classes",
        "regression": "a continuous target",
        "none": "no target",
    }
    given = "" if s.n_given == len(s.X) else f" of {s.n_given:,}"
    splits = "1 random split" if s.n_splits == 1 else f"{s.n_splits} random splits"
    scored = [] if s.task == "none" else [f"{s.n_neighbors}-NN"]
    return [
        f"{len(s.X):,}{given} rows",
        f"{s.X.shape[1]:,} features",
        told[s.task],
        f"{splits}, {s.test_size:.0%} held out",
        *scored,
    ]


def _table(comparison: Comparison) -> list[dict[str, Any]]:
    differences = {one.other: one for one in comparison.differences()}
    lines = []
    for cells in comparison.rows():
        name, dimensions, score, behind, *rest = cells
        difference = differences.get(name)
        lines.append(
            {
                "name": name,
                "summary": METHODS[name].summary,
                "dimensions": dimensions,
                "score": score,
                "behind": behind.rstrip(" *"),
                "p": None if difference is None else _p(difference.p),
                "real": difference is not None and difference.real,
                "best": difference is None,
                "rest": rest,
            }
        )
    return lines


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _map(metric: Learned, comparison: Comparison) -> dict[str, str]:
    compared = [result.name for result in comparison.results]
    known = metric.name in compared
    outside = int((np.abs(in_view(metric.picture) - 0.5) > 0.55).any(axis=1).sum())
    rows = "1 row lies" if outside == 1 else f"{outside} rows lie"
    further = f" {rows} further out; zoom out to see." if outside else ""
    return {
        "name": metric.name,
        "summary": METHODS[metric.name].summary,
        "caption": short(metric.caption, 400) + further,
        "score": comparison.score(metric.name) if known else "not compared",
        "best": "best" if metric.name == comparison.best.name else "",
    }


def _legend(rows: Shown) -> list[str] | None:
    """Return five numbers of a continuous target, to write at its colours."""
    if rows.target is None or rows.classes:
        return None
    low, high = float(np.min(rows.target)), float(np.max(rows.target))
    return [f"{at:.4g}" for at in np.linspace(low, high, 5)]


def _listening(
    metrics: Sequence[Learned], rows: Shown, comparison: Comparison
) -> dict[str, Any]:
    # Under standardised features, all of them count the same.
    told = [metric for metric in metrics if metric.name != "standardised"]
    ranked = sorted(comparison.results, key=lambda result: -result.mean)
    places = [result.name for result in ranked]
    told.sort(key=lambda metric: places.index(metric.name))
    names = comparison.setting.feature_names
    pixels = rows.pixels
    if pixels is not None and pixels.of_features is not None:
        heats = [figures.listening_pixels(metric, pixels) for metric in told]
        return {"heats": [heat for heat in heats if heat], "bars": []}
    bars = [figures.listening(metric, names) for metric in told]
    return {"heats": [], "bars": [one for one in bars if one]}


def _effective(metrics: Sequence[Learned]) -> list[dict[str, Any]]:
    drawn = []
    for metric in metrics:
        if metric.effective_neighbors is not None:
            figure = figures.histogram(metric.effective_neighbors)
            if figure is not None:
                drawn.append({"name": metric.name, **figure})
    return drawn


def _confusions(comparison: Comparison, rows: Shown) -> list[dict[str, Any]]:
    best = comparison.best
    names = dict.fromkeys(
        [*(one.name for one in comparison.results if one.name == PLAIN[0]), best.name]
    )
    return [
        figures.confusion(name, counts, rows.classes)
        for name in names
        if (counts := comparison[name].confusion) is not None
    ]


def _code(comparison: Comparison) -> str:
    s = comparison.setting
    seed = s.random_state
    seed = seed if seed is None or isinstance(seed, int | np.integer) else "..."
    names = ", ".join(f'"{result.name}"' for result in comparison.results)
    return (
        "from vicinal import compare\n\n"
        f"result = compare(\n    X,\n    {'None' if s.y is None else 'y'},\n"
        f'    task="{s.task}",\n    methods=[{names}],\n'
        f"    n_splits={s.n_splits},\n    test_size={s.test_size},\n"
        f"    n_neighbors={s.n_neighbors},\n    n_components={s.n_components},\n"
        f"    random_state={seed},\n)\n"
        'result.to_html("report.html")'
    )


def _versions() -> list[tuple[str, str]]:
    others = ("numpy", "scipy", "scikit-learn", "numba")
    return [
        ("vicinal", __version__),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in others),
    ]
