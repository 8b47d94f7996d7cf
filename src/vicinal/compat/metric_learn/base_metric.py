"""Base class of the estimators with metric-learn's names and parameters."""

from inspect import Parameter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FloatArray
from vicinal.base.metric import LinearMetric, init_of, warn_caller
from vicinal.classic.tuples import n_dimensions

__all__ = ["BaseMetricLearner", "MahalanobisMixin", "MetricTransformer"]

Parameters = dict[str, Any]
DEPRECATED = "deprecated"
# Old names of parameters, which metric-learn 0.7 still accepts.
RENAMED = {
    "convergence_threshold": "tol",
    "k": "n_neighbors",
    "num_chunks": "n_chunks",
    "num_constraints": "n_constraints",
}
# metric-learn's most frequent default of each parameter, if it is not None.
DEFAULTS: Parameters = {
    **dict.fromkeys(RENAMED, DEPRECATED),
    "balance_param": 0.5,
    "batch_size": 10,
    "beta": 1e-5,
    "chunk_size": 2,
    "convergence_tol": 1e-3,
    "diagonal": False,
    "diagonal_c": 1.0,
    "embedding_type": "weighted",
    "gamma": 1.0,
    "init": "auto",
    "k_genuine": 3,
    "k_impostor": 10,
    "learn_rate": 1e-7,
    "max_iter": 1000,
    "max_proj": 10_000,
    "min_iter": 50,
    "n_chunks": 100,
    "n_neighbors": 3,
    "output_iter": 500,
    "prior": "identity",
    "regularization": 0.5,
    "sparsity_param": 0.01,
    "tol": 1e-3,
    "verbose": False,
}
TUPLE_SIZES = {"pairs": 2, "triplets": 3, "quadruplets": 4}


def _delegated(name: str, doc: str, *kinds: str) -> Any:
    """Return a method that calls `estimator_`, for learners from the given tuples."""

    def method(self: "BaseMetricLearner", *args: Any, **kwargs: Any) -> Any:
        check_is_fitted(self)
        result = getattr(self.estimator_, name)(*args, **kwargs)
        return self if result is self.estimator_ else result

    method.__name__, method.__doc__ = name, doc
    return available_if(lambda self: self._learns_from in kinds)(method)


