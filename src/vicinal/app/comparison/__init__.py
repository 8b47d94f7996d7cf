"""Several metrics on one data set: who they are, how they did, what to make of it.

The learning of a metric lives elsewhere: here is only what is fitted on which rows,
and what came of it.
"""

from vicinal.app.comparison.records import Difference, MethodResult, Setting
from vicinal.app.comparison.result import Comparison
from vicinal.app.comparison.run import compare
from vicinal.app.methods.registry import METHODS

__all__ = ["METHODS", "Comparison", "Difference", "MethodResult", "Setting", "compare"]
