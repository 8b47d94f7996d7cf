"""Objectives: a number and its gradient at a map. No iterations live here."""

from vicinal.objectives.nca import NCAObjective
from vicinal.objectives.penalty import Penalised
from vicinal.objectives.targets import TargetObjective

__all__ = ["NCAObjective", "Penalised", "TargetObjective"]
