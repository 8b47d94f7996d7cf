"""The engine: weighs the edges between all points, a block of rows at a time.

No n×n array is ever held, and nothing here knows of estimators or optimisers.
"""

from vicinal.neighborhood.blocks import (
    back_project,
    effective_n_threads,
    project,
    single_threaded_blas,
)
from vicinal.neighborhood.pull import Pull, Rule, average, look, pull, resolvable
from vicinal.neighborhood.rules import (
    ClassRuns,
    ExpectedMatches,
    LogMatches,
    Masses,
    Perplexities,
    SoftMatches,
    SquaredErrors,
)

__all__ = [
    "ClassRuns",
    "ExpectedMatches",
    "LogMatches",
    "Masses",
    "Perplexities",
    "Pull",
    "Rule",
    "SoftMatches",
    "SquaredErrors",
    "average",
    "back_project",
    "effective_n_threads",
    "look",
    "project",
    "pull",
    "resolvable",
    "single_threaded_blas",
]
