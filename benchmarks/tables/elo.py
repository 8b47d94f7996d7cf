"""An Elo table of stored runs, made as TabArena makes its own.

Every split of a table is a game of each pair of models. The lower error wins: 1 − AUC
of two classes, log-loss of more, 1 − R² of numbers. Ratings are the Bradley-Terry
model's, 400 for odds of ten; random forest has 1000. Intervals are of 200 bootstraps of
the tables. TabArena's models are bags of eight folds, on other tables; these are single
fits.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from benchmarks.speed.timing import table as markdown
from benchmarks.tables.models import MODELS
from benchmarks.tables.scores import Run

# TabArena's ratings, as published; they are not measured here.
_PUBLISHED = {"kNN": 613, "ModernNCA, default": 1279, "CatBoost, default": 1410}
_ANCHOR = "random forest"
_N_BOOTSTRAPS = 200


def table(runs: Sequence[Run]) -> str:
    """Return a Markdown table of ratings."""
    wins, names = games(runs)
    if _ANCHOR not in names:
        return f"No runs of {_ANCHOR} are stored, which has 1000."
    anchor = names.index(_ANCHOR)
    found = ratings(wins.sum(axis=0), anchor)
    rng = np.random.default_rng(0)
    drawn = [
        ratings(wins[rng.integers(len(wins), size=len(wins))].sum(axis=0), anchor)
        for _ in range(_N_BOOTSTRAPS)
    ]
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    rows = [
        [names[i], f"{found[i]:.0f}", f"{low[i]:.0f} to {high[i]:.0f}", "measured"]
        for i in np.argsort(-found)
    ]
    rows += [
        [name, str(rating), "", "as published"] for name, rating in _PUBLISHED.items()
    ]
    return markdown(["", "Elo", "95 %", f"{len(wins)} tables"], rows)


def games(runs: Sequence[Run]) -> tuple[NDArray[np.float64], list[str]]:
    """Return the wins of models (rows) against models (columns) by table, and names.

    A draw is half a win for both. Models without probabilities do not take part in
    tables of classes. All splits of a table together weigh as much as another table's.
    """
    errors: dict[str, dict[int, dict[str, float]]] = {}
    for one in runs:
        if one["model"] in MODELS and (error := _error(one)) is not None:
            splits = errors.setdefault(one["table"], {})
            splits.setdefault(one["split"], {})[one["model"]] = error
    played = {name for of in errors.values() for s in of.values() for name in s}
    names = [name for name in MODELS if name in played]
    wins = np.zeros((len(errors), len(names), len(names)))
    for total, splits in zip(wins, errors.values(), strict=True):
        for scored in splits.values():
            for a, b in combinations(scored, 2):
                i, j = names.index(a), names.index(b)
                won = 0.5 * (1 + np.sign(scored[b] - scored[a]))
                total[i, j] += won / len(splits)
                total[j, i] += (1 - won) / len(splits)
    return wins, names


def ratings(wins: NDArray[np.float64], anchor: int) -> NDArray[np.float64]:
    """Return the Bradley-Terry ratings of greatest likelihood.

    Parameters
    ----------
    wins : ndarray of shape (n, n)
        How often the row's model won against the column's.
    anchor : int
        The model that has 1000.
    """

    def value_and_gradient(s: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        apart = s[:, None] - s
        lost = wins * expit(-apart)
        # So little of a penalty keeps a model that never wins finite.
        value = (wins * np.logaddexp(0, -apart)).sum() + 1e-3 * s @ s
        return float(value), lost.sum(axis=0) - lost.sum(axis=1) + 2e-3 * s

    found = minimize(value_and_gradient, np.zeros(len(wins)), jac=True, tol=1e-9).x
    return 1000 + 400 / np.log(10) * (found - found[anchor])


def _error(one: Run) -> float | None:
    if one["task"] == "regression":
        return 1 - float(one["score"])
    if "auc" in one:
        return 1 - float(one["auc"])
    return one.get("log_loss")
