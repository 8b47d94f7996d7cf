"""Warnings that name the line that called us, however deep they arise."""

import sys
import warnings
from pathlib import Path

import sklearn

__all__ = ["warn_caller"]

_OURS = (str(Path(__file__).parents[1]), str(Path(sklearn.__file__).parent))


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the first line outside of this package and scikit-learn for place."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
