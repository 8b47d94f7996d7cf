"""Maps inside sentence-transformers, LangChain, LlamaIndex and vector stores.

A model is a fitted `RetrievalAdapter`, which maps queries and documents, or an
`EmbeddingBridge`, which maps all vectors of the new model. Each package is an optional
extra that is imported when its function is called. `remap` maps the vectors that a
store holds, in batches, and goes on after an interruption.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from vicinal._typing import FloatArray
from vicinal.adapters._bridge import EmbeddingBridge
from vicinal.adapters._retrieval_adapter import RetrievalAdapter
from vicinal.neighbors import import_extra

__all__ = [
    "ChromaCopy",
    "DuckDBColumn",
    "LanceColumn",
    "PostgresColumn",
    "QdrantCopy",
    "VectorStore",
    "langchain_embeddings",
    "llama_index_embedding",
    "remap",
    "sentence_transformer",
    "to_sql",
]

Model = RetrievalAdapter | EmbeddingBridge
Transform = Callable[[ArrayLike], FloatArray]


def _transforms(model: Model) -> tuple[Transform, Transform]:
    """Return the maps of queries and of documents."""
    if isinstance(model, EmbeddingBridge):
        return model.transform, model.transform
    return model.transform_queries, model.transform_documents


def _affine(model: Model, side: str) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients and intercepts of a side."""
    if isinstance(model, EmbeddingBridge):
        return model.coef_, model.intercept_
    A = getattr(model, f"{side}_components_")
    return A, np.zeros(len(A))


def sentence_transformer(model: Model, encoder: Any) -> Any:
    """Append a map to a sentence-transformers model.

    Parameters
    ----------
    model : RetrievalAdapter or EmbeddingBridge
        Fitted model.
    encoder : sentence_transformers.SentenceTransformer
        Encoder of the vectors that the model was fitted on.

    Returns
    -------
    sentence_transformers.SentenceTransformer
        With the modules of the encoder, a Router for an adapter, and Dense and
        Normalize. `encode_query` and `encode_document` return mapped vectors, `encode`
        those of documents. It is saved and loaded without vicinal.

    Raises
    ------
    ImportError
        If the package is missing: ``pip install 'vicinal[sentence-transformers]'``.

    See Also
    --------
    vicinal.adapters.to_onnx : The map alone, for other runtimes.

    Examples
    --------
    >>> from sentence_transformers import SentenceTransformer  # doctest: +SKIP
    >>> encoder = SentenceTransformer("all-MiniLM-L6-v2")  # doctest: +SKIP
    >>> adapted = sentence_transformer(adapter, encoder)  # doctest: +SKIP
    >>> adapted.encode_query(["a question"]).shape  # doctest: +SKIP
    (1, 384)
    """
    package = import_extra("sentence_transformers", "sentence-transformers")
    modules = import_extra(
        "sentence_transformers.sentence_transformer.modules", "sentence-transformers"
    )
    from torch import from_numpy, nn

    unit_length = model.metric_ == "cosine"

    def steps(side: str) -> list[Any]:
        A, intercept = _affine(model, side)
        dense = modules.Dense(
            *A.T.shape, bias=True, activation_function=nn.Identity(),
            init_weight=from_numpy(A.astype(np.float32)),
            init_bias=from_numpy(intercept.astype(np.float32)),
        )  # fmt: skip
        ends = [modules.Normalize() for _ in range(2 if unit_length else 0)]
        return [*ends[:1], dense, *ends[1:]]

    if isinstance(model, EmbeddingBridge):
        added = steps("query")
    else:
        router = modules.Router.for_query_document(
            query_modules=steps("query"), document_modules=steps("document")
        )
        router.default_route = "document"
        added = [router]
    return package.SentenceTransformer(
        modules=[*encoder, *added],
        prompts=encoder.prompts,
        default_prompt_name=encoder.default_prompt_name,
        device=str(encoder.device),
    )


