"""How an estimator with its defaults does on a split, and how not learning does."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeCV
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from benchmarks.defaults.tables import Table
from vicinal import LDG, NCA, LocalQDA, NCAClassifier, NCARegressor
from vicinal._typing import FloatArray
from vicinal.classic import (
    FDA,
    ITML,
    LFDA,
    LMNN,
    LSML,
    MCML,
    MLKR,
    MMC,
    RCA,
    SCML,
    SDML,
    DANNClassifier,
    LMNNClassifier,
)

Split = tuple[FloatArray, FloatArray, Any, Any]

METRICS: dict[str, Callable[[], Any]] = {
    "NCA": NCA,
    "LDG": lambda: LDG(random_state=0),
    "FDA": FDA,
    "LFDA": LFDA,
    "ITML": ITML,
}
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "NCAClassifier": NCAClassifier,
    "LocalQDA": lambda: LocalQDA(random_state=0),
}
# As their papers have them: they may be worse than not learning, and where is printed.
CLASSIC: dict[str, Callable[[], Any]] = {
    "LMNN": LMNN,
    "MCML": MCML,
    "RCA": RCA,
    "MMC": MMC,
    "SDML": SDML,
    "LSML": LSML,
    "SCML": SCML,
    "LMNNClassifier": LMNNClassifier,
    "DANNClassifier": DANNClassifier,
}
REGRESSORS: dict[str, Callable[[], Any]] = {"NCARegressor": NCARegressor, "MLKR": MLKR}
PLAIN_CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "3-NN": lambda: KNeighborsClassifier(3),
    "5-NN": lambda: KNeighborsClassifier(5),
    "15-NN": lambda: KNeighborsClassifier(15),
    "LDA": LinearDiscriminantAnalysis,
}
PLAIN_REGRESSORS: dict[str, Callable[[], Any]] = {
    "5-NN": lambda: KNeighborsRegressor(5),
    "ridge": lambda: RidgeCV(np.logspace(-3, 3, 7)),
}


@dataclass(frozen=True)
class Score:
    """What came of one fit.

    Attributes
    ----------
    value : float
        Accuracy or R² on the test rows; NaN where the fit failed.
    loss : float
        Mean log-loss on the test rows, of classifiers; else NaN.
    seconds : float
        Of the fit.
    messages : tuple of str
        What it warned of, or the error.
    """

    value: float
    loss: float
    seconds: float
    messages: tuple[str, ...] = ()


def split(table: Table, seed: int) -> Split:
    """Return a 70/30 split by a seed, mostly standardised by its training part."""
    X_train, X_test, y_train, y_test = train_test_split(
        table.X, table.y, test_size=0.3, random_state=seed
    )
    if not table.standardized:
        return X_train, X_test, y_train, y_test
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


def score(make: Callable[[], Any], parts: Split, task: str) -> Score:
    """Fit with defaults and score: by 3-NN where the estimator only transforms."""
    X_train, X_test, y_train, y_test = parts
    estimator = make()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begun = time.perf_counter()
        try:
            estimator.fit(X_train, y_train)
        except Exception as error:  # noqa: BLE001  a failure is a result here
            return Score(np.nan, np.nan, 0.0, (f"{type(error).__name__}: {error}",))
        seconds = time.perf_counter() - begun
    messages = tuple({str(warning.message) for warning in caught})
    loss = np.nan
    if task == "regression":
        value = float(r2_score(y_test, estimator.predict(X_test)))
    elif is_classifier(estimator):
        value = float(estimator.score(X_test, y_test))
        if hasattr(estimator, "predict_proba"):
            loss = _loss(estimator.classes_, estimator.predict_proba(X_test), y_test)
    else:
        Z = estimator.transform(X_train)
        knn = KNeighborsClassifier(3).fit(Z, y_train)
        value = float(knn.score(estimator.transform(X_test), y_test))
    return Score(value, loss, seconds, messages)


def _loss(classes: Any, proba: FloatArray, y: Any) -> float:
    """Return the log-loss; a class that training did not know has probability 0.

    Probabilities are bounded by 1e-6, so that one row cannot decide a mean.
    """
    labels = np.union1d(classes, y)
    full = np.zeros((len(y), len(labels)))
    full[:, np.searchsorted(labels, classes)] = proba
    full = np.clip(full, 1e-6, 1)
    full /= full.sum(axis=1, keepdims=True)
    return float(log_loss(y, full, labels=labels))
