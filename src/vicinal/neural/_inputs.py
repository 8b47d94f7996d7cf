"""Tables as the neural estimators are given them: arrays of numbers, data frames."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import (
    assert_all_finite,
    check_array,
    check_consistent_length,
    column_or_1d,
)
from sklearn.utils.validation import _check_sample_weight

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.metric import validate_data
from vicinal.neural._columns import (
    ColumnEncoder,
    Columns,
    EncodedRows,
    categorical_columns,
    is_frame,
    is_missing,
)


class TableInput:
    """Validation of rows and labels."""

    categorical_features: str | Sequence[Any] | None
    _encoder: ColumnEncoder

    def _validated(
        self,
        X: Any,
        y: ArrayLike,
        reset: bool = True,
        categorical: list[int] | None = None,
    ) -> tuple[Columns, NDArray[Any]]:
        """Return the columns, not yet scaled, and the labels.

        Without `reset`, columns must be as before; `categorical` ones may be named.
        """
        numeric = isinstance(self, RegressorMixin)
        _refuse_missing_labels(y)
        if self._is_mixed(X):
            _refuse_empty(X)
            validate_data(self, X, skip_check_array=True, reset=reset)
            labels = column_or_1d(y, warn=True)
            if numeric:
                labels = check_array(labels, ensure_2d=False, dtype=np.float64)
            elif labels.dtype.kind == "f":
                assert_all_finite(labels, input_name="y")
            check_consistent_length(X, labels)
            table = X
        else:
            table, labels = validate_data(
                self,
                X,
                y,
                dtype=FLOATS,
                ensure_all_finite="allow-nan",
                ensure_min_samples=2 if reset else 1,
                y_numeric=numeric,
                reset=reset,
            )
        if reset and len(labels) < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 rows, got 1.")
        if categorical is None:
            categorical = self._categorical(table, reset)
        return Columns.of(table, categorical), labels

    def _encoded(self, X: Any) -> EncodedRows:
        """Return new rows as the networks take them, in X's type."""
        if self._is_mixed(X):
            _refuse_empty(X)
            validate_data(self, X, skip_check_array=True, reset=False)
            table = X
        else:
            table = validate_data(
                self, X, dtype=FLOATS, ensure_all_finite="allow-nan", reset=False
            )
        columns = Columns.of(table, self._encoder.categorical)
        return self._encoder.transform(columns, columns.numbers.dtype)

    def _is_mixed(self, X: Any) -> bool:
        """Return whether X may hold text, and so is no array of numbers."""
        return is_frame(X) or (
            not isinstance(self.categorical_features, str | None)
            and getattr(getattr(X, "dtype", None), "kind", "") == "O"
        )

    def _categorical(self, X: Any, reset: bool) -> list[int]:
        if not reset:
            return self._encoder.categorical
        return categorical_columns(X, self.categorical_features)


def _refuse_empty(X: Any) -> None:
    n_rows, n_columns = X.shape
    if not n_rows or not n_columns:
        raise ValueError(
            f"X has {n_rows} row(s) and {n_columns} column(s), where at least one of "
            "each is needed."
        )


def _refuse_missing_labels(y: Any) -> None:
    """Raise a ValueError where labels that are no floats are missing."""
    listed = isinstance(y, (list, tuple))
    labels = np.asarray(y, dtype=object) if listed else np.asarray(y)
    if y is None or labels.dtype.kind != "O" or labels.ndim != 1:
        return  # the rest is checked as scikit-learn does
    if any(is_missing(label) for label in labels):
        raise ValueError(
            "y contains missing values (NaN or None). Leave these rows out."
        )


def checked_weights(given: ArrayLike | None, rows: NDArray[Any]) -> FloatArray | None:
    """Return the rows' weights, 1 on average; None where all are the same.

    A weight too small for float32 beside the largest is 0.
    """
    if given is None:
        return None
    weights: FloatArray = _check_sample_weight(
        given, rows, dtype=np.float64, ensure_non_negative=True
    )
    weights = weights / max(float(weights.max()), np.finfo(np.float64).tiny)
    weights[weights < np.finfo(np.float32).tiny] = 0
    if np.count_nonzero(weights) < 2:
        raise ValueError("Fewer than two rows have a weight above 0.")
    if (weights == weights[0]).all():
        return None
    average: FloatArray = weights / weights[weights > 0].mean()
    return average


def checked_device(name: str) -> Any:
    """Return a device that is there, or say that it is not."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(
            f"device={name!r} was asked for, but this PyTorch has no such device here "
            f"({str(error).splitlines()[0]}). Use device='cpu'."
        ) from error
    return device
