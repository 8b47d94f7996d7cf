"""NCA's objectives as a loss for PyTorch, summed over blocks of pairs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


@dataclass(frozen=True)
class Kernel:
    """Exponents of soft neighbors: −d² / T, or −d / T if `plain`.

    Attributes
    ----------
    plain : bool
        Whether d is the Euclidean distance itself instead of its square.
    temperature : float
        T.
    block : int
        Pairs held in memory at a time, at most (one query's are held in any case). The
        default takes 4 MB in float32, the size of a processor's cache.
    """

    plain: bool = False
    temperature: float = 1.0
    block: int = 2**20


# (exponents of a block, its queries, gradient) -> one term per query, and its
# derivatives by the exponents (None without gradient). Exponents may be overwritten.
PairTerms: TypeAlias = Callable[[Tensor, slice, bool], tuple[Tensor, Tensor | None]]


def _softmax(exponents: Tensor) -> Tensor:
    """Return p_ij; zeros if a query has no reference."""
    p = torch.softmax(exponents, dim=1)
    return torch.nan_to_num_(p) if exponents.shape[1] < 2 else p


def _expected_matches(
    exponents: Tensor, kappa: Tensor, gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """Return κ_i = Σ_j p_ij κ_ij (eq. 3); its derivatives are p_ij (κ_ij − κ_i)."""
    p = _softmax(exponents)
    matched = p * kappa
    terms = matched.sum(dim=1)
    slopes = matched.addcmul_(p, terms[:, None], value=-1) if gradient else None
    return terms, slopes


def _log_matches(exponents: Tensor, kappa: Tensor) -> tuple[Tensor, Tensor]:
    """Return log κ_i (eq. 6), 0 without a match; derivatives p_ij (κ_ij / κ_i − 1)."""
    p = _softmax(exponents)
    matched = p * kappa
    sums = matched.sum(dim=1)
    terms = sums.log()
    matched /= sums[:, None]
    rows = torch.nonzero(sums < torch.finfo(p.dtype).tiny * 2**30).squeeze(1)
    if len(rows):  # probabilities that underflow; their logarithms do not
        inside = exponents[rows] + kappa[rows].to(p.dtype).log()
        log_sums = inside.logsumexp(1)
        terms[rows] = log_sums - exponents[rows].logsumexp(1)
        matched[rows] = _softmax(inside)
        lonely = rows[log_sums == -torch.inf]
        terms[lonely], matched[lonely] = 0, p[lonely]
    return terms, matched.sub_(p)


def _squared_errors(
    exponents: Tensor, targets: Tensor, references: Tensor, gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """Return −‖y_i − ŷ_i‖² with ŷ_i = Σ_j p_ij y_j.

    The derivatives are 2 p_ij (y_i − ŷ_i)·(y_j − ŷ_i).
    """
    p = _softmax(exponents)
    means = p @ references
    residuals = targets - means
    terms = -(residuals * residuals).sum(dim=1)
    if not gradient:
        return terms, None
    slopes = residuals @ references.T - (residuals * means).sum(dim=1, keepdim=True)
    return terms, slopes.mul_(p).mul_(2)


def _log_sums(
    exponents: Tensor, _: slice, gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """Return log Σ_j exp(e_ij), the normalization of eq. 8; derivatives p_ij."""
    return exponents.logsumexp(1), _softmax(exponents) if gradient else None


class Pairs:
    """All pairs of queries and references, in blocks.

    Parameters
    ----------
    queries : Tensor of shape (n_queries, n_components)
        Points that pick neighbors.
    references : Tensor of shape (n_references, n_components)
        Points that are picked.
    own : Tensor of int of shape (n_queries,) or None
        Position of each query among the references, which it may not pick; negative
        if it is not among them. None: no query is.
    kernel : Kernel
        Maps distances to exponents.
    log_weights : Tensor of shape (n_references,) or None, default=None
        Logarithms of the references' weights, added to the exponents.
    """

    def __init__(
        self,
        queries: Tensor,
        references: Tensor,
        own: Tensor | None,
        kernel: Kernel,
        log_weights: Tensor | None = None,
    ) -> None:
        # Near the origin ‖a‖² + ‖b‖² − 2 ab loses the fewest digits.
        middle = references.mean(dim=0)
        self.queries, self.references = queries - middle, references - middle
        self.own, self.kernel, self.log_weights = own, kernel, log_weights

    def blocks(self) -> Iterator[tuple[slice, Tensor, Tensor | None]]:
        """Yield a slice of queries, their exponents, and their distances if plain."""
        a, b, kernel = self.queries, self.references, self.kernel
        n_rows = max(1, kernel.block // max(1, len(b)))
        scale = 1.0 if kernel.plain else -1 / kernel.temperature
        # One matrix product gives scale · ‖a − b‖², without a pass for the norms.
        squares_a, squares_b = ((one * one).sum(dim=1, keepdim=True) for one in (a, b))
        one_a, one_b = a.new_ones(len(a), 1), b.new_ones(len(b), 1)
        left = torch.cat([a * (-2 * scale), scale * squares_a, scale * one_a], dim=1)
        right = torch.cat([b, one_b, squares_b], dim=1).T
        # Bound of the rounding error of a point's squared distance to itself.
        tiny = torch.finfo(a.dtype).eps * max(float(squares_b.mean()), 1e-30)
        for start in range(0, len(a), n_rows):
            part = slice(start, min(start + n_rows, len(a)))
            exponents = left[part] @ right
            distances = None
            if kernel.plain:
                distances = exponents.clamp_(min=tiny).sqrt_()
                exponents = distances * (-1 / kernel.temperature)
            else:
                exponents.clamp_(max=0.0)
            if self.log_weights is not None:
                exponents += self.log_weights
            if self.own is not None:
                own = self.own[part]
                rows = torch.nonzero(own >= 0).squeeze(1)
                exponents[rows, own[rows]] = -torch.inf
            yield part, exponents, distances


class SoftNeighborTerms(torch.autograd.Function):
    """Terms of the queries, or their weighted sum; no m × n array is held.

    The gradient of the sum is computed together with its value. If terms are returned
    one by one, their weights are known only in the backward pass, which computes the
    blocks again.
    """

    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        references: Tensor,
        own: Tensor | None,
        weights: Tensor | None,
        pair_terms: PairTerms,
        kernel: Kernel,
        log_weights: Tensor | None = None,
    ) -> Tensor:
        """Return one term per query, or their weighted sum."""
        pairs = Pairs(queries, references, own, kernel, log_weights)
        if weights is None:
            ctx.save_for_backward(queries, references, own, log_weights)
            ctx.given = pair_terms, kernel
            return _terms_and_gradients(pairs, None, pair_terms)[0]
        wanted = weights if any(ctx.needs_input_grad[:2]) else None
        terms, *ctx.gradients = _terms_and_gradients(pairs, wanted, pair_terms)
        return (terms * weights).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients by queries and references."""
        if hasattr(ctx, "gradients"):
            by_queries, by_references = (grad * one for one in ctx.gradients)
        else:
            queries, references, own, log_weights = ctx.saved_tensors
            pair_terms, kernel = ctx.given
            pairs = Pairs(queries, references, own, kernel, log_weights)
            _, by_queries, by_references = _terms_and_gradients(pairs, grad, pair_terms)
        return by_queries, by_references, None, None, None, None, None


def _terms_and_gradients(
    pairs: Pairs, weights: Tensor | None, pair_terms: PairTerms
) -> tuple[Tensor, Any, Any]:
    """Return the terms and, with weights, the gradients of their weighted sum."""
    queries, references = pairs.queries, pairs.references
    terms = queries.new_zeros(len(queries))
    if weights is None:
        for part, exponents, _ in pairs.blocks():
            terms[part] = pair_terms(exponents, part, False)[0]
        return terms, None, None
    by_queries = torch.empty_like(queries)
    by_references = torch.zeros_like(references)
    ones = queries.new_ones
    padded = torch.cat([references, ones(len(references), 1)], dim=1)
    for part, exponents, distances in pairs.blocks():
        terms[part], slopes = pair_terms(exponents, part, True)
        assert slopes is not None  # noqa: S101 -- for the type checker
        slopes *= weights[part, None] * (-2 / pairs.kernel.temperature)
        if distances is not None:  # the derivative of d by d² is 1 / (2 d)
            slopes /= distances.mul_(2)
        mine = queries[part]
        # Σ_j s_ij (z_i − z_j) for queries i, and Σ_i s_ij (z_j − z_i).
        sums = slopes @ padded
        by_queries[part] = sums[:, -1:] * mine - sums[:, :-1]
        sums = slopes.T @ torch.cat([mine, ones(len(mine), 1)], dim=1)
        by_references += sums[:, -1:] * references - sums[:, :-1]
    return terms, by_queries, by_references


class NCALoss(nn.Module):
    """Loss of neighborhood components analysis, for the outputs of any network.

    A point i picks a neighbor j with probability p_ij ∝ exp(−‖z_i − z_j‖² / T), never
    itself. The loss is low if neighbors match: they have equal labels, similar soft
    labels or close targets, or are given as a pair.

    Parameters
    ----------
    objective : {"log", "expected", "squared-error", "pairs"}, default="log"
        With κ_i the probability of picking a match: "log" is −log κ_i (eq. 6 of [1]_),
        "expected" −κ_i (eq. 3), "squared-error" (y_i − Σ_j p_ij y_j)², the error of
        the neighbors' mean. "pairs" is the cost of given pairs (eq. 8), normalized
        according to `normalization`.
    distance : {"squared", "plain"}, default="squared"
        Whether the exponent is the squared distance, as in the papers, or the distance
        itself, which makes neighborhoods wider.
    temperature : float, default=1.0
        T.
    width : float, default=1.0
        Width w for numeric targets with "log" and "expected": two targets match with
        exp(−(y_i − y_j)² / 2w²) (section 5 of [1]_).
    normalization : {"pairs", "anchor"}, default="pairs"
        For "pairs": whether the probability of a pair is among all pairs of different
        points, as in eq. 8, or among those of its first point.
    reduction : {"mean", "sum", "none"}, default="mean"
        Reduction over queries. For "pairs", "mean" divides by the total weight of the
        pairs, and "none" is not supported.
    max_pairs : int, default=1048576
        Pairs held in memory at a time, at most; one query with all references is held
        in any case.

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
        for name, choice, allowed in [
            ("objective", objective, ["log", "expected", "squared-error", "pairs"]),
            ("distance", distance, ["squared", "plain"]),
            ("normalization", normalization, ["pairs", "anchor"]),
            ("reduction", reduction, ["mean", "sum", "none"]),
        ]:
            if choice not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, got {choice!r}.")
        for name, value in [("temperature", temperature), ("width", width)]:
            if not 0 < value < float("inf"):
                raise ValueError(f"{name} must be above 0 and finite, got {value}.")
        if objective == "pairs" and reduction == "none":
            raise ValueError(
                'reduction="none" needs a loss for each query. With objective="pairs" '
                'use "mean" or "sum".'
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

    # A compiler would unroll the loop over blocks. The caller can be compiled.
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
            Outputs of the network; half precision is computed in float32.
        target : Tensor
            Integers or booleans of shape (n_queries,): labels. Floats of shape
            (n_queries, n_classes): label probabilities (with "squared-error": several
            targets). Floats of shape (n_queries,): numeric targets. With
            objective="pairs", positions of shape (n_pairs, 2) among `points`.
        references : Tensor of shape (n_references, n_components) or None, default=None
            Points that the queries may pick; None is `points`. Gradients flow into
            them unless they are detached.
        reference_target : Tensor or None, default=None
            Labels or targets of the references. With objective="pairs", the weights of
            the pairs, of shape (n_pairs,), or None for 1 each.
        own : Tensor of int of shape (n_queries,) or None, default=None
            Position of each query among the references, which it must not pick; −1
            for a query that is not among them. None: no query is.
        weights : Tensor of shape (n_queries,) or None, default=None
            Weight of each query; "mean" divides by their sum. Weights of pairs are
            given as `reference_target`.
        reference_weights : Tensor of shape (n_references,) or None, default=None
            Factor of p_ij for each reference: the number of points it represents.
            None is 1 each, or `weights` if the points are their own references.

        Returns
        -------
        Tensor
            A scalar, or one value per query with reduction="none".
        """
        if points.ndim != 2:
            raise ValueError(
                f"points must be of shape (n_queries, n_components), got "
                f"{tuple(points.shape)}."
            )
        kernel = Kernel(self.distance == "plain", self.temperature, self.max_pairs)
        points = _at_least_float32(points)
        if self.objective == "pairs":
            if any(
                one is not None for one in (references, own, weights, reference_weights)
            ):
                raise ValueError(
                    'objective="pairs" uses all points: it takes no references, and '
                    "its only weights are those of the pairs, in reference_target."
                )
            return self._pair_cost(points, target, reference_target, kernel)
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
            references = _at_least_float32(references)
        _check_shapes(points, target, references, reference_target, own)
        pair_terms = self._pair_terms(target, reference_target, points.dtype)
        counts = _check_weights("weights", weights, points)
        logs = None
        if reference_weights is not None:
            name = "reference_weights"
            logs = _check_weights(name, reference_weights, references).log()
        if self.reduction == "mean":
            counts = counts / counts.sum()
        each = self.reduction == "none"
        value: Tensor = -SoftNeighborTerms.apply(
            points, references, own, None if each else counts, pair_terms, kernel, logs
        )
        return counts * value if each else value

    def _pair_terms(self, target: Tensor, other: Tensor, dtype: Any) -> PairTerms:
        """Return the objective's terms for this kind of target."""
        mine, theirs = target, other
        if target.is_floating_point() or self.objective == "squared-error":
            mine, theirs = target.to(dtype), other.to(dtype)
        if self.objective == "squared-error":
            if target.ndim == 1:
                mine, theirs = mine[:, None], theirs[:, None]
            return lambda e, rows, grad: _squared_errors(e, mine[rows], theirs, grad)
        match: Callable[[slice], Tensor]
        if not target.is_floating_point():
            if target.ndim != 1:
                raise ValueError(
                    "Labels must be integers of shape (n_queries,), got "
                    f"{tuple(target.shape)}. Pass probabilities or one-hot rows as "
                    "floats: target.float()."
                )
            match = lambda rows: mine[rows, None] == theirs  # noqa: E731
        elif target.ndim == 2:
            match = lambda rows: mine[rows] @ theirs.T  # noqa: E731
        else:
            mine, theirs = (one / (2**0.5 * self.width) for one in (mine, theirs))
            match = lambda rows: torch.exp(-((mine[rows, None] - theirs) ** 2))  # noqa: E731
        if self.objective == "log":
            return lambda e, rows, _: _log_matches(e, match(rows))
        return lambda e, rows, grad: _expected_matches(e, match(rows), grad)

    def _pair_cost(
        self, points: Tensor, pairs: Tensor, weights: Tensor | None, kernel: Kernel
    ) -> Tensor:
        """Return Σ_ab w_ab (‖z_a − z_b‖² / T + log S), eq. 8."""
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.is_floating_point():
            raise ValueError(
                "With objective='pairs' the target must be positions of points: "
                f"integers of shape (n_pairs, 2); got {pairs.dtype}, "
                f"{tuple(pairs.shape)}."
            )
        first, second = pairs.long().T
        if bool((first == second).any()):
            raise ValueError("A pair joins a point with itself. Remove such pairs.")
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
            points, points, own, None, _log_sums, kernel, None
        )
        log_total = sums.logsumexp(0) if self.normalization == "pairs" else sums[first]
        cost = (w * (exponents / self.temperature + log_total)).sum()
        return cost / w.sum() if self.reduction == "mean" else cost


