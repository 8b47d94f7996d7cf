"""How methods rank over data sets, from stored numbers; written to the index.

``python -m benchmarks.papers.ranks`` writes what stands between the marks in
docs/papers/index.md. Nothing is measured here, and no figure is written by hand.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from benchmarks.papers.experiment import Case, Outcome, Results, mean_and_error
from benchmarks.papers.runner import PAGES
from benchmarks.speed.timing import table
from vicinal._typing import FloatArray

MARKS = ("<!-- ranks: python -m benchmarks.papers.ranks -->", "<!-- end -->")

Scores = Mapping[str, Mapping[str, float]]
"""By data set and method: accuracy, NaN where there is none."""


def ranks(scores: Mapping[str, float]) -> dict[str, float]:
    """Return each method's rank on a data set: 1 is the best, equals share theirs.

    Parameters
    ----------
    scores : dict
        Accuracy by method; a method that was not run (NaN) has no rank (NaN).
    """
    values = np.array(list(scores.values())).round(9)  # equal but for rounding
    found = rankdata(-values, nan_policy="omit")
    return dict(zip(scores, found.tolist(), strict=True))


def ranks_by_method(scores: Scores) -> dict[str, FloatArray]:
    """Return each method's ranks over the data sets, the best on average first."""
    found = [ranks(of) for of in scores.values()]
    by_method = {name: np.array([one[name] for one in found]) for name in found[0]}
    by_method = {name: of[~np.isnan(of)] for name, of in by_method.items()}
    return dict(sorted(by_method.items(), key=lambda one: float(one[1].mean())))


def stored(name: str, pages: Path = PAGES) -> Results:
    """Return the outcomes that an experiment's page was made from."""
    state = json.loads((pages / f"{name}.json").read_text(encoding="utf-8"))
    outcomes: dict[Case, Outcome] = {
        tuple(one["case"]): one["outcome"] for one in state["runs"]
    }
    return Results(outcomes)


def by_defaults(results: Results) -> dict[str, dict[str, float]]:
    """Return mean accuracies in percent by data set and method, of defaults-ranked."""
    methods = results.keys()
    return {
        str(name): {
            method: 100 * float(results.values(method, name).mean())
            for method in methods
        }
        for (name,) in results.heads()
    }


def by_papers_rules(results: Results) -> dict[str, dict[str, float]]:
    """Return the same of ldg-table-1, whose cases name the method."""
    names = [str(name) for (name,) in results.heads()]
    methods = dict.fromkeys(str(method) for _, method in results.heads(2))
    return {
        name: {
            method: 100 * float(of.mean()) if of.size else np.nan
            for method in methods
            for of in [results.values("accuracy", name, method)]
        }
        for name in names
    }


def ranked_table(scores: Scores) -> str:
    """Return accuracies with ranks in brackets, a row for each data set, and means."""
    methods = ranks_by_method(scores)
    rows = []
    for name, of in scores.items():
        place = ranks(of)
        rows.append(
            [name]
            + [
                "–" if np.isnan(of[method]) else f"{of[method]:.1f} ({place[method]:g})"
                for method in methods
            ]
        )
    rows.append(["mean rank", *map(mean_and_error, methods.values())])
    return table(["data", *methods], rows)


def summary(pages: Path = PAGES) -> str:
    """Return the text between the marks."""
    defaults = by_defaults(stored("defaults-ranked", pages))
    rules = by_papers_rules(stored("ldg-table-1", pages))
    return (
        "Accuracy (%) and, in brackets, rank of every method with vicinal's defaults "
        f"on {len(defaults)} data sets, three splits\n"
        "([defaults-ranked](defaults-ranked.md)); ± a standard error over the data "
        "sets:\n\n"
        f"{ranked_table(defaults)}\n\n"
        "The same for reductions of the dimension by the LDG paper's rules "
        f"on {len(rules)} data sets\n([ldg-table-1](ldg-table-1.md)); a method that "
        "was not run on a data set (–)\nhas no rank there, and its mean is over the "
        f"others:\n\n{ranked_table(rules)}"
    )


def written(text: str, inside: str) -> str:
    """Return the page's text with this between the marks."""
    before, begin, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not end:
        raise ValueError(f"The page has no {MARKS[0]} … {MARKS[1]}.")
    return f"{before}{begin}\n\n{inside}\n\n{end}{after}"


def main() -> None:
    """Write the index."""
    index = PAGES / "index.md"
    text = written(index.read_text(encoding="utf-8"), summary())
    index.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