def langchain_embeddings(model: Model, embeddings: Any) -> Any:
    """Map the vectors of a LangChain `Embeddings`.

    Parameters
    ----------
    model : RetrievalAdapter or EmbeddingBridge
        Fitted model.
    embeddings : langchain_core.embeddings.Embeddings
        Encoder of the vectors that the model was fitted on.

    Returns
    -------
    langchain_core.embeddings.Embeddings
        Encoder of mapped queries and documents.

    Raises
    ------
    ImportError
        If the package is missing: ``pip install 'vicinal[langchain]'``.

    See Also
    --------
    vicinal.adapters.integrations.llama_index_embedding : The same for LlamaIndex.

    Examples
    --------
    >>> from vicinal.adapters.integrations import langchain_embeddings
    >>> mapped = langchain_embeddings(adapter, embeddings)  # doctest: +SKIP
    >>> vector = mapped.embed_query("a question")  # doctest: +SKIP
    """
    core = import_extra("langchain_core.embeddings", "langchain")
    map_queries, map_documents = _transforms(model)

    class MappedEmbeddings(core.Embeddings):  # type: ignore[name-defined]
        def embed_query(self, text: str) -> list[float]:
            return map_queries([embeddings.embed_query(text)])[0].tolist()

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return map_documents(embeddings.embed_documents(texts)).tolist()

    return MappedEmbeddings()


def llama_index_embedding(model: Model, embedding: Any) -> Any:
    """Map the vectors of a LlamaIndex `BaseEmbedding`.

    Parameters
    ----------
    model : RetrievalAdapter or EmbeddingBridge
        Fitted model.
    embedding : llama_index.core.embeddings.BaseEmbedding
        Encoder of the vectors that the model was fitted on.

    Returns
    -------
    llama_index.core.embeddings.BaseEmbedding
        Encoder of mapped queries and texts.

    Raises
    ------
    ImportError
        If the package is missing: ``pip install 'vicinal[llama-index]'``.

    See Also
    --------
    vicinal.adapters.integrations.langchain_embeddings : The same for LangChain.

    Examples
    --------
    >>> from vicinal.adapters.integrations import llama_index_embedding
    >>> mapped = llama_index_embedding(adapter, embedding)  # doctest: +SKIP
    >>> vector = mapped.get_query_embedding("a question")  # doctest: +SKIP
    """
    base = import_extra("llama_index.core.base.embeddings.base", "llama-index")
    map_queries, map_documents = _transforms(model)

    class MappedEmbedding(base.BaseEmbedding):  # type: ignore[name-defined]
        def _get_query_embedding(self, query: str) -> list[float]:
            return map_queries([embedding.get_query_embedding(query)])[0].tolist()

        async def _aget_query_embedding(self, query: str) -> list[float]:
            vector = await embedding.aget_query_embedding(query)
            return map_queries([vector])[0].tolist()

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return map_documents(embedding.get_text_embedding_batch(texts)).tolist()

    return MappedEmbedding(model_name=f"{embedding.model_name}, mapped")


