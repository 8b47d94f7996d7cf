"""From a folder of Parquet files to a fitted pipeline that does not need Dask."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import dask
import dask.dataframe
import numpy as np
from distributed import Client, LocalCluster
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from vicinal._typing import FloatArray
from vicinal.dask._chunks import is_number, partitions
from vicinal.dask._tasks import ClusterLostError


class Table(NamedTuple):
    """Numbers and labels of a table, in chunks of the same rows."""

    X: Any
    """A Dask data frame of numbers."""
    y: Any
    """A Dask series, or None."""
    left_out: list[str]
    """Columns that are not numbers."""


def read_parquet(
    folder: str | Path,
    target: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
) -> Table:
    """Return the numbers and the labels of Parquet files, lazily.

    Parameters
    ----------
    folder : str or Path
        One file, or a folder of files with the same columns.
    target : str or None, default=None
        Column of the labels; None if there are none.
    columns : sequence of str or None, default=None
        Columns to learn from; None is all columns of numbers. Others are not read.
    drop : sequence of str, default=()
        Columns to leave out.

    Returns
    -------
    Table
        X, y, and the names of the columns that are not numbers.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file or column, or one of `columns` has no numbers.

    See Also
    --------
    vicinal.dask.NCA : Learns from such a table.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from vicinal.dask import read_parquet
    >>> frame = pd.DataFrame({"a": [1.0, 2.0], "b": [0, 3], "label": ["x", "y"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame.to_parquet(f"{folder}/part-0.parquet")
    ...     X, y, left_out = read_parquet(folder, "label")
    >>> list(X.columns), y.name, left_out
    (['a', 'b'], 'label', [])
    """
    path = Path(folder)
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or not files[0].exists():
        raise FileNotFoundError(f"There are no Parquet files (*.parquet) in {path}.")
    try:
        frame = dask.dataframe.read_parquet([str(file) for file in files])
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} does not hold Parquet files: {error}") from error
    known = list(frame.columns)
    asked = [*([] if target is None else [target]), *(columns or ()), *drop]
    missing = [name for name in asked if name not in known]
    if missing:
        raise ValueError(
            f"No column {missing[0]!r} in {path}: there are "
            f"{', '.join(map(str, known[:20]))}{' …' if len(known) > 20 else ''}."
        )
    features = [
        name
        for name in (known if columns is None else columns)
        if name not in drop and name != target
    ]
    numbers = [name for name in features if is_number(frame.dtypes[name])]
    left_out = [name for name in features if name not in numbers]
    if columns is not None and left_out:
        raise ValueError(
            f"Column {left_out[0]!r} of {path} does not hold numbers: leave it out of "
            "columns, or turn it into numbers first."
        )
    if not numbers:
        raise ValueError(f"{path} has no columns of numbers to learn from.")
    y = None if target is None else _as_files(frame[target])
    return Table(_as_files(frame[numbers]), y, left_out)


def _as_files(frame: Any) -> Any:
    """Return the rows in partitions that Dask does not combine later."""
    return dask.dataframe.from_delayed(
        partitions(frame), meta=frame._meta, verify_meta=False
    )


@contextmanager
def connected(cluster: str, timeout: float = 15) -> Iterator[Client]:
    """Connect to the scheduler at an address; "local" starts processes here.

    Parameters
    ----------
    cluster : str
        Address of the scheduler, or "local".
    timeout : float, default=15
        Seconds to wait for the scheduler to answer.
    """
    with ExitStack() as stack:
        if cluster == "local":
            made = LocalCluster(threads_per_worker=1, dashboard_address=":0")
            stack.enter_context(made)
            client = Client(made, set_as_default=False)
        else:
            try:
                client = Client(cluster, timeout=timeout, set_as_default=False)
            except (OSError, ValueError, TypeError) as error:
                raise ClusterLostError(
                    f"No Dask scheduler answers at {cluster}: give its address, like "
                    f"tcp://10.0.0.1:8786, or local. ({error})"
                ) from error
        yield stack.enter_context(client)


def fit_pipeline(table: Table, model: Any) -> Pipeline:
    """Standardize the numbers of a table, and fit an estimator to them.

    Parameters
    ----------
    table : Table
        The result of `read_parquet`.
    model : estimator
        An estimator of `vicinal.dask`, with a client.

    Returns
    -------
    Pipeline
        A fitted scaler and the fitted local estimator.
    """
    with model.client.as_current():
        mean, deviation = dask.compute(table.X.mean(), table.X.std(ddof=0))
    mean, deviation = mean.to_numpy(), deviation.to_numpy()
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_ = mean, np.where(deviation > 0, deviation, 1.0)
    scaler.n_features_in_ = len(mean)
    scaler.feature_names_in_ = np.array(table.X.columns, dtype=object)
    X = table.X.map_partitions(_standardized, scaler.mean_, scaler.scale_)
    local = model.fit(X, table.y).to_local()
    vars(local).pop("feature_names_in_", None)  # the scaler returns an array
    if "callback" in local.get_params():
        local.set_params(callback=None)
    return make_pipeline(scaler, local)


def _standardized(frame: Any, mean: FloatArray, scale: FloatArray) -> Any:
    """Standardize the columns of a chunk."""
    narrow = (frame.dtypes == np.float32).all()
    dtype = np.float32 if narrow else np.float64
    return (frame.astype(dtype) - mean.astype(dtype)) / scale.astype(dtype)
