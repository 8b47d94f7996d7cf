"""Neighborhood components analysis: classes, pairs, a classifier, a regressor.

`nca` has the estimator and `learn`, the algorithm. `_problems` validates rows and
labels; `_initialization` computes the start and its scale, `_selection` chooses start
and penalty for alpha="auto"; `_stochastic` optimizes on mini-batches; `_schedules` has
annealing and early stopping, `_partial_fit` incremental learning.
"""

from vicinal.nca._initialization import STARTS, initial_components
from vicinal.nca._initialization import fitted_scale as fitted_scale
from vicinal.nca._initialization import queries_of_all as queries_of_all
from vicinal.nca._initialization import seed_of as seed_of

# For `vicinal.dask`, which runs the same steps on a cluster.
from vicinal.nca._problems import ClassProblem as ClassProblem
from vicinal.nca._problems import class_prior as class_prior
from vicinal.nca._schedules import Annealing
from vicinal.nca._stochastic import StochasticGradient
from vicinal.nca._stochastic import sample_size as sample_size
from vicinal.nca.classifier import NCAClassifier
from vicinal.nca.nca import NCA
from vicinal.nca.nca import Run as Run
from vicinal.nca.nca import learn as learn
from vicinal.nca.nca import warn_unless_learned as warn_unless_learned
from vicinal.nca.pairs import PairNCA
from vicinal.nca.regressor import NCARegressor

__all__ = [
    "NCA",
    "STARTS",
    "Annealing",
    "NCAClassifier",
    "NCARegressor",
    "PairNCA",
    "StochasticGradient",
    "initial_components",
]
