"""Settings that must stand before SciPy is imported."""

import os

# Without it, scikit-learn skips one of its checks of estimators.
os.environ["SCIPY_ARRAY_API"] = "1"
