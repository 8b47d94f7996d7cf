"""The base of the estimators on Dask: the client, lazy results, the local estimator."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, ClassVar, Self

import dask.dataframe
import numpy as np
from dask import delayed
from numpy.typing import ArrayLike
from pandas import DataFrame
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from vicinal.base.metric import unchanged_on_error, validate_data
from vicinal.dask._chunks import Chunks, check_whole_rows, find_chunks, is_collection
from vicinal.dask._tasks import tasks_of
from vicinal.neighborhood import single_threaded_blas


class DaskMixin:
    """Mix-in of estimators that learn from chunks of rows.

    They have the fitted attributes of the local estimator; see `to_local`.
    """

    _local: ClassVar[type[BaseEstimator]]
    """The class of the local estimator."""
    client: Any

    def to_local(self) -> Any:
        """Return the fitted local estimator, which does not need Dask.

        Returns
        -------
        estimator
            Of the class of the same name in `vicinal`. It can be saved, pickled and
            used if Dask is not installed.
        """
        check_is_fitted(self)
        return self._as_local()

    def _as_local(self, kind: Any = None) -> Any:
        """Return a local estimator with the same parameters and other attributes."""
        local = (kind or self._local)()
        known = set(local.get_params(deep=False))
        ours = self.get_params(deep=False)  # type: ignore[attr-defined]
        local.set_params(**{name: ours[name] for name in known & set(ours)})
        vars(local).update({k: v for k, v in vars(self).items() if k not in ours})
        if hasattr(local, "_sklearn_output_config"):  # set_output changes it in place
            local._sklearn_output_config = dict(local._sklearn_output_config)
        return local

    def _adopt(self, local: Any) -> None:
        """Take over the attributes of a local estimator that are not parameters."""
        theirs = local.get_params(deep=False)
        ours = self.get_params(deep=False)  # type: ignore[attr-defined]
        for name in set(vars(self)) - set(ours) - set(vars(local)):
            delattr(self, name)
        vars(self).update({k: v for k, v in vars(local).items() if k not in theirs})

    def transform(self, X: ArrayLike) -> Any:
        """Map the points so that the learned distance is the Euclidean distance.

        Parameters
        ----------
        X : dask array or data frame, or array-like, of shape (n_samples, n_features)
            The points.

        Returns
        -------
        dask array or ndarray of shape (n_samples, n_components)
            X Aᵀ, float32 if X is; of a Dask collection lazily, chunk by chunk.
        """
        check_is_fitted(self)
        d = self._n_features_out  # type: ignore[attr-defined]
        return self._apply("transform", X, n_columns=d)

    @contextmanager
    def _fitting(
        self, X: Any, y: Any = None, *, labeled: bool = True, kind: Any = None
    ) -> Iterator[tuple[Any, Chunks]]:
        """Check the data, and take over the local estimator that is fitted meanwhile.

        Yields
        ------
        local : estimator
            Of the class `kind`; None is `_local`.
        chunks : Chunks
            The data.
        """
        with unchanged_on_error(self), single_threaded_blas():
            chunks = find_chunks(tasks_of(self.client), X, y, labeled=labeled)
            # Two rows stand for all: they have the same features and range of values.
            rows = np.stack([chunks.low, chunks.high])
            named = chunks.names is not None
            validate_data(self, DataFrame(rows, None, chunks.names) if named else rows)
            local = self._as_local(kind)
            try:
                yield local, chunks
            except KeyboardInterrupt:  # with warm_start, the map so far was kept
                self._adopt(local)
                raise
            self._adopt(local)

    def _apply(
        self, method: str, X: Any, n_columns: int | None = None, dtype: Any = None
    ) -> Any:
        """Call a method of the local estimator, lazily on each chunk of a collection.

        Parameters
        ----------
        method : str
            Its name.
        X : dask array or data frame, or array-like
            The points.
        n_columns : int or None, default=None
            Number of columns of the result; None if it has one dimension.
        dtype : dtype or None, default=None
            Of the result; None is float32 if X is, else float64.
        """
        model = self.to_local()
        if not is_collection(X):
            return getattr(model, method)(X)
        if isinstance(X, dask.dataframe.DataFrame):
            names = getattr(self, "feature_names_in_", None)
            if names is not None and list(X.columns) != list(names):
                raise ValueError(
                    "The columns of X must be those of fit, in that order: "
                    f"X[{list(names)[:5]}{' + …' if len(names) > 5 else ''}]."
                )
            X = X.to_dask_array()
        if X.ndim != 2 or X.shape[1] != model.n_features_in_:
            raise ValueError(
                f"X has shape {X.shape}, but {type(self).__name__} is expecting "
                f"{model.n_features_in_} features as input."
            )
        check_whole_rows(X)
        if dtype is None:
            dtype = np.dtype("f4" if X.dtype == np.float32 else "f8")
        shape: dict[str, Any] = {"drop_axis": 1, "meta": np.empty(0, dtype)}
        if n_columns is not None:
            meta = np.empty((0, n_columns), dtype)
            shape = {"chunks": (X.chunks[0], (n_columns,)), "meta": meta}
        # Names were compared above, and chunks of a Dask array are arrays.
        model.set_output(transform="default")
        vars(model).pop("feature_names_in_", None)
        return X.map_blocks(
            _apply, model=delayed(model), method=method, empty=shape["meta"], **shape
        )

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy with the same client, which cannot be copied."""
        cloned: Self = BaseEstimator.__sklearn_clone__(copy(self))
        cloned.client = self.client
        return cloned

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        return {**state, "client": None}  # a connection belongs to its process


def _apply(rows: Any, model: Any, method: str, empty: Any) -> Any:
    """Call a method on a chunk, which may have no rows."""
    if not len(rows):
        return empty
    return getattr(copy(model), method)(np.asarray(rows))
