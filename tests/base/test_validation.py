"""What scikit-learn's validation lets through, and ours does not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

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


def test_new_rows_may_be_as_small_as_they_like() -> None:
    X, y = load_iris(return_X_y=True)
    nca = NCA(2, random_state=0).fit(X, y)
    np.testing.assert_allclose(nca.transform(np.full((1, 4), 1e-80)), 0, atol=1e-60)
    with pytest.raises(ValueError, match="Scale the data"):
        nca.transform(np.full((1, 4), 1e80))
    with pytest.raises(ValueError, match="Scale the data"):
        NCA(2).fit(1e-80 * X, y)
