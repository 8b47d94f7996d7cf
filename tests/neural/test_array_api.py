"""Tensors as rows, also if scikit-learn is configured for the array API."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import numpy as np, sklearn, torch
from sklearn.datasets import load_iris
from vicinal import LCA, LDG, NCA, LocalQDA, NCAClassifier
from vicinal.classic import LMNNClassifier

X, y = load_iris(return_X_y=True)
X, y = X[::3], y[::3]
for kind in (LCA, LDG, NCA, LocalQDA, NCAClassifier, LMNNClassifier):
    settings = {"max_iter": 2, "random_state": 0}
    settings = {k: settings[k] for k in settings if k in kind._get_param_names()}
    method = "predict" if hasattr(kind, "predict_proba") else "transform"
    expected = getattr(kind(**settings).fit(X, y), method)(X)
    with sklearn.config_context(array_api_dispatch=True):
        model = kind(**settings).fit(torch.tensor(X), torch.tensor(y))
        found = getattr(model, method)(torch.tensor(X))
    assert type(found) is np.ndarray, kind
    np.testing.assert_array_equal(found, expected)
"""


def test_tensors_become_arrays() -> None:
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        check=True,
    )
