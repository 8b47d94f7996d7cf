"""The sections of the page and the coordinates of its figures, for the template."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal import __version__
from vicinal.app.methods.linear_map import directions, feature_shares
from vicinal.app.methods.scores import default_score
from vicinal.app.report.fitted import PLAIN, color_stops, in_view, view_of
from vicinal.app.report.text import packed, readable, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.comparison import Comparison, MethodResult
    from vicinal.app.report.commands import Ran
    from vicinal.app.report.fitted import FittedMetric
    from vicinal.app.report.rows import DisplayedRows, Pixels, SourceColumns

_REFERENCES = {
    "majority class": "always the most frequent class",
    "mean": "always the mean",
    "logistic regression": "a linear model, without neighbours",
    "ridge regression": "a linear model, without neighbours",
    "gradient boosting": "boosted trees, without neighbours",
}


def headline(comparison: Comparison, pair: Sequence[str]) -> str:
    """Return the sentence at the top of the page.

    Parameters
    ----------
    comparison : Comparison
        The scores.
    pair : sequence of str
        The metrics before and after; one of them is recommended, or none.
    """
    name = comparison.recommended
    if name is None and comparison.best.few_values:
        return "No metric is recommended: leave out the columns of few values."
    if name is None:
        return "Do without neighbours: no metric predicts better than a constant."
    plain = {
        "euclidean": "the features as they are",
        "standardised": "standardised features",
    }
    unit = comparison.evidence.score.unit
    measure = comparison.measure.removesuffix(" (%)")
    text = f"Use {plain.get(name, name)}: held-out {measure} "
    text += f"{comparison.score(name)}{unit}"
    compared = {one.name for one in comparison.results}
    for other in compared.intersection(pair) - {name}:
        score = f"{comparison.score(other)}{unit}"
        text += f", against {score} with {plain.get(other, other)}"
    return f"{text}."


def voter(comparison: Comparison) -> str:
    """Return the rule that predicts: k-NN, or a vote chosen for each metric."""
    k = comparison.setting.n_neighbors
    return f"{k}-NN" if isinstance(k, int) else "neighbours chosen on the training rows"


def facts(comparison: Comparison, rows: DisplayedRows) -> list[str]:
    """Return short facts on the data and the comparison."""
    s = comparison.setting
    targets = {
        "classification": f"{len(rows.classes)} classes",
        "regression": "a continuous target",
        "none": "no target",
    }
    given = "" if s.n_given == len(s.X) else f" of {s.n_given:,}"
    splits = "1 random split" if s.n_splits == 1 else f"{s.n_splits} random splits"
    scored = [] if s.task == "none" else [voter(comparison)]
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
    lines = []
    for name, dimensions, score, behind, *rest in comparison.rows():
        difference = differences.get(name)
        line = {
            "name": name,
            "summary": comparison.setting.method(name).summary,
            "advised": name == comparison.recommended,
            "dimensions": dimensions,
            "score": score,
            "behind": behind.rstrip(" *"),
            "best": difference is None,
            "rest": rest,
        }
        if difference is not None:
            p = difference.p
            line["p"] = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
            line["real"] = difference.significant
        lines.append(line)
    return lines


def references(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the lines of the reference methods, as in `table`."""
    return [
        {"name": name, "summary": _REFERENCES[name], "score": score, "rest": rest}
        for name, _, score, _, *rest in comparison.reference_rows()
    ]


