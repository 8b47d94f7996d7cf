"""Classic metric learning methods, and tuples for them to learn from."""

from vicinal.classic.constraints import (
    chunklets_from_labels,
    nearest_triplets,
    pairs_from_labels,
    quadruplets_from_labels,
    triplets_from_labels,
)
from vicinal.classic.covariance import Covariance
from vicinal.classic.dann import DANNClassifier
from vicinal.classic.fda import FDA
from vicinal.classic.itml import ITML
from vicinal.classic.lfda import LFDA
from vicinal.classic.lmnn import LMNN, LMNNClassifier
from vicinal.classic.lsml import LSML
from vicinal.classic.mcml import MCML
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
    "LMNN",
    "LSML",
    "MCML",
    "MLKR",
    "MMC",
    "MRMR",
    "NGCA",
    "RCA",
    "SCML",
    "SDML",
    "Covariance",
    "DANNClassifier",
    "LMNNClassifier",
    "TransferITML",
    "chunklets_from_labels",
    "nearest_triplets",
    "pairs_from_labels",
    "quadruplets_from_labels",
    "triplets_from_labels",
]
