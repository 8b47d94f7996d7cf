"""Initial maps (thesis, section 3.3.2)."""

import warnings
from functools import partial
from typing import Any

import numpy as np
import sklearn
from numpy.random import RandomState
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import (
    Spread,
    covariance,
    discriminant_rows,
    filled,
    mean,
    relevant_components,
    spread,
    unit_of,
    within_class_residuals,
)
from vicinal.base.selection import checked_n_components

FROM_THE_DATA = ("auto", "pca", "lda", "rca", "whiten")
STARTS = (*FROM_THE_DATA, "identity", "random")
SPARSE_STARTS = ("auto", "pca", "identity", "random")
# Factor by which the map is stretched along the direction of a linear fit.
_STRETCH = 10.0
# With more rows and more features than this, PCA is scikit-learn's randomized solver.
_MOST_EXACT = 2000


def initial_components(
    init: str | ArrayLike,
    X: FloatArray,
    codes: IntArray | None,
    n_components: int | None,
    random_state: RandomState,
    n_threads: int = 1,
    unit: float = 1.0,
) -> FloatArray:
    """Return the initial map.

    Parameters
    ----------
    init : str or array-like of shape (n_components, n_features)
        A name in `STARTS`, or the map itself.
    X : ndarray of shape (n_samples, n_features)
        The points.
    codes : ndarray of shape (n_samples,) or None
        Class codes from 0; None if there are no classes. "lda" and "rca" require
        them.
    n_components : int or None
        Number of rows of the map; None is the number of rows of `init`, or the number
        of features.
    random_state : RandomState
        Random numbers for "random", and for the randomized PCA of large data.
    n_threads : int, default=1
        Number of threads; the result is bitwise identical for any number.
    unit : float, default=1.0
        Unit of the map's entries. "auto" multiplies starts of a fixed size by it.

    Returns
    -------
    ndarray of shape (n_components, n_features)
    """
    if not isinstance(init, str):
        return _given(init, X.shape[1], n_components)
    d = checked_n_components(
        n_components, X.shape[1], f"the {X.shape[1]} features of X"
    )
    if issparse(X):
        first = sparse_start(init, X, d, random_state)
        return unit * first if init == "auto" else first
    if init == "auto":
        return _auto(X, codes, d, random_state, n_threads, unit)
    if init == "identity":
        return np.eye(d, X.shape[1])
    if init == "random":
        return random_state.standard_normal(size=(d, X.shape[1]))
    if init == "pca":
        return _pca(X, d, random_state, n_threads)
    if init == "whiten":
        return _whiten(X, d, n_threads)
    if codes is None:
        raise ValueError(f"init={init!r} needs classes; use 'pca' or 'whiten' here.")
    start = _lda if init == "lda" else relevant_components
    return start(X, codes, d, n_threads=n_threads)


def candidate_starts(
    init: str | ArrayLike,
    X: FloatArray,
    codes: IntArray | None,
    n_components: int | None,
    random_state: RandomState,
    targets: FloatArray | None = None,
    weights: FloatArray | None = None,
    n_threads: int = 1,
) -> dict[str, FloatArray]:
    """Return the starts, by name, that "auto" compares by their predictions.

    Parameters
    ----------
    init, X, codes, n_components, random_state
        As for `initial_components`; if `init` is not "auto", it is the only start.
    targets : ndarray of shape (n_samples,) or None, default=None
        Targets of a regression, if there are no classes.
    weights : ndarray of shape (n_samples,) or None, default=None
        Number of points that each row represents; None is one.
    n_threads : int, default=1
        As for `initial_components`.

    Returns
    -------
    dict of str to ndarray of shape (n_components, n_features)
    """
    made = partial(initial_components, random_state=random_state, n_threads=n_threads)
    if not isinstance(init, str) or init != "auto":
        name = init if isinstance(init, str) else "given"
        return {name: made(init, X, codes, n_components)}
    n, n_features = X.shape
    d = checked_n_components(
        n_components, n_features, f"the {n_features} features of X"
    )
    plain = "pca" if d < min(n_features, n) else "identity"
    starts = {plain: made(plain, X, codes, d)}
    if codes is not None and not issparse(X):
        # With few rows per feature, their covariance is mostly noise.
        n_points = n if weights is None else float(weights.sum())
        shrinkage = float(np.clip(n_features / n_points, 1e-3, 1.0))
        starts["rca"] = relevant_components(X, codes, d, shrinkage, weights, n_threads)
    if targets is not None:
        starts["linear"] = _linear(X, targets, starts[plain], weights, n_threads)
    return starts


