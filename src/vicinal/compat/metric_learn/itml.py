"""metric-learn's module `itml`: from pairs, and from labels."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from vicinal import classic
from vicinal._typing import FloatArray
from vicinal.compat.metric_learn._pairs import LearnsFromLabels, LearnsFromPairs
from vicinal.compat.metric_learn._shared import DEPRECATED


class ITML(LearnsFromPairs, classic.ITML):
    """`vicinal.classic.ITML` with metric-learn's parameters.

    Parameters
    ----------
    gamma, max_iter, tol, prior, verbose, preprocessor, random_state
        As for :class:`vicinal.classic.ITML`; a prior may be "random".
    convergence_threshold : float
        The old name of tol.

    See Also
    --------
    vicinal.classic.ITML : The same in vicinal's own names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> constraints = metric_learn.Constraints(y)
    >>> pairs, alike = metric_learn.wrap_pairs(
    ...     X, constraints.positive_negative_pairs(50, random_state=0)
    ... )
    >>> metric_learn.ITML().fit(pairs, alike).get_mahalanobis_matrix().shape
    (4, 4)
    """

    n_constraints = "auto"
    bounds = None

    def __init__(
        self,
        gamma: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-3,
        prior: str | ArrayLike = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        convergence_threshold: Any = DEPRECATED,
    ) -> None:
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.prior = prior
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state
        self.convergence_threshold = convergence_threshold

    def fit(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        bounds: ArrayLike | None = None,
        calibration_params: dict[str, Any] | None = None,
    ) -> Self:
        """Learn from pairs and 1 or -1 for each; then set the threshold."""
        return self._fit_pairs(pairs, y, calibration_params, bounds=_pair(bounds))

    def _translated(self, n_features: int) -> dict[str, Any]:
        tol = self._renamed("convergence_threshold", "tol")
        prior = self._known_prior(self.prior, n_features, self.random_state)
        return {"tol": tol, "prior": prior}


class ITML_Supervised(LearnsFromLabels, ITML):  # noqa: N801
    """ITML from labels.

    Parameters
    ----------
    gamma, max_iter, tol, prior, verbose, preprocessor, random_state
        As for `ITML`.
    n_constraints : int or None, default=None
        Pairs of one class, and of two; None is 20 times the squared number of classes.
    num_constraints, convergence_threshold
        Old names of n_constraints and tol.

    See Also
    --------
    vicinal.classic.ITML : Takes labels, too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.ITML_Supervised(n_constraints=50, random_state=0)
    >>> model.fit(X, y).get_mahalanobis_matrix().shape
    (4, 4)
    """

    def __init__(
        self,
        gamma: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-3,
        n_constraints: int | None = None,
        prior: str | ArrayLike = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        num_constraints: Any = DEPRECATED,
        convergence_threshold: Any = DEPRECATED,
    ) -> None:
        super().__init__(
            gamma, max_iter, tol, prior, verbose, preprocessor, random_state,
            convergence_threshold,
        )  # fmt: skip
        self.n_constraints = n_constraints  # type: ignore[assignment]
        self.num_constraints = num_constraints

    def fit(  # type: ignore[override]
        self, X: ArrayLike, y: ArrayLike, bounds: ArrayLike | None = None
    ) -> Self:
        """Learn from points, or their indices, and labels."""
        fitted: Self = self._fit_labels(X, y, bounds=_pair(bounds))
        return fitted


def _pair(bounds: ArrayLike | None) -> tuple[float, float] | None:
    if bounds is None:
        return None
    values: FloatArray = np.ravel(np.asarray(bounds, dtype=float))
    low, high = values
    return float(low), float(high)
