"""Objectives: a number and its gradient at a map. No iterations live here."""

from vicinal.objectives.base import MinibatchSampler
from vicinal.objectives.lmnn import LMNNObjective, MCMLObjective
from vicinal.objectives.nca import (
    GivenPairsObjective,
    NCAObjective,
    SoftMatchObjective,
    TargetObjective,
    TruncatedNCA,
)
from vicinal.optimize import Penalized

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
