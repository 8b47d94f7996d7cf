"""The methods that the papers compare with."""

from vicinal.classic.fda import FDA
from vicinal.classic.lfda import LFDA
from vicinal.classic.mlkr import MLKR
from vicinal.classic.mrmr import MRMR

__all__ = ["FDA", "LFDA", "MLKR", "MRMR"]
