"""The pair engine: sums over all pairs of points, a block of rows at a time.

::

                         references Z (n points, or their nearest neighbours)
                        ┌──────────────────────────────────────────────┐
     queries      rows  │  block: inner products ⟨z_i, z_j⟩   (BLAS)    │
     (all points, ────► │    │ kernel, one row after the other (Numba)  │
     some, or new)      │    ▼                                          │
                        │  block: weights v_ij, and a value for each i  │
                        └──────┬───────────────────────────────────────┘
     a run of blocks is a      │ consumer, before the next block (BLAS)
     partition; threads take   ▼
     one after the other     pull        values, L Z       gradients
                             scatter     values, XᵀL X     covariances
                             row_values  values            perplexities, terms
                             average     Σ_j p_ij t_j      predictions
                             log_sums    log Σ_j exp(−d²)  densities
                             soft_neighbors  both          gradients between two sets

`pairs` has the loop and the distances, `rules` and `kernels` (of given matches:
`match_rules`, `match_kernels`) what a method makes of a row of distances, out of the
steps in `row_steps`; `compiling` has Numba's options and cache; `engine`,
`new_points` and `soft_neighbors` what comes out, `parallel` blocks and threads, `blas`
the hold on BLAS. No n×n array is ever held, any number of
threads gives the same bits, and nothing here knows of estimators or optimisers.
"""

from vicinal.neighborhood.blas import single_threaded_blas
from vicinal.neighborhood.engine import (
    Pull,
    Rule,
    Scatter,
    pull,
    row_values,
    scatter,
)
from vicinal.neighborhood.match_rules import (
    GivenPairs,
    Listed,
    ListedMatches,
    SoftLabels,
)
from vicinal.neighborhood.new_points import average, log_sums
from vicinal.neighborhood.pairs import float32_resolves
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
from vicinal.neighborhood.soft_neighbors import soft_neighbors

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
    "Pull",
    "Responsibilities",
    "Rule",
    "Scatter",
    "SoftLabels",
    "SoftMatches",
    "SquaredErrors",
    "SquaredVotes",
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
    "soft_neighbors",
]
