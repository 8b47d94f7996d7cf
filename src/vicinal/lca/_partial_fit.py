"""Points that come one part after the other: `partial_fit` of LCA and LCA-Gauss."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from vicinal._typing import FLOATS
from vicinal.lca._data import ScaledData
from vicinal.lca._e_step import Kernel
from vicinal.lca._fit import ParzenMetric
from vicinal.lca._scaling import Scaler
from vicinal.neighborhood import single_threaded_blas


class StreamedParzenMetric(ParzenMetric):
    """A density that more points can be added to."""

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:
        """Add points to the density, and update the metric by them (eq. 7).

        The new points are the locations, `batch_size` of them in an update, and
        `n_references` random points among all so far their neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points; at least two in the first call.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_partial()
        first = not hasattr(self, "components_")
        with self._unchanged_on_error(), single_threaded_blas():
            points = validate_data(
                self, X, dtype=FLOATS, reset=first, ensure_min_samples=1 + first
            )
            if first:
                units = Scaler.of(points, self._alike(points.shape[1]))
                U = units.transform(points)
            else:
                units = self._density.units
                U = np.concatenate([self._density.U, units.transform(points)])
            problem = ScaledData.build(units, U, self.n_jobs, (X, y))
            kernel = self._add(problem, len(points), first)
        self._warn_if_floored(kernel.n_floored)
        return self

    def _add(self, problem: ScaledData, n_new: int, first: bool) -> Kernel:
        """Let the last n_new points pass as locations, and keep what comes of it."""
        regs = {f"{name}_": float(getattr(self, name)) for name in self._regs}
        model = self._model(problem, regs)
        n = len(problem.U)
        sampling = self._batches(problem)
        if first:
            kernel, C, _ = self._start(problem, model)
            weight = sampling.weight_of_start(n)
        else:
            kernel, C = self._density.kernel, self._local_scatter
            weight = self._weight
        rng = check_random_state(self.random_state)
        new = rng.permutation(np.arange(n - n_new, n))
        kernel, C, weight = sampling.update(
            model, problem.U, kernel, C, weight, new, rng, problem.n_threads
        )
        self._store(problem, kernel, C, regs, weight)
        self.n_iter_ = 1 if first else self.n_iter_ + 1
        return kernel

    def _check_partial(self) -> None:
        for name in self._regs:
            if getattr(self, name) == "cv":
                raise ValueError(
                    f"partial_fit cannot choose {name}: set it to a number."
                )
