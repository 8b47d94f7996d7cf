"""Solvers: given an objective and a first map, return a map that maximizes it.

They know nothing of labels, rows or estimators.
"""

from vicinal.solvers.base import Objective, Solution, StopReason
from vicinal.solvers.gradient_ascent import GradientAscent
from vicinal.solvers.scipy_minimize import LBFGS, ConjugateGradient
from vicinal.solvers.step_rules import BoldDriver, DecayingSteps, DeltaBarDelta

# What estimators call them.
SOLVERS: dict[str, type[LBFGS | ConjugateGradient | GradientAscent]] = {
    "lbfgs": LBFGS,
    "cg": ConjugateGradient,
    "bold-driver": BoldDriver,
    "delta-bar-delta": DeltaBarDelta,
    "decay": DecayingSteps,
}

__all__ = [
    "LBFGS",
    "SOLVERS",
    "BoldDriver",
    "ConjugateGradient",
    "DecayingSteps",
    "DeltaBarDelta",
    "GradientAscent",
    "Objective",
    "Solution",
    "StopReason",
]
