"""metric-learn's estimators that learn from triplets and quadruplets."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from vicinal import classic
from vicinal.compat.metric_learn._shared import (
    DEPRECATED,
    MetricLearnNames,
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
        _check_tuples(quadruplets, self.preprocessor, "quadruplets", 4)
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


class SCML(MetricLearnNames, classic.SCML):
    """`vicinal.classic.SCML` with metric-learn's parameters.

    Parameters
    ----------
    beta, n_basis, verbose, preprocessor, random_state
        As for :class:`vicinal.classic.SCML`; n_basis of None is "auto".
    basis : "triplet_diffs", "lda" or array-like, default="triplet_diffs"
        Directions that are found, or given.
    gamma, max_iter, output_iter, batch_size
        Without effect: no stochastic steps are taken.

    See Also
    --------
    vicinal.classic.SCML : The same in vicinal's own names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> triplets = metric_learn.Constraints(y).generate_knntriplets(X, 2, 2)
    >>> model = metric_learn.SCML(random_state=0).fit(X[triplets])
    >>> model.get_mahalanobis_matrix().shape
    (4, 4)
    """

    _strict: ClassVar[bool] = False
    n_near, n_far, tol = 3, 10, 1e-6

    def __init__(
        self,
        beta: float = 1e-5,
        basis: str | ArrayLike = "triplet_diffs",
        n_basis: int | None = None,
        gamma: float = 5e-3,
        max_iter: int = 10_000,
        output_iter: int = 500,
        batch_size: int = 10,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.beta = beta
        self.basis = basis
        self.n_basis = n_basis  # type: ignore[assignment]
        self.gamma = gamma
        self.max_iter = max_iter
        self.output_iter = output_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, triplets: ArrayLike) -> Self:
        """Learn from triplets."""
        _check_tuples(triplets, self.preprocessor, "triplets", 3)
        with self._as_ours(**self._translated()):
            return super().fit(triplets, None)

    def _translated(self) -> dict[str, Any]:
        self._ignored(gamma=5e-3, max_iter=10_000, output_iter=500, batch_size=10)
        return {
            "basis": "auto" if isinstance(self.basis, str) else self.basis,
            "n_basis": "auto" if self.n_basis is None else self.n_basis,
            "max_iter": 500,
        }


class SCML_Supervised(SCML):  # noqa: N801
    """SCML from labels.

    Parameters
    ----------
    k_genuine, k_impostor : int, default=3 and 10
        How many nearest of its own class and of others each point has.
    beta, basis, n_basis, gamma, max_iter, output_iter, batch_size, verbose, \
preprocessor, random_state
        As for `SCML`.

    See Also
    --------
    vicinal.classic.SCML : Takes labels, too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.SCML_Supervised(random_state=0).fit(X, y)
    >>> model.get_mahalanobis_matrix().shape
    (4, 4)
    """

    def __init__(
        self,
        k_genuine: int = 3,
        k_impostor: int = 10,
        beta: float = 1e-5,
        basis: str | ArrayLike = "lda",
        n_basis: int | None = None,
        gamma: float = 5e-3,
        max_iter: int = 10_000,
        output_iter: int = 500,
        batch_size: int = 10,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            beta, basis, n_basis, gamma, max_iter, output_iter, batch_size, verbose,
            preprocessor, random_state,
        )  # fmt: skip
        self.k_genuine = k_genuine
        self.k_impostor = k_impostor

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Learn from points, or their indices, and labels."""
        near = {"n_near": self.k_genuine, "n_far": self.k_impostor}
        ours = {**self._translated(), **near, "preprocessor": None}
        points, y = self._known(X, y)
        with self._as_ours(**ours):
            return classic.SCML.fit(self, points, y)


def _check_tuples(X: Any, preprocessor: Any, name: str, size: int) -> None:
    """Raise ValueError for a table of points, which would be read as such."""
    if np.ndim(X) != 3 and preprocessor is None:
        raise ValueError(
            f"Expected {name}, an array of shape (n_{name}, {size}, n_features), or "
            f"with a preprocessor of indices; got shape {np.shape(X)}."
        )
