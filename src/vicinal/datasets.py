"""Data sets by name: bundled with scikit-learn, `.npz` files in a folder, or OpenML.

Files that are given by path (CSV, Parquet) are not read here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np
from numpy.lib.format import (
    read_array,
    read_array_header_1_0,
    read_array_header_2_0,
    read_magic,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Dataset", "available", "load", "read_npz"]

_FOLDER_VARIABLE = "VICINAL_DATA"
_BUNDLED = ("iris", "wine", "digits", "breast_cancer")
# name: (name on OpenML, version, number of last rows that are the test set)
_OPENML = {"mnist": ("mnist_784", 1, 10_000)}
_ARRAYS = ("X", "y", "class_names", "feature_names", "is_test")
_HEADERS: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): read_array_header_1_0,
    (2, 0): read_array_header_2_0,
}
# Arrays of more than _LARGE bytes may be at most _MOST_TIMES as large as the file.
_LARGE = 1_000_000_000
_MOST_TIMES = 100
# Names are part of a path: no separators, no drive letters, no leading dot.
_NAME = re.compile(r"\w[\w.+-]*", re.ASCII)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labeled table.

    Attributes
    ----------
    name : str
        Name that was passed to `load`.
    X : ndarray of shape (n_samples, n_features)
        Features, floating point.
    y : ndarray of shape (n_samples,)
        Class names if they are known, otherwise integers; floats in a data set for
        regression.
    feature_names : list of str or None
        Names of the columns.
    is_test : ndarray of bool of shape (n_samples,) or None
        Rows of the official test set, if there is one.

    See Also
    --------
    vicinal.datasets.load : Load a data set.

    Examples
    --------
    >>> from vicinal.datasets import load
    >>> wine = load("wine")
    >>> wine.X.shape, wine.feature_names[0]
    ((178, 13), 'alcohol')
    """

    name: str
    X: NDArray[np.floating[Any]]
    y: NDArray[Any]
    feature_names: list[str] | None = None
    is_test: NDArray[np.bool_] | None = None


def available() -> list[str]:
    """Return the names that `load` finds on this machine, without a download.

    Returns
    -------
    list of str
        The bundled data sets, then the stems of the `.npz` files in the folder that
        the environment variable ``VICINAL_DATA`` names.

    See Also
    --------
    vicinal.datasets.load : Load a data set.

    Examples
    --------
    >>> from vicinal.datasets import available
    >>> available()[:4]
    ['iris', 'wine', 'digits', 'breast_cancer']
    """
    folder = _folder()
    if folder is None or not folder.is_dir():
        return list(_BUNDLED)
    stems = {path.stem for path in folder.glob("*.npz") if path.is_file()}
    own = {stem for stem in stems if _NAME.fullmatch(stem)}
    return [*_BUNDLED, *sorted(own.difference(_BUNDLED))]


def load(name: str) -> Dataset:
    """Load a data set by its name.

    Parameters
    ----------
    name : str
        ``"iris"``, ``"wine"``, ``"digits"`` or ``"breast_cancer"``; or the stem
        of an `.npz` file in the folder that the environment variable
        ``VICINAL_DATA`` names; or ``"mnist"``, which is downloaded from OpenML if
        it is not in that folder.

    Returns
    -------
    Dataset
        The table, its labels, and metadata.

    Raises
    ------
    ValueError
        If the data set does not exist, or its file is invalid.

    See Also
    --------
    vicinal.datasets.available : List the names.

    Notes
    -----
    An `.npz` file holds `X` (two-dimensional, numeric) and `y` (one label for
    each row), and optionally `class_names` (`y` then indexes them),
    `feature_names` and `is_test`. Integers in `X` become float32. The file is
    read without pickle, so it cannot run code.

    Examples
    --------
    >>> from vicinal.datasets import load
    >>> wine = load("wine")
    >>> wine.X.shape
    (178, 13)
    >>> wine.feature_names[:2]
    ['alcohol', 'malic_acid']
    >>> sorted(set(wine.y.tolist()))
    ['class_0', 'class_1', 'class_2']
    """
    if name in _BUNDLED:
        return _load_bundled(name)
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a data set's name. {_advice()}")
    folder = _folder()
    if folder is not None and (path := folder / f"{name}.npz").is_file():
        return read_npz(path)
    if name in _OPENML:
        return _fetch(name)
    raise ValueError(f"There is no data set {name!r}. {_advice()}")


def _folder() -> Path | None:
    value = os.environ.get(_FOLDER_VARIABLE)
    return Path(value) if value else None


def _advice() -> str:
    known = available()
    names = ", ".join([*known, *(name for name in _OPENML if name not in known)])
    return (
        f"Valid names: {names}. To add your own, set the environment variable "
        f"{_FOLDER_VARIABLE} to a folder of .npz files with the arrays X and y."
    )


def _load_bundled(name: str) -> Dataset:
    from sklearn import datasets

    loader: Callable[[], Any] = getattr(datasets, f"load_{name}")
    bunch = loader()
    return Dataset(
        name=name,
        X=bunch.data,
        y=np.asarray(bunch.target_names)[bunch.target],
        feature_names=[str(feature) for feature in bunch.feature_names],
    )


