"""Objectives: a number and its gradient at a map. No iterations live here."""

from vicinal.objectives.lmnn import LMNNObjective
from vicinal.objectives.mcml import MCMLObjective
from vicinal.objectives.minibatch import MinibatchSampler
from vicinal.objectives.nca import NCAObjective
from vicinal.objectives.pairs import GivenPairsObjective
from vicinal.objectives.penalized import Penalized
from vicinal.objectives.regression import TargetObjective
from vicinal.objectives.soft_labels import SoftMatchObjective
from vicinal.objectives.truncated import TruncatedNCA

__all__ = [
    "GivenPairsObjective",
    "LMNNObjective",
    "MCMLObjective",
    "MinibatchSampler",
    "NCAObjective",
    "Penalized",
    "SoftMatchObjective",
    "TargetObjective",
    "TruncatedNCA",
]
