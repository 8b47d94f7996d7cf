"""The process around a command: its streams and its signals."""

import io
import os
import signal
import sys
import threading
from typing import Any

from vicinal._files import remove_unfinished


class PipeSafeStream:
    """A text stream that drops everything after its first failure.

    A closed pipe, as in ``vicinal fit … | head -1``, or a full disk behind ``>`` must
    not cost the file that the command writes.

    Parameters
    ----------
    stream : text stream
        The stream to write to.

    Attributes
    ----------
    failure : OSError or None
        The first failure.
    unguarded : text stream
        The stream to write to.
    """

    def __init__(self, stream: Any) -> None:
        self.unguarded = stream
        self.failure: OSError | None = None

    def write(self, text: str) -> int:
        """Write text, or drop it after a failure; return its length."""
        self._try(self.unguarded.write, text)
        return len(text)

    def flush(self) -> None:
        """Write the buffer."""
        self._try(self.unguarded.flush)

    def _try(self, function: Any, *arguments: str) -> None:
        if self.failure is None:
            try:
                function(*arguments)
            except OSError as error:
                self.failure = error
                # The buffer would fail again at the end of the process.
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.unguarded.fileno())
                os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


def guard_streams() -> PipeSafeStream:
    """Guard standard output and standard error; return standard output."""
    guarded = []
    for given in (sys.stdout, sys.stderr):
        # An earlier command in this process may have guarded it.
        stream = given.unguarded if isinstance(given, PipeSafeStream) else given
        # A process may be started without it.
        if stream is None:
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        # A terminal without ± or µ shows ?.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
        guarded.append(PipeSafeStream(stream))
    sys.stdout, sys.stderr = guarded
    return guarded[0]


def clean_up_on_termination() -> None:
    """Remove unfinished files on SIGTERM and SIGHUP, and exit.

    In other threads than the main one, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    owner = os.getpid()

    def end(number: int, _: object) -> None:
        # A fork inherits the handler, but the files are its parent's.
        if os.getpid() == owner:
            remove_unfinished()
        os._exit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        # `nohup` has it ignored.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
