"""The models, each with its defaults and one thread, on frames with gaps.

Boosted trees and `TableNCA*` take a frame as it is. The pipelines of the others fill
numbers with the median, standardise them, and code categories one-hot. C and γ of the
support vector machines are chosen by three folds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mode
from sklearn.base import BaseEstimator
from sklearn.compose import (
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

_CATEGORIES = make_column_selector(dtype_include="category")
_OTHERS = make_column_selector(dtype_exclude="category")


def coded(estimator: Any) -> Any:
    """Return a pipeline that fills gaps, standardises, and codes categories one-hot."""
    filled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((filled, _OTHERS), (one_hot, _CATEGORIES))
    return make_pipeline(columns, estimator)


def _filled(estimator: Any) -> Any:
    """Return a pipeline that fills gaps of numbers, and keeps the frame."""
    columns = make_column_transformer(
        (SimpleImputer(strategy="median"), _OTHERS),
        ("passthrough", _CATEGORIES),
        verbose_feature_names_out=False,
    )
    return make_pipeline(columns.set_output(transform="pandas"), estimator)


def _searched(estimator: Any) -> Any:
    """Return a support vector machine whose C and γ are chosen by three folds."""
    grid = {"C": [1, 10, 100], "gamma": [0.01, 0.1, "scale"]}
    model = GridSearchCV(estimator, grid, cv=3)
    if type(estimator).__name__ == "SVR":
        model = TransformedTargetRegressor(model, transformer=StandardScaler())
    return coded(model)


def _and_five_neighbors(transformer: Any) -> Any:
    return make_pipeline(transformer, KNeighborsClassifier(5))


class NamedCategories(BaseEstimator):
    """CatBoost told which columns are categories, with a name for their gaps."""

    def __init__(self, model: Any = None) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> "NamedCategories":
        """Fit the model."""
        names = list(X.select_dtypes("category").columns)
        self.model.fit(self._named(X), y, cat_features=names)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return a class or a number for each row."""
        return np.ravel(self.model.predict(self._named(X)))

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the classes' probabilities."""
        return np.asarray(self.model.predict_proba(self._named(X)))

    def _named(self, X: Any) -> Any:
        columns = X.select_dtypes("category").columns
        return X.assign(**{c: X[c].astype(object).fillna("").map(str) for c in columns})


