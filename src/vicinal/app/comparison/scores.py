"""What is measured on the test rows: accuracy, balanced accuracy, R² and others.

A score is a function of the true targets, of what was predicted for each row, and of
weights for the rows. With one set of weights, all ones, it is the score itself; with
many random ones, it is the bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["SCORES", "Score", "choose_score", "default_score"]

# From this share of the largest class on, always naming it looks too good.
_IMBALANCED = 0.8


@dataclass(frozen=True)
class Score:
    """A score of the test rows.

    Attributes
    ----------
    name : str
        As in `SCORES`.
    label : str
        The heading of its column.
    values : callable
        From targets (n,), predictions (n,) and weights (n_draws, n) to one score for
        each draw.
    factor, digits, unit
        How it is written: times `factor`, with so many digits, and what follows.
    points : str
        What differences are counted in.
    least, most : float
        The worst and the best there can be.
    negligible : float
        A difference that nobody would change a method for.
    point : float
        A difference that nobody would give up for a simpler method.
    """

    name: str
    label: str
    values: Callable[[Any, Any, Any], Floats]
    factor: float = 100.0
    digits: int = 1
    unit: str = " %"
    points: str = " points"
    least: float = 0.0
    most: float = 1.0
    negligible: float = 0.005
    point: float = 0.01

    def of(self, truth: Any, predicted: NDArray[Any]) -> float:
        """Return the score of some rows, each counted once."""
        return float(self.values(truth, predicted, np.ones((1, len(predicted))))[0])

    def written(self, value: float) -> str:
        """Return a score as it is shown, without its unit."""
        return f"{self.factor * value:.{self.digits}f}"


def _accuracy(truth: Any, predicted: Any, weights: Any) -> Floats:
    right = (predicted == truth).astype(weights.dtype)
    return np.asarray(weights @ right / weights.sum(axis=1), dtype=np.float64)


def _balanced_accuracy(truth: Any, predicted: Any, weights: Any) -> Floats:
    right = predicted == truth
    shares = []
    for label in np.unique(truth):
        own = weights[:, truth == label]
        found = right[truth == label].astype(weights.dtype)
        shares.append(own @ found / own.sum(axis=1))
    return np.asarray(np.mean(shares, axis=0), dtype=np.float64)


def _average_precision(truth: Any, predicted: Any, weights: Any) -> Floats:
    # The rarer of two classes is what is looked for; `predicted` is its probability.
    wanted = truth == np.argmin(np.bincount(truth))
    order = np.argsort(-predicted, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(predicted[order])), len(order) - 1)
    sorted_weights = weights[:, order].astype(np.float64)
    hits = np.cumsum(sorted_weights * wanted[order], axis=1)[:, ends]
    named = np.cumsum(sorted_weights, axis=1)[:, ends]
    found = np.diff(hits, axis=1, prepend=0.0) / hits[:, -1:]
    # Rows without weight may come first: nothing was named yet, and nothing found.
    return np.asarray((found * hits / np.maximum(named, 1e-300)).sum(axis=1))


def _r2(truth: Any, predicted: Any, weights: Any) -> Floats:
    # In the unit of the targets, whose squares may be huge or tiny.
    unit = float(np.abs(truth - truth.mean()).max()) or 1.0
    middle = (truth - truth.mean()) / unit
    errors = np.square((truth - predicted) / unit)
    total = weights.sum(axis=1)
    spread = weights @ np.square(middle) - np.square(weights @ middle) / total
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - (weights @ errors) / spread, dtype=np.float64)


def _mean(truth: Any, predicted: Any, weights: Any) -> Floats:  # noqa: ARG001
    return np.asarray(weights @ predicted / weights.sum(axis=1), dtype=np.float64)


_NUMBERS: dict[str, Any] = {"factor": 1.0, "unit": "", "least": -np.inf}
SCORES = {
    one.name: one
    for one in (
        Score("accuracy", "accuracy (%)", _accuracy),
        Score("balanced-accuracy", "balanced accuracy (%)", _balanced_accuracy),
        Score("average-precision", "average precision (%)", _average_precision),
        Score("r2", "R²", _r2, digits=3, points=" of R²", **_NUMBERS),
        Score(
            "log-likelihood",
            "log-density (nats)",
            _mean,
            factor=1.0,
            digits=2,
            unit=" nats",
            points=" nats",
            least=-np.inf,
            most=np.inf,
            negligible=0.05,
            point=0.1,
        ),
    )
}
_BY_TASK = {
    "classification": ("accuracy", "balanced-accuracy", "average-precision"),
    "regression": ("r2",),
    "none": ("log-likelihood",),
}


def default_score(task: str) -> str:
    """Return the name of the usual score of a task."""
    return _BY_TASK[task][0]


def choose_score(
    asked: str, task: str, target: Any, classes: tuple[str, ...]
) -> tuple[str, str]:
    """Return the name of the score to judge by, and a note where it is not the usual.

    Parameters
    ----------
    asked : str
        A name in `SCORES`, or "auto": balanced accuracy where one class has four
        fifths of the rows or more.
    task : str
        What the target is.
    target : ndarray or None
        Classes as integers from 0, or numbers.
    classes : tuple of str
        Names of the classes.

    Raises
    ------
    ValueError
        When there is no such score for this target.
    """
    able = _BY_TASK[task]
    if asked != "auto":
        if asked not in able:
            raise ValueError(
                f"score must be auto or {', '.join(able)} for this target; "
                f"got {asked!r}."
            )
        if asked == "average-precision" and len(classes) != 2:
            raise ValueError(
                f"average-precision needs two classes; there are {len(classes)}."
            )
        return asked, ""
    if task == "classification":
        counts = np.bincount(target)
        share = counts.max() / counts.sum()
        if share >= _IMBALANCED:
            largest = classes[int(np.argmax(counts))]
            return "balanced-accuracy", (
                f"{100 * share:.0f} % of the rows are of class {largest}: methods are "
                "judged by balanced accuracy, the mean over the classes of how many "
                "of their rows are found; accuracy is shown beside it."
            )
    return able[0], ""
