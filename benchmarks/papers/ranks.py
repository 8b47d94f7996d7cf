"""How methods rank over data sets, from stored numbers."""

from collections.abc import Mapping

import numpy as np
from scipy.stats import rankdata

from benchmarks.papers.experiment import Results, mean_and_error
from benchmarks.speed.timing import table
from vicinal._typing import FloatArray

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
