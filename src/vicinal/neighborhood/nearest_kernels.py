"""Compiled kernels that keep lists of the nearest points, sorted.

Importing this module loads Numba.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from vicinal.neighborhood.compiling import kernel, step
from vicinal.neighborhood.row_steps import least


@step
def insert(distances, numbers, distance, number):
    """Put a point into a list, the nearest first and of equally near ones the first.

    It must be nearer than the last of the list, which falls out.
    """
    place = distances.shape[0] - 1
    while place > 0 and (
        distances[place - 1] > distance
        or (distances[place - 1] == distance and numbers[place - 1] > number)
    ):
        distances[place] = distances[place - 1]
        numbers[place] = numbers[place - 1]
        place -= 1
    distances[place] = distance
    numbers[place] = number


@step
def _offer(distances, numbers, distance, number):
    """Put a point into a list of nearest points if it belongs there."""
    last = distances.shape[0] - 1
    if distance < distances[last] or (
        distance == distances[last] and number < numbers[last]
    ):
        insert(distances, numbers, distance, number)


@kernel
def list_nearest(
    block, half_norms_of, half_norms, first_row, first_column, distances, numbers
):
    """Turn inner products into ½ ‖q − x‖², and list the nearest columns of each row.

    Row r is the point of number first_row + r, column c that of first_column + c; a
    point is not its own neighbour. The lists, distances and numbers, are sorted;
    `far` and the largest integer stand for nobody.
    """
    zero, step = block.dtype.type(0), 64
    for r in range(block.shape[0]):
        row = block[r]
        for c in range(row.shape[0]):
            distance = (half_norms_of[r] + half_norms[c]) - row[c]
            row[c] = distance if distance > zero else zero
        last = distances.shape[1] - 1
        for start in range(0, row.shape[0], step):
            part = row[start : start + step]
            if least(part) <= distances[r, last]:
                for c in range(part.shape[0]):
                    number = first_column + start + c
                    if part[c] <= distances[r, last] and number != first_row + r:
                        _offer(distances[r], numbers[r], part[c], number)


@kernel
def list_nearest_rows(block, first_row, distances, numbers):
    """List the nearest rows of each column, where the block has the distances.

    Blocks may come in any order: the lists that they end in are the same.
    """
    last, step = distances.shape[1] - 1, 64
    bounds = distances[:, last].copy()
    for r in range(block.shape[0]):
        row = block[r]
        for start in range(0, row.shape[0], step):
            part, limits = row[start : start + step], bounds[start : start + step]
            near = 0
            for c in range(part.shape[0]):
                near += part[c] <= limits[c]
            if near:
                for c in range(part.shape[0]):
                    if part[c] <= limits[c]:
                        column = start + c
                        _offer(
                            distances[column], numbers[column], part[c], first_row + r
                        )
                        limits[c] = distances[column, last]
