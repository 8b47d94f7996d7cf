"""A metric with the preparation of its table: learn, save, and apply to files."""

from vicinal.app.models.files import (
    NeighborPredictor,
    Predicted,
    VectorMap,
    predict_file,
    transform_file,
    write_frame,
)
from vicinal.app.models.learning import learn, method_named, needs_target
from vicinal.app.models.saved import SavedModel, from_estimator, from_pipeline, load
from vicinal.app.models.search import (
    Found,
    Neighborhoods,
    Recall,
    column_shares,
    find_rows,
    names_of_rows,
    nearest_rows,
    neighbor_table,
)
from vicinal.persistence import AdapterFileError, save

__all__ = [
    "AdapterFileError",
    "Found",
    "NeighborPredictor",
    "Neighborhoods",
    "Predicted",
    "Recall",
    "SavedModel",
    "VectorMap",
    "column_shares",
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
    "write_frame",
]
