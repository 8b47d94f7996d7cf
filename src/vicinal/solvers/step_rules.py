"""Rules for the steps of gradient ascent: bold driver, delta-bar-delta, decay.

The loop that uses them lives in `gradient_ascent`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vicinal._typing import FloatArray
from vicinal.solvers.base import Objective
from vicinal.solvers.gradient_ascent import (
    GradientAscent,
    Place,
    StepSizes,
    evaluate,
    natural_step,
)

# How many steps the search for t_0 tries beyond the first; each doubles or halves it.
_N_TRIALS = 10


@dataclass(frozen=True)
class BoldDriver(GradientAscent):
    """Gradient ascent with steps that grow while they gain (thesis, 3.3.1; [1]_).

    A step that does not descend makes the next one longer. One that does is taken back,
    and halved until the objective rises again.

    Parameters
    ----------
    max_iter : int, default=50
        Iterations at most; each is one evaluation, of a step taken or taken back.
    tol : float, default=1e-5
        Stop when two steps in a row gain less than this, relative to the objective.
    first_step : float, default=0.1
        Length of the first step, relative to the map.
    rho : float, default=1.1
        ρ > 1, what the step size is multiplied with after a success.
    sigma : float, default=0.5
        σ < 1, what it is multiplied with after a failure.

    See Also
    --------
    vicinal.solvers.DeltaBarDelta : A step size for each entry.
    vicinal.solvers.GradientAscent : What they share.

    References
    ----------
    .. [1] Vogl, Mangis, Rigler, Zink, Alkon. Accelerating the convergence of the
       back-propagation method. Biological Cybernetics 59, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.solvers import BoldDriver
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
        """Return one step size, that of the first step."""
        return _Bold(self.first_step * natural_step(start), self.rho, self.sigma)


@dataclass
class _Bold:
    eta: float
    rho: float
    sigma: float

    def after_move(self, gradient: FloatArray) -> None:  # noqa: ARG002
        self.eta *= self.rho

    def after_retreat(self) -> None:
        self.eta *= self.sigma


@dataclass(frozen=True)
class DeltaBarDelta(GradientAscent):
    """Gradient ascent with a step size for each entry of the map [1]_.

    With δ the gradient and δ̄ the running average of past ones,
    δ̄ ← (1 − θ) δ + θ δ̄, an entry's step size grows by κ where δ̄ and δ have the same
    sign, and shrinks by the part φ of it where they have not. A drop by more than a
    tenth of the gain so far sends it back to the best map, with η and κ halved.

    Parameters
    ----------
    max_iter : int, default=50
        Iterations at most; each is one evaluation.
    tol : float, default=1e-5
        Stop when two steps in a row change the objective by less than this, relative
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
    vicinal.solvers.BoldDriver : One step size for all.
    vicinal.solvers.GradientAscent : What they share.

    References
    ----------
    .. [1] Jacobs. Increased rates of convergence through learning rate adaptation.
       Neural Networks 1, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.solvers import DeltaBarDelta
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
        """Return step sizes that are all that of the first step."""
        first = self.first_step * natural_step(start)
        return _OneForEach(
            eta=np.full_like(start.gradient, first),
            average=start.gradient,
            kappa=self.kappa * first,
            phi=self.phi,
            theta=self.theta,
        )


@dataclass
class _OneForEach:
    eta: FloatArray
    average: FloatArray
    kappa: float
    phi: float
    theta: float

    def after_move(self, gradient: FloatArray) -> None:
        agreement = np.sign(self.average) * np.sign(gradient)
        shrunk = np.where(agreement < 0, (1 - self.phi) * self.eta, self.eta)
        self.eta = np.where(agreement > 0, self.eta + self.kappa, shrunk)
        self.average = (1 - self.theta) * gradient + self.theta * self.average

    def after_retreat(self) -> None:
        self.eta = self.eta / 2
        # Where the gradient is larger than at the start, κ alone would overshoot again.
        self.kappa /= 2


@dataclass(frozen=True)
class DecayingSteps(GradientAscent):
    """Gradient ascent with η = η_0 / (t + t_0) in iteration t (thesis, section 3.3.1).

    t_0, after which the steps begin to drop off, is found by an exponential search
    before the first iteration: of first steps η_0 / t_0, each twice or half as long as
    the one before, it keeps the one that raises the objective most. A drop by more than
    a tenth of the gain so far sends it back to the best map, with η halved.

    Parameters
    ----------
    max_iter : int, default=50
        Iterations at most; each is one evaluation. The search takes up to 11 more.
    tol : float, default=1e-5
        Stop when two steps in a row change the objective by less than this, relative
        to it.
    first_step : float, default=0.1
        Length of the first step that the search tries, relative to the map.
    eta_0 : float, default=300.0
        η_0, in units of the step size that moves the map by its own length. A first
        step as long as the map makes t_0 = 300.

    See Also
    --------
    vicinal.solvers.BoldDriver : Steps that depend on success.
    vicinal.solvers.GradientAscent : What they share.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.solvers import DecayingSteps
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
        """Search for t_0."""
        eta_0 = self.eta_0 * natural_step(start)

        def height(t_0: float) -> float:
            there = evaluate(objective, start.components + eta_0 / t_0 * start.gradient)
            return there.value if there.is_finite else -np.inf

        t_0 = self.eta_0 / self.first_step
        highest = height(t_0)
        factor = 0.5 if highest > start.value else 2.0
        for _ in range(_N_TRIALS):
            value = height(factor * t_0)
            if start.value < highest >= value:
                break
            t_0, highest = factor * t_0, value
        return _Decaying(eta_0, t_0)


@dataclass
class _Decaying:
    eta_0: float
    t: float  # t + t_0 of the rule

    @property
    def eta(self) -> float:
        return self.eta_0 / self.t

    def after_move(self, gradient: FloatArray) -> None:  # noqa: ARG002
        self.t += 1

    def after_retreat(self) -> None:
        self.t *= 2
