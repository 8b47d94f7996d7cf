"""metric-learn's module `scml`: from triplets, and from labels."""

from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from vicinal import classic
from vicinal.compat.metric_learn._shared import MetricLearnNames, check_tuples


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
        check_tuples(triplets, self.preprocessor, "triplets", 3)
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
