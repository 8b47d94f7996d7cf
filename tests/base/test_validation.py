"""What scikit-learn's validation lets through, and ours does not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from vicinal import LCA, LDG, NCA, NCARegressor
from vicinal.classic import FDA

X = np.random.default_rng(0).normal(size=(30, 3)) + 2 * (np.arange(30) % 3)[:, None]
y = np.arange(30) % 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        NCA(max_iter=3),
        NCARegressor(max_iter=3),
        LCA(max_iter=3, alpha=0.1),
        LDG(2, n_neighbors=5, gamma=0.5),
        FDA(1),
    ],
)
@pytest.mark.parametrize("dtype", [">f8", ">f4"])
def test_columns_in_another_byte_order(model: Any, dtype: str) -> None:
    foreign = X.astype(dtype)
    native = foreign.astype(dtype.replace(">", "="))
    expected = model.fit(native, y).components_
    frame = pd.DataFrame({f"c{j}": foreign[:, j] for j in range(3)})
    np.testing.assert_allclose(model.fit(frame, y).components_, expected, rtol=1e-6)
