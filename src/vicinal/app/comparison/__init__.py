"""Compare metrics on one data set.

The modules follow the course of a comparison: data, runs, runner, scores, statistics,
verdict, result.
"""

from vicinal.app.comparison.data import Setting
from vicinal.app.comparison.result import Comparison, MethodResult
from vicinal.app.comparison.runner import compare
from vicinal.app.comparison.statistics import Difference
from vicinal.app.methods.registry import METHODS

__all__ = ["METHODS", "Comparison", "Difference", "MethodResult", "Setting", "compare"]
