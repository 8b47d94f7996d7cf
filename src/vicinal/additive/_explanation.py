"""Explanations of predictions: the neighbors that vote, and why they are near."""

from typing import Any, NamedTuple

from vicinal._typing import FloatArray, IntArray


class NeighborExplanation(NamedTuple):
    """Training rows that determine predictions, and the columns that make them near.

    Attributes
    ----------
    rows : ndarray of int of shape (n_samples, n_neighbors)
        Positions of training rows, by decreasing weight.
    weights : ndarray of shape (n_samples, n_neighbors)
        Their shares of the vote; over all training rows, they sum to 1.
    distances : ndarray of shape (n_samples, n_neighbors)
        Their distances, the mean over the maps.
    shares : ndarray of shape (n_samples, n_neighbors, n_features)
        Share of each column in the distance; they sum to the distance. With Δ_c the
        difference of f_c and Δ their sum, the share is ⟨Δ_c, Δ⟩ / ‖Δ‖, the Shapley
        value of column c in ‖Δ‖², divided by ‖Δ‖. It is negative if the column brings
        the rows nearer to each other.

    See Also
    --------
    vicinal.TableNCAClassifier : Its `explain` returns one.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import TableNCAClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> model = TableNCAClassifier(random_state=0).fit(X, X[:, 0] > 0)
    >>> found = model.explain(X[:1], n_neighbors=2)
    >>> bool(np.allclose(found.shares.sum(axis=2), found.distances))
    True
    """

    rows: IntArray
    weights: FloatArray
    distances: FloatArray
    shares: FloatArray


class ShapeFunction(NamedTuple):
    """The learned curve of a column, f_c.

    Attributes
    ----------
    name : str
        The column.
    values : list
        Numbers in ascending order, or categories; None is a missing value.
    points : ndarray of shape (n_values, n_dimensions)
        f_c of each value.

    See Also
    --------
    vicinal.plotting.ShapeDisplay : Draws the curves.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import TableNCAClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> model = TableNCAClassifier(8, random_state=0).fit(X, X[:, 0] > 0)
    >>> [curve.name for curve in model.shape_functions()]
    ['x0', 'x1', 'x2']
    """

    name: str
    values: list[Any]
    points: FloatArray
