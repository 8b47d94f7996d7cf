"""Objectives: a number and its gradient at a map. No iterations live here."""

from vicinal.objectives.lmnn import LMNNObjective
from vicinal.objectives.lmnn import MCMLObjective
from vicinal.objectives.base import MinibatchSampler
from vicinal.objectives.nca import NCAObjective
from vicinal.objectives.nca import GivenPairsObjective
from vicinal.optimize import Penalized
from vicinal.objectives.nca import TargetObjective
from vicinal.objectives.nca import SoftMatchObjective
from vicinal.objectives.nca import TruncatedNCA

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