class BaseMetricLearner(LinearMetric):
    """metric-learn's interface to an estimator of vicinal.

    A subclass is a row of a table: an estimator of vicinal, metric-learn's parameters
    and their translation. `fit` fits the estimator and keeps it in `estimator_`, from
    where the other fitted attributes are read.

    Parameters of a subclass
    ------------------------
    parameters : str
        The names of metric-learn's parameters in their order. Those that `ours` has,
        too, are passed on.
    learns_from : {"labels", "points", "chunks", "pairs", "triplets", "quadruplets"}
        The type of training data.
    like : type or None
        Another subclass, whose settings below are the defaults.
    ours : type
        The estimator of vicinal.
    defaults : dict
        Defaults of the parameters, if they differ from `DEFAULTS` and None.
    translate : callable
        Maps the parameters in use to further parameters of `ours`.
    ignored : str
        Parameters without effect. Other values than the default cause a warning.
    """

    _settings: ClassVar[Parameters] = {
        "defaults": DEFAULTS,
        "translate": lambda _: {},
        "ignored": "",
    }
    _defaults: ClassVar[Parameters]
    _learns_from: ClassVar[str] = "labels"
    _warned: ClassVar[set[tuple[str, str]]] = set()
    preprocessor: Any
    estimator_: Any

    __init__ = init_of(
        [Parameter("preprocessor", Parameter.POSITIONAL_OR_KEYWORD, default=None)]
    )

    def __init_subclass__(
        cls,
        *,
        parameters: str = "",
        learns_from: str = "labels",
        like: "type[BaseMetricLearner] | None" = None,
        **settings: Any,
    ) -> None:
        super().__init_subclass__()
        if not parameters:  # a user's subclass
            return
        known = (like or BaseMetricLearner)._settings
        defaults = known["defaults"] | settings.get("defaults", {})
        cls._settings = known | settings | {"defaults": defaults}
        cls._learns_from = learns_from
        cls._accept_sparse = getattr(cls._settings["ours"], "_accept_sparse", False)
        cls._defaults = {name: defaults.get(name) for name in parameters.split()}
        cls.__init__ = init_of(  # type: ignore[misc]
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=value)
            for name, value in cls._defaults.items()
        )

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from points, or their indices, and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            The points, or with `preprocessor` their indices.
        y : array-like of shape (n_samples,)
            The labels. Classes whose name ends in `_Supervised` leave out negative
            ones, which stand for unknown labels.

        Returns
        -------
        self
        """
        return self._fit_labels(X, y)

    def __getattr__(self, name: str) -> Any:
        """Read fitted attributes from `estimator_`."""
        if name[-1] == "_" and name[0] != "_" and "estimator_" in vars(self):
            return getattr(self.estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}.")

    def _fit(
        self, X: Any, y: Any = None, fit_params: Parameters | None = None, **more: Any
    ) -> Self:
        """Fit the estimator of vicinal with translated and more parameters."""
        kind, given = self._settings["ours"], self._given_parameters()
        defaults = kind().get_params(deep=False)
        if given.get("n_constraints", 0) is None:
            given["n_constraints"] = 20 * len(np.unique(np.asarray(y))) ** 2
        ours = {
            name: value
            for name, value in given.items()
            if name in defaults and value is not None
        }
        if self._defaults.get("tol") is not None:  # vicinal measures it otherwise
            ours["tol"] = min(given["tol"], defaults["tol"])
        if "n_constraints" in ours and kind._tuple_size == 2:
            ours["n_constraints"] *= 2  # metric-learn counts the pairs of each kind
        if "prior" in ours:
            ours["prior"] = self._prior(X, **given)
        estimator = kind(**(ours | self._settings["translate"](given) | more))
        estimator._strict = False  # metric-learn accepts contradictory tuples
        self.estimator_ = estimator.fit(X, y, **(fit_params or {}))
        if given.get("diagonal"):  # metric-learn scales a diagonal M otherwise
            components = self.estimator_.components_
            components *= components.dtype.type(np.sqrt(self.diagonal_c / 2))
        return self

    def _fit_labels(self, X: Any, y: Any, **more: Any) -> Self:
        """Fit to points and labels. Those who draw tuples leave out negative labels."""
        points, labels = self._points(X), np.asarray(y)
        if hasattr(self._settings["ours"], "preprocessor"):
            self._check_points(points)
            more["preprocessor"] = None
            known = labels >= 0 if labels.dtype.kind in "if" else np.array(True)
            if not known.all():
                points, y = np.asarray(points)[known], labels[known]
        return self._fit(points, y, **more)

    def _fit_tuples(
        self, tuples: Any, y: Any = None, calibration: Any = None, **more: Any
    ) -> Self:
        """Fit to tuples of points, or with `preprocessor` of indices."""
        kind = self._learns_from
        if n_dimensions(tuples) != 3 and self.preprocessor is None:
            raise ValueError(
                f"Expected {kind}, an array of shape (n_{kind}, {TUPLE_SIZES[kind]}, "
                "n_features), or with a preprocessor of indices; got shape "
                f"{np.asarray(tuples).shape}."
            )
        self._fit(tuples, y, **more)
        if kind == "pairs":
            self.calibrate_threshold(tuples, y, **(calibration or {}))
        return self

    def _given_parameters(self) -> Parameters:
        """Return the parameters by their new names; warn about those without effect."""
        given = self.get_params(deep=False)
        for old in [name for name in given if self._defaults.get(name) == DEPRECATED]:
            value = given.pop(old)
            if value != DEPRECATED:
                warn_renamed(old)
                given[RENAMED[old]] = value
        for name in self._settings["ignored"].split():
            default = self._defaults[name]
            value = given.pop(name, default)  # a user's subclass may lack it
            same = value is default or (np.ndim(value) == 0 and value == default)
            key = (type(self).__name__, name)
            if not same and key not in self._warned:
                self._warned.add(key)
                warn_caller(
                    f"{key[0]}({name}=…) has no effect in vicinal; see "
                    "docs/migration-metric-learn.md."
                )
        return given

    def _points(self, X: Any) -> Any:
        """Return the points of X, which may hold indices for the preprocessor."""
        if self.preprocessor is None or n_dimensions(X) != 1:
            return X
        if callable(self.preprocessor):
            return self.preprocessor(np.asarray(X))
        return np.asarray(self.preprocessor)[np.asarray(X)]

    def _check_points(self, points: Any) -> None:
        """Raise ValueError if tuples are given instead of points."""
        if n_dimensions(points) == 3:
            name, shape = type(self).__name__, np.asarray(points).shape
            raise ValueError(
                f"{name} learns from points and labels; got shape {shape}. "
                f"{name.removesuffix('_Supervised')} learns from tuples."
            )

    def _prior(self, X: Any, prior: Any, random_state: Any, **_: Any) -> Any:
        """Return a prior for vicinal: "random" becomes a random matrix."""
        if not isinstance(prior, str) or prior in ("identity", "covariance"):
            return prior
        if prior != "random":
            raise ValueError(
                "prior must be 'identity', 'covariance', 'random' or a matrix; got "
                f"{prior!r}."
            )
        from sklearn.datasets import make_spd_matrix  # slow to import

        indices = self._learns_from in TUPLE_SIZES and n_dimensions(X) == 2
        points = self._points(np.ravel(X)[:1]) if indices else np.asarray(X)
        n_features = points.shape[-1]
        return make_spd_matrix(
            n_features, random_state=check_random_state(random_state)
        )

    def transform(self, X: ArrayLike) -> FloatArray:
        """Map the points, or with `preprocessor` the points of indices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            The points, or their indices.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return super().transform(self._points(X))

    def pair_distance(self, pairs: ArrayLike) -> FloatArray:
        """Return the learned distance of each pair of points, or of their indices.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            The pairs.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        if self.preprocessor is not None and n_dimensions(pairs) == 2:
            pairs = np.stack([self._points(part) for part in np.asarray(pairs).T], 1)
        return super().pair_distance(pairs)

    def score_pairs(self, pairs: ArrayLike) -> FloatArray:
        """Return distances, as `pair_distance` does; deprecated by metric-learn.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            The pairs.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        warn_caller(
            "score_pairs is deprecated; use pair_score for similarities, or "
            "pair_distance for distances.",
            FutureWarning,
        )
        return self.pair_distance(pairs)

    predict = _delegated("predict", "Return 1 or -1 for each tuple.", *TUPLE_SIZES)
    decision_function = _delegated(
        "decision_function", "Return the score of each tuple.", *TUPLE_SIZES
    )
    score = _delegated("score", "Return the quality of predictions.", *TUPLE_SIZES)
    set_threshold = _delegated(
        "set_threshold", "Set the largest distance of similar pairs.", "pairs"
    )

    @available_if(lambda self: self._learns_from == "pairs")
    def calibrate_threshold(
        self,
        pairs_valid: ArrayLike,
        y_valid: ArrayLike,
        strategy: str = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Self:
        """Set the threshold that is best on pairs.

        Parameters
        ----------
        pairs_valid, y_valid, strategy, min_rate, beta
            As for `calibrate_threshold` of :class:`vicinal.classic.ITML`.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.estimator_.calibrate_threshold(
            pairs_valid, y_valid, strategy, min_rate=min_rate, beta=beta
        )
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._learns_from in ("chunks", "labels", "pairs")
        if self._learns_from == "pairs":  # scikit-learn then stratifies folds
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


def warn_renamed(old: str) -> None:
    """Warn about the old name of a parameter."""
    warn_caller(f"{old!r} has been renamed to {RENAMED[old]!r}.", FutureWarning)


MahalanobisMixin = MetricTransformer = BaseMetricLearner
