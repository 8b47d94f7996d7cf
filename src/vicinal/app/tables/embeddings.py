"""Tables of vectors with their names and texts, and of relevant pairs."""

from __future__ import annotations

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
    """

    name: str
    vectors: FloatArray
    ids: list[str]
    texts: list[str] | None
    columns: str = ""
    all_columns: tuple[str, ...] = ()


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
    names = [one for one in table.frame.columns if one not in set(drop)]
    frame = table.frame[names]
    named = _find_column(frame, name, _IDS, table.name)
    texts = _find_column(frame, text, _TEXTS, table.name)
    if texts is not None and texts == named:
        texts = None
    ids = [str(row) for row in range(frame.height)]
    if named is not None:
        ids = as_texts(frame.get_column(named))
        _check_names(ids, named, table.name)
    found, used = _vectors(frame, {named, texts}, table.name)
    parts = [
        f"vectors of {counted(found.shape[1], 'number')} from {listed(used)}",
        f"ids from {listed([named])}" if named else "ids are the rows' numbers",
        *([f"texts from {listed([texts])}"] if texts else []),
    ]
    return Embeddings(
        table.name,
        found,
        ids,
        None if texts is None else as_texts(frame.get_column(texts)),
        _columns_line(parts, table.frame.columns, [named, texts, *used]),
        tuple(table.frame.columns),
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
    positions = [
        _positions(frame.get_column(column), known, table.name)
        for column, known in ((asked, queries), (wanted, documents))
    ]
    grades = np.ones(frame.height)
    if graded is not None:
        column = frame.get_column(graded)
        if not column.dtype.is_numeric() or column.null_count():
            raise TableError(
                f"Column {printable(graded)!r} of {table.name} must be numbers, the "
                "grades of relevance, without gaps."
            )
        grades = column.to_numpy().astype(np.float64)
    parts = [
        f"queries from {listed([asked])}",
        f"documents from {listed([wanted])}",
        f"grades from {listed([graded])}" if graded else "all grades 1",
    ]
    return Relevance(
        table.name,
        np.column_stack([*positions, grades]),
        _columns_line(parts, columns, [asked, wanted, graded]),
    )


def _find_column(
    frame: pl.DataFrame, asked: str | None, usual: tuple[str, ...], table: str
) -> str | None:
    if asked is not None:
        check_column(asked, frame.columns, table)
        return asked
    by_name = {column.lower(): column for column in frame.columns}
    return next((by_name[one] for one in usual if one in by_name), None)


def _check_names(ids: list[str], column: str, table: str) -> None:
    seen: set[str] = set()
    for row, one in enumerate(ids):
        if not one or one in seen:
            problem = f"{printable(one)!r} twice" if one else f"no name in row {row}"
            raise TableError(
                f"Column {printable(column)!r} of {table} has {problem}; give each row "
                "its own name."
            )
        seen.add(one)


def _columns_line(parts: list[str], columns: list[str], used: list[str | None]) -> str:
    """Describe the use of the columns."""
    left = [one for one in columns if one not in set(used)]
    return "; ".join([*parts, f"not used: {listed(left)}"] if left else parts)


def _vectors(
    frame: pl.DataFrame, others: set[str | None], table: str
) -> tuple[FloatArray, list[str]]:
    lists = [
        one
        for one in frame.iter_columns()
        if getattr(one.dtype, "inner", None) is not None
    ]
    if lists:
        name, column = unnamed(lists[0])
        present = column.drop_nulls()
        length, reason = vector_length(present) if len(present) else (0, "nothing")
        if not length:
            raise TableError(
                f"Column {printable(name)!r} of {table} has no vectors: {reason}."
            )
        found, used = vectors(column, length), [name]
    else:
        numeric = [
            one
            for one in frame.iter_columns()
            if one.dtype.is_numeric() and one.name not in others
        ]
        if not numeric:
            raise TableError(
                f"{table} has no vectors: have a column of lists of numbers, or a "
                "column for each number."
            )
        found = np.column_stack([one.to_numpy().astype(np.float64) for one in numeric])
        used = [one.name for one in numeric]
    missing = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if missing.size:
        raise TableError(
            f"Row {missing[0]} of {table} has no whole vector: numbers are missing or "
            "not finite."
        )
    return found, used


def _positions(column: pl.Series, known: Embeddings, table: str) -> FloatArray:
    places = {one: place for place, one in enumerate(known.ids)}
    names = as_texts(column)
    for row, one in enumerate(names):
        if one not in places:
            raise TableError(
                f"Row {row} of {table} names {printable(one)!r}, which {known.name} "
                f"does not have; its first id is {printable(known.ids[0])!r}."
            )
    return np.array([places[one] for one in names], dtype=np.float64)
