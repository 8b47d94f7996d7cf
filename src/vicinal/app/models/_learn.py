"""Learning a metric on a table, by the name of a method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.models._iterations import set_iterations
from vicinal.app.models._saved import SavedModel
from vicinal.app.tables.names import near

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.pipeline import Pipeline

    from vicinal.app.methods.registry import Method
    from vicinal.app.tables.prepared import Prepared

__all__ = ["from_pipeline", "learn", "method_named", "needs_target", "versions"]

# They learn from rows alone, beside any label or none.
_UNLABELLED = ("euclidean", "standardised", "whitened", "pca")


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
        What `vicinal.app.tables.prepared.prepare` returned.
    method : str
        One of `vicinal.app.methods.registry.METHODS`. One that needs no label does
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
        Ready for `vicinal.app.models._safetensors.save`.

    Raises
    ------
    ValueError
        When there is no such method, or it cannot learn from such rows or labels.

    See Also
    --------
    vicinal.save : Keeps the model in a file.
    vicinal.app.models.from_pipeline : Takes a pipeline of your own.

    Examples
    --------
    >>> from vicinal.app.models import learn
    >>> from vicinal.app.tables.prepared import prepare
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
    chosen, labeled = _able(method, prepared.task)
    y = prepared.y if labeled else None
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
        `vicinal.app.methods.registry.Method.pipeline`.
    prepared : Prepared
        The table.
    method : str
        The metric's name.
    parameters : dict, default=None
        What was asked of it, as JSON can hold it.

    Returns
    -------
    SavedModel
        Ready for `vicinal.app.models._safetensors.save`.

    Raises
    ------
    ValueError
        When the metric has no dimensions.

    See Also
    --------
    vicinal.app.models.learn : Fits and keeps in one.
    vicinal.app.models.from_estimator : Needs no table.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.pipeline import Pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal.app.models import from_pipeline
    >>> from vicinal.app.tables.prepared import prepare
    >>> wine = prepare("wine")
    >>> imputer, scaler = SimpleImputer(strategy="median"), StandardScaler()
    >>> pipeline = Pipeline(
    ...     [("impute", imputer), ("scale", scaler), ("metric", PCA(2))]
    ... )
    >>> model = from_pipeline(pipeline.fit(wine.X), wine, "pca")
    >>> model.components.shape
    (2, 13)
    """
    from vicinal.app.methods.linear_map import linear_map

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
    """Return the method that is called so, or raise ValueError with a suggestion.

    See Also
    --------
    vicinal.app.models.needs_target : Asks one thing of it.

    Examples
    --------
    >>> from vicinal.app.models import method_named
    >>> method_named("lda").name
    'lda'
    """
    from vicinal.app.methods.registry import METHODS

    if name not in METHODS:
        hint = near(name, list(METHODS)) or f"; there are {', '.join(METHODS)}."
        raise ValueError(f"There is no method {name!r}{hint}")
    return METHODS[name]


def needs_target(name: str) -> bool:
    """Whether the method that is called so learns from labels.

    See Also
    --------
    vicinal.app.models.method_named : Returns the method.

    Examples
    --------
    >>> from vicinal.app.models import needs_target
    >>> needs_target("lda"), needs_target("pca")
    (True, False)
    """
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
