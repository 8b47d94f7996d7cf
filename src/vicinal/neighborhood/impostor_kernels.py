"""Compiled loops over target neighbours and impostors, for LMNN's hinges.

Importing this module loads Numba.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import numpy as np

from vicinal.neighborhood.compiling import kernel, step
from vicinal.neighborhood.nearest_kernels import insert


@step
def _count_below(row, start, stop, radius):
    """Return how many of some columns are below a radius."""
    near = np.int32(0)
    for c in range(start, stop):
        near += np.int32(1) if row[c] < radius else np.int32(0)
    return near


@kernel
def count_within(block, query_norms, norms, radii, starts, stops, counts):
    """Turn inner products into squared distances, and count those below a radius.

    The columns starts[r] … stops[r] − 1 are of the row's own class, and not counted.
    """
    zero, two = block.dtype.type(0), block.dtype.type(2)
    for r in range(block.shape[0]):
        row, n = block[r], block.shape[1]
        for c in range(n):
            distance = (query_norms[r] + norms[c]) - two * row[c]
            row[c] = distance if distance > zero else zero
        counts[r] = _count_below(row, 0, starts[r], radii[r])
        counts[r] += _count_below(row, stops[r], n, radii[r])


@kernel
def list_within(block, own, radii, starts, stops, kept, counts, columns):
    """List the columns below a radius, row after row, as `count_within` counts them.

    With kept below 2³², a pair is kept where the hash of its numbers is below that;
    counts are replaced by how many were kept. Returns how many there are in all.
    """
    written, step = 0, 64
    for r in range(block.shape[0]):
        row, before, left = block[r], written, counts[r]
        for start in range(0, block.shape[1], step):
            stop = min(start + step, block.shape[1])
            if left == 0:
                break
            if _count_below(row, start, stop, radii[r]) == 0:
                continue
            for c in range(start, stop):
                if row[c] < radii[r] and (c < starts[r] or c >= stops[r]):
                    left -= 1
                    if _hash(own[r], c) < kept:
                        columns[written] = c
                        written += 1
        counts[r] = written - before
    return written


@step
def _hash(i, j):
    """Return 32 bits that look as if drawn for a pair of numbers (as splitmix64)."""
    mixed = np.uint64(i) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(j) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed >> np.uint64(32)


@step
def _squared_distance(points, i, j):
    """Return ‖z_i − z_j‖², from differences."""
    total = points.dtype.type(0)
    for a in range(points.shape[1]):
        gap = points[i, a] - points[j, a]
        total += gap * gap
    return total


@step
def _add_edge(points, i, j, weight, product):
    """Add an edge's part of L Z: w (z_i − z_j) to i, and less it to j."""
    for a in range(points.shape[1]):
        term = weight * (points[i, a] - points[j, a])
        product[i, a] += term
        product[j, a] -= term


@step
def _violations(distance, reach, active):
    """Count the margins that a distance is inside of; return that and their excess."""
    violated, excess = 0, 0.0
    for t in range(reach.shape[0]):
        if distance < reach[t]:
            violated += 1
            active[t] += 1
            excess += reach[t] - distance
    return violated, excess


@kernel
def hinges(
    points, queries, targets, ends, columns, margin, pull, push, values, product
):
    """Add LMNN's terms of some points: values of the loss, and L Z of its edges.

    The impostors of the r-th query are columns[ends[r]] … columns[ends[r + 1] − 1], its
    target neighbours targets[r], where −1 is nobody. The edge to a target weighs pull
    and push for each impostor that is nearer than it plus the margin; that to an
    impostor −push for each such target.
    """
    n_targets = targets.shape[1]
    reach, active = np.empty(n_targets), np.empty(n_targets)
    for r in range(queries.shape[0]):
        i, value = queries[r], 0.0
        for t in range(n_targets):
            active[t], reach[t] = 0, -1.0
            if targets[r, t] >= 0:
                distance = _squared_distance(points, i, targets[r, t])
                value += pull * distance
                reach[t] = distance + margin
        for place in range(ends[r], ends[r + 1]):
            j = columns[place]
            distance = _squared_distance(points, i, j)
            violated, excess = _violations(distance, reach, active)
            if violated:
                value += push * excess
                weight = points.dtype.type(-push * violated)
                _add_edge(points, i, j, weight, product)
        for t in range(n_targets):
            if targets[r, t] >= 0:
                weight = points.dtype.type(pull + push * active[t])
                _add_edge(points, i, targets[r, t], weight, product)
        values[r] = value


@step
def _list_class(row, query_norm, norms, start, stop, nearest, numbers):
    """Turn a class's inner products into squared distances, and list the least."""
    zero, last = row.dtype.type(0), nearest.shape[0] - 1
    nearest[:] = row.dtype.type(3e38)
    for j in range(start, stop):
        distance = (query_norm + norms[j]) - 2 * row[j]
        row[j] = distance if distance > zero else zero
        if row[j] < nearest[last]:
            insert(nearest, numbers, row[j], j)


@step
def _add_pushes(distance, own, nearest, found, scales, energy):
    """Add what a point of class own at this distance costs in each other class."""
    for c in range(found.shape[0]):
        if c != own:
            for t in range(found[c]):
                gap = nearest[c, t] + 1 - distance
                energy[c] += scales[c] * gap if gap > 0 else 0.0


@kernel
def energies(block, query_norms, norms, bounds, reach, n_neighbors, pull, push, out):
    """Write LMNN's energy of each query in each class; the block is left as scratch.

    Class c are the columns bounds[c] … bounds[c + 1] − 1; reach[l] are the squared
    distances from training point l to its target neighbours, plus the margin, and −1
    for nobody. A class of fewer than n_neighbors points counts as if it had so many.
    """
    n_classes, n_targets = bounds.shape[0] - 1, reach.shape[1]
    nearest = np.empty((n_classes, n_neighbors), dtype=block.dtype)
    numbers = np.empty(n_neighbors, dtype=np.int64)
    found = np.minimum(n_neighbors, bounds[1:] - bounds[:-1])
    invaded, unused = np.empty(n_classes), np.empty(n_targets)
    for r in range(block.shape[0]):
        row, energy, farthest = block[r], out[r], -1.0
        for c in range(n_classes):
            k = found[c]
            _list_class(
                row, query_norms[r], norms, bounds[c], bounds[c + 1],
                nearest[c, :k], numbers[:k],
            )  # fmt: skip
            energy[c] = pull * nearest[c, :k].sum() * n_neighbors / k
            farthest = max(farthest, nearest[c, k - 1] + 1)
        for c in range(n_classes):
            invaded[c] = 0
            for j in range(bounds[c], bounds[c + 1]):
                invaded[c] += _violations(row[j], reach[j], unused)[1]
                if row[j] < farthest:
                    _add_pushes(
                        row[j], c, nearest, found, push * n_neighbors / found, energy
                    )
        energy += push * (invaded.sum() - invaded)
