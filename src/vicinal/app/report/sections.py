"""What the sections of the page say, as the template wants it."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal import __version__
from vicinal.app.report import figures
from vicinal.app.report.map_data import color_stops, in_view
from vicinal.app.report.numbers import readable
from vicinal.app.report.residuals import held_out_predictions, residual_figures
from vicinal.app.report.sanitize import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal.app.comparison import Comparison
    from vicinal.app.report.commands import Ran
    from vicinal.app.report.displayed import DisplayedRows
    from vicinal.app.report.fitted import FittedMetric
    from vicinal.app.report.source_columns import SourceColumns

__all__ = [
    "card",
    "code",
    "confusions",
    "contributions",
    "effective",
    "facts",
    "legend",
    "pair",
    "references",
    "residuals",
    "table",
    "versions",
]

_REFERENCES = {
    "majority class": "always the most frequent class",
    "mean": "always the mean",
    "logistic regression": "a linear model, without neighbours",
    "ridge regression": "a linear model, without neighbours",
    "gradient boosting": "boosted trees, without neighbours",
}


def facts(comparison: Comparison, rows: DisplayedRows) -> list[str]:
    """Return what was compared, in a few words each."""
    s = comparison.setting
    targets = {
        "classification": f"{len(rows.classes)} classes",
        "regression": "a continuous target",
        "none": "no target",
    }
    given = "" if s.n_given == len(s.X) else f" of {s.n_given:,}"
    splits = "1 random split" if s.n_splits == 1 else f"{s.n_splits} random splits"
    scored = [] if s.task == "none" else [f"{s.n_neighbors}-NN"]
    return [
        f"{len(s.X):,}{given} rows",
        "1 feature" if s.X.shape[1] == 1 else f"{s.X.shape[1]:,} features",
        targets[s.task],
        f"{splits}, {s.test_size:.0%} held out",
        *scored,
    ]


def table(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the lines of the table of scores, the highest score first."""
    differences = {one.other: one for one in comparison.differences()}
    advised = comparison.recommended
    lines = []
    means = {
        one.name: np.nan_to_num(one.mean, nan=-np.inf) for one in comparison.results
    }
    for cells in sorted(comparison.rows(), key=lambda cells: -means[cells[0]]):
        name, dimensions, score, behind, *rest = cells
        difference = differences.get(name)
        lines.append(
            {
                "name": name,
                "summary": comparison.setting.method(name).summary,
                "advised": name == advised,
                "dimensions": dimensions,
                "score": score,
                "behind": behind.rstrip(" *"),
                "p": None if difference is None else _p(difference.p),
                "real": difference is not None and difference.significant,
                "best": difference is None,
                "rest": rest,
            }
        )
    return lines


