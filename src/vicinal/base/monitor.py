"""What happens beside a fit: printing, callbacks, and keeping the latest map."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from vicinal._typing import FloatArray

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before scikit-learn 1.9 there is no callback protocol

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's: nobody can set a callback, none is called."""

        def _init_callback_context(self, **_: Any) -> "_NoContext":
            return _NoContext()


__all__ = ["CallbackSupportMixin", "Monitor"]


class _NoContext:
    """A callback context without callbacks."""

    def subcontext(self, **_: Any) -> "_NoContext":
        return self

    def call_on_fit_task_begin(self, **_: Any) -> None:
        """Call nobody."""

    def call_on_fit_task_end(self, **_: Any) -> bool:
        return False


class Monitor:
    """Watches the iterations of one fit; a solver calls it after each.

    It has what a :class:`vicinal.optimize.Solution` has, so that an interrupted fit can
    keep the best map so far.

    Parameters
    ----------
    estimator : estimator with `max_iter`, `verbose` and `callback`
        Who is being fitted.
    X, y : array-likes
        The training data, passed on to scikit-learn's callbacks.
    start : ndarray of shape (n_components, n_features) or (n_features,)
        The initial map, or the diagonal of a diagonal one.
    state : callable
        The fitted attributes that follow from a map.
    how : str, default=""
        How the fit is done, in words.
    noisy : bool, default=False
        Whether the curve is an estimate: then the latest map is as good as any.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        start: FloatArray,
        state: Callable[[FloatArray], dict[str, Any]],
        how: str = "",
        noisy: bool = False,
    ) -> None:
        self.components = self._current = start
        self.n_iter = 0
        self.curve: list[float] = []
        self._estimator = estimator
        self._state = state
        self._how = how
        self._noisy = noisy
        self._data = {"estimator": estimator, "X": X, "y": y}
        self._callback: Callable[[FloatArray, int], object] | None = estimator.callback
        self._context = estimator._init_callback_context(
            max_subtasks=estimator.max_iter
        )
        self._task: Any = None
        self._began = self._ticked = time.perf_counter()

    def __enter__(self) -> Self:
        self._context.call_on_fit_task_begin(**self._data)
        self._begin_task()
        if self._how:
            self._say(self._how)
        self._say(f"{'iteration':>10} {'objective':>16} {'seconds':>9} {'left':>9}")
        return self

    def __call__(self, components: FloatArray, curve: list[float]) -> bool:
        """Take note of an iteration; True asks the solver to stop."""
        self.curve = curve
        self.n_iter += 1
        self._current = components
        if self._noisy or curve[-1] >= max(curve):
            self.components = components
        now = time.perf_counter()
        # At most: many solvers stop before all iterations are done.
        pace = (now - self._began) / self.n_iter
        left = pace * (self._estimator.max_iter - self.n_iter)
        self._say(
            f"{self.n_iter:>10} {curve[-1]:>16.6e} {now - self._ticked:>9.3f} "
            f"{left:>9.1f}"
        )
        self._ticked = now
        stop = self._end_task()
        if self._callback is not None:
            try:
                self._callback(components.ravel(), self.n_iter)
            except StopIteration:
                stop = True
        if not stop and self.n_iter < self._estimator.max_iter:
            self._begin_task()
        return stop

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._task is not None:  # an iteration that was announced and never ran
            self._task.call_on_fit_task_end(estimator=self._estimator)
        if kind is None:
            self._say(f"took {time.perf_counter() - self._began:.2f} s")
            self._context.call_on_fit_task_end(
                **self._data, reconstruction_attributes=self._as_if_fitted
            )

    def _begin_task(self) -> None:
        self._task = self._context.subcontext(task_name="iteration")
        self._task.call_on_fit_task_begin(**self._data)

    def _end_task(self) -> bool:
        task, self._task = self._task, None
        return bool(
            task.call_on_fit_task_end(
                **self._data, reconstruction_attributes=self._as_if_fitted
            )
        )

    def _as_if_fitted(self) -> dict[str, Any]:
        """Return what makes a copy of the estimator usable as it now stands."""
        return {**self._state(self._current), "n_iter_": self.n_iter}

    def _say(self, line: str) -> None:
        if self._estimator.verbose:
            sys.stdout.write(f"[{type(self._estimator).__name__}] {line}\n")
            sys.stdout.flush()
