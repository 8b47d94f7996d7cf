"""What an estimator that has learned a density can do with it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.metric import validate_data, warn_caller
from vicinal.neighborhood import effective_n_threads

# Beyond this, thresholds are set by a random part of the training points.
N_FOR_THRESHOLDS = 20_000


@dataclass
class KnownScores:
    """What was computed of a fitted density when it was first asked for."""

    leave_one_out: FloatArray | None = None
    offset: float | None = None


class DensityMixin(OutlierMixin):
    """Log-densities, samples, modes, and what is improbable enough for an outlier.

    An estimator that has this stores its density in `_density`, which offers
    `log_density`, `leave_one_out`, `sample` and `modes`, and an empty `KnownScores`
    beside it: `predict` may fill that, but must leave the estimator as it is.
    """

    _density: Any
    _known: KnownScores
    contamination: float | str
    _contamination: float | str
    n_jobs: int | None

    def __dir__(self) -> list[str]:
        """List the attributes; of many points, not those that are still to compute.

        scikit-learn asks for the value of each attribute before it lists it, to
        complete a name or to draw the estimator: neither should wait for all pairs.
        """
        if not hasattr(self, "_density") or len(self._density.U) <= N_FOR_THRESHOLDS:
            return list(super().__dir__())
        known = {
            "loo_score_samples_": self._known.leave_one_out is not None,
            "offset_": self._known.offset is not None,
        }
        names = [name for name in object.__dir__(self) if known.get(name, True)]
        return [name for name in names if hasattr(self, name)]

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Return the log-density of each point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points. The average over kernels runs over all training points, so that a
            training point counts itself; `loo_score_samples_` does not.

        Returns
        -------
        ndarray of shape (n_samples,)
            float64.
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=FLOATS)
        return self._density.log_density(points, effective_n_threads(self.n_jobs))

    def score(self, X: ArrayLike, y: None = None) -> float:  # noqa: ARG002
        """Return the mean log-density of the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        y : None
            Ignored.

        Returns
        -------
        float
            In nats.
        """
        return float(self.score_samples(X).mean())

    @property
    def loo_score_samples_(self) -> FloatArray:
        """Log-density of each training point, learned from the others; float64.

        It is computed when first asked for.
        """
        check_is_fitted(self)
        known = self._known
        if known.leave_one_out is None:
            n_threads = effective_n_threads(self.n_jobs)
            known.leave_one_out = self._density.leave_one_out(n_threads)
        return known.leave_one_out

    @property
    def offset_(self) -> float:
        """The log-density below which a point is an outlier.

        It is computed when first asked for. With contamination="auto" it is for new
        points: the lower quartile of `loo_score_samples_` less 1.5 times the distance
        between the quartiles. Otherwise it is for the training points: the quantile
        of their `score_samples`. Of many training points, a random part is looked at.
        """
        check_is_fitted(self)
        if self._known.offset is None:
            self._known.offset = self._threshold()
        return self._known.offset

    def sample(
        self,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> FloatArray:
        """Draw new points from the density.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, RandomState or None, default=None
            Seed.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
        return self._density.sample(n_samples, check_random_state(random_state))

    def modes(
        self,
        X: ArrayLike,
        *,
        width: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-4,
    ) -> FloatArray:
        """Return the mode of the density that each point ascends to: mean shift.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Where to start.
        width : float, default=1.0
            The kernels are taken this many times as wide as they were learned. What is
            best for a density has more modes than what is best for clusters.
        max_iter : int, default=500
            Steps at most.
        tol : float, default=1e-4
            A point has arrived when a step is shorter than this, in kernel widths.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=FLOATS)
        if not width > 0:
            raise ValueError(f"width must be above 0, got {width}.")
        found, n_steps = self._shift(points, width, max_iter, tol)
        if n_steps > max_iter:
            warn_caller(
                f"Some points have not reached a mode in {max_iter} steps; raise "
                "max_iter, tol or width.",
                ConvergenceWarning,
            )
        return found

    def _shift(
        self, points: FloatArray, width: float, max_iter: int, tol: float
    ) -> tuple[FloatArray, int]:
        """Return the modes, and the steps to there: max_iter + 1 when it takes more."""
        n_threads = effective_n_threads(self.n_jobs)
        found, n_steps = self._density.modes(points, width, max_iter, tol, n_threads)
        return found.astype(points.dtype, copy=False), n_steps

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the log-density above the threshold: negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,)
            `score_samples` less `offset_`.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return −1 for outliers and 1 for the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _threshold(self) -> float:
        density, n_threads = self._density, effective_n_threads(self.n_jobs)
        U, rows = density.U, None
        if len(U) > N_FOR_THRESHOLDS:
            rng = np.random.RandomState(0)
            rows = rng.choice(len(U), N_FOR_THRESHOLDS // 10, replace=False)
        if isinstance(self._contamination, str):
            if rows is None:
                scores = self.loo_score_samples_
            else:
                scores = density.leave_one_out(n_threads, rows)
            lower, upper = np.percentile(scores, [25, 75])
            return float(lower - 1.5 * (upper - lower))
        scores = density.log_density_of(U if rows is None else U[rows], n_threads)
        return float(np.percentile(scores, 100 * self._contamination))
