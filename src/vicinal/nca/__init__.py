"""Neighbourhood components analysis: by classes, by pairs, a classifier, a regressor.

`_fit` is the road of a fit; `_initialization` gives its first map and `_scale` the
size of it, `_model_selection` the penalty, `_optimizer` goes on exactly, `_stochastic`
by mini-batches in the coordinates of `_preconditioner`, `_partial_fit` in pieces.
"""

from vicinal.nca._classifier import NCAClassifier
from vicinal.nca._initialization import STARTS, initial_components
from vicinal.nca._nca import NCA
from vicinal.nca._pair_nca import PairNCA
from vicinal.nca._regressor import NCARegressor

__all__ = [
    "NCA",
    "STARTS",
    "NCAClassifier",
    "NCARegressor",
    "PairNCA",
    "initial_components",
]
