"""Fits inside a comparison: their warnings, and fits on halves of the rows."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray

__all__ = [
    "cluster_agreement",
    "fit_catching_warnings",
    "merged_warnings",
    "split_warnings",
]

# What warnings of convergence speak of that are not about iterations: what they say
# is shown, where the others are counted.
_NOT_ITERATIONS = ("collapse", "learned nothing")
# LDG's warning of classes that are too small, which lists all of them.
_SMALL_CLASSES = re.compile(r"(These classes have too few rows.*?: )(.*)(\. They .*)")
_CLASS_AND_SIZE = re.compile(r"'?(\d+)'? \((\d+)\)")
_SHOWN_CLASSES = 5
_NUMBER = re.compile(r"\d+(\.\d+)?")
_LISTED = re.compile(r": [^:]*\(\d+\)( and \d+ more)?")
# scikit-learn's own default for the number of clusters, where nobody says it.
_N_CLUSTERS = 8


def fit_catching_warnings(
    metric: Pipeline, X: FloatArray, y: Any
) -> list[warnings.WarningMessage]:
    """Fit a pipeline; return the warnings for its user, and issue others again."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metric.fit(X, y)
    kinds = (UserWarning, RuntimeWarning)
    issued = [w for w in caught if issubclass(w.category, kinds)]
    for w in caught:
        if w not in issued:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    return issued


def split_warnings(
    issued: Sequence[warnings.WarningMessage], classes: Sequence[str]
) -> tuple[bool, tuple[str, ...]]:
    """Return whether a fit stopped too early, and what else it warned of, in words.

    Parameters
    ----------
    issued : sequence of WarningMessage
        As `fit_catching_warnings` returns them.
    classes : sequence of str
        Names of the classes: methods learn from numbers, and warn of these.
    """
    stopped, texts = False, []
    for one in issued:
        text = " ".join(str(one.message).split())
        convergence = issubclass(one.category, ConvergenceWarning)
        if convergence and not any(word in text for word in _NOT_ITERATIONS):
            stopped = True
        else:
            texts.append(_with_labels(text, classes))
    return stopped, tuple(texts)


def _with_labels(text: str, classes: Sequence[str]) -> str:
    """Return a warning of small classes with their names, and not with all of them."""
    found = _SMALL_CLASSES.fullmatch(text)
    if found is None or not classes:
        return text
    named = _CLASS_AND_SIZE.findall(found[2])
    small = sorted(((int(size), classes[int(code)]) for code, size in named))
    shown = ", ".join(f"{label} ({size})" for size, label in small[:_SHOWN_CLASSES])
    if len(small) > _SHOWN_CLASSES:
        shown += f" and {len(small) - _SHOWN_CLASSES} more"
    return f"{found[1]}{shown}{found[3]}"


def merged_warnings(texts: Iterable[str]) -> tuple[str, ...]:
    """Return each warning once, though numbers in it differ from fit to fit."""
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(_NUMBER.sub("0", _LISTED.sub(":", text)), text)
    return tuple(first.values())


def cluster_agreement(metric: Pipeline, X: FloatArray, X_test: FloatArray) -> float:
    """Return how well two halves of the training rows agree on the test rows' clusters.

    Parameters
    ----------
    metric : Pipeline
        Fitted on all of `X`; it is fitted again on each half.
    X, X_test : ndarray
        Training and test rows.

    Returns
    -------
    float
        The adjusted Rand index of the two clusterings by k-means; NaN where the metric
        has no dimensions.
    """
    # When called: only tables without a target need it, and it takes a moment to load.
    from sklearn.cluster import KMeans

    found = []
    for i in range(2):
        half = X[i::2]
        learned = _as_chosen(metric)
        fit_catching_warnings(learned, half, None)
        Z = learned.transform(half)
        if not Z.shape[1]:
            return float("nan")
        means = KMeans(min(_N_CLUSTERS, len(half)), n_init=3, random_state=0)
        # Small work on busy cores takes many times longer with OpenMP's threads.
        with warnings.catch_warnings(), threadpool_limits(1, user_api="openmp"):
            # Fewer distinct rows than clusters leave some of the clusters empty.
            warnings.simplefilter("ignore", ConvergenceWarning)
            means.fit(Z)
        found.append(means.predict(learned.transform(X_test)))
    return float(adjusted_rand_score(*found))


def _as_chosen(metric: Pipeline) -> Pipeline:
    """Return a pipeline to fit again, with what was cross-validated held fast."""
    last = metric.named_steps["metric"]
    options = {
        f"metric__{name}": getattr(last, f"{name}_")
        for name, value in last.get_params(deep=False).items()
        if isinstance(value, str) and value == "cv"
    }
    return clone(metric).set_params(**options)
