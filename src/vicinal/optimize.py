"""Solvers: maximize an objective over maps, from a start.

An objective has `value_and_gradient(components)`. A solver has
`maximize(objective, start, callback)` and returns SciPy's `OptimizeResult`.
`Ridge` adds a penalty, `Reparametrized` changes coordinates. Solvers do not depend on
labels, rows or estimators.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy import random
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult, minimize

from vicinal._typing import FloatArray


class Objective(Protocol):
    """Objective of a solver: value and gradient at a map.

    See Also
    --------
    vicinal.objectives.NCAObjective : An example.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.optimize import LBFGS
    >>> class Hill:
    ...     def value_and_gradient(self, components):
    ...         return -float(np.sum(components**2)), -2 * components
    >>> solution = LBFGS().maximize(Hill(), np.eye(2), on_iteration=lambda *_: False)
    >>> bool(np.allclose(solution.x, 0, atol=1e-3))
    True
    """

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at the map and the gradient, which has the map's shape."""


OnIteration: TypeAlias = Callable[[FloatArray, list[float]], bool]
"""Called after each iteration with the map and the curve so far; True stops."""


StopReason: TypeAlias = Literal[
    "converged", "callback", "max_iter", "line_search", "not_finite", "stale"
]
"""Reason why a solver stopped.

- "converged": the gain or the gradient is within `tol`, or a fixed schedule is done;
- "callback": `on_iteration` returned True;
- "max_iter": the maximum number of iterations was reached;
- "line_search": no step along the search direction raises the objective enough, as a
  result of rounding near a maximum; more iterations would not change the map;
- "not_finite": the objective or its gradient is NaN or infinite;
- "stale": each refresh of the objective undoes the gain since the last refresh.
"""


SUCCESS: tuple[StopReason, ...] = ("converged", "callback")
"""Reasons after which more iterations are not needed."""


def solution(
    components: FloatArray,
    n_iter: int,
    curve: list[float],
    reason: StopReason,
    message: str,
) -> OptimizeResult:
    """Return SciPy's OptimizeResult, with the curve and the reason for stopping."""
    return OptimizeResult(
        x=components,
        fun=curve[-1] if curve else np.nan,
        nit=n_iter,
        curve=curve,
        reason=reason,
        message=message,
        success=reason in SUCCESS,
    )


class Solver(Protocol):
    """Optimization method, with its settings in the constructor."""

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> OptimizeResult:
        """Maximize the objective from a start.

        Parameters
        ----------
        objective : Objective
            Objective to maximize.
        start : ndarray
            Initial map, of any shape.
        on_iteration : callable
            Called after each iteration with the map and the curve of the objective so
            far, including the start; True stops.

        Returns
        -------
        OptimizeResult
            The best map is `x`; `curve` is the objective at the start and after each
            iteration; `reason` is a `StopReason`.
        """


def relative_change(before: float, after: float) -> float:
    """Return the relative change of the objective in an iteration.

    |f_{k+1} − f_k| / max(|f_k|, |f_{k+1}|, 1), the criterion of SciPy's L-BFGS-B.
    """
    return abs(after - before) / max(abs(before), abs(after), 1.0)


def power_of_two(size: float) -> float:
    """Return the power of two nearest to a size; dividing by it is exact."""
    return float(2.0 ** np.round(np.log2(size)))


