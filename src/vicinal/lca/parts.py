"""What other rooms build an LCA of their own from: units, E-step, mini-batches."""

from vicinal.lca._data import ScaledData, Scaler
from vicinal.lca._e_step import Kernel, expectation_of, mapped, to_float32_if_safe
from vicinal.lca._em import Model, OnIteration, Reached, Start
from vicinal.lca._m_step import form_of
from vicinal.lca._minibatch_em import (
    N_EXACT,
    N_REFERENCES,
    Sampling,
    stochastic_em,
)

__all__ = [
    "N_EXACT",
    "N_REFERENCES",
    "Kernel",
    "Model",
    "OnIteration",
    "Reached",
    "Sampling",
    "ScaledData",
    "Scaler",
    "Start",
    "expectation_of",
    "form_of",
    "mapped",
    "stochastic_em",
    "to_float32_if_safe",
]
