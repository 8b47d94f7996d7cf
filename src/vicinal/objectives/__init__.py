"""Objectives: a number and its gradient at a map. No iterations live here."""

from vicinal.objectives.minibatch import Batches
from vicinal.objectives.nca import NCAObjective
from vicinal.objectives.penalized import Penalised
from vicinal.objectives.regression import TargetObjective
from vicinal.objectives.truncated import TruncatedNCA

__all__ = ["Batches", "NCAObjective", "Penalised", "TargetObjective", "TruncatedNCA"]
