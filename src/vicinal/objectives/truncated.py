"""NCA's objectives with the inner sums truncated to the nearest neighbours."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import (
    ClassRuns,
    ExpectedMatches,
    Rule,
    WeightedPairs,
    laplacian_product,
)
from vicinal.neighborhood.knn_graph import (
    NearestLists,
    probabilities,
    pull_nearest,
    sorted_masses,
)
from vicinal.objectives.base import sample_indices
from vicinal.objectives.nca import NCAObjective

TOLERATED = 1e-3
"""How much of the p_ij "auto" may leave out, on average."""
# Points at which the lost mass is measured, and the pairs that this may take.
_SAMPLE, _PAIRS = 128, 2**24
# Shorter lists save nothing; from this part of the points on, none do.
_MIN_LENGTH, _WORTHWHILE = 16, 0.25
# Nor do lists that take half a gigabyte.
_MAX_LISTED = 2**24


class TruncatedNCA(NCAObjective):
    """NCA's objectives with sums over the nearest neighbours under a recent map.

    p_ij falls off so fast that few neighbours hold nearly all of it (NCA, section 4).
    The lists are fixed until the next `refresh`; between two of those the objective is
    smooth. Before the first, sums run over all points.

    Parameters
    ----------
    X, y, kind
        As for `NCAObjective`.
    n_neighbors : int or "auto", default="auto"
        How many nearest to keep in each sum; "auto" is as many as it takes to lose at
        most `TOLERATED` of the p_ij. Where lists would not pay, sums stay whole.
    seed : int, default=0
        Draws the points at which the lost mass is measured.
    **how
        As for `NCAObjective`.

    See Also
    --------
    vicinal.objectives.NCAObjective : Sums over all points.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import TruncatedNCA
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 3)), rng.integers(2, size=100)
    >>> objective = TruncatedNCA(X, y, n_neighbors=10)
    >>> value, gradient = objective.value_and_gradient(np.eye(3))
    >>> gradient.shape
    (3, 3)
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        kind: str = "expected",
        *,
        n_neighbors: int | str = "auto",
        seed: int = 0,
        **how: Any,
    ) -> None:
        super().__init__(X, y, kind, **how)
        self._n_neighbors = n_neighbors
        size = max(1, min(_SAMPLE, _PAIRS // self.n_rows))
        self._sample = sample_indices(np.random.default_rng(seed), self.n_rows, size)
        self._lists: NearestLists | None = None

    @property
    def n_neighbors(self) -> int:
        """How many neighbours each point's sums now run over."""
        if self._lists is None:
            return self.n_rows - 1
        return self._lists.columns.shape[1] - 1

    @property
    def may_truncate(self) -> bool:
        """Whether lists would leave out any point."""
        k, n = self._n_neighbors, self.n_rows
        return isinstance(k, str) or (k < n - 1 and n * k <= _MAX_LISTED)

    @property
    def lists_too_long(self) -> bool:
        """Whether a given n_neighbors is ignored because lists would be too long."""
        k, n = self._n_neighbors, self.n_rows
        return not isinstance(k, str) and k < n - 1 and n * k > _MAX_LISTED

    @property
    def list_lifetime(self) -> int:
        """Iterations that lists may last; "auto" checks by itself when they age."""
        return 10**9 if isinstance(self._n_neighbors, str) else 10

    def refresh(self, components: ArrayLike) -> None:
        """List each point's nearest neighbours under this map."""
        Z = self._projected(self._checked(components))[self._order]
        n, k = self.n_rows, self._n_neighbors
        if isinstance(k, str):
            masses = self._masses(Z.dtype)
            held = sorted_masses(Z, masses, self._sample, self._n_threads)
            # Lists age as the map moves: they start twice as long as they need be.
            k = 2 * max(_MIN_LENGTH, int(np.searchsorted(held, 1 - TOLERATED / 2)) + 1)
            k = n if k > _WORTHWHILE * n else k
        self._lists = None
        if k < n - 1 and n * k <= _MAX_LISTED:
            classes = ClassRuns.from_sorted(self._codes)
            self._lists = NearestLists.find(Z, classes, k, self._n_threads)

    def is_stale(self, components: ArrayLike) -> bool:
        """Return whether "auto" should search for neighbours anew at this map."""
        return self._n_neighbors == "auto" and self.lost_mass(components) > TOLERATED

    def lost_mass(self, components: ArrayLike) -> float:
        """Return how much of the p_ij the lists miss at this map, on average."""
        if self._lists is None:
            return 0.0
        Z = self._projected(self._checked(components))[self._order]
        p = probabilities(Z, self._masses(Z.dtype), self._sample)
        np.put_along_axis(p, self._lists.columns[self._sample], 0, axis=1)
        return float(p.sum(axis=1, dtype=np.float64).mean())

    def _pull(
        self, Z: FloatArray, rule: Rule, queries: IntArray | None
    ) -> WeightedPairs:
        if self._lists is None or queries is not None:
            return laplacian_product(Z, rule, self._n_threads, queries)
        assert isinstance(rule, ExpectedMatches)  # noqa: S101  what NCA's kinds are
        return pull_nearest(Z, rule, self._lists, self._n_threads)
