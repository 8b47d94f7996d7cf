"""The process around a command: its streams, its signals and its memory."""

import io
import os
import signal
import socket
import sys
import threading
from functools import cache
from typing import Any

from vicinal._files import remove_unfinished

_SIGNALS = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


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
    """Remove unfinished files on SIGTERM and SIGHUP, and exit at once.

    A Python handler runs in the main thread, which may be in compiled code for long.
    The wake-up socket is written to immediately, and a thread waits for it. In other
    threads than the main one, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    signal.set_wakeup_fd(_watched_socket(), warn_on_full_buffer=False)
    for number in _SIGNALS:
        # `nohup` has them ignored.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _do_nothing)


@cache
def _watched_socket() -> int:
    """Return the socket for signals, one for all commands of a process."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def wait() -> None:
        # Other signals, like that of Ctrl-C, are written to it, too.
        while received := reader.recv(1):
            if received[0] in _SIGNALS:
                remove_unfinished()
                os._exit(128 + received[0])

    threading.Thread(target=wait, daemon=True).start()
    return writer.detach()


def _do_nothing(*_: object) -> None:
    """Leave the signal to the waiting thread."""


def _reset_in_fork() -> None:
    """Restore the default handlers: a fork shares the socket but not the thread."""
    if _watched_socket.cache_info().currsize:
        _watched_socket.cache_clear()
        signal.set_wakeup_fd(-1)
        for number in _SIGNALS:
            if signal.getsignal(number) is _do_nothing:
                signal.signal(number, signal.SIG_DFL)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_fork)


def check_address_space() -> None:
    """Raise ValueError if the process may not address the memory of its libraries.

    Without enough memory, BLAS waits without end, or sends the process the signal of
    Ctrl-C.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return
    allowed = getattr(os, "sched_getaffinity", None)  # not on every system
    n_threads = len(allowed(0)) if allowed else os.cpu_count() or 1
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        given = os.environ.get(name, "")
        if given.isdecimal() and int(given):
            n_threads = min(n_threads, int(given))
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    # The libraries map 1.55 GB, and 50 MB for each thread of BLAS.
    needed = 1_550_000_000 + 50_000_000 * n_threads
    if resource.RLIM_INFINITY != limit < needed:
        raise ValueError(
            f"not enough memory: this process may address {limit / 1e6:.0f} MB, and "
            f"the libraries take {needed / 1e6:.0f} MB. Allow more (ulimit -v)."
        )
