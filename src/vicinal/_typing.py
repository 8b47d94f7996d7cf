"""The array types that pass between the rooms, and the floats that are computed in."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.intp]

# What `validate_data` leaves as it is; other types become the first.
FLOATS = [np.float64, np.float32]
