"""A command that is asked to end (SIGTERM, SIGHUP) leaves no half-written file."""

import os
import signal
import socket
import threading

from vicinal._files import remove_unfinished

__all__ = ["clean_up_on_termination"]


def clean_up_on_termination() -> None:
    """Remove unfinished files when the process is terminated, and end it at once.

    A Python handler runs in the main thread only, which may be inside compiled code
    for long. The wake-up socket is written to immediately, and a thread waits for it.
    """
    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    # `nohup` has them ignored, and so it stays.
    numbers = [one for one in numbers if signal.getsignal(one) != signal.SIG_IGN]
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, lambda *_: None)

    def wait() -> None:
        # Other signals, like that of Ctrl-C, are written there, too.
        while received := reader.recv(1):
            if received[0] in numbers:
                remove_unfinished()
                os._exit(128 + received[0])

    threading.Thread(target=wait, daemon=True).start()
