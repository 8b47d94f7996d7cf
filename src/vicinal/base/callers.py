"""Warnings that name the line that called us, however deep they arise."""

import os
import sys
import warnings
from pathlib import Path

import joblib
import sklearn

__all__ = ["warn_caller"]

_OURS = tuple(
    f"{Path(module).parent}{os.sep}"
    for module in (Path(__file__).parent, sklearn.__file__, joblib.__file__)
)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the first line outside of this package and scikit-learn for place.

    joblib, through which scikit-learn calls, is no place either.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
