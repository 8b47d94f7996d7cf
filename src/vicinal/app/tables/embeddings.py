"""Tables of vectors with their names and texts, and of relevant pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vicinal._typing import FloatArray
from vicinal.app.tables._polars import pl
from vicinal.app.tables.cells import as_texts, unnamed, vector_length, vectors
from vicinal.app.tables.names import (
    TableError,
    check_column,
    counted,
    listed,
    printable,
)
from vicinal.app.tables.reading import read_table

_IDS = ("id", "_id", "query_id", "document_id", "doc_id", "qid", "docid", "key")
_TEXTS = ("text", "query", "question", "document", "title", "passage", "content")


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Vectors with their names and texts.

    Attributes
    ----------
    name : str
        Of the file.
    vectors : ndarray of shape (n_rows, n_features)
        Without missing numbers.
    ids : list of str
        A name for each row, all different: the row's number if no column names it.
    texts : list of str or None
        None if no column has texts.
    columns : str
        Which columns these are, and which are not looked at, for a person.
    all_columns : tuple of str
        The names of all there are.
    has_ids : bool
        Whether a column has the ids.
    """

    name: str
    vectors: FloatArray
    ids: list[str]
    texts: list[str] | None
    columns: str = ""
    all_columns: tuple[str, ...] = ()
    has_ids: bool = False


@dataclass(frozen=True, eq=False)
class Relevance:
    """Which documents are relevant to which queries.

    Attributes
    ----------
    name : str
        Of the file.
    pairs : ndarray of shape (n_pairs, 3)
        Positions of queries and documents, and grades.
    columns : str
        Which columns these are, and which are not looked at, for a person.
    """

    name: str
    pairs: FloatArray
    columns: str


def read_embeddings(
    source: Any,
    *,
    name: str | None = None,
    text: str | None = None,
    drop: Sequence[str] = (),
) -> Embeddings:
    """Read vectors with their names and texts.

    Parameters
    ----------
    source : str, path-like or DataFrame
        As `vicinal.app.tables.reading.read_table` takes it. The vectors are a column of
        lists, or all columns of numbers but the one of names.
    name : str, default=None
        The column of names; by default one that is called id, query_id or the like.
    text : str, default=None
        The column of texts; by default one that is called text, question or the like.
    drop : sequence of str, default=()
        Columns not to look at; those that are not there are none.

    Returns
    -------
    Embeddings
        In the order of the rows.

    Raises
    ------
    ValueError, OSError
        With one sentence.
    """
    table = read_table(source)
    every = table.frame.columns
    frame = table.frame[[one for one in every if one not in set(drop)]]
    by_lower = {column.lower(): column for column in frame.columns}

    def find(asked: str | None, usual: tuple[str, ...]) -> str | None:
        if asked is not None:
            check_column(asked, frame.columns, table.name)
            return asked
        return next((by_lower[one] for one in usual if one in by_lower), None)

    named, text = find(name, _IDS), find(text, _TEXTS)
    text = None if text == named else text
    ids = [str(row) for row in range(frame.height)]
    if named is not None:
        ids = as_texts(frame.get_column(named))
        counts = Counter(ids)
        for row, one in enumerate(ids):
            if not one or counts[one] > 1:
                wrong = f"{printable(one)!r} twice" if one else f"no name in row {row}"
                raise TableError(
                    f"Column {printable(named)!r} of {table.name} has {wrong}; give "
                    "each row its own name."
                )
    used = [one for one in frame.iter_columns() if one.dtype in (pl.List, pl.Array)][:1]
    if used:
        column = unnamed(used[0])[1]
        present = column.drop_nulls()
        length, reason = vector_length(present) if len(present) else (0, "nothing")
        if not length:
            shown = printable(used[0].name)
            said = f"Column {shown!r} of {table.name} has no vectors: {reason}."
            raise TableError(said)
        found = vectors(column, length)
    else:
        numeric = (one for one in frame.iter_columns() if one.dtype.is_numeric())
        used = [one for one in numeric if one.name not in (named, text)]
        if not used:
            raise TableError(
                f"{table.name} has no vectors: it needs a column of lists of numbers, "
                "or a column for each number."
            )
        found = np.column_stack([one.to_numpy().astype(np.float64) for one in used])
    missing = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if missing.size:
        raise TableError(
            f"Row {missing[0]} of {table.name} has no whole vector: numbers are "
            "missing or not finite."
        )
    names = [one.name for one in used]
    parts: dict[str, Sequence[str | None]] = {
        f"vectors of {counted(found.shape[1], 'number')} from": names,
        "ids from" if named else "ids are the rows' numbers": [named],
        "texts from": [text],
    }
    return Embeddings(
        table.name,
        found,
        ids,
        None if text is None else as_texts(frame.get_column(text)),
        _columns_line(parts, every),
        tuple(every),
        named is not None,
    )


def read_relevance(
    source: str, queries: Embeddings, documents: Embeddings
) -> Relevance:
    """Read which documents are relevant to which queries.

    Parameters
    ----------
    source : str
        A table of two or three columns: names of queries, of documents, and grades;
        by default 1. Columns called query…, document… and grade or relevance are found
        in any order.
    queries, documents : Embeddings
        Whose names are meant.

    Returns
    -------
    Relevance
        In the order of the rows.

    Raises
    ------
    ValueError, OSError
        With one sentence, when a name or a grade is not one.
    """
    table = read_table(source)
    frame, columns = table.frame, table.frame.columns
    if len(columns) < 2:
        raise TableError(
            f"{table.name} must have a column of queries and one of documents, and may "
            "have one of grades."
        )

    def called(*beginnings: str) -> str | None:
        found = (one for one in columns if one.lower().startswith(beginnings))
        return next(found, None)

    asked, wanted = called("query", "qid", "question"), called("doc", "passage")
    graded = called("grade", "relevance", "score", "weight")
    if asked is None or wanted is None:
        asked, wanted = columns[:2]
        graded = columns[2] if len(columns) > 2 else None
    positions = []
    for name, known in ((asked, queries), (wanted, documents)):
        places = {one: place for place, one in enumerate(known.ids)}
        ids = as_texts(frame.get_column(name))
        for row, one in enumerate(ids):
            if one not in places:
                raise TableError(
                    f"Row {row} of {table.name} names {printable(one)!r}, which "
                    f"{known.name} does not have; its first id is "
                    f"{printable(known.ids[0])!r}."
                )
        positions.append([places[one] for one in ids])
    grades = np.ones(frame.height)
    if graded is not None:
        column = frame.get_column(graded)
        if not column.dtype.is_numeric() or column.null_count():
            raise TableError(
                f"Column {printable(graded)!r} of {table.name} must be numbers, the "
                "grades of relevance, without gaps."
            )
        grades = column.to_numpy().astype(np.float64)
    parts: dict[str, Sequence[str | None]] = {
        "queries from": [asked],
        "documents from": [wanted],
        "grades from" if graded else "all grades 1": [graded],
    }
    pairs = np.column_stack([*positions, grades])
    return Relevance(table.name, pairs, _columns_line(parts, columns))


def _columns_line(parts: dict[str, Sequence[str | None]], columns: list[str]) -> str:
    """Describe the use of the columns."""
    used = {name for names in parts.values() for name in names}
    left = [one for one in columns if one not in used]
    lines = []
    for said, names in {**parts, "not used:": left}.items():
        known = [one for one in names if one is not None]
        if known or not said.endswith(("from", ":")):
            lines.append(f"{said} {listed(known)}".rstrip())
    return "; ".join(lines)
