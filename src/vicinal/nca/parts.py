"""What other rooms build an NCA of their own from: rows, mini-batches, scale."""

from vicinal.nca._data import ClassificationData
from vicinal.nca._fit import Run
from vicinal.nca._preconditioner import sample_size
from vicinal.nca._scale import fitted_scale, queries_of_all, squared_length
from vicinal.nca._stochastic import StochasticOptimizer

__all__ = [
    "ClassificationData",
    "Run",
    "StochasticOptimizer",
    "fitted_scale",
    "queries_of_all",
    "sample_size",
    "squared_length",
]
