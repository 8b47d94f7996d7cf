"""Objectives: value and gradient at a map, without optimization."""

from vicinal.objectives.base import MinibatchSampler, PairLoss
from vicinal.objectives.lmnn import LMNNObjective, MCMLObjective
from vicinal.objectives.nca import (
    GivenPairsObjective,
    NCAObjective,
    SoftMatchObjective,
    TargetObjective,
    TruncatedNCA,
)

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
