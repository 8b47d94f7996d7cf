"""The pair engine: sums over all pairs of points, one block of rows at a time.

::

                         references Z (n points, or their nearest neighbors)
                        ┌──────────────────────────────────────────────┐
     queries      rows  │  block: inner products ⟨z_i, z_j⟩   (BLAS)    │
     (all points, ────► │    │ kernel, one row after the other (Numba)  │
     some, or new)      │    ▼                                          │
                        │  block: weights v_ij, and a value for each i  │
                        └──────┬───────────────────────────────────────┘
     a run of blocks is a      │ products, before the next block (BLAS)
     partition; threads take   ▼
     one after the other     laplacian_product  values, L Z   gradients
                             scatter     values, XᵀL X     covariances
                             average     Σ_j p_ij t_j      predictions
                             log_sums    log Σ_j exp(−d²)  densities
                             soft_neighbors  both          gradients between two sets

‖a − b‖² = ‖a‖² + ‖b‖² − 2⟨a, b⟩ turns distances into a matrix product and rounds them
by about eps · (‖a‖² + ‖b‖²). Points are therefore centered first, and blocks with rows
that are still too far out use differences instead. No n×n array is held, and the
result does not depend on the number of threads.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.threads import (
    N_PARTITIONS,
    back_project,
    map_in_order,
    rows_per_block,
    single_threaded_blas,
)

# --- rules: weights and values of the pairs, one function for each loss
#
# Rules that compare labels need the points sorted by class. The matches of a row are
# then contiguous columns, and the loop over pairs does not compare labels.

EXCLUDED_DISTANCE: dict[Any, Any] = {
    np.dtype(np.float32): np.float32(1e38),
    np.dtype(np.float64): np.float64(1e300),
}
"""Sentinel distance of excluded points: finite, so that inf − inf never occurs."""


@dataclass(frozen=True)
class NeighborWeights:
    """Weights of the points: as neighbors, in their own sum, and in the objective.

    Attributes
    ----------
    log_offsets : ndarray of shape (n_points,)
        log max mass − log mass_j of the points as neighbors: p_ij ∝ mass_j exp(−d²).
    self_log_offsets : ndarray of shape (n_points,)
        Offset of a point in its own sum: `EXCLUDED_DISTANCE` for a single point; a
        point that represents c equal points has c − 1 of them as neighbors.
    counts : ndarray of shape (n_points,)
        Multiplicity of a point's term in the objective.
    """

    log_offsets: FloatArray
    self_log_offsets: FloatArray
    counts: FloatArray

    def __iter__(self) -> Iterator[FloatArray]:
        return iter((self.log_offsets, self.self_log_offsets, self.counts))

    @classmethod
    def build(
        cls, counts: FloatArray, mass_of_one: FloatArray, dtype: np.dtype[Any]
    ) -> "NeighborWeights":
        """Build from the number of points that each represents, and the mass of one."""
        if (counts == 1).all() and (mass_of_one == mass_of_one[:1]).all():
            # The most frequent case. The formulas below give the same result, at the
            # cost of a tenth of a mini-batch.
            zeros = np.zeros(len(counts), dtype=dtype)
            return cls(
                zeros,
                np.full_like(zeros, EXCLUDED_DISTANCE[dtype]),
                np.ones_like(zeros),
            )
        masses = np.log(counts) + np.log(mass_of_one)
        self_log_offsets = np.full(len(counts), float(EXCLUDED_DISTANCE[dtype]))
        several = counts > 1
        self_log_offsets[several] = masses.max() - (
            np.log(counts[several] - 1) + np.log(mass_of_one[several])
        )
        return cls(
            (masses.max() - masses).astype(dtype),
            # The offset of a count barely above 1 is large; it must not overflow.
            np.clip(self_log_offsets, 0, EXCLUDED_DISTANCE[dtype]).astype(dtype),
            counts.astype(dtype),
        )


class Rule(NamedTuple):
    """Edge weights and values of the rows of a block of pairs.

    The kernel is called with the block of inner products ⟨z_i, z_j⟩, the columns of the
    rows' own points, their squared norms, `query_args` of these rows, the columns'
    squared norms, `reference_args`, and an array for the rows' values. It overwrites
    the block with the weights v_ij.

    Attributes
    ----------
    kernel : str or callable
        Name of a compiled kernel, or a function with its arguments.
    query_args : tuple of ndarray
        Arguments of the kernel with one entry for each row.
    reference_args : tuple of ndarray
        Arguments of the kernel about the columns.
    """

    kernel: Any
    query_args: tuple[Any, ...] = ()
    reference_args: tuple[Any, ...] = ()


class ClassSlices(NamedTuple):
    """Range of the points of the same class, for each of the points sorted by class."""

    starts: IntArray
    stops: IntArray

    @classmethod
    def from_sorted(cls, codes: IntArray) -> "ClassSlices":
        """Build from class codes in ascending order."""
        starts = np.searchsorted(codes, codes, side="left")
        return cls(starts, np.searchsorted(codes, codes, side="right"))


def expected_matches(
    classes: ClassSlices, masses: NeighborWeights, power: float = 1.0
) -> Rule:
    """NCA's f, eq. 3; the value is p_i, the probability that i picks a match."""
    offsets = masses.log_offsets
    return Rule(
        "matches",
        (*classes, masses.self_log_offsets, masses.counts),
        (offsets, np.array([power], dtype=offsets.dtype)),
    )


