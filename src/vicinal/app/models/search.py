"""Nearest rows in files of any length, under a learned metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from vicinal._files import is_same_file
from vicinal._typing import FloatArray, IntArray
from vicinal.app.models.files import VectorMap
from vicinal.app.models.saved import SavedModel
from vicinal.app.tables._polars import pl
from vicinal.app.tables.cells import as_texts
from vicinal.app.tables.names import check_column, counted
from vicinal.app.tables.reading import Source, add_line_number, open_source, pieces
from vicinal.neighbors import ExactIndex, KNNIndex, UsearchIndex


@dataclass(frozen=True)
class Recall:
    """The recall of an approximate index.

    Attributes
    ----------
    recall : float
        The share of the nearest rows that the index found.
    n_checked : int
        The number of queries that were also answered exactly.

    See Also
    --------
    vicinal.app.models.neighbor_table : Reports it.

    Examples
    --------
    >>> from vicinal.app.models import Recall
    >>> Recall(recall=0.98, n_checked=100).recall
    0.98
    """

    recall: float
    n_checked: int


@dataclass(frozen=True, eq=False)
class Found:
    """The nearest rows under one metric.

    Attributes
    ----------
    rows : ndarray of int
        Their numbers in the table, from 0, nearest first.
    distances : ndarray
        Their distances to the query.
    labels : list of str or None
        Their targets, if the table has them.

    See Also
    --------
    vicinal.app.models.nearest_rows : Finds them.

    Examples
    --------
    >>> from vicinal.app.models import learn, nearest_rows
    >>> from vicinal.app.tables.prepared import prepare
    >>> found = nearest_rows(learn(prepare("iris"), "lda"), "iris", 0, 3)
    >>> found.learned.rows.shape, found.learned.distances.shape
    ((3,), (3,))
    """

    rows: IntArray
    distances: FloatArray
    labels: list[str] | None


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """The nearest rows of a row before and after learning.

    Attributes
    ----------
    query : int
        The row.
    label : str or None
        Its target, if the table has one.
    euclidean : Found
        The nearest rows on the features as the model scales them.
    learned : Found
        The nearest rows under the metric of the model.

    See Also
    --------
    vicinal.app.models.nearest_rows : Returns it.

    Examples
    --------
    >>> from vicinal.app.models import learn, nearest_rows
    >>> from vicinal.app.tables.prepared import prepare
    >>> found = nearest_rows(learn(prepare("iris"), "lda"), "iris", 0, 3)
    >>> found.query, found.label
    (0, 'setosa')
    """

    query: int
    label: str | None
    euclidean: Found
    learned: Found


class _Nearest:
    """The k nearest rows of some points among the rows seen so far."""

    def __init__(self, queries: FloatArray, k: int, own: IntArray | None) -> None:
        self.queries, self.k, self.own = queries, k, own
        self.rows = np.empty((len(queries), 0), dtype=np.intp)
        self.distances: NDArray[np.float64] = np.empty((len(queries), 0))
        self.n_rows = 0

    def update(self, index: KNNIndex, n_rows: int) -> None:
        """Merge the answers of an index of the next rows."""
        # One more than wanted: a row is not a neighbor of itself.
        found, distances = index.query(self.queries, self.k + (self.own is not None))
        rows = np.hstack([self.rows, found + self.n_rows])
        both = np.hstack([self.distances, distances], dtype=np.float64)
        if self.own is not None:
            both[rows == self.own[:, None]] = np.inf
        # Of equally near rows, the first ones.
        order = np.lexsort((rows, both))[:, : self.k]
        self.rows = np.take_along_axis(rows, order, 1)
        self.distances = np.take_along_axis(both, order, 1)
        self.rows[np.isinf(self.distances)] = -1
        self.n_rows += n_rows


def nearest_rows(
    model: SavedModel, source: str, query: int, n_neighbors: int = 10
) -> Neighborhoods:
    """Find the nearest rows of a row under the Euclidean and the learned metric.

    Parameters
    ----------
    model : SavedModel
        The learned metric and the scale of the features.
    source : str
        The table, as for `vicinal.app.tables.reading.read_table`; read in pieces.
    query : int
        The number of the row in the table, from 0.
    n_neighbors : int, default=10
        The number of rows to find; fewer if the table is shorter.

    Returns
    -------
    Neighborhoods
        Without the row itself. Ties are broken by the order of the rows.

    Raises
    ------
    ValueError, OSError
        If the table or the row does not exist or fit the model.

    See Also
    --------
    vicinal.app.models.neighbor_table : The nearest rows of many rows.

    Examples
    --------
    >>> from vicinal.app.models import learn
    >>> from vicinal.app.tables.prepared import prepare
    >>> from vicinal.app.models import nearest_rows
    >>> model = learn(prepare("iris"), "lda")
    >>> found = nearest_rows(model, "iris", 0, 3)
    >>> found.label, found.learned.labels
    ('setosa', ['setosa', 'setosa', 'setosa'])
    """
    _check_k(n_neighbors)
    opened = open_source(source)
    points, own, label = _read_queries(model.prepare, opened, [query], model.target)
    # Missing numbers are at the mean.
    euclidean = _Nearest(np.nan_to_num(points), n_neighbors, own)
    learned = _Nearest(model.map(points), n_neighbors, own)
    labels: dict[int, str] = {}
    for piece in pieces(opened):
        with add_line_number(opened, start := learned.n_rows):
            X = model.prepare(piece)
        texts = [] if label is None else as_texts(piece.get_column(str(model.target)))
        for nearest, Z in ((euclidean, np.nan_to_num(X)), (learned, model.map(X))):
            nearest.update(ExactIndex().build(Z.astype(np.float64)), len(Z))
            rows = nearest.rows[nearest.rows >= start].tolist()
            labels |= {row: texts[row - start] for row in rows if texts}

    def found(nearest: _Nearest) -> Found:
        there = nearest.rows[0] >= 0
        rows = nearest.rows[0, there]
        shown = None if label is None else [labels[row] for row in rows.tolist()]
        return Found(rows, nearest.distances[0, there], shown)

    shown = None if label is None else label[0]
    return Neighborhoods(query, shown, found(euclidean), found(learned))


def column_shares(
    model: SavedModel, source: str, query: int, rows: IntArray
) -> tuple[list[str], FloatArray]:
    """Return the share of each column in the distances of a row to others.

    With δ the scaled difference of two rows and A the map, the share of a feature c is
    δ_c (AᵀA δ)_c / ‖A δ‖; a column has the sum of its features. With curves, A δ is a
    sum of differences Δ_c, and the share is ⟨Δ_c, Δ⟩ / ‖Δ‖. The shares of a row sum to
    its distance. A negative one brings the rows nearer to each other.

    Parameters
    ----------
    model : SavedModel
        The metric.
    source : str
        The table.
    query : int
        The number of the row, from 0.
    rows : ndarray of int
        Numbers of other rows.

    Returns
    -------
    columns : list of str
        The columns of the table.
    shares : ndarray of shape (n_rows, n_columns)

    See Also
    --------
    vicinal.app.models.nearest_rows : Finds the rows.

    Examples
    --------
    >>> from vicinal.app.models import column_shares, learn, nearest_rows
    >>> from vicinal.app.tables.prepared import prepare
    >>> model = learn(prepare("iris"), "lda")
    >>> found = nearest_rows(model, "iris", 0, 3).learned
    >>> columns, shares = column_shares(model, "iris", 0, found.rows)
    >>> bool(abs(shares.sum(axis=1) - found.distances).max() < 1e-10)
    True
    """
    asked = [query, *rows.tolist()]
    points = _read_queries(model.prepare, open_source(source), asked, None)[0]
    if model.curves is not None:
        parts = model.curves._column_points(points.astype(np.float64))
        steps = parts[:1] - parts[1:]
        mapped = steps.sum(axis=1)
        products = np.einsum("kcd,kd->kc", steps, mapped)
    else:
        gaps = (points[:1] - points[1:]).astype(np.float64)
        A = model.components.astype(np.float64)
        mapped = gaps @ A.T
        products = gaps * (mapped @ A)
    distances = np.linalg.norm(mapped, axis=1, keepdims=True)
    of_features = products / np.where(distances > 0, distances, 1)
    owners = model.columns.owners
    columns = list(dict.fromkeys(owners))
    indicators = np.array([[one == column for column in columns] for one in owners])
    return columns, of_features @ indicators


def neighbor_table(
    model: SavedModel | VectorMap,
    source: str,
    *,
    among: str | None = None,
    among_model: VectorMap | None = None,
    rows: Sequence[int] | None = None,
    n_neighbors: int = 10,
    show: Sequence[str] = (),
    name: str | None = None,
    exact: bool = False,
    on_rows: Callable[[int], None] | None = None,
    on_recall: Callable[[Recall], None] | None = None,
) -> pl.DataFrame:
    """Find the nearest rows of many rows under a learned metric.

    Parameters
    ----------
    model : SavedModel or VectorMap
        The metric.
    source : str
        The table of the queries, as for `vicinal.app.tables.reading.read_table`.
    among : str, default=None
        The table to search, read in pieces. By default the table of the queries, in
        which a row is not a neighbor of itself.
    among_model : VectorMap, default=None
        The map of the rows to search, if it is another one, such as an adapter's map
        of documents. By default `model`.
    rows : sequence of int, default=None
        The queries, as numbers of rows from 0. By default all rows of `source`.
    n_neighbors : int, default=10
        The number of rows to find; fewer if the table is shorter.
    show : sequence of str, default=()
        Columns of `among` to add to the result.
    name : str, default=None
        The column with the names of the rows, in both tables.
    exact : bool, default=False
        Compare each query with all rows. Otherwise 1,000 queries or more among more
        than 50,000 rows are answered by an approximate index if usearch is installed
        (``pip install 'vicinal[ann]'``).
    on_rows : callable, default=None
        Called with the number of rows searched so far.
    on_recall : callable, default=None
        Called with the recall of the index for 100 random queries, if there is one.

    Returns
    -------
    polars.DataFrame
        One row per neighbor, with the columns ``query`` and ``row`` (numbers of rows),
        ``rank`` from 1, ``distance``; the names ``query_…`` and ``row_…``; the target,
        if there is one; and the columns to show. Ties are broken by the order of the
        rows.

    Raises
    ------
    ValueError, OSError
        If a table, row or column does not exist or fit the model.

    See Also
    --------
    vicinal.app.models.nearest_rows : One row, before and after learning.

    Examples
    --------
    >>> from vicinal.app.models import learn, neighbor_table
    >>> from vicinal.app.tables.prepared import prepare
    >>> model = learn(prepare("iris"), "lda")
    >>> found = neighbor_table(model, "iris", rows=[0, 149], n_neighbors=2)
    >>> found["query"].to_list(), found["target"].to_list()
    ([0, 0, 149, 149], ['setosa', 'setosa', 'virginica', 'virginica'])
    """
    _check_k(n_neighbors)
    points, numbers, names = _read_queries(
        model.transform, open_source(source), rows, name, required=True
    )
    same = among is None or is_same_file(source, among)
    opened = open_source(source if among is None else among)
    transform = (among_model or model).transform

    def searched(queries: IntArray | slice, approximate: bool) -> _Nearest:
        own = numbers[queries] if same else None
        nearest = _Nearest(points[queries], n_neighbors, own)
        # Twice as many candidates as neighbors, and at least those of building.
        graph = UsearchIndex(expansion_search=max(128, 2 * n_neighbors))
        n_rows = 0
        for piece in pieces(opened):
            with add_line_number(opened, n_rows):
                Z = transform(piece)
            if not approximate:
                nearest.update(ExactIndex().build(Z.astype(np.float64)), len(Z))
            elif n_rows:
                graph.add(Z)
            else:
                graph.build(Z)
            n_rows += len(Z)
            if on_rows is not None:
                on_rows(n_rows)
        if approximate:
            nearest.update(graph, n_rows)
        return nearest

    approximate = not exact and _is_worth_an_index(len(points), opened)
    nearest = searched(slice(None), approximate)
    if approximate and on_recall is not None:
        rng = np.random.default_rng(0)
        some = rng.choice(len(points), 100, replace=False)
        on_rows = None
        on_recall(_recall(nearest.rows[some], searched(some, approximate=False).rows))
    wanted = _shown_columns(opened, name, model.target, show)
    return _table(nearest, numbers, names, name, _cells(opened, nearest.rows, wanted))


def _shown_columns(
    source: Source, name: str | None, target: str | None, show: Sequence[str]
) -> list[str]:
    """Return the columns of the neighbors to show: name, target, and others."""
    first = next(pieces(source), None)
    wanted = [] if name is None else [name]
    if target is not None and first is not None and target in first.columns:
        wanted.append(target)
    wanted = list(dict.fromkeys([*wanted, *show]))
    own = {"query", "rank", "row", "distance", f"query_{name}", f"row_{name}"}
    for one in wanted:
        if one in own and one != name:
            raise ValueError(
                f"Column {one!r} cannot be shown: the table of neighbours has one of "
                "that name; rename it."
            )
    return wanted


def _is_worth_an_index(
    n_queries: int, source: Source, min_queries: int = 1000, min_rows: int = 50_000
) -> bool:
    """Whether exact search would take minutes, and usearch is installed."""
    if n_queries < min_queries or find_spec("usearch") is None:
        return False
    return sum(piece.height for piece in pieces(source)) > min_rows


def _recall(found: IntArray, exact: IntArray) -> Recall:
    """Return the share of exact neighbors among those found; −1 is no neighbor."""
    there = exact >= 0
    hits = (exact[:, :, None] == found[:, None, :]).any(axis=2) & there
    return Recall(float(hits.sum() / max(there.sum(), 1)), len(exact))


def _read_queries(
    transform: Callable[[pl.DataFrame], FloatArray],
    source: Source,
    rows: Sequence[int] | None,
    column: str | None,
    *,
    required: bool = False,
) -> tuple[FloatArray, IntArray, list[str] | None]:
    """Return the points, numbers and texts (of a column) of some rows, or of all."""
    wanted = None if rows is None else set(rows)
    points, numbers = [], []
    texts: list[str] | None = None if column is None else []
    n_rows = 0
    for piece in pieces(source):
        if column is not None and column not in piece.columns:
            if required:
                check_column(column, piece.columns, source.name)
            texts = None
        here = range(n_rows, n_rows + piece.height)
        inside = [*here] if wanted is None else sorted(wanted.intersection(here))
        if inside:
            part = piece[[row - n_rows for row in inside]]
            with add_line_number(source, np.array(inside)):
                points.append(transform(part))
            numbers += inside
            if texts is not None:
                texts += as_texts(part.get_column(str(column)))
        n_rows += piece.height
        if wanted is not None and len(numbers) == len(wanted):
            break
    place = {row: i for i, row in enumerate(numbers)}
    for row in rows or ():
        if row not in place:
            raise ValueError(
                f"There is no row {row}: {source.name} has {counted(n_rows, 'row')}, "
                "counted from 0."
            )
    if not numbers:
        raise ValueError(f"{source.name} has a header but no rows; add some.")
    order = [place[row] for row in dict.fromkeys(numbers if rows is None else rows)]
    texts = None if texts is None else [texts[i] for i in order]
    return np.concatenate(points)[order], np.array(numbers)[order], texts


def _cells(
    source: Source, rows: IntArray, columns: Sequence[str]
) -> dict[str, pl.Series]:
    """Return the cells of some rows, in their order, by another look at the table."""
    wanted = np.unique(rows[rows >= 0])
    parts = []
    start = 0
    for piece in pieces(source):
        for name in columns:
            check_column(name, piece.columns, source.name)
        if not columns:
            return {}
        inside = wanted[(wanted >= start) & (wanted < start + piece.height)] - start
        # Not by `select`, which expands names such as "*".
        parts.append(
            pl.DataFrame([piece.get_column(name) for name in columns])[inside.tolist()]
        )
        start += piece.height
    frame = pl.concat(parts)
    places = np.searchsorted(wanted, rows[rows >= 0]).tolist()
    return {
        name: frame.to_series(index).alias("column").gather(places).alias(name)
        for index, name in enumerate(columns)
    }


def _table(
    nearest: _Nearest,
    numbers: IntArray,
    names: list[str] | None,
    name: str | None,
    cells: dict[str, pl.Series],
) -> pl.DataFrame:
    there = nearest.rows >= 0
    index, rank = np.nonzero(there)
    columns = {"query": pl.Series(numbers[index])}
    if names is not None:
        columns[f"query_{name}"] = pl.Series([names[i] for i in index.tolist()])
    columns["rank"] = pl.Series(rank + 1)
    columns["row"] = pl.Series(nearest.rows[there])
    if name is not None:
        columns[f"row_{name}"] = cells.pop(name)
    columns["distance"] = pl.Series(nearest.distances[there])
    made = [one.alias(title) for title, one in columns.items()]
    return pl.DataFrame([*made, *cells.values()])


def find_rows(source: str, column: str, values: Sequence[str]) -> list[int]:
    """Return the numbers of the rows with some values in a column.

    Parameters
    ----------
    source : str
        The table, as for `vicinal.app.tables.reading.read_table`.
    column : str
        One of its columns, such as an identifier.
    values : sequence of str
        Texts of cells.

    Returns
    -------
    list of int
        In the order of `values`; all rows of a value that is repeated.

    Raises
    ------
    ValueError
        If the column or a value does not exist.

    See Also
    --------
    vicinal.app.models.neighbor_table : Takes these numbers.

    Examples
    --------
    >>> from vicinal.app.models import find_rows
    >>> find_rows("iris", "target", ["setosa"])[:3]
    [0, 1, 2]
    """
    found: dict[str, list[int]] = {value: [] for value in values}
    opened = open_source(source)
    for row, text in enumerate(_all_texts(opened, column)):
        if text in found:
            found[text].append(row)
    for value, rows in found.items():
        if not rows:
            raise ValueError(
                f"{opened.name} has no row with {value!r} in its column {column!r}."
            )
    return [row for rows in found.values() for row in rows]


def names_of_rows(source: str, column: str, rows: Iterable[int]) -> dict[int, str]:
    """Return the names of some rows of a table.

    Parameters
    ----------
    source : str
        The table, as for `vicinal.app.tables.reading.read_table`; read in pieces.
    column : str
        The column with the names.
    rows : iterable of int
        Numbers of rows, from 0.

    Returns
    -------
    dict of int to str
        Names by number, without rows that the table does not have.

    Raises
    ------
    ValueError
        If the column does not exist.

    See Also
    --------
    vicinal.app.models.find_rows : Rows by name.

    Examples
    --------
    >>> from vicinal.app.models import names_of_rows
    >>> names_of_rows("iris", "target", [0, 149])
    {0: 'setosa', 149: 'virginica'}
    """
    wanted = set(rows)
    last = max(wanted, default=0)
    texts = islice(_all_texts(open_source(source), column), last + 1)
    return {row: text for row, text in enumerate(texts) if row in wanted}


def _all_texts(source: Source, column: str) -> Iterator[str]:
    for piece in pieces(source):
        check_column(column, piece.columns, source.name)
        yield from as_texts(piece.get_column(column))


def _check_k(n_neighbors: int) -> None:
    if n_neighbors < 1:
        raise ValueError(f"Ask for at least 1 neighbour, not {n_neighbors}.")