def references(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the lines of what the metrics are held against, as in `table`."""
    return [
        {
            "name": name,
            "summary": _REFERENCES.get(name, ""),
            "score": score,
            "rest": rest,
        }
        for name, _, score, _, *rest in comparison.reference_rows()
    ]


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def card(metric: FittedMetric, comparison: Comparison) -> dict[str, Any]:
    """Return what stands around the map of a metric."""
    compared = [result.name for result in comparison.results]
    known = metric.name in compared
    outside = int((np.abs(in_view(metric.picture) - 0.5) > 0.55).any(axis=1).sum())
    rows = "1 row lies" if outside == 1 else f"{outside} rows lie"
    further = f" {rows} further out; zoom out to see." if outside else ""
    return {
        "name": metric.name,
        "summary": comparison.setting.method(metric.name).summary,
        "caption": short(metric.caption, 400) + further,
        "score": comparison.score(metric.name) if known else "not compared",
        "advised": metric.name == comparison.recommended,
    }


def legend(rows: DisplayedRows) -> dict[str, Any] | None:
    """Return five numbers of a continuous target, to write at its colours."""
    if rows.target is None or rows.classes:
        return None
    stops, by_rank = color_stops(np.asarray(rows.target, dtype=np.float64))
    return {"marks": [readable(at) for at in stops], "by_rank": by_rank}


def contributions(
    metrics: Sequence[FittedMetric],
    rows: DisplayedRows,
    comparison: Comparison,
    columns: SourceColumns,
) -> dict[str, Any]:
    """Return what each metric is made of, columns or pixels; the best metric first."""
    # Under standardised features, all of them count the same.
    drawn = [metric for metric in metrics if metric.name != "standardised"]
    ranked = sorted(comparison.results, key=lambda result: -result.mean)
    order = [result.name for result in ranked]
    drawn.sort(key=lambda metric: order.index(metric.name))
    names = comparison.setting.feature_names
    pixels = rows.pixels
    if pixels is not None and pixels.of_features is not None:
        heats = [figures.contributions_by_pixel(metric, pixels) for metric in drawn]
        shown = [heat for heat in heats if heat]
        return {"heats": shown, "bars": [], "sided": False}
    bars = [figures.contributions(metric, names, columns) for metric in drawn]
    sided = len(columns.names) < len(names)
    return {"heats": [], "bars": [one for one in bars if one], "sided": sided}


def effective(metrics: Sequence[FittedMetric]) -> list[dict[str, Any]]:
    """Return histograms of the effective numbers of neighbours."""
    drawn = []
    for metric in metrics:
        if metric.effective_neighbors is not None:
            figure = figures.histogram(metric.effective_neighbors)
            if figure is not None:
                drawn.append({"name": metric.name, **figure})
    return drawn


def confusions(
    comparison: Comparison, rows: DisplayedRows, pair: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the confusions before and after, where both were compared."""
    compared = [one.name for one in comparison.results]
    return [
        figures.confusion(name, counts, rows.classes)
        for name in dict.fromkeys(pair)
        if name in compared and (counts := comparison[name].confusion) is not None
    ]


def residuals(comparison: Comparison, pair: Sequence[str]) -> list[dict[str, Any]]:
    """Return how far the predictions of numbers are off, before and after."""
    if comparison.setting.task != "regression":
        return []
    found = {
        name: held_out_predictions(comparison, name) for name in dict.fromkeys(pair)
    }
    return residual_figures({name: one for name, one in found.items() if one})


def pair(
    comparison: Comparison, shown: Sequence[str], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return what stands over the two maps at the top of the page."""
    compared = [one.name for one in comparison.results]
    return [
        {
            "name": name,
            "index": list(shown).index(name),
            "summary": comparison.setting.method(name).summary,
            "score": _scored(comparison, name) if name in compared else "not compared",
            "advised": name == comparison.recommended,
        }
        for name in dict.fromkeys(filter(None, names))
    ]


def _scored(comparison: Comparison, name: str) -> str:
    unit = comparison.evidence.score.unit or f" {comparison.measure}"
    return comparison.score(name) + unit


def code(comparison: Comparison, ran: Ran | None = None) -> str:
    """Return the comparison as it would be written in Python.

    Parameters
    ----------
    comparison : Comparison
        What was compared.
    ran : Ran, optional
        The command that compared: then the code reads the same file.
    """
    s = comparison.setting
    seed = s.random_state
    known = seed is None or isinstance(seed, int | np.integer)
    seed = f"{seed}," if known else "None,  # a generator was given"
    names = ", ".join(f'"{result.name}"' for result in comparison.results)
    if ran is None:
        rows = f"    X,\n    {'None' if s.y is None else 'y'},\n"
    else:
        rows = f"    {ran.data!r},\n"
        rows += "" if ran.target is None else f"    {ran.target!r},\n"
        rows += f"    overrides={ran.overrides!r},\n" if ran.overrides else ""
    return (
        "from vicinal import compare\n\n"
        f"result = compare(\n{rows}"
        f'    task="{s.task}",\n    methods=[{names}],\n'
        f"    n_splits={s.n_splits},\n    test_size={s.test_size},\n"
        f"    n_neighbors={s.n_neighbors},\n    n_components={s.n_components},\n"
        f"    random_state={seed}\n)\n"
        'result.to_html("report.html")'
    )


def versions() -> list[tuple[str, str]]:
    """Return the names and versions of all that took part."""
    others = ("numpy", "scipy", "scikit-learn", "numba")
    return [
        ("vicinal", __version__),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in others),
    ]
