"""A fitted estimator of scikit-learn or of vicinal as a model that can be saved."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from vicinal.app.methods.linear_map import affine_map
from vicinal.app.models._learn import versions
from vicinal.app.models._saved import SavedModel
from vicinal.app.tables.columns import Columns, Decision
from vicinal.app.tables.names import distinct_names

if TYPE_CHECKING:
    from vicinal._typing import FloatArray

__all__ = ["from_estimator"]


def from_estimator(estimator: Any) -> SavedModel:
    """Keep what a fitted linear transformer does to rows of numbers.

    Parameters
    ----------
    estimator : estimator
        Fitted, with `transform`: `NCA`, `LDG`, PCA, a pipeline of a scaler and such,
        perhaps with a `SimpleImputer` first. What it predicts is not kept.

    Returns
    -------
    SavedModel
        Whose `transform` gives the same numbers, up to rounding.

    Raises
    ------
    ValueError
        When it has no `transform`, or is not linear.

    See Also
    --------
    vicinal.app.models.from_pipeline : Knows the table, too.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from vicinal import LDG
    >>> from vicinal.app.models import from_estimator
    >>> X, y = load_iris(return_X_y=True)
    >>> ldg = LDG(2, random_state=0).fit(X, y)
    >>> model = from_estimator(ldg)
    >>> bool(np.allclose(model.transform(X), ldg.transform(X)))
    True
    """
    kind = type(estimator).__name__
    if isinstance(estimator, type) or not hasattr(estimator, "transform"):
        raise ValueError(
            f"{kind if not isinstance(estimator, type) else estimator.__name__} has no "
            "transform to keep; save a fitted metric, or a pipeline of transformers."
        )
    check_is_fitted(estimator)
    steps = _steps(estimator)
    n_features = int(steps[0].n_features_in_)
    # Where nothing was learned about missing numbers, they are refused.
    median = np.full(n_features, np.nan)
    if isinstance(steps[0], SimpleImputer) and steps[0].statistics_.dtype.kind == "f":
        median = np.asarray(steps[0].statistics_, dtype=np.float64)
    try:
        components, offset = affine_map(estimator, n_features)
    except ValueError as error:
        raise ValueError(
            f"{str(error).rstrip('.')}, and only such maps can be kept in a file that "
            "runs nothing; joblib keeps any estimator."
        ) from error
    own = getattr(estimator, "components_", None)
    if own is not None and np.shape(own) == components.shape:
        # To the last bit, where it is the map itself.
        exact = np.allclose(own, components, atol=1e-12) and not offset.any()
        components = np.asarray(own) if exact else components
    given = getattr(steps[0], "feature_names_in_", None)
    names = [f"x{i}" for i in range(n_features)] if given is None else list(given)
    single = components.dtype == np.float32
    return SavedModel(
        method=type(steps[-1]).__name__.lower(),
        task="none",
        columns=Columns(
            tuple(Decision(str(name), "number") for name in distinct_names(names)),
            {},
            "float32" if single else "float64",
        ),
        median=median,
        mean=_center(components, offset),
        scale=np.ones(n_features),
        components=components,
        parameters=_plain(estimator.get_params(deep=False)),
        versions=versions(),
    )


def _steps(estimator: Any) -> list[Any]:
    if isinstance(estimator, Pipeline):
        return [
            step for _, step in estimator.steps if step not in (None, "passthrough")
        ]
    return [estimator]


def _center(components: FloatArray, offset: FloatArray) -> FloatArray:
    """Return the shortest m that has A (x - m) = A x + b; of no rank, the nearest."""
    if not offset.any():
        return np.zeros(components.shape[1])
    return -np.linalg.lstsq(components.astype(np.float64), offset, rcond=None)[0]


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that JSON can hold."""
    kinds = (str, bool, int, float, type(None))
    return {
        name: value
        for name, value in parameters.items()
        if type(value) in kinds and not (type(value) is float and not isfinite(value))
    }
