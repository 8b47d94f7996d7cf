"""The pair engine, its kernels, threads and nearest neighbors; see `engine`."""

from vicinal.neighborhood.blas import single_threaded_blas
from vicinal.neighborhood.engine import (
    Rule,
    WeightedPairs,
    average,
    center_float32,
    float32_resolves,
    laplacian_product,
    log_sums,
    row_values,
    scatter,
    soft_neighbors,
)
from vicinal.neighborhood.match_rules import (
    GivenPairs,
    Listed,
    ListedMatches,
    SoftLabels,
)
from vicinal.neighborhood.parallel import (
    back_project,
    effective_n_threads,
    project,
)
from vicinal.neighborhood.rules import (
    Affinities,
    ClassRuns,
    CollapsedClasses,
    ExpectedMatches,
    LogMatches,
    NeighborWeights,
    Perplexities,
    Responsibilities,
    SoftMatches,
    SquaredErrors,
    SquaredVotes,
)

__all__ = [
    "Affinities",
    "ClassRuns",
    "CollapsedClasses",
    "ExpectedMatches",
    "GivenPairs",
    "Listed",
    "ListedMatches",
    "LogMatches",
    "NeighborWeights",
    "Perplexities",
    "Responsibilities",
    "Rule",
    "SoftLabels",
    "SoftMatches",
    "SquaredErrors",
    "SquaredVotes",
    "WeightedPairs",
    "average",
    "back_project",
    "center_float32",
    "effective_n_threads",
    "float32_resolves",
    "laplacian_product",
    "log_sums",
    "project",
    "row_values",
    "scatter",
    "single_threaded_blas",
    "soft_neighbors",
]
