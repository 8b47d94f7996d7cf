"""LMNN, MCML and DANN: scikit-learn's checks, and real data that are hard to bear."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import estimator_checks_generator

from vicinal import datasets
from vicinal.classic import LMNN, MCML, DANNClassifier, LMNNClassifier

METHODS = [
    LMNN(max_iter=10),
    LMNNClassifier(max_iter=10),
    MCML(max_iter=10),
    DANNClassifier(),
]
pytestmark = pytest.mark.filterwarnings("ignore:.* did not converge")


@pytest.mark.parametrize(
    ("method", "check"),
    [pair for method in METHODS for pair in estimator_checks_generator(method)],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learn_s_checks(method: Any, check: Any) -> None:
    check(method)


def answers(method: Any, X: Any, y: Any) -> Any:
    fitted = clone(method).fit(X[::2], y[::2])
    found = [fitted.transform(X)] if hasattr(fitted, "transform") else []
    if hasattr(fitted, "predict"):
        assert set(fitted.predict(X[:200])) <= set(y)
    if hasattr(fitted, "predict_proba"):
        found.append(fitted.predict_proba(X[:200]))
    return np.concatenate([part.ravel() for part in found])


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_constant_columns(method: Any) -> None:
    X, y = load_digits(return_X_y=True)
    assert np.isfinite(answers(method, X[:400], y[:400])).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits", "ionosphere", "olivetti", "yeast"])
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_real_data(method: Any, name: str) -> None:
    try:
        data = datasets.load(name)
    except (ValueError, OSError) as error:
        pytest.skip(f"{name} is not here: {error}")
    for dtype in (np.float32, np.float64):
        found = answers(method, data.X.astype(dtype), data.y)
        assert np.isfinite(found).all()
