"""How an adapter is fitted: the first maps, the settings, and the search."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from vicinal._typing import FloatArray
from vicinal.adapters._evaluation import Evaluation
from vicinal.adapters._optimizer import Optimizer, fit_temperature
from vicinal.adapters._selection import DECISIVE, FACTORS, select
from vicinal.base.metric import warn_caller
from vicinal.objectives import RetrievalObjective

# Fewer queries cannot tell whether learning helps.
_FEWEST_QUERIES = 10
# A mean average precision that nothing needs to be added to.
_NOTHING_LEFT = 0.995


@dataclass(frozen=True)
class Learned:
    """What a fit found.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features), or two of them
        The map, or the queries' and the documents'.
    alpha, temperature : float
        The penalty and the temperature that were used.
    is_adapted : bool
        False where the vectors stay as they are.
    evaluation : Evaluation or None
        Scores of held-out queries, where settings were chosen by them.
    n_iter : int
        Iterations of the last search.
    """

    components: FloatArray
    alpha: float
    temperature: float
    is_adapted: bool
    evaluation: Evaluation | None
    n_iter: int

    @property
    def is_loss(self) -> bool:
        """Whether fewer dimensions cost held-out queries more than learning gains.

        Maps to fewer dimensions are chosen beside the main axes, and not beside the
        vectors as they are.
        """
        n_components, n_features = self.components.shape[-2:]
        is_worse = self.evaluation is not None and self.evaluation[DECISIVE].high < 0
        return n_components < n_features and is_worse

    def advice(self) -> str:
        """Return what to do where nothing was learned."""
        if self.is_loss:
            return "Ask for more components."
        if self.evaluation and self.evaluation[DECISIVE].before >= _NOTHING_LEFT:
            return "There is next to nothing left to gain."
        two = ", or side='two'" if self.components.ndim == 2 else ""
        return f"More pairs may help{two}."

    def in_words(self) -> str:
        """Return what held-out queries gain, as a clause."""
        if self.evaluation is None:
            return "no queries were held out"
        gain = self.evaluation[DECISIVE]
        return (
            f"mean average precision of {gain.n_queries} held-out queries: "
            f"{gain.before:.3f} before, {gain.after:.3f} after, a difference of "
            f"{gain.low:+.3f} to {gain.high:+.3f}"
        )


def learn(
    objective: RetrievalObjective,
    grades: csr_array,
    optimizer: Optimizer,
    *,
    alpha: float | str,
    temperature: float | str,
    ks: list[int],
    n_folds: int,
) -> Learned:
    """Choose temperature and penalty, and find the maps.

    Parameters
    ----------
    objective : RetrievalObjective
        Of all queries; its temperature is replaced.
    grades : csr_array of shape (n_queries, n_documents)
        Of relevant documents, for the scores.
    optimizer : Optimizer
        How maps are found, and from where.
    alpha, temperature : float or "auto"
        The settings; "auto" chooses.
    ks : list of int
        How many of the first documents count in the scores.
    n_folds : int
        How many parts of the queries are held out, one after the other.

    Returns
    -------
    Learned
        The maps, and the evidence for them.
    """
    factors: tuple[float, ...] = (1.0,)
    if temperature == "auto":
        objective.temperature = fit_temperature(objective, optimizer.start)
        factors = FACTORS
    else:
        objective.temperature = float(temperature)
    is_adapted, evaluation = True, None
    if alpha == "auto":
        if objective.n_queries < _FEWEST_QUERIES:
            raise ValueError(
                f"{objective.n_queries} queries with relevant documents are too few to "
                f"tell whether learning helps: have {_FEWEST_QUERIES}, or give alpha a "
                "number."
            )
        chosen = select(
            objective, grades, optimizer, ks, n_folds, optimizer.seed, factors
        )
        alpha, is_adapted = chosen.alpha, chosen.is_gain
        objective.temperature = chosen.temperature
        evaluation = chosen.evaluation
    else:
        objective.temperature *= factors[0]
    components, n_iter = optimizer.start, 0
    if is_adapted:
        solution = optimizer.maximize(objective, float(alpha), optimizer.start)
        components, n_iter = solution.components, solution.n_iter
        if solution.reason == "max_iter":
            warn_caller(
                f"The fit stopped after {n_iter} iterations, before its optimum: "
                "raise max_iter.",
                ConvergenceWarning,
            )
    return Learned(
        components, float(alpha), objective.temperature, is_adapted, evaluation, n_iter
    )


def first_maps(
    documents: FloatArray, side: str, n_components: int | None
) -> FloatArray:
    """Return the maps that cost nothing: the identity, or the main axes, if fewer.

    Parameters
    ----------
    documents : ndarray of shape (n_documents, n_features)
        Their axes are taken about the origin, which cosines and maps refer to.
    side : {"query", "both", "two"}
        What is mapped.
    n_components : int or None
        Dimensions of mapped vectors; None is as many as before.

    Raises
    ------
    ValueError
        When there cannot be so many.
    """
    D = documents.shape[1]
    d = D if n_components is None else n_components
    if side == "query" and d != D:
        raise ValueError(
            f"With side='query' documents stay in their {D} dimensions, and "
            f"n_components={d} cannot be had; use side='both' or 'two' for fewer."
        )
    if d > D:
        raise ValueError(
            f"n_components={d} is above the {D} features; ask for {D} or fewer."
        )
    start = np.eye(D)
    if d < D:
        _, axes = np.linalg.eigh(documents.T.astype(np.float64) @ documents)
        start = axes[:, ::-1][:, :d].T
    return np.stack([start, start]) if side == "two" else start
