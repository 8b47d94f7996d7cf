"""Local component analysis: a metric and a density without labels.

`em` has the E-step, the M-step of LCA and the EM loops; `density` the Parzen densities;
`lca_gauss` the M-step of LCA-Gauss, proposition 1.
"""

from vicinal.lca.lca import LCA
from vicinal.lca.lca_gauss import LCAGauss, Split, gaussian_parzen_split
from vicinal.lca.mode_clustering import ModeClustering

__all__ = ["LCA", "LCAGauss", "ModeClustering", "Split", "gaussian_parzen_split"]
