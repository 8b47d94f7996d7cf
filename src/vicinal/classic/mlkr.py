"""Metric learning for kernel regression."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vicinal.nca import NCARegressor


@dataclass(eq=False, repr=False)
class MLKR(NCARegressor):
    """Metric learning for kernel regression.

    Learns a linear map that minimizes the leave-one-out squared error Σ_i (y_i − ŷ_i)²
    of the kernel regression ŷ_i = Σ_j p_ij y_j with p_ij ∝ exp(−‖A x_i − A x_j‖²) [1]_.
    It is :class:`vicinal.NCARegressor` with objective="squared-error", the default
    there: `MLKR()` and `NCARegressor()` are the same to the last digit. The paper has
    no penalty, which is alpha=0.

    Parameters
    ----------
    n_components, init, solver, batch_size, n_references, alpha, warm_start, \
max_iter, tol, callback, verbose, random_state, n_jobs
        As for :class:`vicinal.NCARegressor`.

    See Also
    --------
    vicinal.NCARegressor : Regression with the same soft neighbors.

    Notes
    -----
    Cost: as for :class:`vicinal.NCARegressor`.

    References
    ----------
    .. [1] Weinberger, Tesauro. Metric Learning for Kernel Regression. Artificial
       Intelligence and Statistics, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.classic import MLKR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> y = X[:, 0] ** 2 + X[:, 1]
    >>> model = MLKR(n_components=2, max_iter=200).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: constraint
        for name, constraint in NCARegressor._parameter_constraints.items()
        if name not in ("objective", "width")
    }

    # Not parameters here: a class variable is no field.
    objective: ClassVar[str] = "squared-error"  # type: ignore[misc]
    width: ClassVar[str] = "auto"  # type: ignore[misc]
