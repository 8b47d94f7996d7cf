"""Local discriminative Gaussians: the map, the local classifier, and transfer.

`local_gaussians` fits a Gaussian to each class near each point, `eigenproblem` turns
them into a map, and `selection` chooses neighbors, gamma and dimension.
"""

from vicinal.ldg.ldg import LDG
from vicinal.ldg.local_qda import LocalQDA, leave_one_out_error
from vicinal.ldg.selection import SmallClassesWarning
from vicinal.ldg.transfer import TransferLDG

__all__ = [
    "LDG",
    "LocalQDA",
    "SmallClassesWarning",
    "TransferLDG",
    "leave_one_out_error",
]