def diagonal_start(
    init: str | ArrayLike, X: FloatArray, unit: float = 1.0
) -> FloatArray:
    """Return the diagonal of the initial map.

    Parameters
    ----------
    init : str or array-like of shape (n_features,)
        "auto", "identity", "whiten", or the diagonal itself.
    X : ndarray of shape (n_samples, n_features)
        The points.
    unit : float, default=1.0
        As for `initial_components`.
    """
    n_features = X.shape[1]
    if isinstance(init, str):
        if init in ("auto", "identity"):
            return np.ones(n_features) * (unit if init == "auto" else 1.0)
        if init == "whiten":
            deviation = X.std(axis=0, dtype=np.float64)
            return 1 / np.where(deviation > 0, deviation, 1.0)
        raise ValueError(
            f"init={init!r} mixes features; with form='diagonal' use 'auto', "
            "'identity', 'whiten' or an array of shape (n_features,)."
        )
    given = np.asarray(init, dtype=np.float64)
    if given.shape != (n_features,) or not np.isfinite(given).all():
        raise ValueError(
            f"With form='diagonal' init must be {n_features} finite numbers, got "
            f"an array of shape {given.shape}."
        )
    return given


def candidate_diagonals(init: str | ArrayLike, X: FloatArray) -> dict[str, FloatArray]:
    """Return the diagonals, by name, that "auto" compares by their predictions."""
    if not isinstance(init, str):
        return {"given": diagonal_start(init, X)}
    names = ("identity", "whiten") if init == "auto" else (init,)
    return {name: diagonal_start(name, X) for name in names}


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


def _auto(
    X: FloatArray,
    codes: IntArray | None,
    d: int,
    random_state: RandomState,
    n_threads: int,
    unit: float,
) -> FloatArray:
    """Choose as scikit-learn's NCA does, unless that start cannot be computed.

    LDA needs more points than classes, and variance within a class. In scikit-learn,
    the size of PCA's rows and of the identity is fixed; here it follows the unit of X.
    """
    n, n_features = X.shape
    n_classes = 0 if codes is None else codes.max() + 1
    if codes is not None and d <= min(n_features, n_classes - 1) and n > n_classes:
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        lda = LinearDiscriminantAnalysis(n_components=d)
        # In the unit of the data, since the rank is determined by absolute tolerances.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # collinear features
            try:
                rows: FloatArray = lda.fit(X * X.dtype.type(unit), codes).scalings_.T
            except (ValueError, IndexError, np.linalg.LinAlgError):
                rows = np.empty((0, n_features))
        if (
            len(rows) >= d
            and np.isfinite(rows[:d]).all()
            and rows[:d].any(axis=1).all()
        ):
            return unit * rows[:d].astype(np.float64)
    if d < min(n_features, n):
        return unit * _pca(X, d, random_state, n_threads)
    return unit * np.eye(d, n_features)


def _pca(
    X: FloatArray, d: int, random_state: RandomState, n_threads: int
) -> FloatArray:
    """Return the leading eigenvectors of S (eq. 3.15), with scikit-learn's signs."""
    # Scale by a power of two, which is exact, so that squares neither overflow nor
    # underflow.
    points = X / unit_of(X)
    n, n_features = X.shape
    if min(n, n_features) > _MOST_EXACT:
        from sklearn.decomposition import PCA

        pca = PCA(d, random_state=random_state)
        # If all rows are equal, the explained variance ratio is 0/0.
        with np.errstate(divide="ignore", invalid="ignore"):
            components: FloatArray = pca.fit(points).components_
        return components
    if n < n_features:
        centered = points - mean(points)
        rows = np.linalg.svd(centered, full_matrices=n < d)[2][:d]
    else:
        C, units = covariance(points, n_threads=n_threads)
        C *= np.multiply.outer(units, units)
        span = (n_features - d, n_features - 1)
        rows = eigh(C, subset_by_index=span, overwrite_a=True)[1].T[::-1]
    largest = rows[np.arange(d), np.abs(rows).argmax(axis=1)]
    return rows * np.where(largest < 0, -1.0, 1.0)[:, None]


