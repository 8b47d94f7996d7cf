"""Solvers: how to climb. They know nothing of labels, rows or estimators."""

from vicinal.solvers.base import Objective, Solution, StopReason
from vicinal.solvers.cg import ConjugateGradient
from vicinal.solvers.gradient_ascent import GradientAscent
from vicinal.solvers.lbfgs import LBFGS
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
