"""Regression by soft neighbours under a neural map."""

from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FloatArray
from vicinal.nca import NCARegressor
from vicinal.neural._base import NeuralEstimator, Targets
from vicinal.neural._partial_fit import PartialFitMixin


class NeuralNCARegressor(RegressorMixin, PartialFitMixin, NeuralEstimator):
    """Regressor by the mean of soft neighbours under a neural map.

    The prediction is Σ_j p_j y_j with p_j ∝ exp(−‖z − z_j‖ / T) over all training rows,
    where z is what a network makes of a row. The network is trained to predict each row
    of a step by others: it minimises their squared error, as
    :class:`vicinal.NCARegressor` does for a linear map.

    Parameters
    ----------
    n_components, embedding, n_frequencies, embedding_size, frequency_scale, \
categorical_features, categories, scale, n_blocks, hidden_size, dropout, module, \
distance, batch_size, n_references, learning_rate, weight_decay, max_iter, \
early_stopping, validation_fraction, n_iter_no_change, n_estimators, linear_vote, \
calibrate, warm_start, device, callback, verbose, random_state, n_jobs
        As for :class:`NeuralNCAClassifier`; rows held out are judged by their squared
        error, and the linear map that votes is :class:`vicinal.NCARegressor`'s.

    Attributes
    ----------
    networks_, temperatures_, linear_share_, effective_neighbors_, n_iter_, \
objective_curve_, n_features_in_, feature_names_in_
        As for :class:`NeuralNCAClassifier`.
    validation_scores_ : ndarray of shape (n_epochs,)
        Minus the mean squared error of the first network's rows held out, in units of
        y's variance, after each epoch.

    See Also
    --------
    vicinal.NCARegressor : A linear map, without PyTorch.
    vicinal.neural.NeuralNCAClassifier : The same for classes.

    Notes
    -----
    Cost: as of :class:`vicinal.neural.NeuralNCAClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.neural import NeuralNCARegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(600, 3))
    >>> y = np.sin(4 * X[:, 0]) + X[:, 1]
    >>> model = NeuralNCARegressor(random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.9)
    True
    """

    _objective: ClassVar[str] = "squared-error"
    _linear_kind: ClassVar[Any] = NCARegressor
    _linear_by_default: ClassVar[bool] = True

    def _read_targets(
        self,
        y: NDArray[Any],
        settled: dict[str, Any] | None = None,
        weights: FloatArray | None = None,
    ) -> Targets:
        """Return targets in units of their deviation, or in those that are settled."""
        y = y.astype(np.float64)
        if settled is not None:
            middle, unit = settled["_middle"], settled["_unit"]
        else:
            middle = float(np.average(y, weights=weights))
            spread = float(np.sqrt(np.average((y - middle) ** 2, weights=weights)))
            if not np.isfinite(spread):
                raise ValueError(
                    "y has values too large to compute with: their squares overflow. "
                    "Scale the targets."
                )
            unit = spread if spread > 0 else 1.0
        scaled = torch.from_numpy(((y - middle) / unit).astype(np.float32))
        return Targets(scaled, 0, {"_middle": middle, "_unit": unit})

    def predict(self, X: Any) -> FloatArray:
        """Return the mean target of each row's soft neighbours.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            New rows. A training row counts itself among its neighbours.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows = self._encoded(X)
        means = self._votes(rows)[:, 0].cpu().numpy().astype(np.float64)
        return self._middle + self._unit * means

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from a further piece of the data, in one epoch over it.

        Its rows become neighbours, too. Scales and categories are those of the first
        piece.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets.

        Returns
        -------
        self
        """
        settled = None
        if hasattr(self, "_members"):
            settled = {"_middle": self._middle, "_unit": self._unit}
        return self._learn_piece(X, y, settled)
