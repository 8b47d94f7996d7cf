"""The methods that the papers compare with."""

from vicinal.classic.mlkr import MLKR

__all__ = ["MLKR"]
