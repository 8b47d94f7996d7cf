"""What a linear map is made of: the share of each feature, and its main directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from vicinal._typing import FloatArray

__all__ = ["Directions", "directions", "feature_shares"]


@dataclass(frozen=True, eq=False)
class Directions:
    """The first singular directions of a map.

    Attributes
    ----------
    shares : ndarray of shape (n_directions,)
        What part of the map's squared size lies in each.
    loadings : ndarray of shape (n_directions, n_features)
        Unit vectors; the largest entry of each is positive, since the sign of a
        direction means nothing.
    """

    shares: FloatArray
    loadings: FloatArray


def feature_shares(components: FloatArray) -> FloatArray:
    """Return how much of a map A each feature has: ‖A e_j‖² / ‖A‖².

    Between rows whose features vary independently and by one unit each, it is the part
    of the expected squared distance that comes from feature j.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        The map A, in units in which features can be compared.

    Returns
    -------
    ndarray of shape (n_features,)
        They sum to one; all zero where the map is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.methods.linear_map import feature_shares
    >>> feature_shares(np.array([[3.0, 0.0], [0.0, 1.0]])).round(2).tolist()
    [0.9, 0.1]
    """
    # In units of the largest entry, so that squares neither overflow nor vanish.
    scaled = components / (np.abs(components).max(initial=0) or 1)
    squares = np.square(scaled).sum(axis=0)
    return squares / (squares.sum() or 1)


def directions(components: FloatArray, n_directions: int = 2) -> Directions:
    """Return the directions in which a map stretches most.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        The map A.
    n_directions : int, default=2
        At most how many.

    Returns
    -------
    Directions
        The first right singular vectors of A.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.methods.linear_map import directions
    >>> found = directions(np.array([[0.0, -2.0], [1.0, 0.0]]))
    >>> found.shares.round(2).tolist(), found.loadings.round(2).tolist()
    ([0.8, 0.2], [[0.0, 1.0], [1.0, 0.0]])
    """
    scaled = components / (np.abs(components).max(initial=0) or 1)
    _, sizes, rows = np.linalg.svd(scaled, full_matrices=False)
    total = np.square(sizes).sum() or 1
    kept = min(n_directions, int(np.count_nonzero(sizes)))
    rows = rows[:kept]
    largest = np.abs(rows).argmax(axis=1)
    signs = np.sign(rows[np.arange(kept), largest])
    # Adding zero makes a plain zero of −0.
    loadings = rows * signs[:, None] + 0.0
    return Directions(np.square(sizes[:kept]) / total, loadings)
