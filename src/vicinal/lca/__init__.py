"""Local component analysis: a metric and a density without labels.

`_em` and `_minibatch_em` alternate `_e_step` and `_m_step`; `_density` is the Parzen
density that they end in, `_gaussian_split` the proposition behind LCA-Gauss.
"""

from vicinal.lca._gaussian_split import Split, gaussian_parzen_split
from vicinal.lca._lca import LCA
from vicinal.lca._lca_gauss import LCAGauss
from vicinal.lca._mode_clustering import ModeClustering

__all__ = ["LCA", "LCAGauss", "ModeClustering", "Split", "gaussian_parzen_split"]
