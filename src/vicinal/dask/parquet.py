"""From a folder of Parquet files to a pipeline that needs no Dask."""

from collections.abc import Callable, Iterator, Sequence
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
from vicinal.dask._lca import LCA
from vicinal.dask._ldg import LDG
from vicinal.dask._nca import NCA
from vicinal.dask._tasks import ClusterLostError

METHODS: dict[str, type[NCA | LDG | LCA]] = {"nca": NCA, "ldg": LDG, "lca": LCA}
"""What can be learned on a cluster, by its name in the command."""
# Seconds to wait for a scheduler to answer.
_TIMEOUT = 15


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
    """Return the numbers and the labels of Parquet files; no row is read yet.

    Parameters
    ----------
    folder : str or Path
        One file, or a folder of files with the same columns.
    target : str or None, default=None
        The label's column; None where there is none.
    columns : sequence of str or None, default=None
        The columns to learn from; None is all that are numbers. Others are not read.
    drop : sequence of str, default=()
        Columns to leave out.

    Returns
    -------
    Table
        X, y, and the names of columns that were left out as they are not numbers.

    Raises
    ------
    FileNotFoundError, ValueError
        When there is no such file, no such column, or one of `columns` is not of
        numbers.

    See Also
    --------
    vicinal.dask.NCA : Learns from what it returns.

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
    """Return the same rows in partitions that Dask does not read together later."""
    return dask.dataframe.from_delayed(
        partitions(frame), meta=frame._meta, verify_meta=False
    )


@contextmanager
def connected(cluster: str) -> Iterator[Client]:
    """Connect to the scheduler at an address; "local" starts processes here."""
    with ExitStack() as stack:
        if cluster == "local":
            made = LocalCluster(threads_per_worker=1, dashboard_address=":0")
            stack.enter_context(made)
            client = Client(made, set_as_default=False)
        else:
            try:
                client = Client(cluster, timeout=_TIMEOUT, set_as_default=False)
            except (OSError, ValueError, TypeError) as error:
                raise ClusterLostError(
                    f"No Dask scheduler answers at {cluster}: give its address, like "
                    f"tcp://10.0.0.1:8786, or local. ({error})"
                ) from error
        yield stack.enter_context(client)


def learn_from_parquet(
    table: Table,
    method: str,
    client: Client,
    *,
    n_components: int | None = None,
    max_iter: int | None = None,
    random_state: int = 0,
    on_iteration: Callable[[int], object] | None = None,
) -> Pipeline:
    """Standardise the numbers of a table, and learn a metric on them.

    Parameters
    ----------
    table : Table
        What `read_parquet` returned.
    method : str
        One of `METHODS`.
    client : distributed.Client
        Of the cluster to learn on.
    n_components, max_iter, random_state
        As for the estimators; None is their own.
    on_iteration : callable or None, default=None
        Called with the number of the iteration, by methods that iterate.

    Returns
    -------
    Pipeline
        A scaler and the ordinary estimator, fitted.
    """
    if method not in METHODS:
        raise ValueError(
            f"{method} does not learn on a cluster; {', '.join(METHODS)} do."
        )
    kind = METHODS[method]
    if method != "lca" and table.y is None:
        raise ValueError(f"{method} needs a label: give --target.")
    given: dict[str, Any] = {"random_state": random_state, "client": client}
    if n_components is not None and method != "lca":
        given["n_components"] = n_components
    if max_iter is not None:
        given["max_iter"] = max_iter
    if on_iteration is not None and method != "ldg":
        given["callback"] = lambda _, n_iter: on_iteration(n_iter)
    with client.as_current():
        mean, deviation = dask.compute(table.X.mean(), table.X.std(ddof=0))
    scale = deviation.where(deviation > 0, 1.0)
    model = kind(**given)
    model.fit(
        table.X.map_partitions(_standardized, mean.to_numpy(), scale.to_numpy()),
        table.y,
    )
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_ = mean.to_numpy(), scale.to_numpy()
    scaler.n_features_in_ = len(mean)
    scaler.feature_names_in_ = np.array(table.X.columns, dtype=object)
    local = model.to_local()
    local.__dict__.pop("feature_names_in_", None)  # the scaler returns an array
    if method != "ldg":
        local.set_params(callback=None)
    return make_pipeline(scaler, local)


def class_names(table: Table, client: Client) -> tuple[str, ...]:
    """Return the labels of a table as text, sorted; none where there are none."""
    if table.y is None:
        return ()
    with client.as_current():
        return tuple(sorted(map(str, table.y.dropna().unique().compute())))


def _standardized(frame: Any, mean: FloatArray, scale: FloatArray) -> Any:
    """Return a chunk's columns less their means, over their deviations."""
    narrow = (frame.dtypes == np.float32).all()
    dtype = np.float32 if narrow else np.float64
    return (frame.astype(dtype) - mean.astype(dtype)) / scale.astype(dtype)
