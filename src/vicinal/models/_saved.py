"""A learned metric together with the preparation of its table: learned, and applied.

Writing it to a file and reading it back is in `vicinal.models._safetensors`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.models._iterations import set_iterations
from vicinal.tables.cells import clean
from vicinal.tables.frames import is_frame, to_polars
from vicinal.tables.names import near

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray
    from vicinal.methods.registry import Method
    from vicinal.tables.columns import Columns
    from vicinal.tables.prepared import Prepared

__all__ = [
    "SavedModel",
    "from_pipeline",
    "learn",
    "method_named",
    "needs_target",
    "versions",
]

# They learn from rows alone, beside any label or none.
_UNLABELLED = ("euclidean", "standardised", "whitened", "pca")


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
        return self.scaled(self.columns.encode(clean(self.columns.kept_part(rows))))

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


def learn(
    prepared: Prepared,
    method: str,
    *,
    n_components: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    max_iter: int | None = None,
    on_iteration: Callable[[int], object] | None = None,
) -> SavedModel:
    """Learn a metric on all rows of a table.

    Parameters
    ----------
    prepared : Prepared
        What `vicinal.tables.prepared.prepare` returned.
    method : str
        One of `vicinal.methods.registry.METHODS`. One that needs no label does
        without, even where there is one.
    n_components : int, default=None
        Dimensions, for the methods that reduce them.
    random_state : int, default=0
        For the methods that draw numbers.
    n_jobs : int, default=None
        Threads, for the methods that use them.
    max_iter : int, default=None
        At most how many iterations, for the methods that iterate; else their own.
    on_iteration : callable, default=None
        Called with the number of the iteration, where a method tells it.

    Returns
    -------
    SavedModel
        Ready for `vicinal.models._safetensors.save`.

    Raises
    ------
    ValueError
        When there is no such method, or it cannot learn from such rows or labels.

    Examples
    --------
    >>> from vicinal.models import learn
    >>> from vicinal.tables.prepared import prepare
    >>> wine = prepare("wine")
    >>> model = learn(wine, "lda")
    >>> model.components.shape, model.classes
    ((2, 13), ('class_0', 'class_1', 'class_2'))
    >>> model.transform(wine.frame).shape
    (178, 2)
    """
    if n_components is not None and n_components < 1:
        raise ValueError(f"n_components must be at least 1, not {n_components}.")
    if n_components is not None and n_components > (d := prepared.X.shape[1]):
        raise ValueError(
            f"n_components={n_components} exceeds the {d} features; ask for {d} or "
            "fewer."
        )
    chosen, labelled = _able(method, prepared.task)
    y = prepared.y if labelled else None
    if y is not None and prepared.task == "classification":
        y = np.unique(y, return_inverse=True)[1]
    pipeline = chosen.pipeline(prepared.X, y, n_components, random_state, n_jobs)
    set_iterations(pipeline, method, max_iter, on_iteration)
    try:
        pipeline.fit(prepared.X, y)
    # IndexError: scikit-learn's LDA, where no class has any spread.
    except (ValueError, IndexError, ArithmeticError) as error:
        reason = str(error).rstrip(".")
        raise ValueError(f"{method} cannot learn from these rows: {reason}.") from error
    parameters = {"n_components": n_components, "random_state": random_state}
    if max_iter is not None:
        parameters["max_iter"] = max_iter
    return from_pipeline(pipeline, prepared, method, parameters)


def from_pipeline(
    pipeline: Pipeline,
    prepared: Prepared,
    method: str,
    parameters: dict[str, Any] | None = None,
) -> SavedModel:
    """Keep what a fitted pipeline does to a table.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted on `prepared.X`, with steps like those of
        `vicinal.methods.registry.Method.pipeline`.
    prepared : Prepared
        The table.
    method : str
        The metric's name.
    parameters : dict, default=None
        What was asked of it, as JSON can hold it.

    Returns
    -------
    SavedModel
        Ready for `vicinal.models._safetensors.save`.

    Raises
    ------
    ValueError
        When the metric has no dimensions.
    """
    from vicinal.methods.linear_map import linear_map

    found = linear_map(pipeline)
    if not len(found.components):
        raise ValueError(
            f"{method} found no direction that tells these rows apart: they look like "
            "noise, and there is nothing to write; try another method."
        )
    classes: tuple[str, ...] = ()
    if prepared.y is not None and prepared.task == "classification":
        classes = tuple(np.unique(prepared.y).tolist())
    return SavedModel(
        method=method,
        task=prepared.task,
        columns=prepared.columns,
        median=found.median,
        mean=found.mean,
        scale=found.scale,
        components=found.components,
        target=prepared.target,
        classes=classes,
        parameters=parameters or {},
        versions=versions(),
    )


def versions() -> dict[str, str]:
    """Return the versions of the libraries that learn."""
    import sklearn

    from vicinal import __version__

    return {"vicinal": __version__, "scikit-learn": sklearn.__version__}


def method_named(name: str) -> Method:
    """Return the method that is called so, or raise ValueError with a suggestion."""
    from vicinal.methods.registry import METHODS

    if name not in METHODS:
        hint = near(name, list(METHODS)) or f"; there are {', '.join(METHODS)}."
        raise ValueError(f"There is no method {name!r}{hint}")
    return METHODS[name]


def needs_target(name: str) -> bool:
    """Whether the method that is called so learns from labels."""
    return "none" not in method_named(name).tasks and name not in _UNLABELLED


def _able(name: str, task: str) -> tuple[Method, bool]:
    """Return the method, and whether it learns from the labels."""
    method = method_named(name)
    if not needs_target(name):
        return method, False
    if task not in method.tasks:
        needs = " or ".join(
            {"classification": "classes", "regression": "numbers"}[one]
            for one in method.tasks
        )
        raise ValueError(
            f"{name} learns from a target of {needs}; name one with --target, or "
            "choose another method."
        )
    return method, True
