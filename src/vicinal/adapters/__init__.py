"""Adapters: learn from pairs what "near" should mean for embeddings.

`RetrievalAdapter` learns maps of queries and documents; `ranking_scores` tells how well
queries find what is relevant to them.
"""

from vicinal.adapters._adapter import RetrievalAdapter
from vicinal.adapters._evaluation import Evaluation
from vicinal.adapters._scores import ranking_scores

__all__ = ["Evaluation", "RetrievalAdapter", "ranking_scores"]
