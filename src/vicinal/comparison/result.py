"""What came of a comparison: scores, which differences are real, one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from itertools import combinations
from typing import Any

import numpy as np

from vicinal.comparison.decision import recommend
from vicinal.comparison.records import Difference, MethodResult, Setting
from vicinal.comparison.statistics import half_width, holm, p_value

__all__ = ["Comparison"]

# task: (the measure's name, what it is multiplied with to be shown, digits, unit)
_MEASURES = {
    "classification": ("accuracy (%)", 100.0, 1, " %"),
    "regression": ("R²", 1.0, 3, ""),
    "none": ("held-out log-likelihood", 1.0, 2, " nats"),
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Outcome of `compare`; ``comparison["nca"]`` is that method's result.

    Attributes
    ----------
    results : tuple of MethodResult
        In the order of `METHODS`.
    setting : Setting
        What they were compared on.
    """

    results: tuple[MethodResult, ...]
    setting: Setting = field(repr=False)

    def __getitem__(self, name: str) -> MethodResult:
        return {result.name: result for result in self.results}[name]

    def __str__(self) -> str:
        return self.table()

    @property
    def best(self) -> MethodResult:
        """The method with the highest mean score; the first of equals, never NaN."""
        return max(self.results, key=lambda one: np.nan_to_num(one.mean, nan=-np.inf))

    @property
    def recommended(self) -> str:
        """Name of the simplest method that is within noise of the best."""
        return recommend(self.results, self.best, self.differences())

    @property
    def measure(self) -> str:
        """What the scores are."""
        return _MEASURES[self.setting.task][0]

    def differences(self) -> list[Difference]:
        """Return the best method against each other one, in the order of `results`."""
        best, setting = self.best, self.setting
        # All pairs, though only the best's are shown: the best is chosen by the same
        # scores, and of many equal methods the luckiest is ahead of the others.
        pairs = list(combinations(self.results, 2))
        p_values = holm(
            [
                p_value(a.scores - b.scores, setting.ratio, setting.step)
                for a, b in pairs
            ]
        )
        found = []
        for (a, b), p in zip(pairs, p_values, strict=True):
            if best in (a, b):
                other = b if a is best else a
                gain = float(np.mean(best.scores - other.scores))
                found.append(Difference(other.name, gain, p))
        return found

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a method's mean score; NaN for one split."""
        result = self[name]
        reach = half_width(result.scores, self.setting.ratio)
        return result.mean - reach, result.mean + reach

    def score(self, name: str) -> str:
        """Return a method's mean score ± half its 95 % interval, to be read."""
        result = self[name]
        _, factor, digits, _ = _MEASURES[self.setting.task]
        reach = half_width(result.scores, self.setting.ratio)
        margin = "" if np.isnan(reach) else f" ± {factor * reach:.{digits}f}"
        return f"{factor * result.mean:.{digits}f}{margin}"

    @property
    def header(self) -> tuple[str, ...]:
        """The headings of `rows`."""
        first = ("method", "dimensions", self.measure)
        last = ("best by", "fit (s)", "query (µs/row)")
        agreement = ("cluster agreement",) if self.setting.task == "none" else ()
        return (*first, *last[:1], *agreement, *last[1:])

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the table, a row for each method."""
        differences = {one.other: one for one in self.differences()}
        return [self._row(one, differences.get(one.name)) for one in self.results]

    def _row(self, one: MethodResult, difference: Difference | None) -> tuple[str, ...]:
        _, factor, digits, _ = _MEASURES[self.setting.task]
        low, high = one.n_components.min(), one.n_components.max()
        dimensions = f"{low}" if low == high else f"{low}-{high}"
        behind = "best"
        if difference is not None:
            behind = f"{factor * difference.gain:.{digits}f}"
            # An asterisk, as readers of tables of tests know it.
            behind += " *" if difference.real else "  "
        agreement: tuple[str, ...] = ()
        if self.setting.task == "none":
            all_of_them = np.array([]) if one.agreement is None else one.agreement
            known = all_of_them[~np.isnan(all_of_them)]
            agreement = (f"{known.mean():.2f}" if known.size else "-",)
        # The medians, because the first fit may include compiling.
        seconds = f"{np.median(one.fit_seconds):.3f}"
        query = f"{1000 * np.median(one.query_seconds):.1f}"
        score = self.score(one.name)
        return (one.name, dimensions, score, behind, *agreement, seconds, query)

    @property
    def notes(self) -> list[str]:
        """What a reader of the table has to know besides."""
        table = self.setting.table
        notes = [*(table.notes if table else ()), *self.setting.notes]
        for result in self.results:
            if result.not_converged:
                notes.append(
                    f"{result.name}: {result.not_converged} of {result.scores.size} "
                    "fits stopped at the iteration limit before they converged."
                )
            notes += [f"{result.name}: {text}" for text in result.warnings]
        return notes

    def table(self) -> str:
        """Return the results as an aligned plain-text table, with notes below it."""
        rows = [self.header, *self.rows()]
        first, *rest = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [
            "  ".join([row[0].ljust(first), *map(str.rjust, row[1:], rest)])
            for row in rows
        ]
        return "\n".join([line.rstrip() for line in lines] + self.notes)

    def verdict(self) -> str:
        """Say in one sentence which method won, if any clearly did."""
        best, unit = self.best, _MEASURES[self.setting.task][3]

        def scored(name: str) -> str:
            return f"{self.score(name)}{unit}"

        unsure = [one.other for one in self.differences() if not one.real]
        tied = [best.name, *sorted(unsure, key=lambda name: -self[name].mean)]
        if len(tied) > 1:
            first, *rest = (f"{name} ({scored(name)})" for name in tied)
            sentence = f"no clear winner: {first} is not clearly ahead of "
            sentence += " and ".join(filter(None, [", ".join(rest[:-1]), rest[-1]]))
        else:
            alone = len(self.results) == 1
            sentence = f"{best.name}{'' if alone else ' is best'}: {scored(best.name)}"
        behind = {result.name for result in self.results}.difference(tied)
        if "euclidean" in behind:
            sentence += f"; k-NN on raw features: {scored('euclidean')}"
        return sentence

    def plot(self, **options: Any) -> Any:
        """Draw the scores with their intervals; see `vicinal.plotting`."""
        from vicinal.plotting import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self, **options)

    def to_html(self, path: Any = None, **options: Any) -> str:
        """Return the report as a page of HTML, and write it to `path` if given.

        Parameters
        ----------
        path : str or path-like, optional
            Where to write it; written whole or not at all.
        **options
            As for `vicinal.report.page`.

        Returns
        -------
        str
            The page.
        """
        from vicinal._files import written_whole
        from vicinal.report import page

        if table := self.setting.table:
            known = {"decisions": table.decisions, "row_numbers": self.setting.rows}
            options = known | options
        text = page(self, **options)
        if path is not None:
            with written_whole(path) as file:
                file.write_text(text, encoding="utf-8", newline="\n")
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the scores and the setting as plain numbers and strings, for JSON."""
        setting = self.setting
        return {
            "data": setting.name,
            "task": setting.task,
            "measure": self.measure,
            "rows": len(setting.X),
            "rows_given": setting.n_given,
            "features": list(setting.feature_names),
            "n_splits": int(setting.n_splits),
            "test_size": float(setting.test_size),
            "n_neighbors": int(setting.n_neighbors),
            "n_components": setting.n_components and int(setting.n_components),
            "random_state": _plain(setting.random_state),
            "verdict": self.verdict(),
            "notes": self.notes,
            "best": self.best.name,
            "recommended": self.recommended,
            "differences": [
                {"other": one.other, "gain": one.gain, "p": one.p, "real": one.real}
                for one in self.differences()
            ],
            "methods": [self._plain(result) for result in self.results],
        }

    def _plain(self, result: MethodResult) -> dict[str, Any]:
        plain = {
            "name": result.name,
            "mean": _plain(result.mean),
            "interval": [_plain(end) for end in self.interval(result.name)],
            "scores": [_plain(score) for score in result.scores.tolist()],
            "n_components": result.n_components.tolist(),
            "fit_seconds": result.fit_seconds.tolist(),
            "query_seconds_per_1000": result.query_seconds.tolist(),
            "not_converged": result.not_converged,
        }
        if result.agreement is not None:
            plain["cluster_agreement"] = [_plain(a) for a in result.agreement.tolist()]
        return plain

    def _repr_html_(self) -> str:
        cells = [self.header, *self.rows()]
        head, *body = (
            "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
            for tag, row in zip(["th", *["td"] * len(self.results)], cells, strict=True)
        )
        rows = "".join(f"<tr>{row}</tr>" for row in body)
        return (
            f"<table><caption>{escape(self.verdict())}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            + "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        )


def _plain(value: Any) -> Any:
    """Return a number as JSON knows it: NaN is none of them."""
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return None
    return value if isinstance(value, int | float | str) else str(value)