def _lda(X: FloatArray, codes: IntArray, d: int, n_threads: int = 1) -> FloatArray:
    """Return the LDA directions of eq. 3.16 and 3.17 of the thesis, of unit length.

    Each class has the same weight in the scatter between classes. Beyond the number of
    classes minus one, the rows are directions within the classes, in descending order
    of variance.
    """
    within = _within(X, codes, n_threads)
    rows = discriminant_rows(X, codes, within, d, class_weight="equal")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def _within(X: FloatArray, codes: IntArray, n_threads: int) -> Spread:
    within = spread(X, codes, n_threads=n_threads)
    if not len(within.variances):
        raise ValueError(
            "init='lda' finds no direction: no class has points that differ; use "
            "init='pca' or 'identity'."
        )
    return within


def _whiten(X: FloatArray, d: int, n_threads: int = 1) -> FloatArray:
    """Return S^(−1/2), or at low rank the principal components, of unit variance."""
    total = spread(X, n_threads=n_threads)
    if d == X.shape[1]:
        return total.inverse_root()
    return filled(total.whitening().T[::-1][:d], d)


def _linear(
    X: FloatArray,
    targets: FloatArray,
    start: FloatArray,
    weights: FloatArray | None = None,
    n_threads: int = 1,
) -> FloatArray:
    """Return a start, stretched along the direction of a ridge regression of y.

    At low rank, that direction replaces the last row.
    """
    n_points = len(X) if weights is None else float(weights.sum())
    residuals = within_class_residuals(X, None, weights)
    total = spread(X, None, weights, n_threads)
    axes = total.axes / total.units[:, None]  # coordinates with the given variances
    centered = within_class_residuals(targets[:, None], None, weights)[:, 0]
    slopes = (residuals @ axes).T @ centered / len(X)
    direction = axes @ (slopes / (total.variances + X.shape[1] / n_points))
    size = np.linalg.norm(start @ direction)
    norm = np.linalg.norm(direction)
    if not (size > 0 and norm > 0):
        return start
    direction = direction / norm
    if len(start) == X.shape[1]:
        stretch = _STRETCH - 1
        return start + stretch * np.outer(start @ direction, direction)
    row = _STRETCH * np.linalg.norm(start[0]) * direction
    return np.vstack([start[:-1], row])


def check_sparse_settings(estimator: Any, X: Any) -> None:
    """Raise an error, before any work, if a setting would make sparse X dense."""
    if not issparse(X):
        return
    n, n_features = X.shape
    if estimator.form == "diagonal":
        raise ValueError(
            "form='diagonal' would make sparse X dense; use form='full' with a small "
            "n_components, or X.toarray()."
        )
    init = estimator.init
    if isinstance(init, str) and init not in SPARSE_STARTS:
        raise ValueError(
            f"init={init!r} would make sparse X dense; use one of "
            f"{', '.join(map(repr, SPARSE_STARTS))}, or an array."
        )
    d = estimator.n_components
    rows = n_features if d is None or isinstance(d, str) else d
    needed = 8 * rows * (n + n_features) / 2**20
    allowed = sklearn.get_config()["working_memory"]
    if needed > allowed:
        raise ValueError(
            f"n_components={d!r} on sparse X of {n} rows and {n_features} features "
            f"would need {needed:.0f} MiB for mapped points and map, more than "
            f"scikit-learn's working_memory ({allowed} MiB). Give a smaller "
            "n_components."
        )


def pca_of_sparse(X: Any, d: int, random_state: RandomState) -> FloatArray:
    """Return the d leading principal directions, with implicit centering of X."""
    from sklearn.decomposition import PCA

    pca = PCA(d, svd_solver="arpack", random_state=random_state)
    with np.errstate(divide="ignore", invalid="ignore"):
        components: FloatArray = pca.fit(csr_array(X)).components_
    return components


def sparse_start(
    init: str, X: Any, n_components: int, random_state: RandomState
) -> FloatArray:
    """Return the initial map; "auto" is "pca" if that reduces the dimension."""
    n, n_features = X.shape
    if init == "random":
        return random_state.standard_normal(size=(n_components, n_features))
    # Lanczos cannot find all directions.
    if init != "identity" and n_components < min(n, n_features):
        return pca_of_sparse(X, n_components, random_state)
    return np.eye(n_components, n_features)
