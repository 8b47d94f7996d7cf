"""What one hold-out, or a few, can say: the test rows are the sample.

Random splits that overlap tell little about chance when they are few: two splits have
one degree of freedom. Where test rows are many, each of them is an observation. The
bootstrap weighs rows at random (Rubin, The Bayesian bootstrap, 1981: exponential
weights, under which no rare class ever disappears), the same for all methods, so that
differences are paired. For one hold-out and accuracies there is McNemar's exact test.

Both look at the metrics as they were learned: that another training set would have
given others is not seen, and matters less the more rows there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom, norm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from vicinal.app.comparison.scores import Score

__all__ = ["bootstrap", "mcnemar", "z_test"]

_N_DRAWS = 1000
# How many numbers are drawn at a time.
_AT_ONCE = 2**22


def bootstrap(
    score: Score,
    tests: Sequence[NDArray[np.integer[Any]]],
    target: NDArray[Any] | None,
    outcomes: Sequence[Sequence[NDArray[Any]]],
    n_draws: int = _N_DRAWS,
) -> NDArray[np.float64]:
    """Return random scores of several methods, under the same weights for the rows.

    Parameters
    ----------
    score : Score
        What is measured.
    tests : sequence of ndarray of int
        The test rows of each split. A row that is in two of them has one weight.
    target : ndarray or None
        Of all rows.
    outcomes : sequence of sequence of ndarray
        For each method and split, what was predicted of its test rows.
    n_draws : int, default=1000
        How many.

    Returns
    -------
    ndarray of shape (n_methods, n_draws)
        Means over the splits.
    """
    rng = np.random.default_rng(0)
    rows, inverse = np.unique(np.concatenate(tests), return_inverse=True)
    places = np.split(inverse, np.cumsum([len(test) for test in tests])[:-1])
    truths = [None if target is None else target[test] for test in tests]
    found = np.empty((len(outcomes), n_draws))
    step = max(1, _AT_ONCE // rows.size)
    for start in range(0, n_draws, step):
        draws = slice(start, min(start + step, n_draws))
        shape = (draws.stop - draws.start, rows.size)
        weights = rng.standard_exponential(shape, dtype=np.float32)
        for split, place in enumerate(places):
            own = weights[:, place]
            for method, predicted in enumerate(outcomes):
                values = score.values(truths[split], predicted[split], own)
                before = 0.0 if split == 0 else found[method, draws]
                found[method, draws] = before + values / len(places)
    return found


def mcnemar(right: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """Return the two-sided p-value of McNemar's exact test.

    Parameters
    ----------
    right, other : ndarray of bool of shape (n_rows,)
        Which rows each of two methods predicted rightly.

    Returns
    -------
    float
        How likely it is that rows which only one of them got right fall to one side
        as unevenly as they do, or more, if they are as likely to fall to each.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.comparison.row_statistics import mcnemar
    >>> right = np.ones(10, dtype=bool)
    >>> mcnemar(right, np.arange(10) < 4)
    0.03125
    """
    alone = int(np.sum(right & ~other))
    apart = alone + int(np.sum(other & ~right))
    return float(min(1.0, 2 * binom.cdf(min(alone, apart - alone), apart, 0.5)))


def z_test(gain: float, error: float) -> float:
    """Return the two-sided p-value of a difference with a known standard error."""
    if not gain:
        return 1.0
    return float(2 * norm.sf(abs(gain) / error)) if error else 0.0
