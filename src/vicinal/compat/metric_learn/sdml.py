"""metric-learn's module `sdml`: from pairs, and from labels."""

from typing import Any, Self

from numpy.typing import ArrayLike

from vicinal import classic
from vicinal.compat.metric_learn._pairs import LearnsFromLabels, LearnsFromPairs
from vicinal.compat.metric_learn._shared import DEPRECATED


class SDML(LearnsFromPairs, classic.SDML):
    """`vicinal.classic.SDML` with metric-learn's parameters.

    Parameters
    ----------
    balance_param : float, default=0.5
        Without effect: half of the largest balance that has a solution is taken.
    sparsity_param : float, default=0.01
        As `sparsity` of :class:`vicinal.classic.SDML`; the default is its "auto".
    prior, preprocessor, random_state
        As for :class:`vicinal.classic.SDML`; a prior may be "random".
    verbose : bool, default=False
        Without effect.

    See Also
    --------
    vicinal.classic.SDML : The same in vicinal's own names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> constraints = metric_learn.Constraints(y)
    >>> pairs, alike = metric_learn.wrap_pairs(
    ...     X, constraints.positive_negative_pairs(50, random_state=0)
    ... )
    >>> metric_learn.SDML().fit(pairs, alike).get_mahalanobis_matrix().shape
    (4, 4)
    """

    n_constraints = "auto"
    balance = "auto"
    sparsity = "auto"
    max_iter = 100
    tol = 1e-4

    def __init__(
        self,
        balance_param: float = 0.5,
        sparsity_param: float = 0.01,
        prior: str | ArrayLike = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.balance_param = balance_param
        self.sparsity_param = sparsity_param
        self.prior = prior
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        calibration_params: dict[str, Any] | None = None,
    ) -> Self:
        """Learn from pairs and 1 or -1 for each; then set the threshold."""
        return self._fit_pairs(pairs, y, calibration_params)

    def _translated(self, n_features: int) -> dict[str, Any]:
        self._ignored(balance_param=0.5)
        usual = self.sparsity_param == 0.01
        return {
            "sparsity": "auto" if usual else self.sparsity_param,
            "prior": self._known_prior(self.prior, n_features, self.random_state),
        }


class SDML_Supervised(LearnsFromLabels, SDML):  # noqa: N801
    """SDML from labels.

    Parameters
    ----------
    balance_param, sparsity_param, prior, verbose, preprocessor, random_state
        As for `SDML`.
    n_constraints : int or None, default=None
        Pairs of one class, and of two; None is 20 times the squared number of classes.
    num_constraints : int
        The old name of n_constraints.

    See Also
    --------
    vicinal.classic.SDML : Takes labels, too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.SDML_Supervised(n_constraints=50, random_state=0)
    >>> model.fit(X, y).get_mahalanobis_matrix().shape
    (4, 4)
    """

    def __init__(
        self,
        balance_param: float = 0.5,
        sparsity_param: float = 0.01,
        prior: str | ArrayLike = "identity",
        n_constraints: int | None = None,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        num_constraints: Any = DEPRECATED,
    ) -> None:
        super().__init__(
            balance_param, sparsity_param, prior, verbose, preprocessor, random_state
        )
        self.n_constraints = n_constraints  # type: ignore[assignment]
        self.num_constraints = num_constraints

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Learn from points, or their indices, and labels."""
        fitted: Self = self._fit_labels(X, y)
        return fitted
