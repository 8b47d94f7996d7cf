"""Neighbourhood components analysis: the metric, a classifier and a regressor.

`_fit` is the road of a fit; `_initialization` gives its first map, `_preconditioner`
and `_stochastic` take it through many rows, `_partial_fit` through data in pieces.
"""

from vicinal.nca._classifier import NCAClassifier
from vicinal.nca._nca import NCA
from vicinal.nca._regressor import NCARegressor

__all__ = ["NCA", "NCAClassifier", "NCARegressor"]
