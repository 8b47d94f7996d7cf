"""The engine: weighs the edges between all points, a block of rows at a time.

No n×n array is ever held, and nothing here knows of estimators or optimisers.
"""

from vicinal.neighborhood.blas import single_threaded_blas
from vicinal.neighborhood.engine import (
    Pull,
    Rule,
    average,
    float32_resolves,
    pull,
    row_values,
)
from vicinal.neighborhood.parallel import (
    back_project,
    effective_n_threads,
    project,
)
from vicinal.neighborhood.rules import (
    ClassRuns,
    ExpectedMatches,
    LogMatches,
    NeighborWeights,
    Perplexities,
    Responsibilities,
    SoftMatches,
    SquaredErrors,
)
from vicinal.neighborhood.scatter import Scatter, log_sums, scatter

__all__ = [
    "ClassRuns",
    "ExpectedMatches",
    "LogMatches",
    "NeighborWeights",
    "Perplexities",
    "Pull",
    "Responsibilities",
    "Rule",
    "Scatter",
    "SoftMatches",
    "SquaredErrors",
    "average",
    "back_project",
    "effective_n_threads",
    "float32_resolves",
    "log_sums",
    "project",
    "pull",
    "row_values",
    "scatter",
    "single_threaded_blas",
]
