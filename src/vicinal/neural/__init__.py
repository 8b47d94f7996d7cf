"""Neighborhood components analysis with neural maps; needs the extra "torch"."""

try:
    import torch  # noqa: F401 -- every module here needs it
except ImportError as error:
    raise ImportError(
        "vicinal.neural needs PyTorch, the extra 'torch': pip install 'vicinal[torch]' "
        "(or, for a small build without CUDA, see https://pytorch.org/get-started)."
    ) from error

from vicinal.neural._estimators import (
    NeuralNCA,
    NeuralNCAClassifier,
    NeuralNCARegressor,
)
from vicinal.neural._loss import NCALoss
from vicinal.neural._members import Explanation

__all__ = [
    "Explanation",
    "NCALoss",
    "NeuralNCA",
    "NeuralNCAClassifier",
    "NeuralNCARegressor",
]
