"""Additive metrics of tables: one learned curve for each column, without torch."""

from vicinal.additive.table_nca import (
    NeighborExplanation,
    ShapeFunction,
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
