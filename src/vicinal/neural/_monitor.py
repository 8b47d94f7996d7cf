"""What happens beside a training: printing, callbacks."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from vicinal.neural._training import Trained


class EpochMonitor:
    """Watches the epochs of one fit, of all its networks; called after each.

    Parameters
    ----------
    estimator : estimator with `max_iter`, `n_estimators`, `verbose` and `callback`
        Who is being fitted.
    X, y : array-likes
        The training data, passed on to scikit-learn's callbacks.
    state : callable
        The fitted attributes that follow from a network as it now stands.

    Attributes
    ----------
    n_iter : int
        Epochs so far, of all networks.
    stopped : bool
        Whether a callback has asked to stop.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        state: Callable[[Trained], dict[str, Any]],
        n_epochs: int,
    ) -> None:
        self.n_iter = 0
        self.stopped = False
        self._network = 0
        self._estimator = estimator
        self._state = state
        self._n_epochs = n_epochs
        self._data = {"estimator": estimator, "X": X, "y": y}
        self._context = estimator._init_callback_context(max_subtasks=n_epochs)
        self._latest: Trained | None = None
        self._began = time.perf_counter()

    def __enter__(self) -> Self:
        self._context.call_on_fit_task_begin(**self._data)
        heads = ("network", "epoch", "loss", "held out", "seconds")
        self.say("{:>7} {:>7} {:>12} {:>12} {:>9}".format(*heads))
        return self

    def __call__(self, trained: Trained) -> bool:
        """Take note of an epoch; True asks to stop."""
        self.n_iter += 1
        self._latest = trained
        score = f"{trained.scores[-1]:.5g}" if trained.scores else ""
        seconds = time.perf_counter() - self._began
        epoch = len(trained.losses)
        self._network += epoch == 1
        numbers = f"{self._network:>7} {epoch:>7} {trained.losses[-1]:>12.5g}"
        self.say(f"{numbers} {score:>12} {seconds:>9.1f}")
        task = self._context.subcontext(task_name="epoch")
        task.call_on_fit_task_begin(**self._data)
        stop = bool(
            task.call_on_fit_task_end(
                **self._data, reconstruction_attributes=self._as_if_fitted
            )
        )
        callback = self._estimator.callback
        if callback is not None:
            try:
                callback(trained, epoch)
            except StopIteration:
                stop = True
        self.stopped |= stop
        return stop

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            # Without an epoch that went well there is nothing to show.
            known = None if self._latest is None else self._as_if_fitted
            self._context.call_on_fit_task_end(
                **self._data, reconstruction_attributes=known
            )

    def say(self, line: str) -> None:
        """Print a line, if `verbose`."""
        if self._estimator.verbose:
            sys.stdout.write(f"[{type(self._estimator).__name__}] {line}\n")
            sys.stdout.flush()

    def _as_if_fitted(self) -> dict[str, Any]:
        """Return what makes a copy of the estimator usable as it now stands."""
        assert self._latest is not None  # noqa: S101 -- asked for after an epoch
        return self._state(self._latest)
