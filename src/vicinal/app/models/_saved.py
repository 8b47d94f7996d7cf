"""A learned metric together with the preparation of its table, applied to rows.

How it is learned is in `vicinal.app.models._learn`, how it is kept in a file in
`vicinal.app.models._safetensors`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.cells import clean
from vicinal.app.tables.names import CellError
from vicinal.app.tables.sources import is_frame, to_polars

if TYPE_CHECKING:
    from vicinal._typing import FloatArray
    from vicinal.app.tables.columns import Columns

__all__ = ["SavedModel"]


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A table's columns, what fills their gaps, and a linear map.

    A row x of numbers goes to ``components @ ((filled - mean) / scale)``, where
    `filled` is x with `median` where a number is missing.

    Attributes
    ----------
    method : str
        The metric's name, as `vicinal compare` calls it.
    task : str
        "classification", "regression" or "none".
    columns : Columns
        How a table becomes numbers.
    median, mean, scale : ndarray of shape (n_features,)
        What prepares the numbers. Where a median is NaN, a missing number is refused.
    components : ndarray of shape (n_components, n_features)
        The map.
    target : str or None
        The label's column.
    classes : tuple of str
        Their names, sorted; empty unless the task is classification.
    parameters : dict
        What was asked of the method.
    versions : dict of str to str
        The libraries that it was learned with.

    See Also
    --------
    vicinal.app.models.learn : Makes one.
    vicinal.save : Keeps it in a file.

    Examples
    --------
    >>> from vicinal.app.models import learn
    >>> from vicinal.app.tables.prepared import prepare
    >>> wine = prepare("wine")
    >>> model = learn(wine, "lda")
    >>> model.transform(wine.frame).shape
    (178, 2)
    """

    method: str
    task: str
    columns: Columns
    median: FloatArray
    mean: FloatArray
    scale: FloatArray
    components: FloatArray
    target: str | None = None
    classes: tuple[str, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def names_out(self) -> list[str]:
        """One for each column of what `transform` returns."""
        stem = self.method.replace("-", "_")
        return [f"{stem}{index}" for index in range(len(self.components))]

    def prepare(self, frame: Any) -> FloatArray:
        """Turn rows into numbers, fill the gaps, and scale.

        Parameters
        ----------
        frame : DataFrame or array-like of shape (n_rows, n_features)
            Rows with the columns that the model knows, as a frame of polars or pandas;
            or numbers in the order of the features.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            What the map acts on.

        Raises
        ------
        ValueError
            When the table does not fit, or its numbers are far too large.
        """
        if not is_frame(frame):
            return self.scaled(self._numbers(frame))
        rows = to_polars(frame)
        try:
            X = self.columns.encode(clean(self.columns.kept_part(rows)))
        except CellError as error:
            raise error.like(self._number_like(error.arguments[0])) from None
        return self.scaled(X)

    def _number_like(self, column: str) -> str:
        """Return a number as a column had them; nothing where none is known."""
        names = self.columns.feature_names
        value = float(self.median[names.index(column)]) if column in names else np.nan
        if not np.isfinite(value):
            return ""
        # Between two whole numbers, the median is half of their sum.
        return f"{np.floor(value):.0f}" if (2 * value).is_integer() else f"{value:.4g}"

    def _numbers(self, rows: Any) -> FloatArray:
        """Check rows that have no columns' names."""
        X = np.asarray(rows)
        n_features = len(self.median)
        if X.ndim != 2 or X.shape[1] != n_features or X.dtype.kind not in "fiub":
            raise ValueError(
                f"Without columns' names, rows are {n_features} numbers each, in the "
                f"order of columns.feature_names; got {X.dtype} of shape {X.shape}."
            )
        return X.astype(self.columns.dtype, copy=False)

    def scaled(self, X: FloatArray) -> FloatArray:
        """Fill the gaps of encoded rows, and scale.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            As `Columns.encode` returns it: NaN where a number is missing.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            What the map acts on.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            missing = np.isnan(X)
            if (wrong := missing.any(axis=0) & np.isnan(self.median)).any():
                name = self.columns.feature_names[int(wrong.argmax())]
                raise ValueError(
                    f"Column {name!r} has missing numbers, and the model was learned "
                    "without any; fill them first."
                )
            X = np.where(missing, self.median.astype(X.dtype), X)
            X = (X - self.mean.astype(X.dtype)) / self.scale.astype(X.dtype)
        return _finite(X)

    def transform(self, frame: Any) -> FloatArray:
        """Map rows to where Euclidean distance is the learned metric.

        Parameters
        ----------
        frame : DataFrame or array-like of shape (n_rows, n_features)
            Rows with the columns that the model knows, as a frame of polars or pandas;
            or numbers in the order of the features.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            In the precision of the table that was learned from.
        """
        return self.map(self.prepare(frame))

    def map(self, prepared: FloatArray) -> FloatArray:
        """Map what `prepare` returned."""
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite(prepared @ self.components.T.astype(prepared.dtype))


def _finite(X: FloatArray) -> FloatArray:
    if not np.isfinite(X).all():
        raise ValueError(
            "A row's numbers are too large for the model; are they in other units than "
            "those that it was learned from?"
        )
    return X