def _at_least_float32(points: Tensor) -> Tensor:
    """Return points in float32 if they are of half precision."""
    return points.float() if points.dtype in (torch.half, torch.bfloat16) else points


def _check_weights(name: str, given: Tensor | None, points: Tensor) -> Tensor:
    """Return one weight per point; ones if none are given."""
    if given is None:
        return points.new_ones(len(points))
    if given.shape != (len(points),):
        raise ValueError(
            f"{name} must be one number for each of {len(points)} points, got shape "
            f"{tuple(given.shape)}."
        )
    found = given.detach().to(points.device, points.dtype)
    if not bool(((found > 0) & (found < torch.inf)).all()):
        raise ValueError(f"{name} must be above 0 and finite. Drop points of weight 0.")
    return found


def _check_shapes(
    points: Tensor,
    target: Tensor,
    references: Tensor,
    other: Tensor,
    own: Tensor | None,
) -> None:
    """Raise a ValueError if the shapes of tensors do not match."""
    good = (
        len(points) > 0
        and len(references) > 0
        and len(target) == len(points)
        and len(other) == len(references)
        and target.shape[1:] == other.shape[1:]
        and points.shape[1:] == references.shape[1:]
        and (own is None or own.shape == target.shape[:1])
    )
    if not good:
        tensors = {"points": points, "target": target, "references": references,
                   "reference_target": other, "own": own}  # fmt: skip
        shapes = [f"{k} {tuple(v.shape)}" for k, v in tensors.items() if v is not None]
        raise ValueError(
            f"The shapes do not match: {', '.join(shapes)}. There must be at least one "
            "point and one reference, of as many components; each needs one target, "
            "and own one position for each point."
        )
