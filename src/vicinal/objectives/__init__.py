"""Objectives: value and gradient at a map, without optimization."""

from vicinal.objectives.lmnn import LMNNObjective, MCMLObjective
from vicinal.objectives.matches import (
    GivenPairsObjective,
    SoftMatchObjective,
    TargetObjective,
)
from vicinal.objectives.minibatch import MinibatchSampler
from vicinal.objectives.nca import NCAObjective, PairLoss, TruncatedNCA

__all__ = [
    "GivenPairsObjective",
    "LMNNObjective",
    "MCMLObjective",
    "MinibatchSampler",
    "NCAObjective",
    "PairLoss",
    "SoftMatchObjective",
    "TargetObjective",
    "TruncatedNCA",
]
