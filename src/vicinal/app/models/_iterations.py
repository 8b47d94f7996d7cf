"""How long a method may iterate, and who hears of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.pipeline import Pipeline

__all__ = ["set_iterations"]


def set_iterations(
    pipeline: Pipeline,
    method: str,
    max_iter: int | None,
    on_iteration: Callable[[int], object] | None,
) -> None:
    """Limit the iterations of a pipeline's metric, and have them told.

    Parameters
    ----------
    pipeline : Pipeline
        Of `vicinal.app.methods.registry.Method.pipeline`, not yet fitted.
    method : str
        What the metric is called.
    max_iter : int or None
        At most how many; None leaves the method's own limit.
    on_iteration : callable or None
        Called with the number of the iteration, where the method tells it.

    Raises
    ------
    ValueError
        When the limit is no number of iterations, or the method does not iterate.
    """
    metric: Any = pipeline.named_steps["metric"]
    known = {} if isinstance(metric, str) else metric.get_params(deep=False)
    if max_iter is not None:
        if max_iter < 1:
            raise ValueError(f"max_iter must be at least 1, not {max_iter}.")
        if "max_iter" not in known:
            raise ValueError(
                f"{method} does not iterate; leave out max_iter={max_iter}."
            )
        metric.set_params(max_iter=max_iter)
    if on_iteration is not None and "callback" in known:
        metric.set_params(callback=lambda _, iteration: on_iteration(iteration))
