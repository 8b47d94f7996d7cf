"""Neighbourhood components analysis: by classes, by pairs, a classifier, a regressor.

`nca` is the estimator. `_problems` validates rows and labels; `_learning` chooses
start, penalty and solver, and fits; `_initialization` has the starts, `_scale` their
scale, `_stochastic` the steps on mini-batches, `_schedules` annealing and early
stopping, `_partial_fit` data in pieces.
"""

from vicinal.nca._initialization import STARTS, initial_components
from vicinal.nca.classifier import NCAClassifier
from vicinal.nca.nca import NCA
from vicinal.nca.pairs import PairNCA
from vicinal.nca.regressor import NCARegressor

__all__ = [
    "NCA",
    "STARTS",
    "NCAClassifier",
    "NCARegressor",
    "PairNCA",
    "initial_components",
]
