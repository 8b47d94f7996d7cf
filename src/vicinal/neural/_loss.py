"""NCA's objectives as a loss for torch."""

from typing import Any

import torch
from torch import Tensor, nn

from vicinal.neural._rules import (
    EqualLabels,
    ExpectedMatches,
    LogMatches,
    LogSums,
    Matches,
    NearTargets,
    SoftLabels,
    SquaredErrors,
)
from vicinal.neural._soft_neighbors import Kernel, Rule, SoftNeighborTerms

_OBJECTIVES = ("log", "expected", "squared-error", "pairs")


class NCALoss(nn.Module):
    """The loss of neighbourhood components analysis, for the outputs of any network.

    A point i picks a neighbour j with probability p_ij ∝ exp(−‖z_i − z_j‖² / T), never
    itself. The loss is low where neighbours match: have the same label, similar soft
    labels, near targets, or are given as a pair.

    Parameters
    ----------
    objective : {"log", "expected", "squared-error", "pairs"}, default="log"
        With κ_i the probability of picking a match: "log" is −log κ_i (eq. 6 of [1]_),
        "expected" −κ_i (eq. 3), "squared-error" (y_i − Σ_j p_ij y_j)², the error of
        predicting a number by its neighbours' mean. "pairs" is the cost of given pairs
        (eq. 8); its first sum is over `normalization`.
    distance : {"squared", "plain"}, default="squared"
        Whether the exponent is the squared distance, as in the papers, or the distance
        itself, whose neighbourhoods reach further.
    temperature : float, default=1.0
        T.
    width : float, default=1.0
        For targets that are numbers, with "log" and "expected": two that are w apart
        match by exp(−1/2) (section 5 of [1]_).
    normalization : {"pairs", "anchor"}, default="pairs"
        For "pairs": whether a pair's probability is among all pairs of different
        points, as in eq. 8, or among those of its first point.
    reduction : {"mean", "sum", "none"}, default="mean"
        Over queries; for "pairs", "mean" divides by the weight of all pairs, and
        "none" is not to be had.
    max_pairs : int, default=1048576
        How many pairs are held in memory at a time, at most; one query's with all
        references are held in any case.

    See Also
    --------
    vicinal.neural.NeuralNCA : Trains a network with it.

    References
    ----------
    .. [1] Goldberger, Roweis, Hinton, Salakhutdinov. Neighbourhood Components
       Analysis. Advances in Neural Information Processing Systems 17, 2004.

    Examples
    --------
    >>> import torch
    >>> from vicinal.neural import NCALoss
    >>> points = torch.tensor([[0.0], [1.0], [5.0], [6.0]], requires_grad=True)
    >>> loss = NCALoss()(points, torch.tensor([0, 0, 1, 1]))
    >>> round(loss.item(), 6)
    0.0
    >>> round(NCALoss()(points, torch.tensor([0, 1, 0, 1])).item(), 2)
    24.0
    """

    def __init__(
        self,
        objective: str = "log",
        *,
        distance: str = "squared",
        temperature: float = 1.0,
        width: float = 1.0,
        normalization: str = "pairs",
        reduction: str = "mean",
        max_pairs: int = 2**20,
    ) -> None:
        super().__init__()
        _one_of("objective", objective, _OBJECTIVES)
        _one_of("distance", distance, ("squared", "plain"))
        _one_of("normalization", normalization, ("pairs", "anchor"))
        _one_of("reduction", reduction, ("mean", "sum", "none"))
        for name, value in [("temperature", temperature), ("width", width)]:
            if not 0 < value < float("inf"):
                raise ValueError(f"{name} must be above 0 and finite, got {value}.")
        if objective == "pairs" and reduction == "none":
            raise ValueError(
                'reduction="none" needs a loss for each query: with objective="pairs" '
                'choose "mean" or "sum".'
            )
        self.objective = objective
        self.distance = distance
        self.temperature = temperature
        self.width = width
        self.normalization = normalization
        self.reduction = reduction
        self.max_pairs = max_pairs

    def extra_repr(self) -> str:
        """Return the settings, for print."""
        return (
            f"{self.objective!r}, distance={self.distance!r}, "
            f"temperature={self.temperature}, reduction={self.reduction!r}"
        )

    # A compiler would unroll the loop over blocks: what calls this is compiled, not it.
    @torch.compiler.disable
    def forward(
        self,
        points: Tensor,
        target: Tensor,
        references: Tensor | None = None,
        reference_target: Tensor | None = None,
        own: Tensor | None = None,
        *,
        weights: Tensor | None = None,
        reference_weights: Tensor | None = None,
    ) -> Tensor:
        """Return the loss.

        Parameters
        ----------
        points : Tensor of shape (n_queries, n_components)
            What the network made of the rows; half precision is computed in float32.
        target : Tensor
            Integers or booleans of shape (n_queries,): labels. Floats of shape
            (n_queries, n_classes): probabilities of labels (with "squared-error":
            several targets). Floats of shape (n_queries,): targets. With
            objective="pairs", positions of shape (n_pairs, 2) among `points`.
        references : Tensor of shape (n_references, n_components) or None, default=None
            Whom the queries may pick; None is the points themselves. Gradients flow
            into them, too, unless they are detached.
        reference_target : Tensor or None, default=None
            The references' labels or targets; with objective="pairs", the weights of
            the pairs, of shape (n_pairs,), or None for 1 each.
        own : Tensor of int of shape (n_queries,) or None, default=None
            Where each query stands among the references, which it must not pick; −1
            for a query that is not there. None: no query is there.
        weights : Tensor of shape (n_queries,) or None, default=None
            What each query counts in the sum; "mean" divides by all of it. Pairs have
            theirs in `reference_target`.
        reference_weights : Tensor of shape (n_references,) or None, default=None
            How many points each reference stands for, by which p_ij is multiplied.
            None is 1 each, or `weights` where the points are their own references.

        Returns
        -------
        Tensor
            A number, or one for each query with reduction="none".
        """
        if points.ndim != 2:
            raise ValueError(
                f"points must be of shape (n_queries, n_components), got "
                f"{tuple(points.shape)}."
            )
        kernel = Kernel(self.distance == "plain", self.temperature, self.max_pairs)
        points = _computable(points)
        if self.objective == "pairs":
            if references is not None or own is not None:
                raise ValueError('objective="pairs" takes no references: all points.')
            if weights is not None or reference_weights is not None:
                raise ValueError(
                    'With objective="pairs" weights are those of the pairs, in '
                    "reference_target."
                )
            return self._pairs(points, target, reference_target, kernel)
        if references is None:
            others = (reference_target, own, reference_weights)
            if any(one is not None for one in others):
                raise ValueError(
                    "reference_target, own and reference_weights need references."
                )
            references, reference_target = points, target
            own = torch.arange(len(points), device=points.device)
            reference_weights = weights
        else:
            if reference_target is None:
                raise ValueError("references need their labels: reference_target.")
            references = _computable(references)
        _check_shapes(points, target, references, reference_target, own)
        rule = self._rule(target, reference_target, points.dtype)
        counts = _counts("weights", weights, points)
        logs = None
        if reference_weights is not None:
            logs = _counts("reference_weights", reference_weights, references).log()
        if self.reduction == "mean":
            counts = counts / counts.sum()
        alone = self.reduction == "none"
        value: Tensor = -SoftNeighborTerms.apply(
            points, references, own, None if alone else counts, rule, kernel, logs
        )
        return counts * value if alone else value

    def _rule(self, target: Tensor, other: Tensor, dtype: Any) -> Rule:
        """Return what to make of neighbours, by the kind of the targets."""
        if self.objective == "squared-error":
            mine, theirs = (one.to(dtype) for one in (target, other))
            if target.ndim == 1:
                mine, theirs = mine[:, None], theirs[:, None]
            return SquaredErrors(mine, theirs)
        matches: Matches
        if not target.is_floating_point():
            if target.ndim != 1:
                raise ValueError(
                    "Labels are integers of shape (n_queries,), got "
                    f"{tuple(target.shape)}. Give probabilities or one-hot rows as "
                    "floats: target.float()."
                )
            matches = EqualLabels(target, other)
        elif target.ndim == 2:
            matches = SoftLabels(target.to(dtype), other.to(dtype))
        else:
            matches = NearTargets(target.to(dtype), other.to(dtype), self.width)
        log = self.objective == "log"
        return LogMatches(matches) if log else ExpectedMatches(matches)

    def _pairs(
        self, points: Tensor, pairs: Tensor, weights: Tensor | None, kernel: Kernel
    ) -> Tensor:
        """Return Σ_ab w_ab (‖z_a − z_b‖² / T + log S), eq. 8."""
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.is_floating_point():
            raise ValueError(
                "With objective='pairs' the target is positions of points, integers "
                f"of shape (n_pairs, 2); got {pairs.dtype}, {tuple(pairs.shape)}."
            )
        first, second = pairs.long().T
        if bool((first == second).any()):
            raise ValueError("A pair is of a point with itself. Leave such pairs out.")
        w = points.new_ones(len(pairs)) if weights is None else weights.to(points.dtype)
        if w.shape != first.shape:
            raise ValueError(
                f"{len(pairs)} pairs need as many weights, got {tuple(w.shape)}."
            )
        exponents = ((points[first] - points[second]) ** 2).sum(dim=1)
        if kernel.plain:
            exponents = exponents.clamp(min=torch.finfo(points.dtype).tiny).sqrt()
        own = torch.arange(len(points), device=points.device)
        sums = SoftNeighborTerms.apply(
            points, points, own, None, LogSums(), kernel, None
        )
        every = self.normalization == "pairs"
        against = sums.logsumexp(0) if every else sums[first]
        cost = (w * (exponents / self.temperature + against)).sum()
        return cost / w.sum() if self.reduction == "mean" else cost


