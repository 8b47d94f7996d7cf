"""The methods that the papers compare with, and tuples to learn from."""

from vicinal.base.tuples_from_labels import (
    chunklets_from_labels,
    pairs_from_labels,
    quadruplets_from_labels,
    triplets_from_labels,
)
from vicinal.classic.fda import FDA
from vicinal.classic.itml import ITML
from vicinal.classic.lfda import LFDA
from vicinal.classic.mlkr import MLKR
from vicinal.classic.mrmr import MRMR
from vicinal.classic.ngca import NGCA
from vicinal.classic.transfer_itml import TransferITML

__all__ = [
    "FDA",
    "ITML",
    "LFDA",
    "MLKR",
    "MRMR",
    "NGCA",
    "TransferITML",
    "chunklets_from_labels",
    "pairs_from_labels",
    "quadruplets_from_labels",
    "triplets_from_labels",
]