def _fetch(name: str) -> Dataset:
    from sklearn.datasets import fetch_openml

    openml_name, version, n_test = _OPENML[name]
    try:
        # liac-arff is slower than the pandas parser, but does not need pandas.
        bunch = fetch_openml(
            openml_name, version=version, as_frame=False, parser="liac-arff"
        )
    except OSError as error:
        raise OSError(
            f"{name!r} could not be fetched from OpenML ({error}). {_advice()}"
        ) from error
    n_samples = len(bunch.target)
    return Dataset(
        name=name,
        X=bunch.data.astype(np.float32),
        y=bunch.target.astype(str),
        feature_names=[str(feature) for feature in bunch.feature_names],
        is_test=np.arange(n_samples) >= n_samples - n_test,
    )


def read_npz(path: Path) -> Dataset:
    """Read a data set from an `.npz` file.

    Parameters
    ----------
    path : Path
        The file; see `load` for its format.

    Returns
    -------
    Dataset
        The data set, named after the stem of the file.

    See Also
    --------
    vicinal.datasets.load : Find a file by its name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from vicinal.datasets import read_npz
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.npz"
    ...     np.savez(path, X=np.eye(2), y=np.array([0, 1]))
    ...     read_npz(path).name
    'two'
    """
    arrays = _read_arrays(path)

    def reject(problem: str) -> ValueError:
        return ValueError(f"{path.name} is not a data set: {problem}.")

    missing = [key for key in ("X", "y") if key not in arrays]
    if missing:
        raise reject(f"it has no array {' and no array '.join(missing)}")
    X, y = arrays["X"], arrays["y"]
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise reject(
            f"X must be a 2-D array of numbers, not {X.ndim}-D of type {X.dtype}"
        )
    if y.shape != X.shape[:1] or y.dtype.kind not in "fiubU":
        raise reject(
            f"y must hold one number or string for each of the {len(X)} rows of X, "
            f"but has shape {y.shape} and type {y.dtype}"
        )
    if (class_names := arrays.get("class_names")) is not None:
        indexes = y.dtype.kind in "iu" and class_names.ndim == 1
        if not indexes or (y.size and not 0 <= y.min() <= y.max() < len(class_names)):
            raise reject("y does not index class_names")
        y = class_names[y]
    if (features := arrays.get("feature_names")) is not None and (
        features.shape != X.shape[1:] or features.dtype.kind != "U"
    ):
        raise reject("feature_names must hold one string for each column of X")
    if (is_test := arrays.get("is_test")) is not None and (
        is_test.shape != y.shape or is_test.dtype != np.bool_
    ):
        raise reject("is_test must hold one boolean for each row of X")
    return Dataset(
        name=path.stem,
        X=X if X.dtype.kind == "f" else X.astype(np.float32),
        y=y,
        feature_names=None if features is None else features.tolist(),
        is_test=is_test,
    )


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a data set; other members are not read."""
    try:
        with ZipFile(path) as archive:
            names = set(archive.namelist())
            wanted = {key: f"{key}.npy" for key in _ARRAYS if f"{key}.npy" in names}
            sizes = [_size(archive, member) for member in wanted.values()]
            _check_size(sum(sizes), path.stat().st_size)
            arrays = {}
            for key, member in wanted.items():
                with archive.open(member) as file:
                    arrays[key] = read_array(file, allow_pickle=False)
    # Damaged or hostile archives raise many errors, from zlib.error to OverflowError.
    except Exception as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise ValueError(
            f"{path.name} cannot be read as an .npz file without pickle: {reason}."
        ) from error
    return arrays


def _size(archive: ZipFile, member: str) -> int:
    """Return the size of an array in bytes, from its header."""
    with archive.open(member) as file:
        try:
            shape, _, dtype = _HEADERS[read_magic(file)](file)
        except (ValueError, KeyError) as error:
            raise ValueError(f"{member} holds no array") from error
        left = archive.getinfo(member).file_size - file.tell()
    # Python integers do not overflow.
    n_bytes = dtype.itemsize * prod(shape)
    if n_bytes > left:
        raise ValueError(f"{member} is shorter than its header says")
    # Integers become float32.
    return n_bytes if dtype.kind == "f" else max(n_bytes, 4 * prod(shape))


def _check_size(needed: int, stored: int) -> None:
    """Raise ValueError if a small file would fill the memory."""
    size = f"{needed / 1e9:,.1f} GB of numbers"
    if needed > _LARGE and needed > _MOST_TIMES * stored:
        raise ValueError(
            f"it holds {size} in {stored / 1e9:.3f} GB, as files do that are made to "
            "fill a memory; if these are data, write them with np.savez, not with "
            "np.savez_compressed"
        )
    if needed > machine_memory():
        raise ValueError(f"it holds {size}, more than there is memory")


def machine_memory() -> float:
    """Return the memory of the machine in bytes; infinity if it is unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return float("inf")