def cards(
    metrics: Sequence[FittedMetric], rows: DisplayedRows, comparison: Comparison
) -> list[dict[str, Any]]:
    """Return the texts around the maps of the metrics."""
    compared = {result.name for result in comparison.results}
    unit = comparison.evidence.score.unit or f" {comparison.measure}"
    found = []
    for index, metric in enumerate(metrics):
        known = metric.name in compared
        score = f"{comparison.score(metric.name)}{unit}" if known else "not compared"
        seen = f"{len(rows.crowd):,} held-out rows, unseen in learning"
        said = [f"{seen} (held-out score {score})." if known else f"{seen}."]
        said.append(short(metric.caption, 400))
        if (effective := metric.effective_neighbors) is not None and effective.size:
            half = f"{np.median(effective):.1f}"
            said.append(
                f"Half of the training rows have {half} effective neighbours or fewer."
            )
        edge = 0.55 * np.array([1.0, view_of(metric.picture)[2]])
        off = np.abs(in_view(metric.picture) - 0.5) > edge
        if outside := int(off.any(axis=1).sum()):
            lie = "1 row lies" if outside == 1 else f"{outside} rows lie"
            said.append(f"{lie} further out; zoom out to see.")
        found.append(
            {
                "name": metric.name,
                "index": index,
                "summary": comparison.setting.method(metric.name).summary,
                "seen": seen,
                "caption": " ".join(said),
                "score": score,
                "advised": metric.name == comparison.recommended,
            }
        )
    return found


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
    """Return the contributions of columns or pixels; the best metric first."""
    # Under standardised features, all of them count the same.
    drawn = [metric for metric in metrics if metric.name != "standardised"]
    order = [result.name for result in comparison.ranked()]
    drawn.sort(key=lambda metric: order.index(metric.name))
    names = comparison.setting.feature_names
    pixels = rows.pixels
    if pixels is not None and pixels.of_features is not None:
        heats = [contributions_by_pixel(metric, pixels) for metric in drawn]
        shown = [heat for heat in heats if heat]
        return {"heats": shown, "bars": [], "sided": False}
    bars = [contribution_bars(metric, names, columns) for metric in drawn]
    sided = len(columns.names) < len(names)
    return {"heats": [], "bars": [one for one in bars if one], "sided": sided}


