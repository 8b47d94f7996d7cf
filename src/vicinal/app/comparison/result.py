"""What came of a comparison: scores, which differences are real, one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from vicinal.app.comparison.verdict import recommend
from vicinal.app.comparison.evidence import Evidence
from vicinal.app.comparison.records import Difference, MethodResult, Setting
from vicinal.app.comparison.verdict import reading, verdict

__all__ = ["BESIDE", "Comparison"]

BESIDE = "without neighbours"
"""What references are, beside methods that have neighbours."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Outcome of `compare`; ``comparison["nca"]`` is that method's result.

    Attributes
    ----------
    results : tuple of MethodResult
        In the order of `METHODS`.
    setting : Setting
        What they were compared on.
    references : tuple of MethodResult
        What they are held against, apart from them: the most frequent class or the
        mean, a linear model, and gradient boosting, on the first of the splits.

    See Also
    --------
    vicinal.compare : Makes it.
    vicinal.plotting.ComparisonDisplay : Draws it.

    Examples
    --------
    >>> from vicinal import compare
    >>> from vicinal.datasets import load
    >>> iris = load("iris")
    >>> result = compare(iris.X, iris.y, methods="euclidean lda", n_splits=2)
    >>> [one.name for one in result.results]
    ['euclidean', 'lda']
    >>> result["lda"].scores.shape
    (2,)
    """

    results: tuple[MethodResult, ...]
    setting: Setting = field(repr=False)
    references: tuple[MethodResult, ...] = ()

    def __getitem__(self, name: str) -> MethodResult:
        known = (*self.results, *self.references)
        return {result.name: result for result in known}[name]

    def __repr__(self) -> str:
        s = self.setting
        noun = "method" if len(self.results) == 1 else "methods"
        return (
            f"<Comparison of {len(self.results)} {noun} on {s.name}, {len(s.X):,} "
            f"rows; recommended: {self.recommended}>"
        )

    def __str__(self) -> str:
        return "\n".join([self.verdict(), "", self.table()])

    @cached_property
    def evidence(self) -> Evidence:
        """How sure the scores are."""
        return Evidence(self.results, self.setting, self.references)

    @property
    def best(self) -> MethodResult:
        """The method with the highest mean score; the first of equals, never NaN."""
        return max(self.results, key=lambda one: np.nan_to_num(one.mean, nan=-np.inf))

    @property
    def recommended(self) -> str:
        """Name of the simplest method that is within noise of the best."""
        score = self.evidence.score
        return recommend(
            self.results, self.best, self.differences(), score.negligible, score.point
        )

    @property
    def measure(self) -> str:
        """What the scores are."""
        return self.evidence.score.label

    def differences(self) -> list[Difference]:
        """Return the best method against each other one, in the order of `results`."""
        return self.evidence.differences(self.best)

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a method's mean score; NaN if unknown."""
        return self.evidence.interval(self[name])

    def score(self, name: str) -> str:
        """Return a method's mean score ± half its 95 % interval, to be read."""
        result, score = self[name], self.evidence.score
        reach = self.evidence.reach(result)
        margin = "" if np.isnan(reach) else f" ± {score.written(reach)}"
        return f"{score.written(result.mean)}{margin}"

    def ranked(self) -> list[MethodResult]:
        """Return the results, the best first; of equals, as in `results`."""
        return sorted(
            self.results, key=lambda one: -np.nan_to_num(one.mean, nan=-np.inf)
        )

    @property
    def header(self) -> tuple[str, ...]:
        """The headings of `rows`."""
        first = ("method", "dimensions", self.measure)
        last = ("behind", "fit (s)", "query (µs)")
        more: tuple[str, ...] = ()
        if self.setting.task == "none":
            more = ("cluster agreement",)
        elif self._shows_accuracy:
            more = ("accuracy (%)",)
        return (*first, *last[:1], *more, *last[1:])

    @property
    def _shows_accuracy(self) -> bool:
        s = self.setting
        return s.task == "classification" and s.scored != "accuracy"

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the table, a row for each method, the best first."""
        differences = {one.other: one for one in self.differences()}
        return [self._row(one, differences.get(one.name)) for one in self.ranked()]

    def reference_rows(self) -> list[tuple[str, ...]]:
        """Return cells like those of `rows` for what the methods are held against."""
        return [
            (one.name, "", self._row(one, None)[2], "", *self._row(one, None)[4:])
            for one in self.references
        ]

    def _row(self, one: MethodResult, difference: Difference | None) -> tuple[str, ...]:
        low, high = one.n_components.min(), one.n_components.max()
        dimensions = f"{low}" if low == high else f"{low}-{high}"
        behind = "best"
        if difference is not None:
            behind = self.evidence.score.written(difference.gain)
            # An asterisk, as readers of tables of tests know it.
            behind += " *" if difference.real else "  "
        more: tuple[str, ...] = ()
        if self._shows_accuracy:
            more = (f"{100 * one.accuracy:.1f}",)
        elif self.setting.task == "none":
            all_of_them = np.array([]) if one.agreement is None else one.agreement
            known = all_of_them[~np.isnan(all_of_them)]
            more = (f"{known.mean():.2f}" if known.size else "-",)
        # The medians, because the first fit may include compiling.
        seconds = f"{np.median(one.fit_seconds):.3f}"
        query = f"{1000 * np.median(one.query_seconds):.1f}"
        score = self.score(one.name)
        return (one.name, dimensions, score, behind, *more, seconds, query)

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
        rows = [self.header, *self.rows(), *self.reference_rows()]
        first, *rest = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [
            "  ".join([row[0].ljust(first), *map(str.rjust, row[1:], rest)])
            for row in rows
        ]
        lines = [line.rstrip() for line in lines]
        if self.references:
            lines.insert(1 + len(self.results), f"({BESIDE})")
        return "\n".join([*lines, *self.reading(), *self.notes])

    def reading(self) -> list[str]:
        """Return sentences that say how to read the table."""
        return reading(self)

    def verdict(self) -> str:
        """Say in one sentence what to do.

        Where a few cells spoil columns of a table, lines below it that begin with
        "But:" say which, and what mends them.
        """
        return "\n".join([verdict(self), *self._reservations()])

    def _reservations(self) -> list[str]:
        if self.setting.table is None:
            return []
        from vicinal.app.tables.prepared import spoiled_columns

        decisions = self.setting.table.decisions
        return [f"But: {line}" for line in spoiled_columns(decisions)]

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
            As for `vicinal.app.report.page`.

        Returns
        -------
        str
            The page.
        """
        from vicinal._files import atomic_write
        from vicinal.app.report import page

        if table := self.setting.table:
            known = {
                "decisions": table.decisions,
                "row_numbers": self.setting.rows,
                "frame": table.frame,
                "target": table.target,
            }
            options = known | options
        text = page(self, **options)
        if path is not None:
            with atomic_write(path) as file:
                file.write_text(text, encoding="utf-8", newline="\n")
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the scores and the setting as plain numbers and strings, for JSON."""
        setting = self.setting
        return {
            "data": setting.name,
            "task": setting.task,
            "measure": self.measure,
            "score": setting.scored,
            "rows": len(setting.X),
            "rows_given": setting.n_given,
            "features": list(setting.feature_names),
            "n_splits": int(setting.n_splits),
            "test_size": float(setting.test_size),
            "test_rows": [len(test) for test in setting.tests],
            "intervals_over": "test rows" if self.evidence.by_rows else "splits",
            "n_neighbors": int(setting.n_neighbors),
            "n_components": setting.n_components and int(setting.n_components),
            "random_state": _plain(setting.random_state),
            "verdict": verdict(self),
            "notes": self.notes,
            "best": self.best.name,
            "recommended": self.recommended,
            "differences": [
                {
                    "other": one.other,
                    "gain": one.gain,
                    "error": _plain(one.error),
                    "p": one.p,
                    "real": one.real,
                }
                for one in self.differences()
            ],
            "methods": [self._plain(result) for result in self.results],
            "references": [self._plain(result) for result in self.references],
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
        if result.n_learned is not None:
            plain["rows_learned"] = result.n_learned.tolist()
        if self._shows_accuracy:
            plain["accuracy"] = _plain(result.accuracy)
        if result.agreement is not None:
            plain["cluster_agreement"] = [_plain(a) for a in result.agreement.tolist()]
        return plain

    def _repr_html_(self) -> str:
        cells = [self.header, *self.rows(), *self.reference_rows()]
        tags = ["th", *["td"] * (len(cells) - 1)]
        head, *body = (
            "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
            for tag, row in zip(tags, cells, strict=True)
        )
        rows = "".join(f"<tr>{row}</tr>" for row in body)
        said = self.verdict().splitlines()
        return (
            f"<table><caption>{'<br>'.join(map(escape, said))}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            + "".join(
                f"<p>{escape(note)}</p>" for note in [*self.reading(), *self.notes]
            )
        )


def _plain(value: Any) -> Any:
    """Return a number as JSON knows it: NaN is none of them."""
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return None
    return value if isinstance(value, int | float | str) else str(value)
