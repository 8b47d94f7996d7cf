"""The methods that the papers compare with."""

from vicinal.classic.dann import DANNClassifier
from vicinal.classic.fda import FDA
from vicinal.classic.itml import ITML
from vicinal.classic.lfda import LFDA
from vicinal.classic.lmnn import LMNN
from vicinal.classic.lmnn_classifier import LMNNClassifier
from vicinal.classic.mcml import MCML
from vicinal.classic.mlkr import MLKR
from vicinal.classic.mrmr import MRMR
from vicinal.classic.ngca import NGCA
from vicinal.classic.transfer_itml import TransferITML

__all__ = [
    "FDA",
    "ITML",
    "LFDA",
    "LMNN",
    "MCML",
    "MLKR",
    "MRMR",
    "NGCA",
    "DANNClassifier",
    "LMNNClassifier",
    "TransferITML",
]