log_matches = partial(expected_matches, power=0.0)
"""NCA's g, eq. 6; the value is log p_i."""


def soft_matches(targets: FloatArray, masses: NeighborWeights) -> Rule:
    """Soft matches of targets (NCA, section 5); the value is Σ_j p_ij κ_ij.

    κ_ij = exp(−(t_i − t_j)²); the unit of the targets sets the width.
    """
    own = (masses.self_log_offsets, masses.counts)
    return Rule("soft_matches", own, (masses.log_offsets, targets))


def squared_errors(targets: FloatArray, masses: NeighborWeights) -> Rule:
    """Kernel regression (MLKR); the value is −(t_i − Σ_j p_ij t_j)²."""
    return soft_matches(targets, masses)._replace(kernel="squared_errors")


def perplexities(masses: NeighborWeights) -> Rule:
    """Perplexity; the value is the effective number of neighbors of i."""
    # A count below 1 has no copies.
    copies = np.log(np.maximum(masses.counts, 1))
    own = (masses.self_log_offsets,)
    return Rule("perplexities", own, (masses.log_offsets, copies))


def responsibilities(masses: NeighborWeights) -> Rule:
    """LCA's λ_ij, eq. 3; the value is log Σ_{j≠i} exp(−d²_ij)."""
    own = (masses.self_log_offsets,)
    return Rule("responsibilities", own, (masses.log_offsets,))


def affinities(sharpness: FloatArray) -> Rule:
    """LFDA's A_ij = exp(−d²_ij / (σ_i σ_j)); the value is Σ_{j≠i} A_ij.

    The sharpness is 1 / σ_i; the product of any two must be finite.
    """
    return Rule("affinities", (sharpness,), (sharpness,))


def collapsed_classes(classes: ClassSlices, masses: NeighborWeights) -> Rule:
    """MCML; the value is the mean of log p_ij over the other points j of i's class."""
    own = (*classes, masses.self_log_offsets)
    return Rule("collapsed_classes", own, (masses.log_offsets,))


def squared_votes(classes: ClassSlices, masses: NeighborWeights) -> Rule:
    """Squared error of the vote; the value is −Σ_c ([c_i = c] − Σ_{j ∈ c} p_ij)²."""
    bounds = np.append(np.unique(classes.starts), classes.stops[-1:])
    own = (classes.starts, masses.self_log_offsets, masses.counts)
    return Rule("squared_votes", own, (masses.log_offsets, bounds))


