"""The nearest rows of many rows, in files of any length, as one table.

One row before and after learning is in `vicinal.app.models._nearest_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vicinal._files import is_same_file
from vicinal.app.models._approximate import (
    N_CHECKED,
    Recall,
    approximate_search,
    is_worth_an_index,
    measured_recall,
)
from vicinal.app.models._row_names import check_columns, texts_of
from vicinal.app.models._search import search
from vicinal.app.tables.names import add_line_number, counted
from vicinal.app.tables.reading import pieces
from vicinal.app.tables.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.models._saved import SavedModel
    from vicinal.app.models._vector_map import VectorMap
    from vicinal.app.tables.sources import Source

__all__ = ["neighbor_table"]


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
        Holds the metric.
    source : str
        The rows to ask about, as `vicinal.app.tables.reading.read_table` takes them.
    among : str, default=None
        The rows to look among, read in pieces; by default the same, and then a row is
        no neighbour of itself.
    among_model : VectorMap, default=None
        Maps the rows to look among, where that is another map, like an adapter's of
        documents; by default `model` does.
    rows : sequence of int, default=None
        The rows of `source` to ask about, counted from 0; by default all of them.
    n_neighbors : int, default=10
        How many to find; fewer, where there are no more.
    show : sequence of str, default=()
        Columns of `among` to show of the neighbours.
    name : str, default=None
        A column of both tables that says what a row is called.
    exact : bool, default=False
        Compare every row with all others, however many there are. Otherwise 1,000 rows
        or more look among more than 50,000 by an index that finds nearly all, if
        usearch is installed (``pip install 'vicinal[ann]'``).
    on_rows : callable, default=None
        Called with the number of rows that were looked through, now and then.
    on_recall : callable, default=None
        Called with what the index found of the nearest rows of 100 random ones, where
        there was an index.

    Returns
    -------
    polars.DataFrame
        A row for each neighbour, with the columns ``query`` and ``row`` (numbers of
        rows), ``rank`` from 1, ``distance``; the names ``query_…`` and ``row_…``; the
        target, where there is one; and what is shown. Of rows that are equally near,
        the first ones.

    Raises
    ------
    ValueError, OSError
        With one sentence.

    See Also
    --------
    vicinal.app.models.nearest_rows : Of one row, before and after.

    Examples
    --------
    >>> from vicinal.app.models import learn, neighbor_table
    >>> from vicinal.app.tables.prepared import prepare
    >>> model = learn(prepare("iris"), "lda")
    >>> found = neighbor_table(model, "iris", rows=[0, 149], n_neighbors=2)
    >>> found["query"].to_list(), found["target"].to_list()
    ([0, 0, 149, 149], ['setosa', 'setosa', 'virginica', 'virginica'])
    """
    if n_neighbors < 1:
        raise ValueError(f"Ask for at least 1 neighbour, not {n_neighbors}.")
    asked = _Queries.read(model, open_source(source), rows, name)
    same = among is None or is_same_file(source, among)
    opened = open_source(source if among is None else among)
    wanted = list(dict.fromkeys([*([name] if name else []), *_target(model, opened)]))
    wanted += [one for one in dict.fromkeys(show) if one not in wanted]
    itself = asked.rows if same else None
    searched = among_model or model
    if exact or not is_worth_an_index(len(asked.points), opened):
        near_rows, distances = search(
            searched, asked.points, opened, n_neighbors, itself, on_rows
        )
    else:
        near_rows, distances = approximate_search(
            searched, asked.points, opened, n_neighbors, itself, on_rows
        )
        if on_recall is not None:
            rng = np.random.default_rng(0)
            some = rng.choice(len(near_rows), N_CHECKED, replace=False)
            own = None if itself is None else itself[some]
            true_rows, _ = search(
                searched, asked.points[some], opened, n_neighbors, own, None
            )
            on_recall(measured_recall(near_rows[some], true_rows))
    _check_shown(wanted, name)
    cells = _cells(opened, near_rows, wanted)
    return _table(asked, near_rows, distances, cells, name)


