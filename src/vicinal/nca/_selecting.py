"""The metrics that choose their start and penalty themselves, with alpha="auto"."""

from abc import abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from vicinal._typing import FloatArray
from vicinal.nca._fit import GradientFittedMetric
from vicinal.nca._model_selection import (
    MANY_ROWS,
    MOST_FEATURES,
    Selected,
    reduced_start,
    safe_choice,
    select,
    strongest,
)
from vicinal.nca._trials import Trial
from vicinal.objectives.minibatch import sample_indices

# Points that differ by less need maps whose squares overflow.
_SMALLEST = 1e-140


class SelectingMetric(GradientFittedMetric):
    """Base of the metrics that try starts and penalties on rows held out.

    `data` is whatever kind of rows the metric learns from.
    """

    @abstractmethod
    def _trials(self, data: Any) -> list[Trial[Any]]:
        """Return rows to learn from with judges; none where rows are too few."""

    @abstractmethod
    def _candidates(self, data: Any) -> dict[str, FloatArray]:
        """Return the starts to try, by name, each at the scale that suits it."""

    def _select(self, data: Any) -> Selected | None:
        """Return the start and penalty that predict best; None where alpha is given."""
        if self.alpha:
            _check_size(data.X)
        if self.alpha != "auto":
            return None
        if self._is_warm(data.X) and hasattr(self, "alpha_"):
            # The map has seen the rows that would judge it.
            return self._resumed()
        return self._try_out(data)

    def _try_out(self, data: Any) -> Selected:
        """Return the start and penalty that predict rows held out best."""
        bounds = self.max_iter, self.tol

        def starts_of(trial: Trial[Any]) -> dict[str, FloatArray]:
            starts = self._candidates(trial.data)
            if self._reduces(data.X):
                full = clone(self).set_params(n_components=None)
                best = select([trial], lambda one: full._candidates(one.data), *bounds)
                starts["reduced"] = reduced_start(best, trial, self.n_components)
            return starts

        trials = self._trials(data)
        if not trials:
            return safe_choice(self._candidates(data))
        return select(trials, starts_of, *bounds, self._say)

    def _selected_start(self, data: Any, selected: Selected) -> FloatArray:
        """Return the map to go on from.

        A start that is kept as it is, is made again from all rows, or many of them.
        """
        made = selected.init not in ("warm", "reduced", "given")
        if not (made and np.isinf(selected.alpha)):
            return selected.components
        many = sample_indices(np.random.default_rng(0), len(data.X), MANY_ROWS)
        made_again = self._candidates(data.subproblem(many))
        return made_again.get(selected.init, selected.components)

    def _resumed(self) -> Selected:
        """Return the penalty of the last fit, to go on from its map with it."""
        A, alpha = self.components_, self.alpha_
        return Selected("warm", strongest(A) if np.isinf(alpha) else alpha, A, np.nan)

    def _reduces(self, X: FloatArray) -> bool:
        """Return whether a map of full rank can help to find one of low rank."""
        return (
            not issparse(X)
            and isinstance(self.n_components, Integral)
            and int(self.n_components) < X.shape[1] <= MOST_FEATURES
            and isinstance(self.init, str)
            and self.init == "auto"
            and not self._is_warm(X)
        )


def _check_size(X: FloatArray) -> None:
    """Raise an error where the penalty of a map for these points would overflow."""
    least, most = X.min(axis=0), X.max(axis=0)
    if issparse(X):
        least, most = least.toarray(), most.toarray()
    spread = np.max(most / 2 - least / 2, initial=0)
    if 0 < spread < _SMALLEST:
        raise ValueError(
            f"X varies by {spread:.0e} only, and squares of the entries of its map "
            "would overflow. Scale the data, for instance with StandardScaler."
        )
