"""A learned metric with the preparation of its table: applied, stored, and built."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from vicinal import __version__, persistence
from vicinal._typing import FloatArray
from vicinal.app.methods.linear_map import LinearMap, affine_map, is_linear, linear_map
from vicinal.app.methods.votes import Vote
from vicinal.app.tables.cells import clean
from vicinal.app.tables.columns import Columns, Decision
from vicinal.app.tables.inputs import is_frame
from vicinal.app.tables.names import distinct_names
from vicinal.app.tables.prepared import Prepared
from vicinal.app.tables.reading import to_polars

_ARRAYS = ("median", "mean", "scale", "components")


@dataclass(frozen=True, eq=False)
class SavedModel:
    """The columns of a table, the values for missing numbers, and a map.

    A row x of numbers is mapped to ``components @ ((filled - mean) / scale)``;
    `filled` is x with missing numbers replaced by `median`. Or it is mapped by
    learned curves of ``(x - mean) / scale``, in which missing numbers are kept.

    Attributes
    ----------
    method : str
        The name of the metric, as in `vicinal compare`.
    task : str
        "classification", "regression" or "none".
    columns : Columns
        The conversion of a table to numbers.
    median, mean, scale : ndarray of shape (n_features,)
        The preparation of the numbers. If a median is NaN, missing numbers of its
        feature are an error.
    components : ndarray of shape (n_components, n_features)
        The map; without columns if there are curves.
    target : str or None
        The column of the target.
    classes : tuple of str
        The names of the classes, sorted; empty unless the task is classification.
    parameters : dict
        The parameters of the method.
    versions : dict of str to str
        The versions of the libraries that learned it.
    vote : Vote or None
        The vote of the neighbors that predicts best; None if there is no target.
    curves : TableNCA or None
        The curves, without training rows.

    See Also
    --------
    vicinal.app.models.learn : Learn one.
    vicinal.save : Write it to a file.

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
    vote: Vote | None = None
    curves: Any = None

    @property
    def stem(self) -> str:
        """The names of mapped columns, before their number."""
        return self.method.replace("-", "_")

    @property
    def names_out(self) -> list[str]:
        """The names of the columns that `transform` returns."""
        return [f"{self.stem}{index}" for index in range(len(self.components))]

    def transform(self, frame: Any) -> FloatArray:
        """Map rows to points whose Euclidean distance is the learned metric.

        Parameters
        ----------
        frame : DataFrame or array-like of shape (n_rows, n_features)
            A frame of polars or pandas with the columns of the model, or numbers in
            the order of the features.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            The points, in the precision of the training table.
        """
        return self.map(self.prepare(frame))

    def prepare(self, frame: Any) -> FloatArray:
        """Convert rows to numbers, fill missing ones, and scale.

        Parameters
        ----------
        frame : DataFrame or array-like of shape (n_rows, n_features)
            A frame of polars or pandas with the columns of the model, or numbers in
            the order of the features.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The input of `map`.

        Raises
        ------
        ValueError
            If the table does not fit the model, or its numbers are too large.
        """
        n_features = len(self.median)
        if is_frame(frame):
            names = self.columns.feature_names
            medians = dict(zip(names, self.median.tolist(), strict=True))
            kept = self.columns.kept_part(to_polars(frame), medians)
            X = self.columns.encode(clean(kept))
        else:
            X = np.asarray(frame)
            if X.ndim != 2 or X.shape[1] != n_features or X.dtype.kind not in "fiub":
                raise ValueError(
                    f"Without columns' names, rows are {n_features} numbers each, in "
                    "the order of columns.feature_names; got "
                    f"{X.dtype} of shape {X.shape}."
                )
            X = X.astype(self.columns.dtype, copy=False)
        return self.scaled(X)

    def scaled(self, X: FloatArray) -> FloatArray:
        """Fill the missing numbers of encoded rows, and scale.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows as `Columns.encode` returns them: missing numbers are NaN.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The input of `map`.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if self.curves is None:
                missing = np.isnan(X)
                if (wrong := missing.any(axis=0) & np.isnan(self.median)).any():
                    name = self.columns.feature_names[int(wrong.argmax())]
                    raise ValueError(
                        f"Column {name!r} has missing numbers, and the model was "
                        "learned without any; fill them first."
                    )
                X = np.where(missing, self.median.astype(X.dtype), X)
            X = (X - self.mean.astype(X.dtype)) / self.scale.astype(X.dtype)
        return _checked(X, np.isinf(X))

    def map(self, prepared: FloatArray) -> FloatArray:
        """Map rows that `prepare` returned."""
        if self.curves is not None:
            Z = self.curves.transform(prepared)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                Z = prepared @ self.components.T.astype(prepared.dtype)
        return _checked(Z, ~np.isfinite(Z))


def _checked(X: FloatArray, wrong: NDArray[np.bool_]) -> FloatArray:
    if wrong.any():
        raise ValueError(
            "A row's numbers are too large for the model; are they in other units than "
            "those that it was learned from?"
        )
    return X


def from_pipeline(
    pipeline: Pipeline,
    prepared: Prepared,
    method: str,
    parameters: dict[str, Any] | None = None,
) -> SavedModel:
    """Build a model from a pipeline that was fitted on a table.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted on `prepared.X`, with the steps of
        `vicinal.app.methods.registry.Method.pipeline`.
    prepared : Prepared
        The table.
    method : str
        The name of the metric.
    parameters : dict, default=None
        JSON-able parameters of the method.

    Returns
    -------
    SavedModel
        The model.

    Raises
    ------
    ValueError
        If the metric has no dimensions.

    See Also
    --------
    vicinal.app.models.learn : Fit a method by its name.
    vicinal.app.models.from_estimator : Build a model without a table.

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
    curves = None
    if is_linear(pipeline[-1]):
        found = linear_map(pipeline)
    else:
        curves = pipeline[-1]._without_rows()
        scaler = pipeline[-2]
        none = np.zeros((curves._n_features_out, 0))
        found = LinearMap(scaler.mean_, scaler.mean_, scaler.scale_, none)
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
        **vars(found),
        curves=curves,
        target=prepared.target,
        classes=classes,
        parameters=parameters or {},
        versions={"vicinal": __version__, "scikit-learn": sklearn.__version__},
    )


