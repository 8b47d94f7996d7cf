"""Objectives: a number and its gradient at a map. No iterations live here."""

from vicinal.objectives.base import MinibatchSampler, PairLoss
from vicinal.objectives.lmnn import LMNNObjective, MCMLObjective
from vicinal.objectives.nca import (
    GivenPairsObjective,
    NCAObjective,
    SoftMatchObjective,
    TargetObjective,
    TruncatedNCA,
)
from vicinal.objectives.retrieval import RetrievalObjective

__all__ = [
    "GivenPairsObjective",
    "LMNNObjective",
    "MCMLObjective",
    "MinibatchSampler",
    "NCAObjective",
    "PairLoss",
    "RetrievalObjective",
    "SoftMatchObjective",
    "TargetObjective",
    "TruncatedNCA",
]
