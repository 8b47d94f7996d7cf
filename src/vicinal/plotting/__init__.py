"""Pictures of metrics, in the manner of scikit-learn's Display classes.

They need matplotlib: ``pip install 'vicinal[plot]'``. The page of HTML lives in
`vicinal.app.report`.
"""

from vicinal.plotting.comparison import ComparisonDisplay
from vicinal.plotting.convergence import ConvergenceDisplay
from vicinal.plotting.embedding import EmbeddingDisplay
from vicinal.plotting.metric import MetricDisplay
from vicinal.plotting.neighbors import NeighborsDisplay

__all__ = [
    "ComparisonDisplay",
    "ConvergenceDisplay",
    "EmbeddingDisplay",
    "MetricDisplay",
    "NeighborsDisplay",
]