def from_estimator(estimator: Any) -> SavedModel:
    """Build a model from a fitted linear transformer.

    Parameters
    ----------
    estimator : estimator
        Fitted, with a linear `transform`: `NCA`, `LDG`, PCA, a pipeline of a scaler
        and one of them, possibly after a `SimpleImputer`.

    Returns
    -------
    SavedModel
        A model with the same `transform`, up to rounding. It does not predict.

    Raises
    ------
    ValueError
        If the estimator has no `transform`, or is not linear.

    See Also
    --------
    vicinal.app.models.from_pipeline : Build a model for tables.
    vicinal.save : Store estimators whole.

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
    kind = estimator if isinstance(estimator, type) else type(estimator)
    if kind is estimator or not hasattr(estimator, "transform"):
        raise ValueError(
            f"{kind.__name__} has no transform to keep; save a fitted metric, or a "
            "pipeline of transformers."
        )
    check_is_fitted(estimator)
    steps = [estimator]
    if isinstance(estimator, Pipeline):
        steps = [one for _, one in estimator.steps if one not in (None, "passthrough")]
    n_features = int(steps[0].n_features_in_)
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
    if own is not None and np.shape(own) == components.shape and not offset.any():
        # Bit for bit, if the map is linear.
        same = np.allclose(own, components, atol=1e-12)
        components = np.asarray(own) if same else components
    # The shortest m with A (x - m) = A x + b.
    mean: FloatArray = np.zeros(n_features)
    if offset.any():
        A = components.astype(np.float64)
        mean = -np.linalg.lstsq(A, offset, rcond=None)[0]
    given = getattr(steps[0], "feature_names_in_", None)
    names = [f"x{i}" for i in range(n_features)] if given is None else list(given)
    decisions = (Decision(str(name), "number") for name in distinct_names(names))
    single = components.dtype == np.float32
    return SavedModel(
        method=type(steps[-1]).__name__.lower(),
        task="none",
        columns=Columns(tuple(decisions), {}, "float32" if single else "float64"),
        median=median,
        mean=mean,
        scale=np.ones(n_features),
        components=components,
        parameters={
            name: value
            for name, value in estimator.get_params(deep=False).items()
            if value is None
            or isinstance(value, str | int)
            or (isinstance(value, float) and np.isfinite(value))
        },
        versions={"vicinal": __version__, "scikit-learn": sklearn.__version__},
    )


def load(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model of a table, or the linear map of a saved estimator.

    Parameters
    ----------
    path : str or path-like
        A file written by `vicinal.save` or by the command.

    Returns
    -------
    SavedModel
        Of an estimator, the result of `from_estimator`.

    See Also
    --------
    vicinal.load : Read estimators whole.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from vicinal.app.models import learn, load, save
    >>> from vicinal.app.tables.prepared import prepare
    >>> with TemporaryDirectory() as folder:
    ...     save(Path(folder) / "wine.safetensors", learn(prepare("wine"), "lda"))
    ...     model = load(Path(folder) / "wine.safetensors")
    >>> model.method, model.components.shape
    ('lda', (2, 13))
    """
    from vicinal.adapters import EmbeddingBridge, RetrievalAdapter

    model = persistence.load(path)
    if isinstance(model, EmbeddingBridge):
        raise persistence.AdapterFileError(
            f"{Path(path).name} is a bridge that `vicinal bridge` wrote, no model of a "
            "table: `vicinal transform` maps vectors with it, vicinal.load reads it."
        )
    if isinstance(model, RetrievalAdapter):
        raise persistence.AdapterFileError(
            f"{Path(path).name} is an adapter that `vicinal adapt` wrote, no model of "
            "a table: `vicinal transform` maps vectors with it, and "
            "vicinal.adapters.load_adapter reads it."
        )
    return model if isinstance(model, SavedModel) else from_estimator(model)


