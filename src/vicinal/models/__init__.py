"""A metric with the preparation of its table: learned, kept in a file, put to work."""

from vicinal.models._approximate import Recall
from vicinal.models._from_estimator import from_estimator
from vicinal.models._learn import (
    from_pipeline,
    learn,
    method_named,
    needs_target,
)
from vicinal.models._nearest_rows import Found, Neighborhoods, nearest_rows
from vicinal.models._neighbor_table import neighbor_table
from vicinal.models._predict import NeighborPredictor, Predicted, predict_file
from vicinal.models._row_names import find_rows, names_of_rows
from vicinal.models._safetensors import AdapterFileError, load, save
from vicinal.models._saved import SavedModel
from vicinal.models._transform_file import transform_file, transform_vectors
from vicinal.models._vector_map import VectorMap
from vicinal.models._write_rows import write_frame

__all__ = [
    "AdapterFileError",
    "Found",
    "NeighborPredictor",
    "Neighborhoods",
    "Predicted",
    "Recall",
    "SavedModel",
    "VectorMap",
    "find_rows",
    "from_estimator",
    "from_pipeline",
    "learn",
    "load",
    "method_named",
    "names_of_rows",
    "nearest_rows",
    "needs_target",
    "neighbor_table",
    "predict_file",
    "save",
    "transform_file",
    "transform_vectors",
    "write_frame",
]
