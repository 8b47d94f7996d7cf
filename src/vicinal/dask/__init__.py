"""Fit on a Dask cluster: estimators for data larger than the memory of one machine.

`_tasks` runs pure functions on a cluster or in threads, `_chunks` checks and summarizes
the data, `_sampling` draws rows, `_estimator` is the base of the estimators.
"""

from importlib import import_module

try:
    for _needed in ("dask.array", "dask.dataframe", "distributed"):
        import_module(_needed)
except ImportError as error:
    raise ImportError(
        "vicinal.dask needs Dask with its arrays, data frames and scheduler: "
        "pip install 'vicinal[dask]'."
    ) from error

from vicinal.dask._lca import LCA
from vicinal.dask._ldg import LDG
from vicinal.dask._nca import NCA, NCAClassifier
from vicinal.dask._tasks import ClusterLostError
from vicinal.dask.parquet import read_parquet

__all__ = ["LCA", "LDG", "NCA", "ClusterLostError", "NCAClassifier", "read_parquet"]
