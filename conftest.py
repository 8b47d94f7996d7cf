"""Settings that must stand before SciPy is imported; figures closed after each test."""

import os
import sys
from collections.abc import Iterator

import pytest

# Without it, scikit-learn skips one of its checks of estimators.
os.environ["SCIPY_ARRAY_API"] = "1"
# Pictures are drawn without a screen.
os.environ["MPLBACKEND"] = "Agg"


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