def given_pairs(
    shares: csr_array,
    masses: NeighborWeights,
    attraction: FloatArray,
    repulsion: FloatArray,
) -> Rule:
    """Pairs, eq. 8 of NCA; the value is Σ_j s_ij log p_ij.

    Parameters
    ----------
    shares : csr_array
        s_ij: the shares of each point's partners, which sum to 1.
    masses : NeighborWeights
        Weights of single points.
    attraction : ndarray of shape (n_points,)
        Total weight of a point's partners; 0 if it has none.
    repulsion : ndarray of shape (n_points,)
        Weight of p_ij in the gradient; equal to `attraction` if p is normalized for
        each point.
    """
    offsets = masses.log_offsets
    rows, columns = _csr_args(shares, offsets.dtype)
    own = (*rows, masses.self_log_offsets, attraction, repulsion)
    return Rule("pairs", own, (offsets, *columns))


def listed_matches(matches: csr_array, masses: NeighborWeights, power: float) -> Rule:
    """Sparse matches κ_ij; the value is Σ_j p_ij κ_ij, or its logarithm (power 0)."""
    offsets = masses.log_offsets
    rows, columns = _csr_args(matches, offsets.dtype)
    return Rule(
        "listed_matches",
        (*rows, masses.self_log_offsets, masses.counts),
        (offsets, *columns, np.array([power], dtype=offsets.dtype)),
    )


def soft_labels(labels: FloatArray, masses: NeighborWeights, power: float) -> Rule:
    """Class probabilities Y; the matches are κ_ij = Σ_c Y_ic Y_jc."""
    offsets = masses.log_offsets
    labels = labels.astype(offsets.dtype)
    return Rule(
        "soft_labels",
        (labels, masses.self_log_offsets, masses.counts),
        (
            offsets,
            np.ascontiguousarray(labels.T),
            np.array([power], dtype=offsets.dtype),
        ),
    )


def _csr_args(matrix: csr_array, dtype: Any) -> tuple[Any, Any]:
    """Return the bounds of the rows, and columns and values, of a sparse matrix."""
    pointers = matrix.indptr.astype(np.intp)
    columns = matrix.indices.astype(np.intp), matrix.data.astype(dtype)
    return (pointers[:-1], pointers[1:]), columns


# --- the loop over blocks


class WeightedPairs(NamedTuple):
    """The values of a rule, and a matrix made of its weights V."""

    values: FloatArray
    """One value for each query."""
    matrix: FloatArray
    """L Z with L the Laplacian of V + Vᵀ, or Σ_ij v_ij x_ij x_ijᵀ in float64."""