def to_sql(
    model: Model, column: str, *, dialect: str = "postgresql", side: str = "document"
) -> str:
    """Return the map of a column of vectors as an SQL expression.

    Parameters
    ----------
    model : RetrievalAdapter or EmbeddingBridge
        Fitted model.
    column : str
        SQL name of the column: type vector with "postgresql", FLOAT[n] with "duckdb".
        Under the cosine its vectors have length 1.
    dialect : {"postgresql", "duckdb"}, default="postgresql"
        "postgresql" needs the extension pgvector.
    side : {"document", "query"}, default="document"
        Which map of an adapter.

    Returns
    -------
    str
        Expression of the mapped vector, which is not scaled to length 1: compare it by
        the cosine distance, if the metric is the cosine.

    See Also
    --------
    vicinal.adapters.integrations.remap : Maps in Python, in batches.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import RetrievalAdapter
    >>> from vicinal.adapters.integrations import to_sql
    >>> vectors = np.random.default_rng(0).normal(size=(30, 2))
    >>> pairs = [(i, i + 1) for i in range(29)]
    >>> adapter = RetrievalAdapter(alpha=0.1).fit(vectors[:-1], vectors, pairs)
    >>> to_sql(adapter, "embedding")
    "ARRAY[-(embedding <#> '[1.0,0.0]'), -(embedding <#> '[0.0,1.0]')]::vector(2)"
    """
    if side not in {"document", "query"}:
        raise ValueError(f"side must be 'document' or 'query', got {side!r}.")
    A, intercept = _affine(model, side)
    rows = [",".join(map(repr, row)) for row in A.astype(np.float64).tolist()]
    if dialect == "postgresql":
        products = [f"-({column} <#> '[{row}]')" for row in rows]
        form = f"ARRAY[{{}}]::vector({len(A)})"
    elif dialect == "duckdb":
        products = [
            f"array_inner_product({column}, [{row}]::FLOAT[{A.shape[1]}])"
            for row in rows
        ]
        form = f"[{{}}]::FLOAT[{len(A)}]"
    else:
        raise ValueError(f"dialect must be 'postgresql' or 'duckdb', got {dialect!r}.")
    if intercept.any():
        products = [
            f"{one} + {offset!r}"
            for one, offset in zip(products, intercept.tolist(), strict=True)
        ]
    return form.format(", ".join(products))


class VectorStore(Protocol):
    """Stored vectors of which some have no mapped vector yet.

    See Also
    --------
    vicinal.adapters.integrations.remap : Takes one.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters.integrations import remap
    >>> class Memory:
    ...     vectors, mapped = {"a": np.ones(2), "b": np.zeros(2) - 1}, {}
    ...     def pending(self, n):
    ...         keys = [one for one in self.vectors if one not in self.mapped][:n]
    ...         return keys, np.array([self.vectors[one] for one in keys])
    ...     def write(self, keys, mapped):
    ...         self.mapped.update(zip(keys, mapped))
    >>> remap(Memory(), lambda vectors: 2 * vectors, batch_size=1)
    2
    """

    def pending(self, n: int) -> tuple[Sequence[Any], FloatArray]:
        """Return keys and vectors of up to n rows without a mapped vector."""

    def write(self, keys: Sequence[Any], mapped: FloatArray) -> None:
        """Store mapped vectors; they are kept once this returns."""


def remap(
    store: VectorStore,
    transform: Callable[[FloatArray], FloatArray],
    *,
    batch_size: int = 4096,
) -> int:
    """Map the vectors of a store in batches.

    The original vectors stay as they are, and mapped ones are stored beside them. If
    the store goes away, call this again: rows that are mapped are not mapped again.

    Parameters
    ----------
    store : VectorStore
        For example a `PostgresColumn` or a `QdrantCopy`.
    transform : callable
        For example ``adapter.transform_documents``, or ``bridge.inverse_transform``
        for vectors of the old model.
    batch_size : int, default=4096
        Number of vectors in memory.

    Returns
    -------
    int
        Number of vectors that were mapped by this call.

    See Also
    --------
    vicinal.adapters.integrations.to_sql : The map as an SQL expression.

    Examples
    --------
    >>> import duckdb  # doctest: +SKIP
    >>> connection = duckdb.connect("documents.db")  # doctest: +SKIP
    >>> store = DuckDBColumn(connection, "documents", "embedding", "mapped", 384)
    ... # doctest: +SKIP
    >>> remap(store, adapter.transform_documents)  # doctest: +SKIP
    1400
    """
    total, before = 0, None
    while True:
        keys, vectors = store.pending(batch_size)
        if not len(keys):
            return total
        if len({*keys, None}) <= len(keys) or keys == before:
            raise ValueError("Keys must be unique and not missing: name another key.")
        try:
            mapped = transform(vectors)
        except ValueError as error:
            is_zero = ~vectors.any(axis=1)
            if not is_zero.any():
                raise
            raise ValueError(
                f"The vector of {keys[int(is_zero.argmax())]!r} is all zeros: remove "
                "it from the store, then call this again."
            ) from error
        store.write(keys, mapped)
        total, before = total + len(keys), keys