class NearestBy(BaseEstimator):
    """5-NN by a function of new rows, training rows and the categories' positions."""

    def __init__(self, distances: Any = None) -> None:
        self.distances = distances

    def fit(self, X: Any, y: Any) -> "NearestBy":
        """Keep the rows."""
        self.X_, self.y_ = X, y
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of most of the five nearest rows."""
        categories = np.array([dtype == "category" for dtype in X.dtypes])
        found = self.distances(X, self.X_, categories)
        nearest = np.argpartition(found, 5, axis=1)[:, :5]
        return np.asarray(mode(self.y_[nearest], axis=1).mode)


def heom(new: Any, rows: Any, categories: Any) -> NDArray[Any]:
    """Return the heterogeneous Euclidean-overlap metric (Wilson & Martinez 1997).

    Numbers differ by their difference over the range, categories by 0 or 1, and a gap
    differs from everything by 1.
    """
    total = np.zeros((len(new), len(rows)), dtype=np.float32)
    for name, category in zip(rows.columns, categories, strict=True):
        a, b = new[name], rows[name]
        gaps = a.isna().to_numpy()[:, None] | b.isna().to_numpy()
        if category:
            codes = [one.cat.codes.to_numpy() for one in (a, b)]
            apart = (codes[0][:, None] != codes[1]).astype(np.float32)
        else:
            width = float(b.max() - b.min()) or 1.0
            values = [one.to_numpy(np.float32) / width for one in (a, b)]
            apart = values[0][:, None] - values[1]
        total += np.where(gaps, 1, np.square(apart))
    return np.sqrt(total)


def gower_distances(new: Any, rows: Any, categories: Any) -> NDArray[Any]:
    """Return the distances of the package gower, which takes no gaps among numbers."""
    from gower import gower_matrix

    medians = rows.loc[:, ~categories].median().fillna(0.0)
    found = [
        one.fillna(medians).apply(_codes).to_numpy(np.float64) for one in (new, rows)
    ]
    return np.asarray(gower_matrix(*found, cat_features=categories))


def _codes(column: Any) -> Any:
    return column.cat.codes if column.dtype == "category" else column


@dataclass(frozen=True, eq=False)
class Model:
    """A model that is imported when it is made.

    Attributes
    ----------
    module : str
        The module of its classes.
    kinds : tuple of str
        The name of the classifier, and of the regressor if there is one.
    wrap : callable
        Takes the estimator, and returns one for frames.
    options : dict
        Parameters.
    most_rows : int
        Larger tables are left out.
    """

    module: str
    kinds: tuple[str, ...]
    wrap: Callable[[Any], Any] = lambda estimator: estimator
    options: Mapping[str, Any] = field(default_factory=dict)
    most_rows: int = 10**9

    def make(self, task: str, seed: int) -> Any:
        """Return the estimator for a task, or None if it is not there.

        Parameters
        ----------
        task : {"classification", "regression"}
            Which.
        seed : int
            Its `random_state`, if it has one.
        """
        regression = task == "regression"
        if regression and len(self.kinds) == 1:
            return None
        try:
            kind = getattr(import_module(self.module), self.kinds[regression])
        except (ImportError, AttributeError):
            return None
        options = dict(self.options)
        if "random_state" in signature(kind).parameters:
            options["random_state"] = seed
        return self.wrap(kind(**options))


def _both(name: str) -> tuple[str, str]:
    return name.replace("*", "Classifier"), name.replace("*", "Regressor")


_NEURAL = "vicinal.neural", _both("NeuralNCA*")
_PYTABKIT: dict[str, Any] = {
    "wrap": _filled,
    "options": {"device": "cpu", "n_threads": 1},
    "most_rows": 2000,
}
MODELS = {
    "TableNCA": Model("vicinal", _both("TableNCA*")),
    "HistGradientBoosting": Model("sklearn.ensemble", _both("HistGradientBoosting*")),
    "LightGBM": Model("lightgbm", _both("LGBM*"), options={"n_jobs": 1, "verbose": -1}),
    "CatBoost": Model(
        "catboost",
        _both("CatBoost*"),
        NamedCategories,
        {"thread_count": 1, "verbose": 0, "allow_writing_files": False},
    ),
    "NCA": Model("vicinal", _both("NCA*"), coded),
    "5-NN": Model("sklearn.neighbors", _both("KNeighbors*"), coded),
    "linear": Model("sklearn.linear_model", ("LogisticRegression", "RidgeCV"), coded),
    "random forest": Model("sklearn.ensemble", _both("RandomForest*"), coded),
    "RBF-SVM": Model("sklearn.svm", ("SVC", "SVR"), _searched),
    "NeuralNCA": Model(*_NEURAL),
    "RealMLP-TD": Model("pytabkit", _both("RealMLP_TD_*"), **_PYTABKIT),
    "TabM-D": Model("pytabkit", _both("TabM_D_*"), **_PYTABKIT),
}
# Only if they are asked for by name.
VARIANTS = {
    "one network": Model(*_NEURAL, options={"n_estimators": 1}),
    "no linear map": Model(*_NEURAL, options={"linear_vote": False}),
    "one network alone": Model(
        *_NEURAL, options={"n_estimators": 1, "linear_vote": False}
    ),
    "NCA + 3-NN": Model(
        "vicinal",
        ("NCA",),
        lambda nca: coded(make_pipeline(nca, KNeighborsClassifier(3))),
    ),
    "MLKR": Model("vicinal.classic", ("", "MLKR"), coded),
}
# Distances for 5-NN on tables with categories.
DISTANCES = {
    "learned Gower": Model(
        "vicinal", ("TableNCA",), _and_five_neighbors, {"form": "diagonal"}
    ),
    "one-hot, standardised": MODELS["5-NN"],
    "gower": Model(__name__, ("NearestBy",), options={"distances": gower_distances}),
    "HEOM": Model(__name__, ("NearestBy",), options={"distances": heom}),
}