def for_each_block(
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    visit: Callable[..., None],
    n_threads: int,
    total: FloatArray | None = None,
    pairs: Sequence[FloatArray] | None = None,
) -> None:
    """Visit the blocks of a matrix, each of some rows and all columns.

    Parameters
    ----------
    shape : tuple of int
        Numbers of queries (rows) and references (columns).
    dtype : dtype
        Type of the blocks.
    visit : callable
        Called with a block, its rows, and a term of `total`, initially zero, to
        which it adds. The blocks of a term follow each other in one thread.
    n_threads : int
        Number of threads. Neither blocks nor terms depend on it.
    total : ndarray or None, default=None
        The terms are added to it, in the order of the rows.
    pairs : (Q, query_norms, Z, norms) or None, default=None
        Centered queries and references, and their squared norms. The blocks are then
        the products ⟨q, z⟩, and `visit` is also called with the squared norms that go
        with them. For queries that are far out, −½ ‖q − z‖² from differences takes the
        place of the products, and the norms are 0. None leaves the blocks empty.

    Raises
    ------
    ValueError
        If squared distances would overflow.
    """
    if pairs is not None:
        farthest = np.maximum(pairs[1].max(initial=0), pairs[3].max(initial=0))
        if not farthest < EXCLUDED_DISTANCE[dtype] / 8:
            raise ValueError(
                "Under this map the points are too far apart for their squared "
                f"distances to be {dtype} numbers. Scale the data, for instance with "
                "sklearn.preprocessing.StandardScaler, or scale the map down."
            )
    n_rows, n_columns = shape
    size = rows_per_block(n_rows, n_columns * dtype.itemsize)
    per_term = size * -(-n_rows // (size * N_PARTITIONS))

    def work(first: int) -> Any:
        block = np.empty((size, n_columns), dtype=dtype)
        term = None if total is None else np.zeros_like(total)
        last = min(first + per_term, n_rows)
        for start in range(first, last, size):
            rows = slice(start, min(start + size, last))
            part = block[: rows.stop - start]
            if pairs is None:
                visit(part, rows, term)
                continue
            Q, query_norms, Z, norms = pairs
            if query_norms[rows].max(initial=0) <= FAR_OUT[dtype]:
                np.matmul(Q[rows], Z.T, out=part)
                visit(part, rows, term, query_norms[rows], norms)
            else:
                from vicinal.neighborhood import kernels  # loads Numba

                kernels.half_distances(part, Q[rows], Z)
                zeros = np.zeros_like(norms)
                visit(part, rows, term, np.zeros_like(query_norms[rows]), zeros)
        return term

    parts = range(0, n_rows, per_term)
    with single_threaded_blas():
        alone = n_threads == 1 or len(parts) < 2
        terms = map(work, parts) if alone else map_in_order(work, parts, n_threads)
        for term in terms:
            if total is not None:
                total += term


def center(points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the points relative to their mean, their squared norms, and the mean.

    If some points are far out, the origin is the median: one outlier moves the mean
    away from all other points, but not the median.
    """
    origin: FloatArray = points.mean(axis=0)
    Z = points - origin
    norms = np.einsum("ij,ij->i", Z, Z)
    if norms.max(initial=0) > FAR_OUT[norms.dtype]:
        origin = np.median(points, axis=0).astype(points.dtype)
        Z = points - origin
        norms = np.einsum("ij,ij->i", Z, Z)
    return Z, norms, origin


FAR_OUT: dict[Any, float] = {
    np.dtype(np.float32): 0.1 / float(np.finfo(np.float32).eps),
    np.dtype(np.float64): 1e-4 / float(np.finfo(np.float64).eps),
}
"""Squared norm at which products round an exponent −‖a − b‖² by about 0.1 in float32,
and 1e-4 in float64, which has digits to spare."""


def with_plain_distances(rule: Rule) -> Rule:
    """Return the rule with distances in the place of squared ones, p_ij ∝ exp(−d_ij).

    Its weights stay derivatives with respect to squared distances.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    n_query_args = len(rule.query_args)
    squared = rule.kernel if callable(rule.kernel) else getattr(kernels, rule.kernel)

    def kernel(
        block: FloatArray, rows: IntArray, norms_of: FloatArray, *arguments: Any
    ) -> None:
        own, norms = arguments[:n_query_args], arguments[n_query_args]
        distances, none_of, none = to_plain(block, norms_of, norms)
        squared(block, rows, none_of, *own, none, *arguments[n_query_args + 1 :])
        kernels.halve_and_divide(block, distances)  # ∂d / ∂d² = 1 / (2 d)

    return rule._replace(kernel=kernel)


def to_plain(
    block: FloatArray, query_norms: FloatArray, norms: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Write −½ d into a block of inner products; return d, and norms of 0.

    Kernels then read d as a squared distance.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    distances = np.empty_like(block)
    # The rounding error of a squared distance: d has no gradient at 0.
    info = np.finfo(block.dtype)
    least = block.dtype.type(info.eps * max(float(norms.mean()), float(info.tiny)))
    kernels.plain_distances(block, query_norms, norms, least, distances)
    return distances, np.zeros_like(query_norms), np.zeros_like(norms)


def float32_resolves(Z: FloatArray) -> bool:
    """Return whether float32 resolves the distances between centered points Z.

    It does if rounding changes an exponential by less than a tenth.
    """
    if Z.dtype != np.float32 or not Z.size:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.square(np.abs(Z).max()) * Z.shape[1]
    return bool(np.finfo(np.float32).eps * spread < 0.1)


def center_float32(X: Any) -> tuple[Any, Any]:
    """Center float32 rows that are far from the origin, where products lose digits.

    Other rows are not copied.

    Returns
    -------
    X : ndarray or sparse array
        The rows, centered if the mean of a feature exceeds four times its range, or,
        for a constant feature, four times the largest range.
    offset : ndarray of shape (n_features,) or None
        The mean that was subtracted.
    """
    if issparse(X) or X.dtype != np.float32:
        return X, None
    mean = X.mean(axis=0, dtype=np.float64)
    extent = X.max(axis=0).astype(np.float64) - X.min(axis=0)
    extent = np.where(extent > 0, extent, extent.max(initial=0))
    if not (extent.any() and (np.abs(mean) > 4 * extent).any()):
        return X, None
    # Rounded to float32, so that subtracting it from new rows gives the same.
    offset = mean.astype(np.float32)
    return X - offset, offset


def laplacian_product(
    points: FloatArray,
    rule: Rule,
    n_threads: int = 1,
    queries: IntArray | None = None,
    values_only: bool = False,
) -> WeightedPairs:
    """Weight the edges between the points; return the values and L Z.

    With V the rule's weights, L = diag((V + Vᵀ)1) − V − Vᵀ, so that
    ZᵀL X = Σ_ij v_ij (z_i − z_j)(x_i − x_j)ᵀ for any X.

    Parameters
    ----------
    points : array of shape (n_points, n_components)
        The projected points z_i, float32 or float64.
    rule : Rule
        Weights and values.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.
    queries : ndarray of int or None, default=None
        Positions of the points whose rows are weighted, without repeats; None is all.
        Edges from other points have weight zero.
    values_only : bool, default=False
        Skip the products; L Z is then empty.

    Returns
    -------
    WeightedPairs
        Values of shape (n_queries,) and L Z.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    Z, norms, _ = center(points)
    n, d = Z.shape
    which = np.arange(n) if queries is None else queries
    values = np.empty(len(which), dtype=Z.dtype)
    # A column of ones sums rows and columns; the others are padding for fast BLAS.
    width = -(-(d + 1) // 4) * 4
    padded = np.zeros((0 if values_only else n, width), dtype=Z.dtype)
    if not values_only:
        padded[:, :d] = Z
        padded[:, d] = 1
    by_row = np.empty((0 if values_only else len(which), width), dtype=Z.dtype)
    both = np.zeros_like(padded)
    kernel = rule.kernel if callable(rule.kernel) else getattr(kernels, rule.kernel)

    def visit(
        block: FloatArray,
        rows: slice,
        term: Any,
        own_norms: FloatArray,
        all_norms: FloatArray,
    ) -> None:
        own = rows if queries is None else queries[rows]  # a slice does not copy
        kernel(
            block, which[rows], own_norms, *[known[own] for known in rule.query_args],
            all_norms, *rule.reference_args, values[rows],
        )  # fmt: skip
        if values_only:
            return
        if norms[which[rows]].max() > FAR_OUT[norms.dtype]:  # products would cancel
            kernels.add_differences(-block, which[rows], Z, term)
            by_row[rows] = 0
            return
        np.matmul(block, padded, out=by_row[rows])
        term += block.T @ padded[own]

    pairs = (
        (Z, norms, Z, norms) if queries is None else (Z[which], norms[which], Z, norms)
    )
    total = None if values_only else both
    for_each_block((len(which), n), Z.dtype, visit, n_threads, total, pairs)
    if values_only:
        return WeightedPairs(values, both)
    both[which] += by_row
    return WeightedPairs(values, both[:, d : d + 1] * Z - both[:, :d])


def scatter(
    points: FloatArray,
    rule: Rule,
    n_threads: int = 1,
    queries: IntArray | None = None,
    scattered: FloatArray | None = None,
) -> WeightedPairs:
    """Weight the edges between the points; return Σ_ij v_ij x_ij x_ijᵀ = XᵀL X.

    With half weights h = ½ (V + Vᵀ)1 it is twice the symmetric part of
    Xᵀ(diag(h) X − V X): of Vᵀ the column sums are enough. The d×d sums are in float64.

    Parameters
    ----------
    points : array of shape (n_points, n_components)
        The points whose distances give the weights, float32 or float64.
    rule, n_threads, queries
        As for `laplacian_product`.
    scattered : array of shape (n_points, n_features) or None, default=None
        X, of the points' type; None is the points.

    Returns
    -------
    WeightedPairs
        Values of shape (n_queries,) and a matrix of shape (n_features, n_features).
    """
    from vicinal.neighborhood import kernels  # loads Numba

    Z, norms, _ = center(points)
    X = Z if scattered is None else center(scattered)[0]
    n, d = X.shape
    which = np.arange(n) if queries is None else queries
    values = np.empty(len(which), dtype=Z.dtype)
    padded = np.zeros((n, -(-(d + 1) // 4) * 4), dtype=X.dtype)
    padded[:, :d] = X
    padded[:, d] = 1
    by_row = np.empty((len(which), padded.shape[1]), dtype=X.dtype)
    # Column sums, after L X of the blocks that use differences, if there are any.
    far_out = norms[which].max(initial=0) > FAR_OUT[norms.dtype]
    total = np.zeros((n, d + 1 if far_out else 1), dtype=np.float64)
    kernel = rule.kernel if callable(rule.kernel) else getattr(kernels, rule.kernel)

    def visit(
        block: FloatArray,
        rows: slice,
        term: Any,
        own_norms: FloatArray,
        all_norms: FloatArray,
    ) -> None:
        own = rows if queries is None else queries[rows]
        kernel(
            block, which[rows], own_norms, *[known[own] for known in rule.query_args],
            all_norms, *rule.reference_args, values[rows],
        )  # fmt: skip
        if norms[which[rows]].max() > FAR_OUT[norms.dtype]:  # products would cancel
            kernels.add_differences(block, which[rows], X, term)
            by_row[rows] = 0
            return
        np.matmul(block, padded, out=by_row[rows])
        term[:, -1] += np.ones(len(block), dtype=block.dtype) @ block

    pairs = (
        (Z, norms, Z, norms) if queries is None else (Z[which], norms[which], Z, norms)
    )
    for_each_block((len(which), n), Z.dtype, visit, n_threads, total, pairs)
    total /= 2
    total[which, -1] += by_row[:, d].astype(np.float64) / 2
    weighted = total[:, -1:] * X
    if far_out:
        weighted += total[:, :-1]
    weighted[which] -= by_row[:, :d]
    one_half = back_project(weighted, X, n_threads)
    return WeightedPairs(values, one_half + one_half.T)


def average(
    queries: FloatArray,
    points: FloatArray,
    targets: FloatArray,
    weights: NeighborWeights,
    n_threads: int = 1,
    plain: bool = False,
) -> FloatArray:
    """Return Σ_j p_ij t_j, the mean target of each new point's soft neighbors.

    Parameters
    ----------
    queries : array of shape (n_queries, n_components)
        New points, of the type of `points`.
    points : array of shape (n_points, n_components)
        The points that can be picked.
    targets : array of shape (n_points, n_targets)
        Indicators of the classes, or numbers.
    weights : NeighborWeights
        Weights of the points as neighbors.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.
    plain : bool, default=False
        p_ij ∝ exp(−d_ij) instead of exp(−d²_ij).

    Returns
    -------
    ndarray of shape (n_queries, n_targets)
        In float64 if float32 cannot resolve the distances.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    Q, query_norms, Z, norms, log_offsets, targets = resolved(
        queries, points, weights.log_offsets, targets
    )
    targets = targets.astype(Z.dtype, copy=False)
    means = np.empty((len(Q), targets.shape[1]), dtype=Z.dtype)
    sums = np.empty(len(Q), dtype=Z.dtype)

    def visit(block: FloatArray, rows: slice, _: Any, *both: FloatArray) -> None:
        if plain:
            both = to_plain(block, *both)[1:]
        kernels.normalize(block, *both, log_offsets, sums[rows])
        np.matmul(block, targets, out=means[rows])

    pairs = Q, query_norms, Z, norms
    for_each_block((len(Q), len(Z)), Z.dtype, visit, n_threads, pairs=pairs)
    return means


def log_sums(
    queries: FloatArray, points: FloatArray, log_offsets: FloatArray, n_threads: int = 1
) -> FloatArray:
    """Return log Σ_j exp(−‖q − z_j‖² − offset_j) of each new point q.

    Parameters
    ----------
    queries : array of shape (n_queries, n_components)
        New points.
    points : array of shape (n_points, n_components)
        The points z_j, of the same type.
    log_offsets : ndarray of shape (n_points,)
        Not negative; zeros if all points have the same weight.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_queries,)
        Of the points' type.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    Q, query_norms, Z, norms, log_offsets = resolved(queries, points, log_offsets)
    sums = np.empty(len(Q), dtype=Z.dtype)

    def visit(block: FloatArray, rows: slice, _: Any, *both: FloatArray) -> None:
        kernels.log_sums(block, *both, log_offsets, sums[rows])

    pairs = Q, query_norms, Z, norms
    for_each_block((len(Q), len(Z)), Z.dtype, visit, n_threads, pairs=pairs)
    return sums.astype(points.dtype, copy=False)


class SoftNeighbors(NamedTuple):
    """Averages of soft neighbors between two sets of points."""

    log_sums: FloatArray
    """log Σ_j exp(−‖q_i − z_j‖²) of each query."""
    means: FloatArray
    """Σ_j p_ij z_j of each query."""
    received: FloatArray
    """Σ_i p_ij t_i of each point, for the t_i that the queries carry."""


def soft_neighbors(
    queries: FloatArray,
    points: FloatArray,
    n_threads: int = 1,
    carried: FloatArray | None = None,
) -> SoftNeighbors:
    """Return averages of queries' soft neighbors, in one pass over all pairs.

    Parameters
    ----------
    queries : array of shape (n_queries, n_components)
        The points q_i that pick with p_ij ∝ exp(−‖q_i − z_j‖²), float32 or float64.
    points : array of shape (n_points, n_components)
        The points z_j that can be picked, of the same type.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.
    carried : array of shape (n_queries, n_carried) or None, default=None
        The t_i that are summed at the points.

    Returns
    -------
    SoftNeighbors
        In float64 if float32 cannot resolve the distances.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    Q, query_norms, Z, norms = resolved(queries, points)
    dtype = Z.dtype
    points = points.astype(dtype, copy=False)
    if carried is None:
        carried = np.empty((len(queries), 0))
    carried = carried.astype(dtype, copy=False)
    sums = np.empty(len(Q), dtype=dtype)
    means = np.empty_like(Q)
    received = np.zeros((len(Z), carried.shape[1]), dtype=dtype)
    no_offsets = np.zeros(len(Z), dtype=dtype)

    def visit(block: FloatArray, rows: slice, term: Any, *both: FloatArray) -> None:
        kernels.normalize(block, *both, no_offsets, sums[rows])
        np.matmul(block, points, out=means[rows])
        term += block.T @ carried[rows]

    pairs = Q, query_norms, Z, norms
    for_each_block((len(Q), len(Z)), dtype, visit, n_threads, received, pairs)
    return SoftNeighbors(sums, means, received)


def resolved(
    queries: FloatArray, points: FloatArray, *of_points: FloatArray
) -> tuple[FloatArray, ...]:
    """Return centered queries and points, each with squared norms, and the others.

    All are in float64 if float32 cannot resolve the distances.

    Raises
    ------
    ValueError
        If arrays do not belong together: kernels do not check bounds.
    """
    lengths = {len(one) for one in (points, *of_points)}
    if len(lengths) > 1 or queries.shape[1:] != points.shape[1:]:
        raise ValueError(
            "The points that predict and their weights or targets differ in number, or "
            "queries and points in dimension."
        )
    arrays: Any = queries, points, *of_points
    origin = points.mean(axis=0)
    if not (float32_resolves(queries - origin) and float32_resolves(points - origin)):
        arrays = [array.astype(np.float64) for array in arrays]
    queries, points, *others = arrays
    Z, norms, origin = center(points)
    Q = queries - origin
    return Q, np.einsum("ij,ij->i", Q, Q), Z, norms, *others
