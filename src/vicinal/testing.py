"""Checks for losses of your own."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vicinal.objectives import NCAObjective
from vicinal.objectives.nca import PairLoss

__all__ = ["check_loss"]


def check_loss(
    loss: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    rtol: float = 1e-5,
    random_state: int = 0,
) -> None:
    """Check that a loss is consistent and safe to optimize.

    The gradient must agree with central differences, the value must not depend on the
    order or the origin of the rows or on the number of threads, a weight of 2 must be
    the same as a row that occurs twice, and all values must be finite.

    Parameters
    ----------
    loss : PairLoss
        Has `prepare` and `weigh`.
    X, y : array-like, optional
        Rows and classes to check on; random ones by default.
    rtol : float, default=1e-5
        Tolerance of the gradient, relative to its largest entry.
    random_state : int, default=0
        Seed of the rows and maps.

    Raises
    ------
    AssertionError
        If a check fails; the message says which.

    See Also
    --------
    vicinal.objectives.PairLoss : The protocol.

    Examples
    --------
    >>> from vicinal.testing import check_loss
    >>> class Attraction:  # −Σ_j w_j d²_ij over the points of the same class
    ...     def prepare(self, y, sample_weight):
    ...         return y, sample_weight
    ...     def weigh(self, distances, rows, data):
    ...         same = -1.0 * (data[0][rows][:, None] == data[0]) * data[1]
    ...         values = (same * distances).sum(axis=1)
    ...         distances[:] = same
    ...         return values
    >>> check_loss(Attraction())
    """
    if isinstance(loss, type) or not isinstance(loss, PairLoss):
        raise TypeError(
            "loss must be an instance with the methods prepare and weigh, got "
            f"{loss!r}."
        )
    rng = np.random.default_rng(random_state)
    if X is None or y is None:
        X, y = rng.normal(size=(400, 4)), rng.integers(3, size=400)
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    A = 0.5 * rng.normal(size=(2, X.shape[1]))
    objective = NCAObjective(X, y, loss, n_jobs=1)
    value, gradient = objective.value_and_gradient(A)
    assert np.isfinite(value), "the value is not finite"  # noqa: S101
    assert np.isfinite(gradient).all(), "the gradient is not finite"  # noqa: S101
    step = 1e-5
    for index in np.ndindex(*A.shape):
        moved = np.zeros_like(A)
        moved[index] = step
        ahead = objective.value_and_gradient(A + moved)[0]
        behind = objective.value_and_gradient(A - moved)[0]
        np.testing.assert_allclose(
            gradient[index],
            (ahead - behind) / (2 * step),
            atol=rtol * np.abs(gradient).max(),
            rtol=rtol,
            err_msg=f"the gradient at {index} is not the derivative of the value",
        )
    order = rng.permutation(len(X))
    twice = np.append(np.arange(len(X)), 0)
    weights = np.ones(len(X))
    weights[0] = 2
    same = {
        "the order of the rows": NCAObjective(X[order], y[order], loss),
        "the origin of the data": NCAObjective(X + 3.0, y, loss),
    }
    for name, other in same.items():
        np.testing.assert_allclose(
            other.value_and_gradient(A)[0],
            value,
            rtol=1e-8,
            err_msg=f"the value depends on {name}",
        )
    np.testing.assert_allclose(
        NCAObjective(X, y, loss, sample_weight=weights).value_and_gradient(A)[0],
        NCAObjective(X[twice], y[twice], loss).value_and_gradient(A)[0],
        rtol=1e-8,
        err_msg="a weight of 2 is not the same as a row that occurs twice",
    )
    threads = NCAObjective(X, y, loss, n_jobs=4).value_and_gradient(A)
    assert threads[0] == value, "the value depends on the number of threads"  # noqa: S101
    np.testing.assert_array_equal(
        threads[1], gradient, "the gradient depends on the number of threads"
    )
