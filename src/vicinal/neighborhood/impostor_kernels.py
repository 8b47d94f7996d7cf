"""Compiled loops over target neighbours and impostors, for LMNN's hinges.

Beside `kernels`, the only compiled code. Importing this module loads Numba.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import numpy as np

from vicinal.neighborhood.kernels import _insert, _kernel, _least


@_kernel
def count_within(block, query_norms, norms, radii, starts, stops, counts):
    """Turn inner products into squared distances, and count those below a radius.

    The columns starts[r] … stops[r] − 1 are of the row's own class, and not counted.
    """
    zero = block.dtype.type(0)
    for r in range(block.shape[0]):
        row, radius, near = block[r], radii[r], 0
        for c in range(row.shape[0]):
            distance = (query_norms[r] + norms[c]) - 2 * row[c]
            distance = distance if distance > zero else zero
            row[c] = distance
            near += distance < radius
        for c in range(starts[r], stops[r]):
            near -= row[c] < radius
        counts[r] = near


@_kernel
def list_within(block, own, radii, starts, stops, kept, counts, columns):
    """List the columns below a radius, row after row, as `count_within` counts them.

    With kept below 2³², a pair is kept where the hash of its numbers is below that;
    counts are replaced by how many were kept. Returns how many there are in all.
    """
    written, step = 0, 64
    for r in range(block.shape[0]):
        row, before = block[r], written
        if counts[r] > 0:
            for start in range(0, row.shape[0], step):
                part = row[start : start + step]
                if _least(part) >= radii[r]:
                    continue
                for k in range(part.shape[0]):
                    c = start + k
                    if part[k] < radii[r] and (c < starts[r] or c >= stops[r]):
                        mixed = np.uint64(own[r]) * np.uint64(0x9E3779B97F4A7C15)
                        mixed = mixed ^ (np.uint64(c) * np.uint64(0xC2B2AE3D27D4EB4F))
                        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(
                            0xBF58476D1CE4E5B9
                        )
                        if (mixed >> np.uint64(32)) < kept:
                            columns[written] = c
                            written += 1
        counts[r] = written - before
    return written


@_kernel
def hinges(
    points, queries, targets, ends, columns, margin, pull, push, values, product
):
    """Add LMNN's terms of some points: values of the loss, and L Z of its edges.

    The impostors of the r-th query are columns[ends[r]] … columns[ends[r + 1] − 1], its
    target neighbours targets[r], where −1 is nobody. The edge to a target weighs pull
    and push for each impostor that is nearer than it plus the margin; that to an
    impostor −push for each such target.
    """
    n_targets, d = targets.shape[1], points.shape[1]
    reach, active = np.empty(n_targets), np.empty(n_targets)
    for r in range(queries.shape[0]):
        i, value, farthest = queries[r], 0.0, -1.0
        for t in range(n_targets):
            active[t], reach[t] = 0, -1.0
            if targets[r, t] >= 0:
                distance = 0.0
                for a in range(d):
                    gap = points[i, a] - points[targets[r, t], a]
                    distance += gap * gap
                value += pull * distance
                reach[t] = distance + margin
                farthest = max(farthest, reach[t])
        for place in range(ends[r], ends[r + 1]):
            j, sum_of_squares = columns[place], points.dtype.type(0)
            for a in range(d):
                difference = points[i, a] - points[j, a]
                sum_of_squares += difference * difference
            if sum_of_squares >= farthest:
                continue
            violated = 0
            for t in range(n_targets):
                if sum_of_squares < reach[t]:
                    violated += 1
                    active[t] += 1
                    value += push * (reach[t] - sum_of_squares)
            weight = points.dtype.type(push * violated)
            for a in range(d):
                term = weight * (points[i, a] - points[j, a])
                product[i, a] -= term
                product[j, a] += term
        for t in range(n_targets):
            j = targets[r, t]
            if j >= 0:
                weight = points.dtype.type(pull + push * active[t])
                for a in range(d):
                    term = weight * (points[i, a] - points[j, a])
                    product[i, a] += term
                    product[j, a] -= term
        values[r] = value


@_kernel
def energies(block, query_norms, norms, bounds, reach, n_neighbors, pull, push, out):
    """Write LMNN's energy of each query in each class; the block is left as scratch.

    Class c are the columns bounds[c] … bounds[c + 1] − 1; reach[l] are the squared
    distances from training point l to its target neighbours, plus the margin, and −1
    for nobody.
    """
    n_classes, zero = bounds.shape[0] - 1, block.dtype.type(0)
    nearest = np.empty((n_classes, n_neighbors), dtype=block.dtype)
    numbers = np.empty(n_neighbors, dtype=np.int64)
    found = np.empty(n_classes, dtype=np.int64)
    invaded = np.empty(n_classes)
    for r in range(block.shape[0]):
        row, energy, farthest = block[r], out[r], -1.0
        for c in range(n_classes):
            size = bounds[c + 1] - bounds[c]
            k = min(n_neighbors, size)
            found[c], invaded[c], energy[c] = k, 0, 0
            nearest[c] = block.dtype.type(3e38)
            for j in range(bounds[c], bounds[c + 1]):
                distance = (query_norms[r] + norms[j]) - 2 * row[j]
                row[j] = distance if distance > zero else zero
                if row[j] < nearest[c, k - 1]:
                    _insert(nearest[c, :k], numbers[:k], row[j], j)
            for t in range(k):
                # A class of fewer points has a sum as of n_neighbors.
                energy[c] += pull * nearest[c, t] * n_neighbors / k
            farthest = max(farthest, nearest[c, k - 1] + 1)
        invasions = 0.0
        for c in range(n_classes):
            for j in range(bounds[c], bounds[c + 1]):
                distance = row[j]
                for t in range(reach.shape[1]):
                    if distance < reach[j, t]:
                        invaded[c] += reach[j, t] - distance
                if distance < farthest:
                    for other in range(n_classes):
                        if other != c:
                            for t in range(found[other]):
                                gap = nearest[other, t] + 1 - distance
                                if gap > 0:
                                    energy[other] += (
                                        push * gap * n_neighbors / found[other]
                                    )
            invasions += invaded[c]
        for c in range(n_classes):
            energy[c] += push * (invasions - invaded[c])
