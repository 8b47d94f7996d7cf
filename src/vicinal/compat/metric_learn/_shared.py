"""What all of metric-learn's estimators have, and how parameters are translated."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from vicinal._typing import FloatArray
from vicinal.base.callers import warn_caller

DEPRECATED = "deprecated"
# What a tolerance of None is.
TOL = 1e-5
_warned: set[tuple[str, str]] = set()


class MetricLearnNames:
    """Mixin of the estimators with metric-learn's names.

    What `preprocessor` means for points: an array of indices stands for its rows.
    """

    preprocessor: Any

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
        return super().transform(self._given_points(X))  # type: ignore[misc]

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
        if self.preprocessor is not None and np.ndim(pairs) == 2:
            first, second = (self._given_points(one) for one in np.asarray(pairs).T)
            pairs = np.stack([first, second], axis=1)
        return super().pair_distance(pairs)  # type: ignore[misc]

    def _known(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return points and labels without those whose label is negative: unknown."""
        points, labels = self._given_points(X), np.asarray(y)
        self._check_points(points)
        if labels.ndim != 1 or labels.dtype.kind not in "if" or not (labels < 0).any():
            return points, y
        return np.asarray(points)[labels >= 0], labels[labels >= 0]

    def _check_points(self, points: Any) -> None:
        """Raise ValueError where there are tuples in the place of points."""
        if np.ndim(points) == 3:
            name = type(self).__name__
            weak = name.removesuffix("_Supervised")
            raise ValueError(
                f"{name} learns from points of shape (n_samples, n_features) and their "
                f"labels; got shape {np.shape(points)}. {weak} learns from tuples."
            )

    def _given_points(self, X: Any) -> Any:
        """Return points, where X may be indices that the preprocessor knows."""
        if self.preprocessor is None or np.ndim(X) != 1:
            return X
        if callable(self.preprocessor):
            return self.preprocessor(np.asarray(X))
        return np.asarray(self.preprocessor)[np.asarray(X)]

    @contextmanager
    def _as_ours(self, **parameters: Any) -> Iterator[None]:
        """Have parameters of our estimator, as long as it is fitted."""
        own = vars(self)
        before = {name: own[name] for name in parameters if name in own}
        own.update(parameters)
        try:
            yield
        finally:
            for name in parameters:
                own.pop(name, None)
            own.update(before)

    def _ignored(self, **defaults: Any) -> None:
        """Warn once of each parameter that is not at its default and does nothing."""
        for name, default in defaults.items():
            value = getattr(self, name)
            same = value is default or (np.ndim(value) == 0 and value == default)
            key = (type(self).__name__, name)
            if same or key in _warned:
                continue
            _warned.add(key)
            warn_caller(
                f"{key[0]}({name}=…) has no effect in vicinal; see "
                "docs/migration-metric-learn.md."
            )

    def _renamed(self, old: str, new: str) -> Any:
        """Return a parameter, by its old name where that was given."""
        value = getattr(self, old)
        if isinstance(value, str) and value == DEPRECATED:
            return getattr(self, new)
        warn_caller(f"{old!r} has been renamed to {new!r}.", FutureWarning)
        return value

    def _known_prior(self, prior: Any, n_features: int, seed: Any) -> Any:
        """Return a prior that we know: "random" is a random matrix."""
        if isinstance(prior, str) and prior == "random":
            from sklearn.datasets import make_spd_matrix

            return make_spd_matrix(n_features, random_state=check_random_state(seed))
        if isinstance(prior, str) and prior not in ("identity", "covariance"):
            raise ValueError(
                f"prior must be 'identity', 'covariance', 'random' or a matrix; got "
                f"{prior!r}."
            )
        return prior

    def _tuple_width(self, X: Any) -> int:
        """Return how many features the points of tuples have."""
        if np.ndim(X) == 3:
            return int(np.shape(X)[2])
        if callable(self.preprocessor):
            return int(np.shape(self.preprocessor(np.ravel(X)[:1]))[1])
        return int(np.shape(self.preprocessor)[1])


def n_pairs_of(n_constraints: int | None, y: ArrayLike) -> int:
    """Return how many pairs metric-learn draws of one class, and of two."""
    if n_constraints is not None:
        return n_constraints
    return int(20 * len(np.unique(np.asarray(y))) ** 2)


def check_tuples(X: Any, preprocessor: Any, name: str, size: int) -> None:
    """Raise ValueError for a table of points, which would be read as such."""
    if np.ndim(X) != 3 and preprocessor is None:
        raise ValueError(
            f"Expected {name}, an array of shape (n_{name}, {size}, n_features), or "
            f"with a preprocessor of indices; got shape {np.shape(X)}."
        )
