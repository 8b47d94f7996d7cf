"""Models in a service: many threads, and the containers of other projects."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import skops.io
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vicinal import LCA, LDG, LocalQDA, NCAClassifier, NCARegressor
from vicinal.classic import DANNClassifier, LMNNClassifier

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, y = load_iris(return_X_y=True)
X, y = X[::2], y[::2]
MODELS = [
    (NCAClassifier(2, max_iter=5, random_state=0), "predict_proba"),
    (NCARegressor(2, max_iter=5, random_state=0), "predict"),
    (LDG(2, random_state=0), "transform"),
    (LocalQDA(), "predict_proba"),
    (LCA(max_iter=5), "score_samples"),
    (LMNNClassifier(max_iter=5), "predict"),
    (DANNClassifier(), "predict_proba"),
]


@pytest.mark.parametrize(("model", "method"), MODELS, ids=str)
def test_threads_share_one_model(model: Any, method: str) -> None:
    """Eight threads get, bit for bit, the answers of one."""
    call = getattr(make_pipeline(StandardScaler(), model).fit(X, y), method)
    rows = [X[i : i + 1] for i in range(len(X))] * 4
    expected = [call(one) for one in rows[: len(X)]] * 4
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(call, rows))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("model", "method"), MODELS, ids=str)
def test_skops(model: Any, method: str) -> None:
    """Only classes of vicinal must be trusted, and the model comes back whole."""
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    content = skops.io.dumps(pipeline)
    untrusted = skops.io.get_untrusted_types(data=content)
    assert {name.split(".")[0] for name in untrusted} == {"vicinal"}
    again = skops.io.loads(content, trusted=untrusted)
    found, expected = getattr(again, method)(X), getattr(pipeline, method)(X)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.mlflow
@pytest.mark.filterwarnings("ignore")  # MLflow's own
def test_mlflow(tmp_path: Path) -> None:
    import mlflow.sklearn

    model = NCAClassifier(2, max_iter=5, random_state=0).fit(X, y)
    trusted = skops.io.get_untrusted_types(data=skops.io.dumps(model))
    mlflow.sklearn.save_model(
        model,
        tmp_path / "model",
        serialization_format="skops",
        skops_trusted_types=trusted,
    )
    again = mlflow.sklearn.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
