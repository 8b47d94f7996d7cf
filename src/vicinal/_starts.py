"""Where a climb begins: the initial maps (thesis, section 3.3.2)."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from vicinal._typing import FloatArray, IntArray

STARTS = ("auto", "pca", "lda", "identity", "random")


def starting_map(
    init: str | ArrayLike,
    X: FloatArray,
    codes: IntArray,
    n_components: int | None,
    random_state: RandomState,
) -> FloatArray:
    """Return the map to start from.

    Parameters
    ----------
    init : str or array-like of shape (n_components, n_features)
        A name in `STARTS`, or the map itself.
    X : ndarray of shape (n_samples, n_features)
        The points.
    codes : ndarray of shape (n_samples,)
        Their classes, as integers from 0.
    n_components : int or None
        The rows that the map shall have; None is as many as `init` has, or else the
        number of features.
    random_state : RandomState
        For "random", and for the randomised PCA of large data.

    Returns
    -------
    ndarray of shape (n_components, n_features)
    """
    if not isinstance(init, str):
        return _given(init, X.shape[1], n_components)
    if n_components is not None and n_components > X.shape[1]:
        raise ValueError(
            f"n_components={n_components} is more than the {X.shape[1]} features of "
            "X; choose at most that, or None for all."
        )
    d = n_components or X.shape[1]
    if init == "auto":
        init = _chosen(X, codes, d)
    if init == "identity":
        return np.eye(d, X.shape[1])
    if init == "random":
        return random_state.standard_normal(size=(d, X.shape[1]))
    return _principal(X, d, random_state) if init == "pca" else _lda(X, codes, d)


def _given(init: ArrayLike, n_features: int, n_components: int | None) -> FloatArray:
    components: Any = check_array(init, dtype=np.float64, input_name="init", copy=True)
    if components.shape[1] != n_features:
        raise ValueError(
            f"init has {components.shape[1]} columns, but X has {n_features} features."
        )
    if components.shape[0] > n_features:
        raise ValueError(
            f"init has {components.shape[0]} rows, more than the {n_features} features "
            "of X."
        )
    if n_components is not None and n_components != components.shape[0]:
        raise ValueError(
            f"init has {components.shape[0]} rows, but n_components={n_components}."
        )
    return components


def _chosen(X: FloatArray, codes: IntArray, d: int) -> str:
    """Choose as scikit-learn's NCA does, except where its choice could not be fitted.

    LDA needs more points than classes; without that, labels say nothing.
    """
    n, n_features = X.shape
    n_classes = codes.max() + 1
    if d <= min(n_features, n_classes - 1) and n > n_classes:
        return "lda"
    return "pca" if d < min(n_features, n) else "identity"


def _moderate(X: FloatArray) -> tuple[FloatArray, float]:
    """Return the points, and the unit they are in: not 1 where squares would overflow.

    Ordinary data are returned as they are, so that the start is scikit-learn's.
    """
    largest = float(np.abs(X).max())
    if largest == 0 or 1e-10 < largest < 1e10:
        return X, 1.0
    return X / np.float64(largest), largest


def _principal(X: FloatArray, d: int, random_state: RandomState) -> FloatArray:
    from sklearn.decomposition import PCA

    pca = PCA(d, random_state=random_state)
    # Rows that are all equal explain 0/0 of the variance, which nobody asks for here.
    with np.errstate(divide="ignore", invalid="ignore"):
        components: FloatArray = pca.fit(_moderate(X)[0]).components_
    return components


def _lda(X: FloatArray, codes: IntArray, d: int) -> FloatArray:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    n_classes = codes.max() + 1
    if d > n_classes - 1:
        raise ValueError(
            f"init='lda' gives at most n_classes - 1 = {n_classes - 1} components, "
            f"fewer than the {d} asked for; lower n_components, or use init='pca'."
        )
    points, unit = _moderate(X)
    scalings = LinearDiscriminantAnalysis().fit(points, codes).scalings_.T[:d] / unit
    if len(scalings) < d:  # classes whose means coincide
        missing = d - len(scalings)
        scalings = np.vstack([scalings, np.zeros((missing, X.shape[1]))])
    components: FloatArray = scalings
    return components
