"""Objectives: a number and its gradient at a map. No iterations live here."""

from vicinal.objectives.nca import NCAObjective

__all__ = ["NCAObjective"]
