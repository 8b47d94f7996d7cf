"""Additive metrics of tables: one learned curve for each column, without torch."""

from vicinal.additive._explanation import NeighborExplanation, ShapeFunction
from vicinal.additive.table_nca import (
    TableNCA,
    TableNCAClassifier,
    TableNCARegressor,
)

__all__ = [
    "NeighborExplanation",
    "ShapeFunction",
    "TableNCA",
    "TableNCAClassifier",
    "TableNCARegressor",
]