def _quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _check_key(connection: Any, table: str, key: str) -> None:
    """Raise if a column is no key: rows of equal keys would get one vector."""
    counts = f"SELECT count(*), count(DISTINCT {key}) FROM {table}"
    n, n_different = connection.execute(counts).fetchone()
    if n_different < n:
        raise ValueError(
            f"Column {key} of {table} has missing or repeated values: name a column "
            "with unique ones."
        )


@dataclass
class PostgresColumn:
    """Column of a PostgreSQL table with pgvector, and a column for mapped vectors.

    Parameters
    ----------
    connection : psycopg.Connection
        Connection; each batch is a transaction.
    table : str
        Name of the table.
    source, target : str
        Columns of vectors, and of mapped vectors; the latter is added if it is missing.
    width : int
        Number of components of mapped vectors.
    key : str, default="id"
        Column with unique, sortable values, preferably the primary key.

    See Also
    --------
    vicinal.adapters.integrations.remap : Takes this store.

    Examples
    --------
    >>> import psycopg  # doctest: +SKIP
    >>> connection = psycopg.connect("dbname=search")  # doctest: +SKIP
    >>> store = PostgresColumn(connection, "documents", "embedding", "mapped", 384)
    ... # doctest: +SKIP
    """

    connection: Any
    table: str
    source: str
    target: str
    width: int
    key: str = "id"
    _last: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.connection.info.transaction_status.name != "IDLE":
            raise ValueError(
                "The connection is in a transaction, which would keep the mapped "
                "vectors back: commit first, or use autocommit."
            )
        import_extra("pgvector.psycopg", "pgvector").register_vector(self.connection)
        names = (self.table, self.source, self.target, self.key)
        self._names = [_quoted(one) for one in names]
        table, _, target, key = self._names
        with self.connection.transaction():
            _check_key(self.connection, table, key)
            self.connection.execute(
                f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS "
                f"{target} vector({self.width})"
            )

    def pending(self, n: int) -> tuple[Sequence[Any], FloatArray]:
        """Return keys and vectors of up to n rows without a mapped vector."""
        table, source, target, key = self._names
        after, values = "", [n]
        if self._last is not None:
            after, values = f"{key} > %s AND", [self._last, n]
        with self.connection.transaction(), self.connection.cursor(binary=True) as rows:
            rows.execute(
                f"SELECT {key}, {source} FROM {table} WHERE {after} {target} IS NULL "
                f"AND {source} IS NOT NULL ORDER BY {key} LIMIT %s",
                values,
            )
            found = rows.fetchall()
        if not found:
            self._last = None  # a further call begins anew
        return [one for one, _ in found], np.array(
            [vector.to_numpy() for _, vector in found], dtype=np.float32
        )

    def write(self, keys: Sequence[Any], mapped: FloatArray) -> None:
        """Store mapped vectors; they are kept once this returns."""
        table, _, target, key = self._names
        with self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.execute(
                f"CREATE TEMPORARY TABLE vicinal_mapped ON COMMIT DROP AS "
                f"SELECT {key} AS key, {target} AS value FROM {table} LIMIT 0"
            )
            with cursor.copy("COPY vicinal_mapped FROM STDIN") as copy:
                for row, vector in zip(keys, mapped.tolist(), strict=True):
                    copy.write_row((row, str(vector)))
            cursor.execute(
                f"UPDATE {table} SET {target} = vicinal_mapped.value "
                f"FROM vicinal_mapped WHERE {table}.{key} = vicinal_mapped.key"
            )
        self._last = keys[-1]


