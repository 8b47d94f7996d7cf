"""Who is looked at, and who is held out, when a choice is made on labelled rows."""

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from vicinal._typing import IntArray


def sample_of_classes(
    codes: IntArray, n_rows: int, random_state: RandomState
) -> IntArray:
    """Return so many row numbers or a few more, ascending, some of every class.

    Each class gives its share, and two rows at least, as far as it has them.
    """
    n = len(codes)
    if n <= n_rows:
        return np.arange(n)
    chosen = []
    for j in range(codes.max() + 1):
        rows = np.flatnonzero(codes == j)
        share_of_class = max(2, round(n_rows * len(rows) / n))
        chosen.append(random_state.permutation(rows)[:share_of_class])
    return np.sort(np.concatenate(chosen))


def held_out(
    codes: IntArray, random_state: RandomState, n_folds: int = 5
) -> Iterator[NDArray[np.bool_]]:
    """Yield which rows are held out in each fold, each class as even as it can be.

    The last that is left of a class is never held out, and no fold is empty.
    """
    from sklearn.model_selection import KFold, StratifiedKFold  # slow to import

    sizes = np.bincount(codes)
    n_folds = min(n_folds, len(codes))
    if n_folds < 2:
        return
    # Classes that are all smaller than that cannot be shared out evenly.
    kind = StratifiedKFold if sizes.max() >= n_folds else KFold
    folds = kind(n_folds, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        split = list(folds.split(codes, codes))
    for _, rows in split:
        held = np.zeros(len(codes), dtype=bool)
        held[rows] = True
        held &= np.bincount(codes[~held], minlength=len(sizes))[codes] > 0
        if held.any():
            yield held
