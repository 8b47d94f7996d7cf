"""Local discriminative Gaussians: the map, the classifier behind it, transfer.

`_local_gaussians` fits a Gaussian to each class near each point, `_eigenproblem` turns
them into a map, `_model_selection` chooses neighbours, gamma and dimension.
"""

from vicinal.ldg._ldg import LDG
from vicinal.ldg._local_qda import LocalQDA
from vicinal.ldg._transfer import TransferLDG

__all__ = ["LDG", "LocalQDA", "TransferLDG"]