@dataclass
class DuckDBColumn:
    """Column of a DuckDB table, and a column for mapped vectors.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Connection.
    table : str
        Name of the table.
    source, target : str
        Columns of vectors, and of mapped vectors; the latter is added if it is missing.
    width : int
        Number of components of mapped vectors.
    key : str, default="id"
        Column with unique, sortable values.

    See Also
    --------
    vicinal.adapters.integrations.remap : Takes this store.

    Examples
    --------
    >>> import duckdb  # doctest: +SKIP
    >>> connection = duckdb.connect("documents.db")  # doctest: +SKIP
    >>> store = DuckDBColumn(connection, "documents", "embedding", "mapped", 384)
    ... # doctest: +SKIP
    """

    connection: Any
    table: str
    source: str
    target: str
    width: int
    key: str = "id"
    _last: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        names = (self.table, self.source, self.target, self.key)
        self._names = [_quoted(one) for one in names]
        table, _, target, key = self._names
        _check_key(self.connection, table, key)
        self.connection.execute(
            f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {target} FLOAT[{self.width}]"
        )

    def pending(self, n: int) -> tuple[Sequence[Any], FloatArray]:
        """Return keys and vectors of up to n rows without a mapped vector."""
        table, source, target, key = self._names
        after, values = "", [n]
        if self._last is not None:
            after, values = f"{key} > ? AND", [self._last, n]
        found = self.connection.sql(
            f"SELECT {key} AS key, {source} AS vector FROM {table} WHERE {after} "
            f"{target} IS NULL AND {source} IS NOT NULL ORDER BY {key} LIMIT ?",
            params=values,
        ).to_arrow_table()
        if not len(found):
            self._last = None  # a further call begins anew
        return found["key"].to_pylist(), _vectors(found["vector"])

    def write(self, keys: Sequence[Any], mapped: FloatArray) -> None:
        """Store mapped vectors; they are kept once this returns."""
        table, _, target, key = self._names
        self.connection.register("vicinal_mapped", _arrow(keys, "value", mapped, "key"))
        try:
            self.connection.execute(
                f"UPDATE {table} SET {target} = vicinal_mapped.value "
                f"FROM vicinal_mapped WHERE {table}.{key} = vicinal_mapped.key"
            )
        finally:
            self.connection.unregister("vicinal_mapped")
        self._last = keys[-1]


@dataclass
class LanceColumn:
    """Column of a LanceDB table, and a column for mapped vectors.

    Parameters
    ----------
    table : lancedb.table.Table
        Table; each batch is a version.
    source, target : str
        Columns of vectors, and of mapped vectors; the latter is added if it is missing.
    width : int
        Number of components of mapped vectors.
    key : str, default="id"
        Column with unique values.

    See Also
    --------
    vicinal.adapters.integrations.remap : Takes this store.

    Examples
    --------
    >>> import lancedb  # doctest: +SKIP
    >>> table = lancedb.connect("folder").open_table("documents")  # doctest: +SKIP
    >>> store = LanceColumn(table, "vector", "mapped", 384)  # doctest: +SKIP
    """

    table: Any
    source: str
    target: str
    width: int
    key: str = "id"

    def __post_init__(self) -> None:
        arrow = import_extra("pyarrow", "lancedb")
        if self.target not in self.table.schema.names:
            kind = arrow.list_(arrow.float32(), self.width)
            self.table.add_columns(arrow.schema([arrow.field(self.target, kind)]))

    def pending(self, n: int) -> tuple[Sequence[Any], FloatArray]:
        """Return keys and vectors of up to n rows without a mapped vector."""
        rows = self.table.search().select([self.key, self.source])
        empty = f"`{self.target}` IS NULL AND `{self.source}` IS NOT NULL"
        found = rows.where(empty).limit(n).to_arrow()
        return found[self.key].to_pylist(), _vectors(found[self.source])

    def write(self, keys: Sequence[Any], mapped: FloatArray) -> None:
        """Store mapped vectors; they are kept once this returns."""
        new = _arrow(keys, self.target, mapped, self.key)
        self.table.merge_insert(self.key).when_matched_update_all().execute(new)


def _vectors(column: Any) -> FloatArray:
    """Return an Arrow column of vectors as an array."""
    flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    width = len(flat) // max(len(column), 1)
    if any(len(one) != width for one in column):
        raise ValueError("Vectors of different lengths cannot be mapped together.")
    vectors: FloatArray = flat.reshape(len(column), width)
    return vectors


