"""Proposition 1 of the LCA paper: `gaussian_parzen_split`, from `vicinal.lca`."""

from vicinal.lca import LCAGauss, Split, gaussian_parzen_split

__all__ = ["LCAGauss", "Split", "gaussian_parzen_split"]
