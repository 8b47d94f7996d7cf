"""Sparse X: what NCA does without making it dense.

The mapped points X Aᵀ are dense, with few columns; gradients are (Xᵀ L Z)ᵀ. What would
need a dense copy of X, or a map as large as one, is refused.
"""

from typing import Any

import numpy as np
import sklearn
from numpy.random import RandomState
from scipy.sparse import csr_array, issparse

from vicinal._typing import FloatArray

STARTS = ("auto", "pca", "identity", "random")


class SparseRows(csr_array):
    """Rows with a length: what is learned from rows counts them, sparse or not."""

    def __len__(self) -> int:
        return int(self.shape[0])


def as_rows(X: Any) -> Any:
    """Return sparse X with a length, and dense X as it is."""
    return SparseRows(X) if issparse(X) else X


def check_settings(estimator: Any, X: Any) -> None:
    """Raise an error where a setting would make sparse X dense, before any work."""
    if not issparse(X):
        return
    n, n_features = X.shape
    if estimator.form == "diagonal":
        raise ValueError(
            "form='diagonal' would make sparse X dense; use form='full' with a small "
            "n_components, or X.toarray()."
        )
    init = estimator.init
    if isinstance(init, str) and init not in STARTS:
        raise ValueError(
            f"init={init!r} would make sparse X dense; use one of "
            f"{', '.join(map(repr, STARTS))}, or an array."
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
    """Return the d leading principal directions, with X centred in the products."""
    from sklearn.decomposition import PCA

    pca = PCA(d, svd_solver="arpack", random_state=random_state)
    with np.errstate(divide="ignore", invalid="ignore"):
        components: FloatArray = pca.fit(csr_array(X)).components_
    return components


def sparse_start(
    init: str, X: Any, n_components: int, random_state: RandomState
) -> FloatArray:
    """Return the map to start from; "auto" is "pca" where that reduces anything."""
    n, n_features = X.shape
    if init == "random":
        return random_state.standard_normal(size=(n_components, n_features))
    # Lanczos finds fewer than all directions.
    if init != "identity" and n_components < min(n, n_features):
        return pca_of_sparse(X, n_components, random_state)
    return np.eye(n_components, n_features)


def row_keys(X: Any) -> FloatArray:
    """Return a number for each row that depends on its entries alone."""
    weights = np.random.default_rng(0).standard_normal(X.shape[1])
    keys: FloatArray = csr_array(X, dtype=np.float64) @ weights
    return keys
