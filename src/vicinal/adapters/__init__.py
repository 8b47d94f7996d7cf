"""Adapters: linear maps of embeddings, learned from queries and relevant documents.

`RetrievalAdapter` learns the maps and `ranking_scores` scores rankings.
`EmbeddingBridge` maps the vectors of one model into the space of another.
`save_adapter`, `to_onnx` and `to_faiss` put a learned map into files and other
runtimes; the indexes of `vicinal.neighbors` search the mapped vectors.
"""

from vicinal.adapters._bridge import Certificate, EmbeddingBridge
from vicinal.adapters._evaluation import Change, Evaluation, ranking_scores
from vicinal.adapters._retrieval_adapter import RetrievalAdapter
from vicinal.adapters._serialization import (
    load_adapter,
    save_adapter,
    to_faiss,
    to_onnx,
)

__all__ = [
    "Certificate",
    "Change",
    "EmbeddingBridge",
    "Evaluation",
    "RetrievalAdapter",
    "load_adapter",
    "ranking_scores",
    "save_adapter",
    "to_faiss",
    "to_onnx",
]
