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
    In any other thread, where signals are not for it to handle, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    signal.set_wakeup_fd(_watched_socket(), warn_on_full_buffer=False)
    for number in _NUMBERS:
        # `nohup` has them ignored, and so it stays.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _woken)


@cache
def _watched_socket() -> int:
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


def _woken(*_: object) -> None:
    """Leave the rest to the thread that waits."""


def _leave_the_parent_alone() -> None:
    """Be ended by signals as any process: a fork has no thread that waits for them.

    The socket is its parent's, which would take them for its own.
    """
    if _watched_socket.cache_info().currsize:
        _watched_socket.cache_clear()
        signal.set_wakeup_fd(-1)
        for number in _NUMBERS:
            if signal.getsignal(number) is _woken:
                signal.signal(number, signal.SIG_DFL)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_the_parent_alone)