@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS, SciPy's L-BFGS-B.

    Parameters
    ----------
    max_iter : int, default=50
        Maximum number of iterations.
    tol : float, default=1e-5
        Stop if an iteration gains less than this, relative to the objective, or if no
        entry of the gradient is larger.

    See Also
    --------
    vicinal.optimize.ConjugateGradient : Two evaluations per iteration, often a slightly
        higher optimum.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.optimize import LBFGS
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = NCAObjective(X, [0, 0, 1, 1])
    >>> solution = LBFGS(max_iter=20).maximize(
    ...     objective, np.eye(2), on_iteration=lambda *_: False
    ... )
    >>> solution.curve[-1] >= solution.curve[0]
    True
    """

    max_iter: int = 50
    tol: float = 1e-5
    _method: ClassVar[str] = "L-BFGS-B"

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> OptimizeResult:
        """Maximize the objective from a start; see `Solver`.

        The last map is the best: no iteration lowers the objective.
        """
        curve: list[float] = []
        stopped: tuple[StopReason, str] | None = None

        def negated(flat: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = objective.value_and_gradient(flat.reshape(start.shape))
            if not curve:
                curve.append(value)
            # SciPy's line searches need float64, whatever the type of the objective.
            return -value, -gradient.ravel().astype(np.float64)

        def after_iteration(intermediate_result: OptimizeResult) -> None:
            nonlocal stopped
            curve.append(-float(intermediate_result.fun))
            components = intermediate_result.x.reshape(start.shape).copy()
            if on_iteration(components, curve):
                stopped = "callback", "stopped by a callback"
            # SciPy's CG has a tolerance only for the gradient, a sum over points.
            elif self._method == "CG" and relative_change(*curve[-2:]) <= self.tol:
                stopped = "converged", "an iteration gained less than tol"
            if stopped:
                raise StopIteration

        options: dict[str, Any] = {"maxiter": self.max_iter, "gtol": self.tol}
        if self._method == "L-BFGS-B":
            # The limit is on iterations; SciPy also limits evaluations.
            options |= {"ftol": self.tol, "maxfun": 100 * (self.max_iter + 1)}
        # The norm of a gradient may overflow in SciPy, which is reported below.
        with np.errstate(over="ignore", invalid="ignore"):
            result = minimize(
                negated,
                start.ravel().astype(np.float64),
                method=self._method,
                jac=True,
                callback=after_iteration,
                options=options,
            )
        reason: StopReason = "max_iter" if result.status == 1 else "line_search"
        if result.success:
            reason = "converged"
        elif not (np.isfinite(result.fun) and np.isfinite(result.jac).all()):
            reason = "not_finite"
        reason, message = stopped or (reason, str(result.message))
        result.update(
            x=result.x.reshape(start.shape), jac=-result.jac.reshape(start.shape),
            fun=curve[-1], curve=curve,
            reason=reason, message=message, success=reason in SUCCESS,
        )  # fmt: skip
        return result


@dataclass(frozen=True)
class ConjugateGradient(LBFGS):
    """Polak-Ribière conjugate gradients, SciPy's CG (thesis, section 3.3.1).

    Each iteration is a line search for a map that satisfies the Wolfe conditions, which
    takes about two evaluations of the objective.

    Parameters
    ----------
    max_iter : int, default=50
        Maximum number of iterations.
    tol : float, default=1e-5
        Stop if an iteration gains less than this, relative to the objective, or if no
        entry of the gradient is larger.

    See Also
    --------
    vicinal.optimize.LBFGS : Fewer evaluations.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.optimize import ConjugateGradient
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = NCAObjective(X, [0, 0, 1, 1])
    >>> solution = ConjugateGradient(max_iter=20).maximize(
    ...     objective, np.eye(2), on_iteration=lambda *_: False
    ... )
    >>> solution.curve[-1] >= solution.curve[0]
    True
    """

    _method: ClassVar[str] = "CG"


class Place(NamedTuple):
    """Map with the value and gradient of the objective."""

    components: FloatArray
    value: float
    gradient: FloatArray

    @property
    def is_finite(self) -> bool:
        """Whether the value and the gradient are finite."""
        return bool(np.isfinite([self.value, _norm(self.gradient)]).all())


def evaluate(objective: Objective, components: FloatArray) -> Place:
    """Evaluate the objective at a map, with the result in float64."""
    value, gradient = objective.value_and_gradient(components)
    return Place(components, float(value), gradient.astype(np.float64))


def natural_step(place: Place) -> float:
    """Return the η of a step that is as long as the map.

    In this unit, step sizes do not depend on the units of the objective or the data.
    For a map of zeros, the length of the first step is relative to 1.
    """
    return (_norm(place.components) or 1.0) / _norm(place.gradient)


StepSizes: TypeAlias = Generator[Any, FloatArray | None, None]


@dataclass(frozen=True)
class GradientAscent(ABC):
    """Base class of gradient ascent, A ← A + η ∂f/∂A, with a rule for η.

    One iteration is one evaluation of the objective. A step that loses too much, or
    leads to a map at which the objective is not finite, is rejected: the next step
    starts from the best map, and is shorter.

    See Also
    --------
    vicinal.optimize.BoldDriver : One step size that adapts to success.
    vicinal.optimize.DeltaBarDelta : A step size for each entry.
    vicinal.optimize.DecayingSteps : Step sizes that decay with time.

    Examples
    --------
    >>> from vicinal.optimize import BoldDriver, GradientAscent
    >>> issubclass(BoldDriver, GradientAscent)
    True
    """

    max_iter: int = 50
    tol: float = 1e-5
    first_step: float = 0.1

    tolerated_loss: ClassVar[float] = 0.0
    """Tolerated loss of a step before it is rejected, relative to the gain so far."""

    @abstractmethod
    def step_sizes(self, objective: Objective, start: Place) -> StepSizes:
        """Yield η of each step, a scalar or one value for each entry of the map.

        Sent back is the gradient at the new map, or None if the step was rejected.
        """

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> OptimizeResult:
        """Maximize the objective from a start; see `Solver`."""
        first = here = best = evaluate(objective, start.astype(np.float64))
        curve = [first.value]

        def end(message: str, reason: StopReason = "converged") -> OptimizeResult:
            return solution(best.components, len(curve) - 1, curve, reason, message)

        if not first.is_finite:
            return end("the objective is not finite at the start", "not_finite")
        if _norm(first.gradient) == 0:
            return end("the gradient is zero at the start")

        sizes = self.step_sizes(objective, first)
        eta = next(sizes)
        n_idle = 0
        while len(curve) <= self.max_iter:
            step = eta * here.gradient
            if _norm(step) <= 1e-10 * _norm(here.components):
                return end("the step has become negligible")
            there = evaluate(objective, here.components + step)
            floor = best.value - self.tolerated_loss * (best.value - first.value)
            moved = there.is_finite and there.value >= floor
            if moved:
                here = there
                best = max(best, here, key=lambda place: place.value)
            else:
                here = best
            eta = sizes.send(here.gradient if moved else None)
            curve.append(here.value)
            if on_iteration(here.components.copy(), curve):
                return end("stopped by a callback", "callback")
            # Stop only after two small gains in a row: one may be an overshoot across
            # the maximum along this direction, to a point of about the same value.
            if moved:
                small = relative_change(*curve[-2:]) <= self.tol
                n_idle = n_idle + 1 if small else 0
            if n_idle == 2:
                return end("two iterations in a row gained less than tol")
        return end("the iterations are used up", "max_iter")


def _norm(entries: FloatArray) -> float:
    with np.errstate(over="ignore"):  # an overflow is infinity, not an error
        return float(np.linalg.norm(entries.ravel()))


@dataclass(frozen=True)
class BoldDriver(GradientAscent):
    """Gradient ascent with steps that grow on success (thesis, 3.3.1; [1]_).

    After a step that does not lower the objective, the step size grows. Otherwise, the
    step is rejected, and the step size is halved until the objective rises again.

    Parameters
    ----------
    max_iter : int, default=50
        Maximum number of iterations; each is one evaluation, of an accepted or a
        rejected step.
    tol : float, default=1e-5
        Stop if two steps in a row gain less than this, relative to the objective.
    first_step : float, default=0.1
        Length of the first step, relative to the map.
    rho : float, default=1.1
        ρ > 1, the factor of the step size after an accepted step.
    sigma : float, default=0.5
        σ < 1, the factor of the step size after a rejected step.

    See Also
    --------
    vicinal.optimize.DeltaBarDelta : A step size for each entry.
    vicinal.optimize.GradientAscent : The base class.

    References
    ----------
    .. [1] Vogl, Mangis, Rigler, Zink, Alkon. Accelerating the convergence of the
       back-propagation method. Biological Cybernetics 59, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.optimize import BoldDriver
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = NCAObjective(X, [0, 0, 1, 1])
    >>> solution = BoldDriver(max_iter=20).maximize(
    ...     objective, np.eye(2), on_iteration=lambda *_: False
    ... )
    >>> solution.curve[-1] >= solution.curve[0]
    True
    """

    rho: float = 1.1
    sigma: float = 0.5

    def step_sizes(self, objective: Objective, start: Place) -> StepSizes:  # noqa: ARG002
        """Yield one step size, that of the first step at first."""
        eta = self.first_step * natural_step(start)
        while True:
            moved = (yield eta) is not None
            eta *= self.rho if moved else self.sigma


@dataclass(frozen=True)
class DeltaBarDelta(GradientAscent):
    """Gradient ascent with a step size for each entry of the map [1]_.

    With δ the gradient and δ̄ ← (1 − θ) δ + θ δ̄ its running average, the step size of
    an entry grows by κ if δ̄ and δ have the same sign, and shrinks by the factor 1 − φ
    if they have opposite signs. After a drop by more than a tenth of the gain so far,
    the run continues from the best map, with η and κ halved.

    Parameters
    ----------
    max_iter : int, default=50
        Maximum number of iterations; each is one evaluation.
    tol : float, default=1e-5
        Stop if two steps in a row change the objective by less than this, relative
        to it.
    first_step : float, default=0.1
        Length of the first step, relative to the map.
    kappa : float, default=1.0
        κ, in units of the first step size.
    phi : float, default=0.3
        φ.
    theta : float, default=0.7
        θ.

    See Also
    --------
    vicinal.optimize.BoldDriver : One step size for all.
    vicinal.optimize.GradientAscent : The base class.

    References
    ----------
    .. [1] Jacobs. Increased rates of convergence through learning rate adaptation.
       Neural Networks 1, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.optimize import DeltaBarDelta
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = NCAObjective(X, [0, 0, 1, 1])
    >>> solution = DeltaBarDelta(max_iter=20).maximize(
    ...     objective, np.eye(2), on_iteration=lambda *_: False
    ... )
    >>> solution.curve[-1] >= solution.curve[0]
    True
    """

    tolerated_loss: ClassVar[float] = 0.1

    kappa: float = 1.0
    phi: float = 0.3
    theta: float = 0.7

    def step_sizes(self, objective: Objective, start: Place) -> StepSizes:  # noqa: ARG002
        """Yield the step sizes of all entries, that of the first step at first."""
        first = self.first_step * natural_step(start)
        eta, average = np.full_like(start.gradient, first), start.gradient
        kappa = self.kappa * first
        while True:
            gradient = yield eta
            if gradient is None:
                # If the gradient is larger than at the start, κ would overshoot again.
                eta, kappa = eta / 2, kappa / 2
                continue
            agreement = np.sign(average) * np.sign(gradient)
            shrunk = np.where(agreement < 0, (1 - self.phi) * eta, eta)
            eta = np.where(agreement > 0, eta + kappa, shrunk)
            average = (1 - self.theta) * gradient + self.theta * average


@dataclass(frozen=True)
class DecayingSteps(GradientAscent):
    """Gradient ascent with η = η_0 / (t + t_0) in iteration t (thesis, section 3.3.1).

    t_0, after which the steps begin to decay, is found by an exponential search before
    the first iteration: among first steps η_0 / t_0, each twice or half as long as the
    previous one, the search keeps the one that raises the objective most. After a drop
    by more than a tenth of the gain so far, the run continues from the best map, with η
    halved.

    Parameters
    ----------
    max_iter : int, default=50
        Maximum number of iterations; each is one evaluation. The search takes up to
        11 more.
    tol : float, default=1e-5
        Stop if two steps in a row change the objective by less than this, relative
        to it.
    first_step : float, default=0.1
        Length of the first step of the search, relative to the map.
    eta_0 : float, default=300.0
        η_0, in units of the step size that moves the map by its own length. A first
        step as long as the map gives t_0 = 300.

    See Also
    --------
    vicinal.optimize.BoldDriver : Step sizes that adapt to success.
    vicinal.optimize.GradientAscent : The base class.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.optimize import DecayingSteps
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = NCAObjective(X, [0, 0, 1, 1])
    >>> solution = DecayingSteps(max_iter=20).maximize(
    ...     objective, np.eye(2), on_iteration=lambda *_: False
    ... )
    >>> solution.curve[-1] >= solution.curve[0]
    True
    """

    tolerated_loss: ClassVar[float] = 0.1

    eta_0: float = 300.0

    def step_sizes(self, objective: Objective, start: Place) -> StepSizes:
        """Search for t_0, and yield η_0 / (t + t_0)."""
        eta_0 = self.eta_0 * natural_step(start)

        def height(t_0: float) -> float:
            there = evaluate(objective, start.components + eta_0 / t_0 * start.gradient)
            return there.value if there.is_finite else -np.inf

        t_0 = self.eta_0 / self.first_step
        highest = height(t_0)
        factor = 0.5 if highest > start.value else 2.0
        for _ in range(10):  # each trial doubles or halves t_0
            value = height(factor * t_0)
            if start.value < highest >= value:
                break
            t_0, highest = factor * t_0, value
        while True:
            moved = (yield eta_0 / t_0) is not None
            t_0 = t_0 + 1 if moved else 2 * t_0


class Sampled(Protocol):
    """Objective that is a sum, from which mini-batches can be drawn."""

    def draw(self, rng: random.Generator) -> Objective:
        """Return a mini-batch, whose value and gradient estimate those of the sum."""


@dataclass
class Adam:
    """State of Adam, which gives the direction of the next step.

    Each entry moves by its mean gradient divided by the gradient's size, so that the
    unit of the objective cancels. With `size_held`, a step changes the direction of the
    map and keeps its Frobenius norm. `betas` are the decay rates of the gradient and of
    its square in the original paper.
    """

    size_held: bool = False
    n_steps: int = 0
    betas: ClassVar[tuple[float, float]] = 0.9, 0.999
    mean: FloatArray = field(default_factory=lambda: np.zeros(()))
    square: FloatArray = field(default_factory=lambda: np.zeros(()))

    def step(
        self, components: FloatArray, gradient: FloatArray, eta: float
    ) -> FloatArray:
        """Return the map after a step; entries move by at most about η."""
        self.n_steps += 1
        beta_1, beta_2 = self.betas
        self.mean = beta_1 * self.mean + (1 - beta_1) * gradient
        self.square = beta_2 * self.square + (1 - beta_2) * gradient**2
        mean = self.mean / (1 - beta_1**self.n_steps)
        size = np.sqrt(self.square / (1 - beta_2**self.n_steps))
        # An entry whose gradient has always been zero does not move.
        moved = components + eta * mean / np.maximum(size, 1e-8 * size.max() + 1e-300)
        if not self.size_held:
            return moved
        if not (moved.any() and components.any()):
            return components.copy()
        return moved * (typical_entry(components) / typical_entry(moved))


def schedule(progress: float) -> float:
    """Return the step size relative to the largest: a short rise, and a long decay.

    Parameters
    ----------
    progress : float
        Share of the steps that are done, from 0 to 1.
    """
    rise = min(1.0, (progress + 1e-3) / 0.05)
    return float(rise * 0.5 * (1 + np.cos(np.pi * progress)))


class Progress(NamedTuple):
    """Result of some steps.

    Attributes
    ----------
    components : ndarray
        The map.
    adam : Adam
        State of Adam for the next steps.
    batch_values : list of float
        Values of the mini-batches, each before its step.
    finite : bool
        Whether all values and gradients were finite. If not, the map is the one before
        the first that was not, or a mean of such maps.
    n_paths : int
        Number of maps, from different sequences of steps, whose mean this is.
    """

    components: FloatArray
    adam: Adam
    batch_values: list[float]
    finite: bool = True
    n_paths: int = 1


TakeSteps = Callable[
    [Any, FloatArray, Adam, Sequence[float], random.Generator], Progress
]
"""Takes a step of each size, as `take_steps` does."""


def take_steps(
    objective: Sampled,
    components: FloatArray,
    adam: Adam,
    etas: Sequence[float],
    rng: random.Generator,
) -> Progress:
    """Take steps, each on another mini-batch.

    Parameters
    ----------
    objective : Sampled
        Objective from which mini-batches are drawn.
    components : ndarray of float64
        Initial map.
    adam : Adam
        State of Adam after the previous steps; it is not changed.
    etas : sequence of float
        Size of each step.
    rng : Generator
        Draws the mini-batches.
    """
    adam, values = copy(adam), []
    for eta in etas:
        part = objective.draw(rng)
        # For data near the limits of floats, a step may be too long.
        with np.errstate(over="ignore"):
            value, gradient = part.value_and_gradient(components)
        values.append(value)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return Progress(components, adam, values, finite=False)
        components = adam.step(components, gradient.astype(np.float64), eta)
    return Progress(components, adam, values)


def average(*some: Progress) -> Progress:
    """Average maps that result from the same number of steps from the same start.

    The states of Adam are averaged, too. A map that is itself a mean is weighted by its
    `n_paths`, so that a mean of means is the mean of all.
    """
    n = sum(one.n_paths for one in some)
    shares = [one.n_paths / n for one in some]

    def mean(parts: Iterable[Any]) -> Any:
        weighed = (k * np.asarray(part) for k, part in zip(shares, parts, strict=True))
        return reduce(np.add, weighed)

    adam = replace(
        some[0].adam,
        mean=mean(one.adam.mean for one in some),
        square=mean(one.adam.square for one in some),
    )
    A = mean(one.components for one in some)
    if adam.size_held:  # the mean is shorter than the averaged maps
        size = mean(typical_entry(one.components) for one in some)
        A *= size / typical_entry(A)
    n_values = min(len(one.batch_values) for one in some)
    values = mean(one.batch_values[:n_values] for one in some).tolist()
    return Progress(A, adam, values, all(one.finite for one in some), n)


@dataclass(frozen=True)
class Stochastic:
    """Stochastic optimization with Adam on random mini-batches of the objective.

    Step sizes rise briefly, then decay along a cosine to zero, so that the last map is
    as good as an average over the last steps. An iteration is a number of steps; the
    curve has their mean value.

    Parameters
    ----------
    max_iter : int, default=50
        Number of iterations; all of them are done.
    seed : int, default=0
        Seed for drawing the mini-batches.
    steps : int, default=25
        Number of steps in an iteration.
    first_step : float, default=0.3
        η of the largest step, in units of the start's typical entry.
    size_held : bool, default=False
        Keep the size of the start.
    take : callable, default=take_steps
        Takes the steps of an iteration.
    """

    max_iter: int = 50
    seed: int = 0
    steps: int = 25
    first_step: float = 0.3
    size_held: bool = False
    take: TakeSteps = take_steps

    def maximize(
        self, objective: Sampled, start: FloatArray, on_iteration: OnIteration
    ) -> OptimizeResult:
        """Maximize the objective from a start; see `Solver`."""
        rng = np.random.default_rng(self.seed)
        A: FloatArray = start.astype(np.float64)
        unit = typical_entry(A)
        adam = Adam(self.size_held)
        curve: list[float] = []
        n_steps = self.max_iter * self.steps
        for iteration in range(self.max_iter):
            first = iteration * self.steps
            etas = [
                self.first_step * unit * schedule(t / n_steps)
                for t in range(first, first + self.steps)
            ]
            A, adam, values, finite, _ = self.take(objective, A, adam, etas, rng)
            if not finite:
                message = "the objective is not finite"
                last = curve or values[-1:]
                return solution(A, iteration, last, "not_finite", message)
            curve += [values[0]] if not curve else []
            curve.append(float(np.mean(values)))
            if on_iteration(A.copy(), curve):
                message = "stopped by a callback"
                return solution(A, iteration + 1, curve, "callback", message)
        return solution(A, self.max_iter, curve, "converged", "the schedule is done")


def typical_entry(A: FloatArray) -> float:
    """Return the root mean square of the entries; 1 for a map of zeros."""
    return float(np.sqrt(np.mean(np.square(A)))) or 1.0


@dataclass(frozen=True)
class Refreshed:
    """Solver in rounds of a few iterations, each after a refresh of the objective.

    For objectives that are approximated around a map, such as sums over the nearest
    neighbors. A round is rejected if the refreshed objective is lower than before, and
    the following rounds are half as long.

    Parameters
    ----------
    refresh : callable
        Approximates the objective around a map.
    is_stale : callable
        Returns whether a map is too far from the last refresh, which ends the round.
    how : dict
        Arguments of `maximize`: solver, max_iter over all rounds, tol, unit. The fit
        ends after a full round that gains less than tol, relative to the objective.
    length : int, default=10
        Initial number of iterations in a round.
    """

    refresh: Callable[[FloatArray], None]
    is_stale: Callable[[FloatArray], bool]
    how: dict[str, Any]
    length: int = 10
    chooses_unit: ClassVar[bool] = True

    @property
    def description(self) -> str:
        """Name of the solver."""
        return str(self.how["solver"])

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> OptimizeResult:
        """Maximize the objective from a start; see `Solver`."""
        A, stopped, ends = start, False, False
        length, max_iter = self.length, self.how["max_iter"]
        curve: list[float] = []
        n_done, before = 0, 0
        reason: StopReason = "converged"
        message = ""
        good, height = start, -np.inf

        def watch(components: FloatArray, latest: list[float]) -> bool:
            nonlocal stopped, n_done
            n_done += 1
            curve.extend(latest[-1:] if curve else latest)
            stopped = on_iteration(components, curve)
            return stopped or self.is_stale(components)

        while True:
            self.refresh(A)
            value = objective.value_and_gradient(A)[0]
            if value >= height:
                good, height = A, value
            else:
                # The gain vanished with the refresh: reject the round, halve its
                # length.
                A, length = good, length // 2
                del curve[max(before, 1) :]
                self.refresh(A)
                if not length:
                    reason = "stale"
                    message = "neighbours change faster than the map can; keep more"
            if ends or not length:
                return solution(A, max(len(curve) - 1, 0), curve, reason, message)
            before = len(curve)
            left = min(length, max_iter - n_done)
            how = {**self.how, "max_iter": left}
            reached = maximize(objective, A, callback=watch, **how)
            A, message = reached.x, reached.message
            curve = curve or reached.curve
            gain = relative_change(reached.curve[0], reached.curve[-1])
            if stopped:
                ends, reason = True, "callback"
            elif reached.nit == 0:
                ends, reason = True, reached.reason
            elif gain <= self.how["tol"]:
                ends = True
            elif n_done >= max_iter:
                ends, reason = True, "max_iter"
                message = "the iterations are used up"


class Ridge:
    """Objective minus λ_i times the squared norm of each row i of the map.

    g(A) = f(A) − Σ_i λ_i Σ_j A_ij² (thesis, eq. 3.26 and 3.27); with one λ for all rows
    it is eq. 3.22 and 3.23. The penalty bounds the size of the map.

    Parameters
    ----------
    objective : Objective
        The objective without the penalty.
    penalty : float or array-like of shape (n_components,)
        λ, or one value for each row.
    center : ndarray or float, default=0.0
        The map with zero penalty.

    See Also
    --------
    vicinal.objectives.NCAObjective : An objective to penalize.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.optimize import Ridge
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> plain = NCAObjective(X, [0, 0, 1, 1])
    >>> less = Ridge(plain, 0.1).value_and_gradient(np.eye(2))[0]
    >>> round(plain.value_and_gradient(np.eye(2))[0] - less, 6)
    0.2
    """

    def __init__(
        self,
        objective: Objective,
        penalty: ArrayLike,
        center: FloatArray | float = 0.0,
    ) -> None:
        self.objective = objective
        self.penalty = np.asarray(penalty, dtype=np.float64)
        self.center = center

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate the penalized objective at a map."""
        value, gradient = self.objective.value_and_gradient(components)
        moved = components - self.center
        weighted = (
            self.penalty[..., None] * moved
            if self.penalty.ndim
            else (self.penalty * moved)
        )
        return value - float((weighted * moved).sum()), gradient - 2 * weighted


