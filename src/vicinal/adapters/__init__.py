"""Adapters: learn from pairs what "near" should mean for embeddings.

`RetrievalAdapter` learns maps of queries and documents; `ranking_scores` tells how well
queries find what is relevant to them. A map goes into files by `save_adapter` and
`to_onnx`, and in front of an index by `faiss_index`, `usearch_index` and
`pynndescent_index`.
"""

from vicinal.adapters._adapter import RetrievalAdapter
from vicinal.adapters._evaluation import Change, Evaluation
from vicinal.adapters._indexes import (
    AdaptedIndex,
    faiss_index,
    pynndescent_index,
    usearch_index,
)
from vicinal.adapters._onnx import to_onnx
from vicinal.adapters._safetensors import load_adapter, save_adapter
from vicinal.adapters._scores import ranking_scores

__all__ = [
    "AdaptedIndex",
    "Change",
    "Evaluation",
    "RetrievalAdapter",
    "faiss_index",
    "load_adapter",
    "pynndescent_index",
    "ranking_scores",
    "save_adapter",
    "to_onnx",
    "usearch_index",
]