def _computable(points: Tensor) -> Tensor:
    """Return points of half precision in float32, all others as they are."""
    return points.float() if points.dtype in (torch.half, torch.bfloat16) else points


def _counts(name: str, given: Tensor | None, points: Tensor) -> Tensor:
    """Return how many points each stands for; one each where nothing is given."""
    if given is None:
        return points.new_ones(len(points))
    if given.shape != (len(points),):
        raise ValueError(
            f"{name} must be one number for each of {len(points)} points, got shape "
            f"{tuple(given.shape)}."
        )
    found = given.detach().to(points.device, points.dtype)
    if not bool(((found > 0) & (found < torch.inf)).all()):
        raise ValueError(
            f"{name} must be above 0 and finite. Leave points out that do not count."
        )
    return found


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}.")


def _check_shapes(
    points: Tensor,
    target: Tensor,
    references: Tensor,
    other: Tensor,
    own: Tensor | None,
) -> None:
    """Raise a ValueError where tensors do not fit together."""
    if not len(points) or not len(references):
        raise ValueError("The loss needs at least one query and one reference.")
    if len(target) != len(points) or len(other) != len(references):
        raise ValueError(
            f"{len(points)} points have {len(target)} targets, and {len(references)} "
            f"references {len(other)}: each needs one."
        )
    if target.ndim != other.ndim or target.shape[1:] != other.shape[1:]:
        raise ValueError(
            f"Targets of queries and references are of different shape: "
            f"{tuple(target.shape)} and {tuple(other.shape)}."
        )
    if references.shape[1:] != points.shape[1:]:
        raise ValueError(
            f"points have {points.shape[1]} components, references "
            f"{references.shape[1]}."
        )
    if own is not None and own.shape != target.shape[:1]:
        raise ValueError(f"own must have one position for each of {len(points)} points")