def _arrow(keys: Sequence[Any], name: str, mapped: FloatArray, key: str) -> Any:
    """Return an Arrow table of keys and vectors in float32."""
    arrow = import_extra("pyarrow", "duckdb")
    flat = arrow.array(mapped.astype(np.float32).ravel())
    vectors = arrow.FixedSizeListArray.from_arrays(flat, mapped.shape[1])
    return arrow.table({key: arrow.array(keys), name: vectors})


@dataclass
class QdrantCopy:
    """Qdrant collection, and a collection for mapped vectors.

    Parameters
    ----------
    client : qdrant_client.QdrantClient
        Client; its local mode has no server.
    source, target : str
        Collections of points with one vector each. The latter exists, with the width of
        mapped vectors.

    See Also
    --------
    vicinal.adapters.integrations.remap : Takes this store.

    Examples
    --------
    >>> from qdrant_client import QdrantClient  # doctest: +SKIP
    >>> store = QdrantCopy(QdrantClient(), "documents", "mapped")  # doctest: +SKIP
    """

    client: Any
    source: str
    target: str
    _offset: Any = field(default=None, init=False, repr=False)
    _payloads: Any = field(default=None, init=False, repr=False)

    def pending(self, n: int) -> tuple[Sequence[Any], FloatArray]:
        """Return keys and vectors of up to n points without a mapped vector."""
        is_last = False
        while not is_last:
            points, following = self.client.scroll(
                self.source, limit=n, offset=self._offset, with_vectors=True
            )
            done = {
                one.id
                for one in self.client.retrieve(
                    self.target, [one.id for one in points], with_payload=False
                )
            }
            left = [one for one in points if one.id not in done]
            if left:
                self._payloads = [one.payload for one in left]
                return [one.id for one in left], np.array(
                    [one.vector for one in left], dtype=np.float32
                )
            self._offset, is_last = following, following is None
        return [], np.empty((0, 0), dtype=np.float32)

    def write(self, keys: Sequence[Any], mapped: FloatArray) -> None:
        """Store mapped vectors with the payloads of their points."""
        models = import_extra("qdrant_client.models", "qdrant")
        batch = models.Batch(
            ids=list(keys), vectors=mapped.tolist(), payloads=self._payloads
        )
        self.client.upsert(self.target, batch, wait=True)


@dataclass
class ChromaCopy:
    """Chroma collection, and a collection for mapped vectors.

    Parameters
    ----------
    source, target : chromadb.Collection
        Collections; texts and metadata are copied with the vectors.

    See Also
    --------
    vicinal.adapters.integrations.remap : Takes this store.

    Examples
    --------
    >>> import chromadb  # doctest: +SKIP
    >>> client = chromadb.PersistentClient("folder")  # doctest: +SKIP
    >>> source = client.get_collection("documents")  # doctest: +SKIP
    >>> store = ChromaCopy(source, client.create_collection("mapped"))
    ... # doctest: +SKIP
    """

    source: Any
    target: Any
    _offset: int = field(default=0, init=False, repr=False)
    _rest: Any = field(default=None, init=False, repr=False)

    def pending(self, n: int) -> tuple[Sequence[Any], FloatArray]:
        """Return keys and vectors of up to n records without a mapped vector."""
        content = ["embeddings", "documents", "metadatas"]
        while True:
            page = self.source.get(limit=n, offset=self._offset, include=content)
            keys = page["ids"]
            done = {*self.target.get(ids=keys, include=[])["ids"]} if keys else set()
            left = [row for row, key in enumerate(keys) if key not in done]
            if left or not keys:
                self._rest = {
                    name: [page[name][row] for row in left] for name in content[1:]
                }
                return [keys[row] for row in left], np.array(page["embeddings"])[left]
            self._offset += len(keys)

    def write(self, keys: Sequence[Any], mapped: FloatArray) -> None:
        """Store mapped vectors with the texts and metadata of their records."""
        self.target.upsert(ids=list(keys), embeddings=mapped.tolist(), **self._rest)
