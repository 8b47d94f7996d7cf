"""A metric with the preparation of its table: learned, kept in a file, put to work."""

from vicinal.app.models._approximate import Recall
from vicinal.app.models._from_estimator import from_estimator
from vicinal.app.models._learn import (
    from_pipeline,
    learn,
    method_named,
    needs_target,
)
from vicinal.app.models._nearest_rows import Found, Neighborhoods, nearest_rows
from vicinal.app.models._neighbor_table import neighbor_table
from vicinal.app.models._predict import NeighborPredictor, Predicted, predict_file
from vicinal.app.models._row_names import find_rows, names_of_rows
from vicinal.app.models._safetensors import AdapterFileError, load, save
from vicinal.app.models._saved import SavedModel
from vicinal.app.models._transform_file import transform_file, transform_vectors
from vicinal.app.models._vector_map import VectorMap
from vicinal.app.models._write_rows import write_frame

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
