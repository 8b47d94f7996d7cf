"""The methods that the papers compare with, and tuples to learn from."""

from vicinal.base.tuples_from_labels import (
    chunklets_from_labels,
    pairs_from_labels,
    quadruplets_from_labels,
    triplets_from_labels,
)
from vicinal.classic.covariance import Covariance
from vicinal.classic.fda import FDA
from vicinal.classic.itml import ITML
from vicinal.classic.lfda import LFDA
from vicinal.classic.lsml import LSML
from vicinal.classic.mlkr import MLKR
from vicinal.classic.mmc import MMC
from vicinal.classic.mrmr import MRMR
from vicinal.classic.ngca import NGCA
from vicinal.classic.rca import RCA
from vicinal.classic.scml import SCML
from vicinal.classic.sdml import SDML
from vicinal.classic.transfer_itml import TransferITML

__all__ = [
    "FDA",
    "ITML",
    "LFDA",
    "LSML",
    "MLKR",
    "MMC",
    "MRMR",
    "NGCA",
    "RCA",
    "SCML",
    "SDML",
    "Covariance",
    "TransferITML",
    "chunklets_from_labels",
    "pairs_from_labels",
    "quadruplets_from_labels",
    "triplets_from_labels",
]
