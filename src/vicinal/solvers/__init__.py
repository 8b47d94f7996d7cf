"""Solvers: how to climb. They know nothing of labels, rows or estimators."""

from vicinal.solvers.base import Objective, Solution
from vicinal.solvers.lbfgs import LBFGS

__all__ = ["LBFGS", "Objective", "Solution"]