@dataclass(frozen=True, eq=False)
class _Queries:
    """The rows that are asked about: mapped, numbered, named."""

    points: FloatArray
    rows: IntArray
    names: list[str] | None

    @classmethod
    def read(
        cls,
        model: SavedModel | VectorMap,
        source: Source,
        rows: Sequence[int] | None,
        name: str | None,
    ) -> _Queries:
        wanted = None if rows is None else np.unique(np.asarray(rows, dtype=object))
        points, numbers, names = [], [], []
        start = 0
        for piece in pieces(source):
            if name is not None:
                check_columns(piece.columns, [name], source.name)
            here = np.arange(start, start + piece.height)
            start += piece.height
            if wanted is not None:
                here = here[np.isin(here, [row for row in wanted if 0 <= row < start])]
            if here.size:
                part = piece[(here - (start - piece.height)).tolist()]
                with add_line_number(source, here):
                    points.append(model.transform(part))
                numbers.append(here)
                names += [] if name is None else texts_of(part, name)
        found = np.concatenate(numbers) if numbers else np.empty(0, dtype=np.intp)
        order = np.arange(found.size)
        if rows is not None:
            place = {int(row): i for i, row in enumerate(found)}
            for row in rows:
                if row not in place:
                    raise ValueError(
                        f"There is no row {row}: {source.name} has "
                        f"{counted(start, 'row')}, counted from 0."
                    )
            order = np.array([place[row] for row in dict.fromkeys(rows)])
        if not found.size:
            raise ValueError(f"{source.name} has a header but no rows; add some.")
        shown = None if name is None else [names[i] for i in order]
        return cls(np.concatenate(points)[order], found[order], shown)


def _cells(
    source: Source, rows: IntArray, columns: Sequence[str]
) -> dict[str, pl.Series]:
    """Return the cells of some rows, in their order; a second look at the table."""
    import polars as pl

    wanted = np.unique(rows[rows >= 0])
    parts = []
    start = 0
    for piece in pieces(source):
        check_columns(piece.columns, columns, source.name)
        if not columns:
            return {}
        inside = wanted[(wanted >= start) & (wanted < start + piece.height)] - start
        # By name and not by `select`, to which names like "*" mean more.
        parts.append(
            pl.DataFrame([piece.get_column(name) for name in columns])[inside.tolist()]
        )
        start += piece.height
    frame = pl.concat(parts)
    places = np.searchsorted(wanted, rows[rows >= 0])
    return {
        name: frame.to_series(index).alias("column").gather(places.tolist()).alias(name)
        for index, name in enumerate(columns)
    }


def _table(
    asked: _Queries,
    rows: IntArray,
    distances: FloatArray,
    cells: dict[str, pl.Series],
    name: str | None,
) -> pl.DataFrame:
    import polars as pl

    there = rows >= 0
    ranks = np.broadcast_to(np.arange(1, rows.shape[1] + 1), rows.shape)
    index = np.broadcast_to(np.arange(len(rows))[:, None], rows.shape)[there]
    columns = {"query": pl.Series("query", asked.rows[index])}
    if asked.names is not None:
        columns[f"query_{name}"] = pl.Series([asked.names[i] for i in index.tolist()])
    columns["rank"] = pl.Series(ranks[there])
    columns["row"] = pl.Series(rows[there])
    if name is not None:
        columns[f"row_{name}"] = cells.pop(name)
    columns["distance"] = pl.Series(distances[there])
    made = pl.DataFrame([one.alias(title) for title, one in columns.items()])
    return pl.DataFrame([*made.iter_columns(), *cells.values()])


def _target(model: SavedModel | VectorMap, source: Source) -> list[str]:
    first = next(pieces(source), None)
    has = first is not None and model.target in first.columns
    return [str(model.target)] if has else []


def _check_shown(columns: Sequence[str], name: str | None) -> None:
    own = {"query", "rank", "row", "distance", f"query_{name}", f"row_{name}"}
    for one in columns:
        if one in own and one != name:
            raise ValueError(
                f"Column {one!r} cannot be shown: the table of neighbours has one of "
                "that name; rename it."
            )
