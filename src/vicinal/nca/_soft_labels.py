"""NCA of soft labels, or of a match matrix: what is maximised, and from where."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.validation import check_sample_weight, validate_data
from vicinal.nca._data import MatchData
from vicinal.nca._fit import Run
from vicinal.objectives.soft_labels import (
    SoftMatchObjective,
    check_matches,
    check_soft_labels,
)

if TYPE_CHECKING:
    from vicinal.nca._nca import NCA

# What needs classes, with the value that does without.
_NEEDS_CLASSES = {"anneal": False, "early_stopping": False, "neighbors": "all"}


def is_soft(y: Any) -> bool:
    """Return whether y is a match matrix or has a column for each class."""
    if issparse(y):
        return True
    shape = y.shape if hasattr(y, "shape") else np.asarray(y, dtype=object).shape
    return len(shape) == 2 and shape[1] > 1


def prepare_soft(
    nca: "NCA", X: ArrayLike, Y: Any, sample_weight: ArrayLike | None
) -> Run:
    """Validate, and return what to maximise, how, and from where.

    Parameters
    ----------
    nca : NCA
        Whose settings these are.
    X : array-like of shape (n_samples, n_features)
        The points.
    Y : array-like of shape (n_samples, n_classes), or sparse (n_samples, n_samples)
        Probabilities of classes; or which rows match which.
    sample_weight : array-like of shape (n_samples,) or None
        How many equal points each row stands for.

    Returns
    -------
    Run
        With an objective of soft matches.
    """
    points: FloatArray = validate_data(nca, X, dtype=FLOATS, ensure_min_samples=2)
    labels = check_soft_labels(Y, len(points))
    _check_settings(nca)
    nca._check_diagonal(points.shape[1])
    weights = check_sample_weight(sample_weight, points)
    kept = weights > 0
    if not kept.all():
        points, weights, labels = points[kept], weights[kept], labels[kept]
        if issparse(labels):
            labels = labels[:, kept]
            check_matches(labels)
    if len(points) < 2:
        raise ValueError("Fewer than two rows have a weight above 0.")
    objective = SoftMatchObjective(
        points, labels, nca.objective, counts=weights, n_jobs=nca.n_jobs
    )
    # The likeliest classes do for a start; matches alone make none.
    codes = None
    if not issparse(labels):
        codes = np.unique(labels.argmax(axis=1), return_inverse=True)[1]
    optimizer = nca._make_optimizer(points, codes, float(nca.alpha))
    if nca._is_diagonal:
        start = nca._diagonal_start(objective, optimizer)
    else:
        d, how = nca.n_components, optimizer.preconditioner
        start = nca._start(objective, codes, d, how)
    return Run(MatchData(points, kept, (X, Y)), objective, optimizer, start, {})


def _check_settings(nca: "NCA") -> None:
    if nca.objective not in ("expected", "log"):
        raise ValueError(
            f"objective={nca.objective!r} needs a class for each row, not soft labels; "
            "use 'expected' or 'log'."
        )
    wrong = {
        name: getattr(nca, name)
        for name, usual in _NEEDS_CLASSES.items()
        if getattr(nca, name) != usual
    }
    if nca.n_components == "auto":
        wrong["n_components"] = "auto"
    if nca.alpha == "auto":
        wrong["alpha"] = "auto"
    if nca.class_prior is not None:
        wrong["class_prior"] = nca.class_prior
    for name, value in wrong.items():
        raise ValueError(
            f"{name}={value!r} needs a class for each row, not soft labels."
        )
