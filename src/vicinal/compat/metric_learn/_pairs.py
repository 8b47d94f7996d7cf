"""metric-learn's estimators that learn from pairs, and their forms for labels."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import ClassifierTags

from vicinal import classic
from vicinal._typing import FloatArray
from vicinal.base.pair_classifier import PairClassifier
from vicinal.compat.metric_learn._shared import (
    DEPRECATED,
    MetricLearnNames,
    n_pairs_of,
)


class _Pairs(MetricLearnNames):
    """A fit to pairs, with metric-learn's calibration of the threshold."""

    _strict: ClassVar[bool] = False

    def _fit_pairs(
        self, pairs: Any, y: Any, calibration: dict[str, Any] | None, **more: Any
    ) -> Self:
        given = np.asarray(pairs)
        if given.ndim != 3 and self.preprocessor is None:
            raise ValueError(
                "Expected pairs, an array of shape (n_pairs, 2, n_features), or with a "
                f"preprocessor of indices; got shape {given.shape}."
            )
        with self._as_ours(**self._translated(self._tuple_width(pairs)), **more):
            super().fit(pairs, y)  # type: ignore[misc]
        if calibration:
            self.calibrate_threshold(pairs, y, **calibration)  # type: ignore[attr-defined]
        return self

    def _translated(self, n_features: int) -> dict[str, Any]:
        """Return our estimator's parameters."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        # Known before the fit, as this name learns from nothing else: scikit-learn then
        # draws folds with pairs of both kinds.
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


class _FromLabels:
    """A fit to points, or their indices, and labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type, tags.classifier_tags = "transformer", None
        return tags

    def _fit_labels(self: Any, X: Any, y: Any, **more: Any) -> Any:
        points, y = self._known(X, y)
        n = n_pairs_of(self._renamed("num_constraints", "n_constraints"), y)
        ours = {
            **self._translated(int(np.shape(points)[1])),
            "n_constraints": 2 * n,
            **more,
        }
        with self._as_ours(**ours, preprocessor=None):
            PairClassifier.fit(self, points, y)
        return self


class ITML(_Pairs, classic.ITML):
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


class ITML_Supervised(_FromLabels, ITML):  # noqa: N801
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


class MMC(_Pairs, classic.MMC):
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
    reg = 1.0
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


class MMC_Supervised(_FromLabels, MMC):  # noqa: N801
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


class SDML(_Pairs, classic.SDML):
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


class SDML_Supervised(_FromLabels, SDML):  # noqa: N801
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


def _pair(bounds: ArrayLike | None) -> tuple[float, float] | None:
    if bounds is None:
        return None
    values: FloatArray = np.ravel(np.asarray(bounds, dtype=float))
    low, high = values
    return float(low), float(high)
