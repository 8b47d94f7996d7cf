"""Neighbourhood components analysis with neural maps; needs the extra "torch"."""

try:
    import torch  # noqa: F401 -- the whole room stands on it
except ImportError as error:
    raise ImportError(
        "vicinal.neural needs PyTorch, the extra 'torch': pip install 'vicinal[torch]' "
        "(or, for a small build without CUDA, see https://pytorch.org/get-started)."
    ) from error

from vicinal.neural._classifier import NeuralNCAClassifier
from vicinal.neural._explain import Explanation
from vicinal.neural._loss import NCALoss
from vicinal.neural._regressor import NeuralNCARegressor
from vicinal.neural._transformer import NeuralNCA

__all__ = [
    "Explanation",
    "NCALoss",
    "NeuralNCA",
    "NeuralNCAClassifier",
    "NeuralNCARegressor",
]
