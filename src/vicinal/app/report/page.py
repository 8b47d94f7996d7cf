"""The page of a comparison, rendered from its template."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length

from vicinal.app.comparison import METHODS
from vicinal.app.comparison.verdict import used_test, verdict
from vicinal.app.report import sections
from vicinal.app.report.commands import fit_command, read_command, shown_command
from vicinal.app.report.fitted import before_and_after, fit_metrics, map_data
from vicinal.app.report.rows import (
    column_data,
    find_source_columns,
    names_of_rows,
    select_rows,
)
from vicinal.app.report.text import as_json, short
from vicinal.app.tables.names import doubts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from vicinal.app.comparison import Comparison


def page(
    comparison: Comparison,
    *,
    title: str | None = None,
    decisions: Sequence[Any] = (),
    notes: Iterable[str] = (),
    image_shape: tuple[int, int] | None = None,
    images: ArrayLike | None = None,
    row_numbers: ArrayLike | None = None,
    row_names: ArrayLike | None = None,
    frame: Any = None,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    command: str | Sequence[str] | None = None,
    max_points: int = 1500,
    on_progress: Callable[[int, int, str], object] | None = None,
) -> str:
    """Return a comparison as a self-contained HTML page.

    The metrics are learned once more, from training rows of the first split. The maps
    and the neighbours show the test rows of that split, which the metrics have not
    seen.

    Parameters
    ----------
    comparison : Comparison
        The result of `vicinal.compare`.
    title : str, optional
        The heading; by default the name of the data.
    decisions : sequence of objects with attributes column, kind and reason
        The kind of each column of a file, and the reason.
    notes : iterable of str
        More notes.
    image_shape : tuple of two int, optional
        Height and width of the images, if rows are images.
    images : array-like of shape (n_samples, height * width), optional
        Their pixels; by default the features.
    row_numbers : array-like of int of shape (n_samples,), optional
        The numbers of the compared rows; by default among the rows that were given to
        `vicinal.compare`.
    row_names : array-like of shape (n_samples,), optional
        The names of the compared rows; by default a column of names or identifiers of
        `frame` that is not a feature.
    frame : mapping or data frame, optional
        The original values of the compared rows: a frame of pandas or polars, or a
        mapping of columns. Neighbors are shown with their differences. By default the
        features are shown.
    columns : sequence of str of length n_features, optional
        The column that each feature came from; features of one column are shown as
        one. By default they are those called ``column=value`` for one column.
    target : str, optional
        The name of the target.
    command : str or sequence of str, optional
        The command that made the page, or its arguments, which are quoted here.
    max_points : int, default=1500
        The largest number of rows to click; of more, a random part with all classes.
        The maps shade the density of up to 100,000.
    on_progress : callable, optional
        Called after each metric as ``on_progress(done, total, method)``.

    Returns
    -------
    str
        The page; identical for identical comparisons.

    Raises
    ------
    ImportError
        If Jinja is not installed.

    See Also
    --------
    vicinal.compare : Compares metrics.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal import compare
    >>> from vicinal.app.report import page
    >>> iris = load_iris()
    >>> result = compare(iris.data, iris.target, methods=["euclidean", "lda"])
    >>> text = page(result, title="Irises")
    >>> "<title>Irises</title>" in text, "src=" in text
    (True, False)
    """
    template = environment().get_template("page.html.j2")
    style, script = template_text("report.css"), template_text("report.js")
    setting = comparison.setting
    if row_numbers is not None:
        check_consistent_length(setting.X, row_numbers)
        setting = replace(setting, rows=np.asarray(row_numbers))
    table = setting.table
    if table is not None:
        decisions = decisions or table.decisions
        target = target or table.target
        if frame is None:
            frame = table.frame[np.searchsorted(table.rows, comparison.setting.rows)]
    if columns is not None and len(columns) != len(setting.feature_names):
        raise ValueError(
            f"There are {len(columns)} columns for {len(setting.feature_names)} "
            "features; name one for each."
        )
    rows = select_rows(setting, max(2, max_points), image_shape, images)
    metrics, left_out = fit_metrics(comparison, rows, on_progress)
    shown = {metric.name: metric for metric in metrics}
    pair = before_and_after(comparison, list(shown)) if shown else ("", "")
    sources = find_source_columns(
        setting.feature_names,
        rows.X,
        [one.column for one in decisions if one.kind in ("category", "vector")] or None,
        columns,
    )
    data = None
    if metrics:
        pixels = rows.pixels is not None and rows.pixels.of_features is not None
        data = map_data(
            rows,
            metrics,
            *pair,
            [] if pixels else column_data(rows, sources, shown[pair[1]], frame),
            names_of_rows(rows, row_names, frame, decisions),
            target=short(target or "target", 60),
        )
    maps = sections.cards(metrics, rows, comparison)
    all_notes = dict.fromkeys([*comparison.notes, *notes])
    text: str = template.render(
        title=short(title or setting.name, 120),
        policy=policy(style, script),
        style=style,
        script=script,
        headline=sections.headline(comparison, pair),
        verdict=_sentence(verdict(comparison)),
        doubts=[short(one, 600).rstrip(".") for one in doubts(all_notes)],
        facts=sections.facts(comparison, rows),
        header=comparison.header,
        table=sections.table(comparison),
        references=sections.references(comparison),
        test=used_test(comparison),
        dots=sections.dots(comparison),
        measure=comparison.measure,
        maps=maps,
        pair=[
            one for name in dict.fromkeys(pair) for one in maps if one["name"] == name
        ],
        data=None if data is None else as_json(data),
        left_out=[_sentence(short(one, 400)) for one in left_out],
        rows=rows,
        n_shown=len(rows.X),
        all_classes=bool(rows.classes)
        and np.unique(np.asarray(rows.target)).size == len(rows.classes),
        task=setting.task,
        voter=sections.voter(comparison),
        n_splits=setting.n_splits,
        target=short(target or "target", 60),
        legend=sections.legend(rows),
        **sections.contributions(metrics, rows, comparison, sources),
        confusions=sections.confusions(comparison, rows, pair),
        residuals=sections.residuals(comparison, pair),
        decisions=[
            (short(one.column), short(one.kind, 80), short(one.reason, 300))
            for one in decisions
        ],
        notes=[_sentence(short(one, 600)) for one in all_notes],
        command=shown_command(command),
        fit=shown_command(fit_command(command, comparison.recommended, target)),
        code=sections.code(comparison, read_command(command)),
        versions=sections.versions(),
    )
    return text


def template_text(name: str) -> str:
    """Return the text of a file beside the templates."""
    return (files("vicinal.app.report") / "templates" / name).read_text("utf-8")


def environment() -> Any:
    """Return an environment of Jinja that escapes all values."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "The report needs Jinja: pip install 'vicinal[cli]'."
        ) from error
    made = Environment(
        loader=PackageLoader("vicinal.app.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters["thousands"] = "{:,}".format
    return made


def policy(style: str, script: str) -> str:
    """Return a content security policy that allows this style and script alone."""

    def named(text: str) -> str:
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {named(style)}; script-src {named(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _sentence(text: str) -> str:
    """Return a text with a full stop; with a capital, unless a name begins it."""
    first, *_ = text.split(maxsplit=1) or [""]
    if first.strip(":;,") not in METHODS:
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