def confusions(
    comparison: Comparison, rows: DisplayedRows, pair: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the confusion tables of the compared metrics of a pair."""
    compared = [one.name for one in comparison.results]
    return [
        confusion(name, counts, rows.classes)
        for name in dict.fromkeys(pair)
        if name in compared and (counts := comparison[name].confusion) is not None
    ]


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
    names = ", ".join(f'"{result.name}"' for result in comparison.results)
    if ran is None:
        rows = f"    X,\n    {'None' if s.y is None else 'y'},\n"
    else:
        rows = f"    {ran.data!r},\n"
        rows += "" if ran.target is None else f"    {ran.target!r},\n"
        rows += f"    overrides={ran.overrides!r},\n" if ran.overrides else ""
    usual = s.scored == default_score(s.task)
    score = "" if usual else f'    score="{s.scored}",\n'
    return (
        "from vicinal import compare\n\n"
        f"result = compare(\n{rows}"
        f'    task="{s.task}",\n    methods=[{names}],\n'
        f"    n_splits={s.n_splits},\n    test_size={s.test_size},\n"
        f"{score}    n_neighbors={s.n_neighbors!r},\n"
        f"    n_components={s.n_components},\n    random_state={s.random_state},\n)\n"
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


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers between two others.

    Examples
    --------
    >>> from vicinal.app.report.sections import ticks
    >>> ticks(0.68, 1.0)
    [0.7, 0.8, 0.9, 1.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / about
    unit = 10.0 ** np.floor(np.log10(rough))
    step = unit * next(f for f in (1, 2, 5, 10) if f * unit >= 0.999 * rough)
    first = np.ceil(low / step - 1e-9)
    last = np.floor(high / step + 1e-9)
    digits = max(0, int(-np.floor(np.log10(step))))
    # Adding zero makes a plain zero of −0.
    return [round(float(i * step), digits) + 0.0 for i in np.arange(first, last + 1)]


def dots(comparison: Comparison) -> dict[str, Any] | None:
    """Return the scores with their 95 % intervals, on a scale from 0 to 1.

    The axis covers all of them, reference methods included.

    Parameters
    ----------
    comparison : Comparison
        The scores.
    """
    score = comparison.evidence.score
    known = [
        (one, _ends(comparison, one))
        for one in (*comparison.results, *comparison.references)
        if np.isfinite(one.mean)
    ]
    if not known:
        return None
    low, high = min(ends[0] for _, ends in known), max(ends[1] for _, ends in known)
    margin = 0.04 * (high - low) or abs(high) or 1.0
    # The axis does not exceed the range of the score.
    low = max(low - margin, score.factor * score.least)
    high = min(high + margin, score.factor * score.most)

    def position(value: float) -> float:
        return round(min(max((value - low) / (high - low), 0.0), 1.0), 4)

    return {
        "ticks": [(position(at), f"{at:g}") for at in ticks(low, high)],
        "lines": [
            {
                "name": one.name,
                "at": position(score.factor * one.mean),
                "ends": [position(end) for end in ends],
                "advised": one.name == comparison.recommended,
                "score": comparison.score(one.name),
            }
            for one, ends in known
        ],
    }


def _ends(comparison: Comparison, one: MethodResult) -> list[float]:
    factor = comparison.evidence.score.factor
    ends = [end for end in comparison.interval(one.name) if np.isfinite(end)]
    return [factor * end for end in ends or [one.mean] * 2]


def contribution_bars(
    metric: FittedMetric,
    names: Sequence[str],
    columns: SourceColumns,
    n_bars: int = 15,
) -> dict[str, Any] | None:
    """Return the share of each column in a metric, and its main directions.

    Parameters
    ----------
    metric : FittedMetric
        The metric.
    names : sequence of str
        The names of the features.
    columns : SourceColumns
        The columns of the features; features of one column are shown as one.
    n_bars : int, default=15
        The largest number of columns.
    """
    by_feature = feature_shares(metric.components)
    if not np.isfinite(by_feature).all() or not by_feature.any():
        return None
    share = columns.summed(by_feature)
    parts, loadings = _directions(metric)
    order = np.argsort(-share, kind="stable")[:n_bars]
    order = order[[_percent(share[j]) != "0.0%" for j in order]]
    # Of a column with several features, those that pull to either side.
    sides = [
        np.sqrt(
            [
                columns.summed(np.square(part))
                for part in (row.clip(max=0), row.clip(min=0))
            ]
        )
        for row in loadings
    ]
    return {
        "name": metric.name,
        "directions": [f"{part:.0%}" for part in parts],
        "rest": max(0, share.size - len(order)),
        "rest_share": _percent(max(0.0, 1 - float(share[order].sum()))),
        "bars": [
            {
                "feature": short(columns.names[j], 34),
                "full": short(columns.names[j], 300),
                "share": round(float(share[j] / share[order[0]]), 4),
                "percent": _percent(float(share[j])),
                "loadings": [
                    (
                        *(round(float(size / (both.max() or 1)), 4) for size in own),
                        _loadings(row, names, columns.features(int(j))),
                    )
                    for row, both in zip(loadings, sides, strict=True)
                    for own in [both[:, j]]
                ],
            }
            for j in order
        ],
    }


def _loadings(row: FloatArray, names: Sequence[str], features: IntArray) -> str:
    if len(features) == 1:
        return f"{row[features[0]]:+.2f}"
    largest = features[np.argsort(-np.abs(row[features]), kind="stable")[:4]]
    more = ", …" if len(features) > len(largest) else ""
    return ", ".join(f"{short(names[j])} {row[j]:+.2f}" for j in largest) + more


def contributions_by_pixel(
    metric: FittedMetric, pixels: Pixels
) -> dict[str, Any] | None:
    """Return the same as pictures: 0 to 255, in directions 128 is nothing."""
    share = feature_shares(metric.components)
    if pixels.of_features is None or not np.isfinite(share).all() or not share.any():
        return None
    parts, loadings = _directions(metric)

    def picture(values: FloatArray, nothing: int) -> str:
        painted = np.full(pixels.shape[0] * pixels.shape[1], nothing)
        painted[pixels.of_features] = np.rint(values)
        return packed(painted, "u1")

    return {
        "name": metric.name,
        "height": pixels.shape[0],
        "width": pixels.shape[1],
        "share": picture(255 * share / share.max(), 0),
        "directions": [
            (f"{part:.0%}", picture(128 + 127 * row / np.abs(row).max(), 128))
            for part, row in zip(parts, loadings, strict=True)
        ],
    }


def confusion(
    name: str,
    counts: IntArray,
    classes: Sequence[str],
    max_classes: int = 40,
    max_numbered: int = 12,
) -> dict[str, Any]:
    """Return a table of true and predicted classes, and the most frequent errors.

    Parameters
    ----------
    name : str
        The method.
    counts : ndarray of int of shape (n_classes, n_classes)
        Rows by true and predicted class.
    classes : sequence of str
        The names of the classes.
    max_classes, max_numbered : int, default=40, 12
        The largest table, and the largest one whose cells show numbers.
    """
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:8]
    pairs = [divmod(int(index), len(classes)) for index in order]
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    # Ten shades; anything at all is one of them.
    shades = np.ceil(9 * counts / totals).astype(int)
    names = [short(one, 18) for one in classes]
    fits = len(classes) <= max_classes
    return {
        "name": name,
        "classes": names,
        "full": [short(one, 300) for one in classes],
        "numbered": len(classes) <= max_numbered,
        "fits": fits,
        "rows": [
            list(zip(row.tolist(), shade.tolist(), strict=True))
            for row, shade in zip(counts, shades, strict=True)
            if fits
        ],
        "wrong": int(wrong.sum()),
        "total": int(counts.sum()),
        "errors": [
            (names[i], names[j], int(wrong[i, j])) for i, j in pairs if wrong[i, j]
        ],
    }


def _directions(metric: FittedMetric) -> tuple[FloatArray, FloatArray]:
    # A metric that has learned nothing but units has no directions of its own.
    return directions(metric.components, 0 if metric.name in PLAIN else 2)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}"


def residuals(
    comparison: Comparison, pair: Sequence[str], max_dots: int = 1500
) -> list[dict[str, Any]]:
    """Return the residuals of the test rows of the first split, on the same axes.

    Parameters
    ----------
    comparison : Comparison
        The predictions; without a numeric target, there are no residuals.
    pair : sequence of str
        The metrics; those that were not compared are left out.
    max_dots : int, default=1500
        The largest number of rows; of more, a random part.
    """
    setting = comparison.setting
    predicted = {
        one.name: np.asarray(one.outcomes[0], dtype=np.float64)
        for name in dict.fromkeys(pair)
        for one in comparison.results
        if one.name == name and one.outcomes
    }
    if setting.task != "regression" or not setting.tests or not predicted:
        return []
    truth = np.asarray(setting.target, dtype=np.float64)[setting.tests[0]]
    part = np.random.RandomState(0).permutation(len(truth))[:max_dots]
    off = {name: (truth - one)[part] for name, one in predicted.items()}
    # A few far out would press the others together; they are drawn at the edge.
    across = np.concatenate([one[part] for one in predicted.values()])
    low, high = map(float, np.percentile(across, [0.5, 99.5]))
    low, high = (low, high) if high > low else (low - 1, high + 1)
    reach = float(np.percentile(np.abs(np.concatenate(list(off.values()))), 99)) or 1.0
    left, right, top, bottom = 62, 474, 10, 236  # of the frame in the template

    def x(values: Any) -> Any:
        places = np.interp(values, [low, high], [left, right])
        return places.round(1).tolist()

    def y(values: Any) -> Any:
        places = np.interp(values, [-reach, reach], [bottom, top])
        return places.round(1).tolist()

    return [
        {
            "name": name,
            "n": len(part),
            "dots": "".join(
                f"M{a:g} {b:g}h0"
                for a, b in zip(x(predicted[name][part]), y(one), strict=True)
            ),
            "zero": y(0.0),
            "across": [(x(at), readable(at)) for at in ticks(low, high, about=4)],
            "up": [(y(at), readable(at)) for at in ticks(-reach, reach, about=4)],
            "half": readable(float(np.percentile(np.abs(one), 50))),
            "most": readable(float(np.percentile(np.abs(one), 90))),
            "bias": readable(float(one.mean()), 3),
        }
        for name, one in off.items()
    ]
