"""The results of a comparison: scores, differences, the table and the verdict."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.comparison.statistics import Evidence
from vicinal.app.comparison.verdict import recommend, used_test, useless, verdict
from vicinal.app.methods.votes import Vote
from vicinal.app.tables.names import doubts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vicinal._typing import IntArray
    from vicinal.app.comparison.data import Setting
    from vicinal.app.comparison.statistics import Difference

BESIDE = "without neighbours"
"""Heading of the reference models in tables."""


@dataclass(frozen=True, eq=False)
class MethodResult:
    """The results of one method, split by split.

    Attributes
    ----------
    name : str
        Name of the method or of the reference model.
    n_components : ndarray of int of shape (n_splits,)
        Dimensions of the learned metric.
    scores : ndarray of shape (n_splits,)
        Accuracy of k-NN on the test rows, or the score that was chosen; R² for a
        numeric target; the mean log-density of the test rows without a target.
    fit_seconds : ndarray of shape (n_splits,)
        Time to learn the metric, without the k-NN search.
    query_seconds : ndarray of shape (n_splits,)
        Time to predict 1,000 test rows.
    not_converged : int
        Number of fits with a `ConvergenceWarning`.
    convergence_warning : str
        The text of the first of them.
    warnings : tuple of str
        Other warnings of the fits.
    confusion : ndarray of int of shape (n_classes, n_classes) or None
        Test rows of all splits, by their class and the predicted one.
    agreement : ndarray of shape (n_splits,) or None
        Without a target: the adjusted Rand index between the clusters of the test
        rows as learned from two halves of the training rows.
    outcomes : tuple of ndarray
        For each split, the predictions of its test rows: classes as integers, the
        probability of the rarer class for average precision, numbers, or
        log-densities. `Setting.tests` are these rows.
    n_learned : ndarray of int of shape (n_splits,) or None
        Number of training rows from which the metric was learned.
    broken_off : int
        Number of fits that the time budget ended early.
    votes : tuple of Vote
        The vote of the neighbors in each split; empty without a target.
    few_values : bool
        Whether the density is high at the few values of some columns.

    See Also
    --------
    vicinal.app.comparison.Comparison : Holds one for each method.

    Examples
    --------
    >>> from vicinal import compare
    >>> from vicinal.datasets import load
    >>> iris = load("iris")
    >>> result = compare(iris.X, iris.y, methods="lda", n_splits=2)["lda"]
    >>> result.name, result.fit_seconds.shape
    ('lda', (2,))
    """

    name: str
    n_components: IntArray
    scores: NDArray[np.float64]
    fit_seconds: NDArray[np.float64]
    query_seconds: NDArray[np.float64]
    not_converged: int = 0
    convergence_warning: str = ""
    warnings: tuple[str, ...] = ()
    confusion: IntArray | None = None
    agreement: NDArray[np.float64] | None = None
    outcomes: tuple[NDArray[Any], ...] = ()
    n_learned: IntArray | None = None
    broken_off: int = 0
    votes: tuple[Vote, ...] = ()
    few_values: bool = False

    @property
    def vote(self) -> str:
        """The usual vote: the median number of neighbors and the most frequent weights.

        Empty if neighbors do not vote.
        """
        if not self.votes:
            return ""
        kinds = [one.weights for one in self.votes]
        kind = max(kinds, key=kinds.count)
        # Of an even number of splits, the lower median.
        known = sorted(one.n_neighbors or np.inf for one in self.votes)
        k = known[(len(known) - 1) // 2]
        return str(Vote(None if np.isinf(k) else int(k), kind))

    @property
    def mean(self) -> float:
        """Mean score over the splits."""
        return float(self.scores.mean())

    @property
    def rank(self) -> float:
        """The mean score; below all others if it is NaN."""
        return self.mean if self.mean == self.mean else -np.inf

    @property
    def accuracy(self) -> float:
        """Accuracy over the test rows of all splits; NaN without classes."""
        if self.confusion is None:
            return float("nan")
        return float(self.confusion.trace() / self.confusion.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Result of `compare`; ``comparison["nca"]`` is the result of that method.

    Attributes
    ----------
    results : tuple of MethodResult
        The methods, in the order of `METHODS`.
    setting : Setting
        The data and the user's choices.
    references : tuple of MethodResult
        Models without neighbours, on the first splits: the most frequent class or the
        mean, a linear model, and gradient boosting.

    See Also
    --------
    vicinal.compare : Returns it.
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
            f"rows; recommended: {self.recommended or 'none'}>"
        )

    def __str__(self) -> str:
        return "\n".join([self.verdict(), "", self.table()])

    @cached_property
    def evidence(self) -> Evidence:
        """Intervals and tests of the scores."""
        return Evidence(self.results, self.setting, self.references)

    @property
    def best(self) -> MethodResult:
        """The method with the highest mean score; the first of equals, never NaN."""
        return max(self.results, key=lambda one: one.rank)

    @cached_property
    def recommended(self) -> str | None:
        """Name of the simplest method that is about as good as the best.

        None if no method predicts better than a constant, or if the best density is
        high at the few values of some columns.
        """
        if useless(self):
            return None
        score = self.evidence.score
        return recommend(
            self.results, self.best, self.differences(), score.negligible, score.point
        )

    @property
    def measure(self) -> str:
        """The heading of the scores."""
        return self.evidence.score.label

    def differences(self) -> list[Difference]:
        """Return the best method against each other one, in the order of `results`."""
        best = self.best
        others = (one for one in self.results if one is not best)
        return [self.evidence.difference(best, other) for other in others]

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a method's mean score; NaN if unknown."""
        return self.evidence.interval(self[name])

    def score(self, name: str) -> str:
        """Return the mean score ± half its 95 % interval, as text."""
        result, score = self[name], self.evidence.score
        width = self.evidence.half_width(result)
        margin = "" if np.isnan(width) else f" ± {score.written(width)}"
        return f"{score.written(result.mean)}{margin}"

    def ranked(self) -> list[MethodResult]:
        """Return the results, the best first; ties in the order of `results`."""
        return sorted(self.results, key=lambda one: -one.rank)

    @property
    def header(self) -> tuple[str, ...]:
        """The headings of `rows`."""
        more: tuple[str, ...] = ()
        if self.setting.task == "none":
            more = ("cluster agreement",)
        elif self._shows_accuracy:
            more = ("accuracy (%)",)
        first = ("method", "dimensions", self.measure, "behind")
        votes = ("vote",) if self._shows_votes else ()
        return (*first, *more, *votes, "fit (s)", "query (µs)")

    @property
    def _shows_votes(self) -> bool:
        """Whether votes were chosen, or differ between the methods."""
        shown = {one.vote for one in self.results} - {""}
        return bool(shown) and shown != {str(self.setting.n_neighbors)}

    @property
    def _shows_accuracy(self) -> bool:
        s = self.setting
        return s.task == "classification" and s.scored != "accuracy"

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the table, a row for each method, the best first."""
        differences = {one.other: one for one in self.differences()}
        return [self._row(one, differences.get(one.name)) for one in self.ranked()]

    def reference_rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the reference models."""
        cells = [self._row(one, None) for one in self.references]
        return [(name, "", score, "", *rest) for name, _, score, _, *rest in cells]

    def _row(self, one: MethodResult, difference: Difference | None) -> tuple[str, ...]:
        low, high = one.n_components.min(), one.n_components.max()
        dimensions = f"{low}" if low == high else f"{low}-{high}"
        behind = "best"
        if difference is not None:
            behind = self.evidence.score.written(difference.gain)
            behind += " *" if difference.significant else "  "
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
        votes = (one.vote,) if self._shows_votes else ()
        return (one.name, dimensions, score, behind, *more, *votes, seconds, query)

    @property
    def notes(self) -> list[str]:
        """Remarks on the data, the time budget and the fits."""
        table = self.setting.table
        notes = [*(table.notes if table else ()), *self.setting.notes]
        notes += [f"{name} was left out: {why}" for name, why in self.setting.left_out]
        for result in self.results:
            if result.not_converged:
                reason = f" ({result.convergence_warning})"
                notes.append(
                    f"{result.name}: {result.not_converged} of {result.scores.size} "
                    f"fits did not converge{reason * bool(result.convergence_warning)}."
                )
        texts = dict.fromkeys(text for one in self.results for text in one.warnings)
        for text in texts:
            names = [one.name for one in self.results if text in one.warnings]
            notes.append(f"{', '.join(names)}: {text}")
        return notes

    def table(self, width: int | None = None) -> str:
        """Return the results as a plain-text table, with notes below it.

        Parameters
        ----------
        width : int, optional
            Number of characters in a line. Headings take several lines if needed, and
            notes are wrapped.
        """
        rows = [*self.rows(), *self.reference_rows()]
        whole = [[heading] for heading in self.header]
        split = [one.replace("dimensions", "dim.").split() for one in self.header]

        def sizes(heads: list[list[str]]) -> list[int]:
            columns = zip(heads, zip(*rows, strict=True), strict=True)
            return [max(map(len, (*head, *column))) for head, column in columns]

        for heads, gap in ((whole, "  "), (whole, " "), (split, " ")):
            gaps = len(gap) * (len(heads) - 1)
            if width is None or sum(sizes(heads)) + gaps <= width:
                break
        first, *rest = sizes(heads)
        depth = max(map(len, heads))
        titles = zip(*([""] * (depth - len(one)) + one for one in heads), strict=True)
        lines = [
            gap.join([row[0].ljust(first), *map(str.rjust, row[1:], rest)]).rstrip()
            for row in [*titles, *rows]
        ]
        if self.references:
            lines.insert(depth + len(self.results), f"({BESIDE})")
        notes = [*self.reading(), *self.notes]
        if width is not None:
            lines.insert(depth, "─" * max(map(len, lines)))
            notes = [textwrap.fill(one, width) for one in notes]
        return "\n".join([*lines, *notes])

    def reading(self) -> list[str]:
        """Return the explanation of ± and of the asterisks."""
        if not (test := used_test(self)):
            return []
        return [
            "± half of a 95 % interval; * significantly worse than the best "
            f"({test}, Holm-adjusted p < 0.05)"
        ]

    def verdict(self) -> str:
        """Return the advice in one sentence.

        If a few cells turn numeric columns of a table into text, lines that begin with
        "But:" follow.
        """
        lines = [verdict(self)]
        if self.setting.table is not None:
            lines += [f"But: {line}" for line in doubts(self.setting.table.notes)]
        return "\n".join(lines)

    def plot(self, **options: Any) -> Any:
        """Draw the scores with their intervals; see `vicinal.plotting`."""
        from vicinal.plotting import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self, **options)

    def to_html(self, path: Any = None, **options: Any) -> str:
        """Return the report as a page of HTML, and write it to `path` if given.

        Parameters
        ----------
        path : str or path-like, optional
            The file to write, atomically.
        **options
            As for `vicinal.app.report.page`.

        Returns
        -------
        str
            The page.
        """
        from vicinal._files import atomic_write
        from vicinal.app.report import page

        text = page(self, **options)
        if path is not None:
            with atomic_write(path) as file:
                file.write_text(text, encoding="utf-8", newline="\n")
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the scores and the setting as JSON-compatible values."""
        s = self.setting
        content = {
            "data": s.name,
            "task": s.task,
            "measure": self.measure,
            "score": s.scored,
            "rows": len(s.X),
            "rows_given": s.n_given,
            "features": s.feature_names,
            "n_splits": s.n_splits,
            "test_size": s.test_size,
            "test_rows": [len(test) for test in s.tests],
            "intervals_over": "test rows" if self.evidence.by_rows else "splits",
            "n_neighbors": s.n_neighbors,
            "n_components": s.n_components,
            "random_state": s.random_state,
            "verdict": verdict(self),
            "notes": self.notes,
            "best": self.best.name,
            "recommended": self.recommended,
            "differences": [
                {**asdict(one), "significant": one.significant}
                for one in self.differences()
            ],
            "methods": [self._scores(result) for result in self.results],
            "references": [self._scores(result) for result in self.references],
        }
        plain: dict[str, Any] = _plain(content)
        return plain

    def _scores(self, result: MethodResult) -> dict[str, Any]:
        found = {
            "name": result.name,
            "mean": result.mean,
            "interval": self.interval(result.name),
            "scores": result.scores,
            "n_components": result.n_components,
            "fit_seconds": result.fit_seconds,
            "query_seconds_per_1000": result.query_seconds,
            "not_converged": result.not_converged,
        }
        if result.n_learned is not None:
            found["rows_learned"] = result.n_learned
        if self._shows_accuracy:
            found["accuracy"] = result.accuracy
        if result.agreement is not None:
            found["cluster_agreement"] = result.agreement
        if result.votes:
            found["vote"] = result.vote
            found["n_neighbors"] = [one.n_neighbors for one in result.votes]
        return found

    def _repr_html_(self) -> str:
        head, *body = (
            "".join(f"<td>{escape(cell)}</td>" for cell in row)
            for row in (self.header, *self.rows(), *self.reference_rows())
        )
        head = head.replace("td>", "th>")
        rows = "".join(f"<tr>{row}</tr>" for row in body)
        said = "<br>".join(map(escape, self.verdict().splitlines()))
        notes = [*self.reading(), *self.notes]
        return (
            f"<table><caption>{said}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            + "".join(f"<p>{escape(note)}</p>" for note in notes)
        )


def _plain(value: Any) -> Any:
    """Return JSON-compatible values; None for NaN and infinity."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not np.isfinite(value) else value
