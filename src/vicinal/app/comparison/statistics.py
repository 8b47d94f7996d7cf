"""What scores on overlapping random splits can and cannot say.

Random splits share most of their training rows, so that the plain standard error over
them is too small. Nadeau and Bengio (Inference for the generalization error, 2003)
correct it: the variance of the mean of J splits is not s²/J but s² (1/J + n_test /
n_train).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import t as student

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["corrected_error", "half_width", "holm", "p_value"]


def corrected_error(values: NDArray[np.float64], ratio: float) -> float:
    """Return the corrected standard error of the mean; NaN for a single split.

    Parameters
    ----------
    values : ndarray of shape (n_splits,)
        One score, or one difference of scores, for each split.
    ratio : float
        Test rows for each training row.

    Returns
    -------
    float
        s √(1/J + ratio).

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.comparison.statistics import corrected_error
    >>> float(corrected_error(np.array([1.0, 3.0]), ratio=0.5).round(3))
    1.414
    """
    if values.size < 2:
        return float("nan")
    spread = np.std(values, ddof=1)
    return np.float64(spread * np.sqrt(1 / values.size + ratio))


def half_width(
    values: NDArray[np.float64], ratio: float, confidence: float = 0.95
) -> float:
    """Return how far the interval reaches to each side of the mean.

    Parameters
    ----------
    values : ndarray of shape (n_splits,)
        One score for each split.
    ratio : float
        Test rows for each training row.
    confidence : float, default=0.95
        How often such intervals hold the truth.

    Returns
    -------
    float
        From Student's t with the corrected error; NaN for a single split.
    """
    quantile = student.ppf((1 + confidence) / 2, max(values.size - 1, 1))
    return float(quantile * corrected_error(values, ratio))


def p_value(gains: NDArray[np.float64], ratio: float, step: float = 0.0) -> float:
    """Return the two-sided p-value of the corrected paired t-test.

    Parameters
    ----------
    gains : ndarray of shape (n_splits,)
        Differences of two methods' scores, split by split.
    ratio : float
        Test rows for each training row.
    step : float, default=0.0
        Between one score and the next that is possible: of an accuracy, one test row.
        Less spread than such rounding has by itself is taken for chance: a few small
        splits often agree to the row.

    Returns
    -------
    float
        1 where the methods do not differ or one split is all there is; 0 where they
        differ by as much on every split and scores have no steps.
    """
    mean, error = float(np.mean(gains)), corrected_error(gains, ratio)
    if not mean or np.isnan(error):
        return 1.0
    # The standard deviation of what is rounded to steps (a uniform distribution's).
    error = max(error, step * np.sqrt((1 / gains.size + ratio) / 12))
    with np.errstate(divide="ignore"):
        size = np.abs(np.divide(mean, error))
    return float(2 * student.sf(size, gains.size - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for their number, after Holm (1979).

    Parameters
    ----------
    p_values : sequence of float
        Of tests made together.

    Returns
    -------
    list of float
        In the same order. Below α, they are wrong about any of the tests with
        probability at most α.

    Examples
    --------
    >>> from vicinal.app.comparison.statistics import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(np.argsort(p_values)):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - rank)))
        corrected[index] = largest
    return corrected
