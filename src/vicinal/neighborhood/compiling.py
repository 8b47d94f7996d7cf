"""How kernels are compiled: options of Numba, and a cache that may be damaged.

Importing this module loads Numba.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

# Sums may be reordered (SIMD) and multiplications fused; NaN and infinity keep their
# meaning.
FLAGS = {"reassoc", "contract", "arcp", "nsz"}
# Nobody calls these by address; what that would take has to be compiled, too.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": FLAGS, "no_cfunc_wrapper": True}
step: Any = njit(**_OPTIONS)

STEPS = tuple(
    Path(__file__).with_name(f"{name}.py")
    for name in ("row_steps", "nearest_kernels", "compiling")
)
"""What is compiled into kernels of other files, and how."""


class _Cache(FunctionCache):
    """A kernel's compiled code on disk, if that can be read or written.

    Files may be damaged, unreadable, of another user, or the disk full; with Numba's
    own class, the fit fails then, with whichever error it was. It also asks only
    whether a kernel's own file has changed; kernels here are made of `STEPS`, too.
    """

    def __init__(self, function):
        """Find where the code is kept."""
        super().__init__(function)
        steps = [(found.st_mtime, found.st_size) for found in map(Path.stat, STEPS)]
        file = self._cache_file
        file._source_stamp = (file._source_stamp, *steps)

    def load_overload(self, *args):
        """Return what was compiled for a signature, or None: compile it."""
        try:
            return super().load_overload(*args)
        except Exception:  # noqa: BLE001  what damaged pickles raise may be anything
            return None

    def save_overload(self, *args):
        """Keep what was compiled, if possible; a damaged index is replaced."""
        try:
            super().save_overload(*args)
        except Exception:  # noqa: BLE001  a cache that cannot be had is done without
            with suppress(Exception):
                self.flush()
                super().save_overload(*args)


def kernel(function: Any) -> Any:
    """Compile when first called, and keep the result on disk where that is possible."""
    dispatcher: Any = step(function)
    # RuntimeError: neither the package's folder nor the user's can be written.
    with suppress(RuntimeError, OSError):
        dispatcher._cache = _Cache(function)
    return dispatcher
