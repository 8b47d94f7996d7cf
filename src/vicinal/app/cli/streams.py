"""Standard output that may close or fill up while the command works.

What the command prints is less than what it makes: a reader that has seen enough, as
in ``vicinal fit … | head -1``, or a full disk behind ``>``, must not cost the file.
"""

import io
import os
import sys
from typing import Any

__all__ = ["PatientStream", "guard_streams"]


class PatientStream:
    """A text stream that remembers its first failure, and takes no more after it.

    Parameters
    ----------
    stream : text stream
        Where to write; all but writing goes there, too.

    Attributes
    ----------
    failure : OSError or None
        Why nothing more is written.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.failure: OSError | None = None

    @property
    def unguarded(self) -> Any:
        """The stream behind it."""
        return self._stream

    def write(self, text: str) -> int:
        """Write a text, or drop it after a failure; return its length."""
        if self.failure is None:
            try:
                self._stream.write(text)
            except OSError as error:
                self._fail(error)
        return len(text)

    def flush(self) -> None:
        """Pass on what is buffered."""
        if self.failure is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.failure = error
        # What is buffered would fail once more when the process ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_streams() -> PatientStream:
    """Make standard output and standard error patient; return standard output."""
    guarded = []
    for given in (sys.stdout, sys.stderr):
        # A command before this one in the same process has done so, too.
        stream = given.unguarded if isinstance(given, PatientStream) else given
        # A process may be started without either.
        if stream is None:
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        # A terminal that does not know ± or µ shows ?, and the work is not lost.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
        guarded.append(PatientStream(stream))
    sys.stdout, sys.stderr = guarded
    return guarded[0]
