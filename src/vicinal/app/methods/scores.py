"""The scores of test rows: accuracy, balanced accuracy, R² and others.

A score is a function of the targets, the predictions and weights of the rows. Unit
weights give the score itself; random weights give bootstrap replicates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """A score of the test rows.

    Attributes
    ----------
    name : str
        Its name in `SCORES`.
    label : str
        The heading of its column.
    values : callable
        From targets (n,), predictions (n,) and weights (n_draws, n) to one score for
        each draw.
    task : str
        The kind of target.
    outcome : callable
        From targets and probabilities of the classes to the predictions that `values`
        takes.
    factor, digits, unit
        Format: the factor, the number of digits, and the unit.
    points : str
        Unit of differences.
    least, most : float
        The worst and the best possible value.
    negligible : float
        A difference too small to matter.
    point : float
        A difference too large to give up for a simpler method.
    """

    name: str
    label: str
    values: Callable[[Any, Any, Any], Floats]
    task: str = "classification"
    outcome: Callable[[Any, Any], Any] = lambda _, proba: proba.argmax(axis=1)
    factor: float = 100.0
    digits: int = 1
    unit: str = " %"
    points: str = " points"
    least: float = 0.0
    most: float = 1.0
    negligible: float = 0.005
    point: float = 0.01

    def of(self, truth: Any, predicted: NDArray[Any]) -> float:
        """Return the score with unit weights."""
        return float(self.values(truth, predicted, np.ones((1, len(predicted))))[0])

    def written(self, value: float) -> str:
        """Return a formatted score, without its unit."""
        return f"{self.factor * value:.{self.digits}f}"


def _accuracy(truth: Any, predicted: Any, weights: Any) -> Floats:
    right = (predicted == truth).astype(weights.dtype)
    return np.asarray(weights @ right / weights.sum(axis=1), dtype=np.float64)


def _balanced_accuracy(truth: Any, predicted: Any, weights: Any) -> Floats:
    recalls = [
        _accuracy(truth[rows], predicted[rows], weights[:, rows])
        for rows in (truth == label for label in np.unique(truth))
    ]
    return np.asarray(np.mean(recalls, axis=0), dtype=np.float64)


def _of_rarer_class(truth: Any, proba: Any) -> Any:
    return proba[:, np.argmin(np.bincount(truth))]


def _average_precision(truth: Any, predicted: Any, weights: Any) -> Floats:
    # The rarer of two classes is the positive one; `predicted` is its probability.
    wanted = truth == np.argmin(np.bincount(truth))
    order = np.argsort(-predicted, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(predicted[order])), len(order) - 1)
    sorted_weights = weights[:, order].astype(np.float64)
    hits = np.cumsum(sorted_weights * wanted[order], axis=1)[:, ends]
    named = np.cumsum(sorted_weights, axis=1)[:, ends]
    found = np.diff(hits, axis=1, prepend=0.0) / hits[:, -1:]
    # The first rows may have no weight: 0 / 0 is then 0.
    return np.asarray((found * hits / np.maximum(named, 1e-300)).sum(axis=1))


def _roc_auc(truth: Any, predicted: Any, weights: Any) -> Floats:
    # The mean over the classes, each against all others.
    areas = []
    for label in np.unique(truth):
        proba = predicted[:, label]
        order = np.argsort(proba, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(proba[order])), len(order) - 1)
        sorted_weights = weights[:, order].astype(np.float64)
        inside = truth[order] == label
        hits, others = (
            np.cumsum(sorted_weights * rows, axis=1)[:, ends]
            for rows in (inside, ~inside)
        )
        # Rows of equal probability count half.
        below = others - np.diff(others, axis=1, prepend=0.0) / 2
        area = (np.diff(hits, axis=1, prepend=0.0) * below).sum(axis=1)
        areas.append(area / (hits[:, -1] * others[:, -1]))
    return np.asarray(np.mean(areas, axis=0), dtype=np.float64)


def _log_of_truth(truth: Any, proba: Any) -> Any:
    # As in scikit-learn: the smallest probability is the spacing of the numbers.
    known = proba[np.arange(len(truth)), truth].astype(np.float64)
    return np.log(np.maximum(known, np.finfo(np.float64).eps))


def _r2(truth: Any, predicted: Any, weights: Any) -> Floats:
    # In units of the targets, whose squares may overflow or vanish.
    unit = float(np.abs(truth - truth.mean()).max()) or 1.0
    middle = (truth - truth.mean()) / unit
    errors = np.square((truth - predicted) / unit)
    total = weights.sum(axis=1)
    spread = weights @ np.square(middle) - np.square(weights @ middle) / total
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - (weights @ errors) / spread, dtype=np.float64)


def _mean(truth: Any, predicted: Any, weights: Any) -> Floats:  # noqa: ARG001
    return np.asarray(weights @ predicted / weights.sum(axis=1), dtype=np.float64)


_NUMBER: dict[str, Any] = {
    "factor": 1.0, "digits": 2, "unit": "", "least": -np.inf, "most": np.inf,
}  # fmt: skip
_NATS = _NUMBER | {"unit": " nats", "points": " nats"}

SCORES = {
    one.name: one
    for one in (
        Score("accuracy", "accuracy (%)", _accuracy),
        Score("balanced-accuracy", "balanced accuracy (%)", _balanced_accuracy),
        Score(
            *("average-precision", "average precision (%)", _average_precision),
            outcome=_of_rarer_class,
        ),
        Score("roc-auc", "ROC AUC (%)", _roc_auc, outcome=lambda _, proba: proba),
        Score(
            *("log-loss", "-log-loss (nats)", _mean),
            **_NATS | {"digits": 3, "most": 0.0},
            outcome=_log_of_truth,
            negligible=0.005,
            point=0.01,
        ),
        Score(
            *("r2", "R²", _r2, "regression"),
            **_NUMBER | {"points": " of R²", "most": 1.0, "digits": 3},
        ),
        Score(
            *("log-likelihood", "log-density (nats)", _mean, "none"),
            **_NATS,
            negligible=0.05,
            point=0.1,
        ),
    )
}


def default_score(task: str) -> str:
    """Return the name of the usual score of a task."""
    return next(one.name for one in SCORES.values() if one.task == task)


def choose_score(
    score: str,
    task: str,
    target: Any,
    classes: tuple[str, ...],
    imbalance: float = 4.0,
) -> tuple[str, str]:
    """Return the name of the score, and a note if it is not the usual one.

    Parameters
    ----------
    score : str
        A name in `SCORES`, or "auto".
    task : str
        The kind of target.
    target : ndarray or None
        Classes as integers from 0, or numbers.
    classes : tuple of str
        Names of the classes.
    imbalance : float, default=4.0
        "auto" is balanced accuracy if one class has most of the rows, and so many times
        as many as the others have on average: predicting it always would have a high
        accuracy.

    Raises
    ------
    ValueError
        If there is no such score for this target.
    """
    able = [one.name for one in SCORES.values() if one.task == task]
    if score != "auto":
        if score not in able:
            raise ValueError(
                f"score must be auto or {', '.join(able)} for this target; "
                f"got {score!r}."
            )
        if score == "average-precision" and len(classes) != 2:
            raise ValueError(
                f"average-precision needs two classes; there are {len(classes)}."
            )
        return score, ""
    if task == "classification":
        counts = np.bincount(target)
        share = counts.max() / counts.sum()
        others = (counts.sum() - counts.max()) / (len(classes) - 1)
        if share > 0.5 and counts.max() >= imbalance * others:
            note = (
                f"{100 * share:.0f} % of the rows are of class "
                f"{classes[int(np.argmax(counts))]}: methods are scored by balanced "
                "accuracy, the mean recall of the classes; accuracy is shown beside it."
            )
            if tiny := np.count_nonzero(counts < 10):
                note += (
                    f" Classes of fewer than 10 rows: {tiny}, the smallest of "
                    f"{counts.min()}. Each counts as much as the largest, so that "
                    "a few test rows decide, and the intervals are wide."
                )
            return "balanced-accuracy", note
    return able[0], ""
