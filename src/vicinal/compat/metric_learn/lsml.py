"""metric-learn's module `lsml`: from quadruplets, and from labels."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from vicinal import classic
from vicinal.compat.metric_learn._shared import (
    DEPRECATED,
    MetricLearnNames,
    check_tuples,
    n_pairs_of,
)


class LSML(MetricLearnNames, classic.LSML):
    """`vicinal.classic.LSML` with metric-learn's parameters.

    Parameters
    ----------
    tol : float, default=1e-3
        Values above 1e-6 stand for 1e-6, which is another measure here.
    max_iter, prior, verbose, preprocessor, random_state
        As for :class:`vicinal.classic.LSML`; a prior may be "random".

    See Also
    --------
    vicinal.classic.LSML : The same in vicinal's own names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> constraints = metric_learn.Constraints(y)
    >>> a, b, c, d = constraints.positive_negative_pairs(50, random_state=0)
    >>> quadruplets = X[np.column_stack([a, b, c, d])]
    >>> metric_learn.LSML().fit(quadruplets).get_mahalanobis_matrix().shape
    (4, 4)
    """

    _strict: ClassVar[bool] = False
    gamma = 1.0
    n_constraints = "auto"

    def __init__(
        self,
        tol: float = 1e-3,
        max_iter: int = 1000,
        prior: str | ArrayLike = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.prior = prior
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, quadruplets: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Learn from quadruplets."""
        check_tuples(quadruplets, self.preprocessor, "quadruplets", 4)
        with self._as_ours(**self._translated(self._tuple_width(quadruplets))):
            return super().fit(quadruplets, None, weights)

    def _translated(self, n_features: int) -> dict[str, Any]:
        prior = self._known_prior(self.prior, n_features, self.random_state)
        return {"tol": min(self.tol, 1e-6), "prior": prior}


class LSML_Supervised(LSML):  # noqa: N801
    """LSML from labels.

    Parameters
    ----------
    tol, max_iter, prior, verbose, preprocessor, random_state
        As for `LSML`.
    n_constraints : int or None, default=None
        Quadruplets; None is 20 times the squared number of classes.
    weights : array-like of shape (n_constraints,) or None, default=None
        Without effect: the quadruplets are drawn by chance.
    num_constraints : int
        The old name of n_constraints.

    See Also
    --------
    vicinal.classic.LSML : Takes labels, too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.LSML_Supervised(n_constraints=50, random_state=0)
    >>> model.fit(X, y).get_mahalanobis_matrix().shape
    (4, 4)
    """

    def __init__(
        self,
        tol: float = 1e-3,
        max_iter: int = 1000,
        prior: str | ArrayLike = "identity",
        n_constraints: int | None = None,
        weights: ArrayLike | None = None,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        num_constraints: Any = DEPRECATED,
    ) -> None:
        super().__init__(tol, max_iter, prior, verbose, preprocessor, random_state)
        self.n_constraints = n_constraints  # type: ignore[assignment]
        self.weights = weights
        self.num_constraints = num_constraints

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Learn from points, or their indices, and labels."""
        self._ignored(weights=None)
        points, y = self._known(X, y)
        n = n_pairs_of(self._renamed("num_constraints", "n_constraints"), y)
        ours = {
            **self._translated(int(np.shape(points)[1])),
            "n_constraints": n,
            "preprocessor": None,
        }
        with self._as_ours(**ours):
            return classic.LSML.fit(self, points, y)
