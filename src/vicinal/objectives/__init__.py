"""Objectives: a value and its gradient at a map. No iterations live here."""

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