def to_parts(model: SavedModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Convert a model to a JSON-able header and arrays, for `vicinal.persistence`."""
    arrays = {}
    for name in _ARRAYS:
        array = np.asarray(getattr(model, name))
        single = array.dtype == np.float32
        arrays[name] = array.astype(np.float32 if single else np.float64)
    header = {
        "method": model.method,
        "task": model.task,
        "target": model.target,
        "classes": list(model.classes),
        "parameters": model.parameters,
        "versions": model.versions,
        "columns": model.columns.to_dict(),
        "feature_names": model.columns.feature_names,
    }
    if model.vote is not None:
        header["vote"] = asdict(model.vote)
    if model.curves is not None:
        header["curves"], more = persistence.to_parts(model.curves)
        arrays |= more
    return header, arrays


def from_parts(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SavedModel:
    """Rebuild a model from the parts of a file that may come from anyone."""

    def are_text(values: Any) -> bool:
        return isinstance(values, list) and all(isinstance(one, str) for one in values)

    columns = Columns.from_dict(header.pop("columns", None))
    names = header.pop("feature_names", None)
    vote = header["vote"] = Vote(**header["vote"]) if header.get("vote") else None
    curves = None
    if "curves" in header:
        more = {name: one for name, one in arrays.items() if name not in _ARRAYS}
        curves = header["curves"] = persistence.from_parts(header["curves"], more)
        arrays = {name: one for name, one in arrays.items() if name in _ARRAYS}
    model = SavedModel(columns=columns, **{**header, **arrays})
    n_features = len(columns.feature_names)
    classes, versions = model.classes, model.versions
    valid = {
        "the features' names": names == columns.feature_names,
        "the arrays": set(arrays) == set(_ARRAYS),
        # The name is printed, and part of the names of columns.
        "the method's name": isinstance(model.method, str)
        and 0 < len(model.method) <= 100
        and model.method.isprintable(),
        "the task": model.task in ("classification", "regression", "none"),
        "the target": model.target is None or isinstance(model.target, str),
        "the classes": are_text(classes) and len(set(classes)) == len(classes),
        "the parameters": isinstance(model.parameters, dict),
        "the versions": isinstance(versions, dict) and are_text([*versions.values()]),
    }
    if vote is not None:
        k, scale, n_maps = vote.n_neighbors, vote.scale, 1
        if curves is not None and vote.weights == "plain":
            n_maps = len(curves._members)
        valid["the vote"] = (
            (k is None or (type(k) is int and k > 0))
            and vote.weights in ("uniform", "distance", "soft", "plain")
            and isinstance(scale, float)
            and 0 < scale < np.inf
            and type(vote.n_maps) is int
            and vote.n_maps == n_maps
        )
    n_columns = n_features
    if curves is not None:
        n_columns = 0
        valid["the curves"] = (
            type(curves).__name__ in ("TableNCAClassifier", "TableNCARegressor")
            and curves.n_features_in_ == n_features
            and curves._n_features_out == len(model.components)
        )
    for name, array in arrays.items():
        known = array[~np.isnan(array)] if name == "median" else array
        shape = (len(array), n_columns) if name == "components" else (n_features,)
        valid[f"the array {name}"] = (
            array.dtype in (np.float32, np.float64)
            and array.shape == shape
            and bool(np.isfinite(known).all())
        )
    valid["the components"] = 0 < len(model.components) <= (n_columns or np.inf)
    valid["the scale"] = bool((model.scale > 0).all())
    for part, holds in valid.items():
        if not holds:
            raise ValueError(f"{part} cannot be valid")
    return replace(model, classes=tuple(classes))
