"""A command that is asked to end (SIGTERM, SIGHUP) leaves no half-written file."""

import os
import signal
import socket
import threading
from functools import cache

from vicinal._files import remove_unfinished

__all__ = ["clean_up_on_termination"]

_NUMBERS = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


def clean_up_on_termination() -> None:
    """Remove unfinished files when the process is terminated, and end it at once.

    A Python handler runs in the main thread only, which may be inside compiled code
    for long. The wake-up socket is written to immediately, and a thread waits for it.
    """
    signal.set_wakeup_fd(_watched_socket(os.getpid()), warn_on_full_buffer=False)
    for number in _NUMBERS:
        # `nohup` has them ignored, and so it stays.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@cache
def _watched_socket(process: int) -> int:  # noqa: ARG001 -- a fork has no threads
    """Return what to write signals to, once in a process however many commands run."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def wait() -> None:
        # Other signals, like that of Ctrl-C, are written there, too.
        while received := reader.recv(1):
            if received[0] in _NUMBERS:
                remove_unfinished()
                os._exit(128 + received[0])

    threading.Thread(target=wait, daemon=True).start()
    return writer.detach()
