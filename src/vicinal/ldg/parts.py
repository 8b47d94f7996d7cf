"""What other rooms build an LDG of their own from: Gaussians, sums, choices."""

from vicinal.ldg._eigenproblem import EigenProblem, Matrix
from vicinal.ldg._ldg import Sample
from vicinal.ldg._local_gaussians import ClassPoints, Scatters, scatters, squared_norms
from vicinal.ldg._model_selection import MOST_ROWS
from vicinal.ldg._validation import source_of_chance, warn_of_small_classes

__all__ = [
    "MOST_ROWS",
    "ClassPoints",
    "EigenProblem",
    "Matrix",
    "Sample",
    "Scatters",
    "scatters",
    "source_of_chance",
    "squared_norms",
    "warn_of_small_classes",
]
