"""What an experiment of the papers is: cases, how one is run, how all are shown.

Nothing is run or written here; see `benchmarks.papers.runner`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Case = tuple[str | int | float, ...]
"""Names one run: what comes first in it changes last."""
Outcome = dict[str, Any]
"""What came of a run, as JSON takes it."""


@dataclass(frozen=True)
class Scope:
    """How much of an experiment to run.

    Attributes
    ----------
    quick : bool
        A small version, on data that come with scikit-learn.
    runs : int or None
        Random splits, or other repetitions; None is as many as the page shall have.
    """

    quick: bool = False
    runs: int | None = None

    def repeats(self, usual: int) -> range:
        """Return the seeds of the repetitions."""
        return range(self.runs or (2 if self.quick else usual))


@dataclass(frozen=True)
class Results:
    """The outcomes of an experiment's cases.

    Attributes
    ----------
    outcomes : dict
        By case, in the order in which they were run.
    """

    outcomes: dict[Case, Outcome]

    def at(self, *prefix: str | int | float) -> list[Outcome]:
        """Return the outcomes of the cases that begin with this."""
        return [
            outcome
            for case, outcome in self.outcomes.items()
            if case[: len(prefix)] == prefix
        ]

    def values(self, key: str, *prefix: str | int | float) -> NDArray[np.float64]:
        """Return one number of each of these outcomes; of those that have it."""
        return np.array([one[key] for one in self.at(*prefix) if key in one])

    def heads(self, depth: int = 1, *prefix: str | int | float) -> Iterator[Case]:
        """Yield what cases begin with, ``depth`` entries of it, each once."""
        seen: dict[Case, None] = {}
        for case in self.outcomes:
            if case[: len(prefix)] == prefix:
                seen.setdefault(case[:depth])
        yield from seen

    def keys(self) -> list[str]:
        """Return the names of all that was measured."""
        names = (name for outcome in self.outcomes.values() for name in outcome)
        return list(dict.fromkeys(names))


@dataclass(frozen=True)
class Page:
    """What is shown of an experiment.

    Attributes
    ----------
    text : str
        Markdown: tables, and what they say.
    draw : callable or None
        Returns the figure.
    """

    text: str
    draw: "Callable[[], Figure] | None" = None


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of the papers.

    Attributes
    ----------
    name : str
        On the command line, and of the page.
    title : str
        Of the page.
    about : str
        Which experiment of which paper it is, how it is done here, and what differs.
    cases : callable
        From a `Scope` to what is to be run.
    run : callable
        From a case's entries to its outcome.
    show : callable
        From the `Results` to the page.
    needs : tuple of str
        The data sets, for a first word when one is missing.
    packages : tuple of str
        Other packages that are compared, whose versions are stored.
    """

    name: str
    title: str
    about: str
    cases: Callable[[Scope], list[Case]]
    run: Callable[..., Outcome]
    show: Callable[[Results], Page]
    needs: tuple[str, ...] = field(default=())
    packages: tuple[str, ...] = field(default=())


def mean_and_error(values: Any, digits: int = 1, factor: float = 1.0) -> str:
    """Return a mean and its standard error over runs; of one run, the value alone.

    Parameters
    ----------
    values : array-like
        One for each run.
    digits : int, default=1
        After the point.
    factor : float, default=1.0
        100 for percentages.
    """
    numbers = factor * np.asarray(values, dtype=np.float64)
    if not numbers.size:
        return "–"
    text = f"{numbers.mean():.{digits}f}"
    if numbers.size > 1:
        error = numbers.std(ddof=1) / np.sqrt(numbers.size)
        text += f" ± {error:.{digits}f}"
    return text.replace("-", "−")


def among_best(scores: Mapping[str, NDArray[np.float64]]) -> list[str]:
    """Return the methods that are not significantly below the best, at 95 %.

    Parameters
    ----------
    scores : dict
        By method: a score for each run, in the order of the runs; of a method with
        fewer runs, those count that both have.
    """
    scores = {name: of for name, of in scores.items() if of.size}
    best = max(scores.values(), key=lambda of: float(of.mean()))
    found = []
    for name, of in scores.items():
        behind = best[: of.size] - of[: best.size]
        if np.ptp(behind) < 1e-12:  # nothing to test with
            significant = behind.size > 1 and behind[0] > 1e-12
        else:
            significant = ttest_1samp(behind, 0).pvalue <= 0.05
        if not significant:
            found.append(name)
    return found