class Reparametrized:
    """Objective in other coordinates: A = P · b, P diag(b) or P Bᵀ.

    Units, whitening and bases are changes of coordinates.

    Parameters
    ----------
    objective : Objective
        Objective as a function of A.
    basis : float, ndarray of shape (n_features,) or (n_features, n_coordinates)
        b or B. Powers of two are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.optimize import Reparametrized
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = NCAObjective(X, [0, 0, 1, 1])
    >>> halved = Reparametrized(NCAObjective(X / 2, [0, 0, 1, 1]), 2.0)
    >>> bool(np.isclose(halved.value_and_gradient(np.eye(2))[0],
    ...                 objective.value_and_gradient(np.eye(2))[0]))
    True
    """

    def __init__(self, objective: Objective, basis: FloatArray | float) -> None:
        self.objective = objective
        self.basis = np.asarray(basis, dtype=np.float64)

    def expand(self, parameters: FloatArray) -> FloatArray:
        """Return the map A for the parameters P."""
        if self.basis.ndim == 2:
            return parameters @ self.basis.T
        return parameters * self.basis

    def value_and_gradient(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate the objective at P; the gradient is with respect to P."""
        value, gradient = self.objective.value_and_gradient(self.expand(parameters))
        if self.basis.ndim == 2:
            return value, gradient @ self.basis
        return value, gradient * self.basis


SOLVERS: dict[str, Any] = {
    "lbfgs": LBFGS,
    "cg": ConjugateGradient,
    "bold-driver": BoldDriver,
    "delta-bar-delta": DeltaBarDelta,
    "decay": DecayingSteps,
}
"""Solvers by name; each takes `max_iter` and `tol`."""


def maximize(
    objective: Objective,
    start: FloatArray,
    callback: OnIteration | None = None,
    *,
    solver: Any = "lbfgs",
    max_iter: int = 50,
    tol: float = 1e-5,
    unit: float = 1.0,
) -> OptimizeResult:
    """Maximize an objective from a start.

    Parameters
    ----------
    objective : Objective
        Objective with `value_and_gradient`.
    start : ndarray
        Initial map, of any shape.
    callback : callable, optional
        Called after each iteration with the map and the curve so far; True stops.
    solver : str or Solver, default="lbfgs"
        A name in `SOLVERS`, or an object with `maximize(objective, start, callback)`.
    max_iter, tol : int, float
        Limits of a solver that is given by name.
    unit : float, default=1.0
        Unit of the map's entries for the solver, a power of two. Tolerances and first
        steps assume entries between 0.01 and 100 in this unit; otherwise, the unit of
        the start is used. A solver whose `chooses_unit` is True has its own.

    Returns
    -------
    OptimizeResult
        With `x`, `fun`, `nit`, `success`, `message`, `curve` and `reason`.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.optimize import maximize
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> result = maximize(NCAObjective(X, [0, 0, 1, 1]), np.eye(2), max_iter=20)
    >>> result.curve[-1] >= result.curve[0]
    True
    """
    if isinstance(solver, str):
        solver = SOLVERS[solver](max_iter=max_iter, tol=tol)
    callback = callback or (lambda *_: False)
    size = float(np.abs(start).max(initial=0)) / unit
    if size > 0 and not 0.01 <= size <= 100:
        unit *= power_of_two(size)
    if unit == 1 or getattr(solver, "chooses_unit", False):
        result = solver.maximize(objective, start, callback)
    else:
        result = solver.maximize(
            Reparametrized(objective, unit),
            start / unit,
            lambda components, curve: callback(unit * components, curve),
        )
        result.x = unit * result.x
    if "curve" not in result:  # SciPy's own result, of a solver that is not ours
        curve = [objective.value_and_gradient(one)[0] for one in (start, result.x)]
        result.update(curve=curve, nit=result.get("nit", 1))
    result.setdefault("message", "")
    result.setdefault("success", True)
    result.setdefault("reason", "converged" if result.success else "max_iter")
    return result
