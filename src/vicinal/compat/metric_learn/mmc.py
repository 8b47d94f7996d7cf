"""metric-learn's module `mmc`: from pairs, and from labels."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from vicinal import classic
from vicinal.compat.metric_learn._pairs import LearnsFromLabels, LearnsFromPairs
from vicinal.compat.metric_learn._shared import DEPRECATED


class MMC(LearnsFromPairs, classic.MMC):
    """`vicinal.classic.MMC` with metric-learn's parameters.

    Parameters
    ----------
    max_iter, verbose, preprocessor, random_state
        As for :class:`vicinal.classic.MMC`.
    max_proj, init
        Without effect: the problem has one optimum, and is solved without projections.
    tol : float, default=1e-3
        Values above 1e-6 stand for 1e-6, which is another measure here.
    diagonal : bool, default=False
        Whether M is diagonal.
    diagonal_c : float, default=1.0
        What the diagonal's scale is: the squared distances of alike pairs sum to half.
    convergence_threshold : float
        The old name of tol.

    See Also
    --------
    vicinal.classic.MMC : The same in vicinal's own names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> constraints = metric_learn.Constraints(y)
    >>> pairs, alike = metric_learn.wrap_pairs(
    ...     X, constraints.positive_negative_pairs(50, random_state=0)
    ... )
    >>> metric_learn.MMC().fit(pairs, alike).get_mahalanobis_matrix().shape
    (4, 4)
    """

    n_constraints = "auto"
    form = "full"
    alpha = 1.0
    prior_weight = "auto"

    def __init__(
        self,
        max_iter: int = 100,
        max_proj: int = 10000,
        tol: float = 1e-3,
        init: str | ArrayLike = "identity",
        diagonal: bool = False,
        diagonal_c: float = 1.0,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        convergence_threshold: Any = DEPRECATED,
    ) -> None:
        self.max_iter = max_iter
        self.max_proj = max_proj
        self.tol = tol
        self.init = init
        self.diagonal = diagonal
        self.diagonal_c = diagonal_c
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state
        self.convergence_threshold = convergence_threshold

    def _learn_pairs(self, *given: Any, **how: Any) -> None:
        super()._learn_pairs(*given, **how)
        if self.diagonal:
            self.components_ = self.components_ * self.components_.dtype.type(
                np.sqrt(self.diagonal_c / 2)
            )

    def fit(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        calibration_params: dict[str, Any] | None = None,
    ) -> Self:
        """Learn from pairs and 1 or -1 for each; then set the threshold."""
        return self._fit_pairs(pairs, y, calibration_params)

    def _translated(self, n_features: int) -> dict[str, Any]:  # noqa: ARG002
        self._ignored(max_proj=10000, init="identity")
        tol = min(self._renamed("convergence_threshold", "tol"), 1e-6)
        return {"tol": tol, "form": "diagonal" if self.diagonal else "full"}


class MMC_Supervised(LearnsFromLabels, MMC):  # noqa: N801
    """MMC from labels.

    Parameters
    ----------
    max_iter, max_proj, tol, init, diagonal, diagonal_c, verbose, preprocessor, \
random_state
        As for `MMC`.
    n_constraints : int or None, default=None
        Pairs of one class, and of two; None is 20 times the squared number of classes.
    num_constraints, convergence_threshold
        Old names of n_constraints and tol.

    See Also
    --------
    vicinal.classic.MMC : Takes labels, too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.MMC_Supervised(n_constraints=50, random_state=0)
    >>> model.fit(X, y).get_mahalanobis_matrix().shape
    (4, 4)
    """

    def __init__(
        self,
        max_iter: int = 100,
        max_proj: int = 10000,
        tol: float = 1e-6,
        n_constraints: int | None = None,
        init: str | ArrayLike = "identity",
        diagonal: bool = False,
        diagonal_c: float = 1.0,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        num_constraints: Any = DEPRECATED,
        convergence_threshold: Any = DEPRECATED,
    ) -> None:
        super().__init__(
            max_iter, max_proj, tol, init, diagonal, diagonal_c, verbose, preprocessor,
            random_state, convergence_threshold,
        )  # fmt: skip
        self.n_constraints = n_constraints  # type: ignore[assignment]
        self.num_constraints = num_constraints

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Learn from points, or their indices, and labels."""
        fitted: Self = self._fit_labels(X, y)
        return fitted
