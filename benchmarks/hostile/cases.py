"""One hostile case after another: counted, judged, and each found again by its number.

An attack is a function that takes a random generator, does one thing to the library,
and returns whether it was refused clearly. Whatever else it raises is a finding.
"""

import json
import math
import random
import re
import resource
import signal
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

Attack = Callable[[Generator], bool]
# One case may take so many seconds of the processor. By the clock it may take longer: a
# machine that is busy with other work is no finding. And a process so much memory.
CASE_SECONDS, CLOCK_SECONDS = 120, 900
MOST_BYTES = 8 * 2**30
# Words of the machinery: a message with them does not tell what to do.
_UNCLEAR = re.compile(
    r"broadcast|not aligned|infs or NaNs|did not converge|has no attribute|"
    r"zero-size|singular matrix|positional argument|unexpected keyword|"
    r"index .* out of bounds|cannot reshape|NoneType|failed to fill|leading minor|"
    r"matmul|einsum|ufunc|invalid literal|NumPy boolean|object is not",
    re.IGNORECASE,
)


class Wrong(Exception):  # noqa: N818  a finding, not an error of this program
    """What a case found."""


@dataclass
class Tally:
    """What an attack has come to.

    Attributes
    ----------
    attack : str
        Its name.
    cases, refused : int
        How many there were, and how many of them were refused clearly.
    findings : list of str
        Each with what reproduces it.
    note : str
        Why there was no case, where there was none.
    """

    attack: str
    cases: int = 0
    refused: int = 0
    findings: list[str] = field(default_factory=list)
    note: str = ""


def is_clear(error: BaseException) -> bool:
    """Return whether an error is a refusal that its reader can act on."""
    words = str(error)
    kinds = (ValueError, TypeError, MemoryError, OSError)
    return isinstance(error, kinds) and len(words) > 12 and not _UNCLEAR.search(words)


def refused(work: Callable[[], Any]) -> bool:
    """Do something, and return whether it was refused; unclear errors are findings."""
    try:
        work()
    except Wrong:
        raise
    except Exception as error:
        if is_clear(error):
            return True
        raise
    return False


def generator(seed: int, attack: str, number: int) -> Generator:
    """Return the random numbers of a case: no other case has anything to do with it."""
    return np.random.default_rng([seed, zlib.crc32(attack.encode()), number])


def run(
    name: str,
    attack: Attack,
    seed: int,
    seconds: float,
    only: int | None = None,
    most_bytes: int | None = MOST_BYTES,
    most_cases: int | None = None,
) -> Tally:
    """Run cases until the time is up, or one of them alone.

    Parameters
    ----------
    name, attack
        Of the attack.
    seed : int
        Of all cases.
    seconds : float
        When to begin no further case.
    only : int or None
        The number of a case; it then fails with its traceback.
    most_bytes : int or None
        The memory that the process may ask for; browsers ask for all there is.
    most_cases : int or None
        After how many to stop, whatever the time is.
    """
    if most_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    if only is not None:
        print("refused" if attack(generator(seed, name, only)) else "passed")
        return Tally(name, 1)
    tally = Tally(name)
    end = time.monotonic() + seconds
    while time.monotonic() < end and tally.cases != most_cases:
        number = tally.cases
        random.seed(number)
        print(f"case {number}", file=sys.stderr, flush=True)
        tally.cases += 1
        try:
            with _alarm():
                tally.refused += attack(generator(seed, name, number))
        except Exception as error:  # noqa: BLE001  whatever it is, it is a finding
            tally.findings.append(_described(error, name, number, seed))
    return tally


@contextmanager
def _alarm() -> Iterator[None]:
    """Raise Wrong where a case does not end."""
    busy, began = time.process_time(), time.monotonic()

    def ring(*_: object) -> None:
        left = CASE_SECONDS - (time.process_time() - busy)
        if left > 0 and time.monotonic() - began < CLOCK_SECONDS:
            signal.alarm(math.ceil(left))
            return
        raise Wrong(f"no end after {CASE_SECONDS} s")

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(CASE_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def _described(error: Exception, name: str, number: int, seed: int) -> str:
    words = " ".join(str(error).split())[:300]
    ours = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "vicinal" in frame.filename and "benchmarks" not in frame.filename
    ]
    where = ""
    if ours:
        place = ours[-1].filename.rpartition("vicinal/")[2]
        where = f" in {place}:{ours[-1].lineno}"
    kind = "" if isinstance(error, Wrong) else f"{type(error).__name__}: "
    again = f"python -m benchmarks.hostile {name} --seed {seed} --case {number}"
    return f"{kind}{words}{where}\n    {again}"


def to_json(tally: Tally) -> str:
    """Return a tally as one line for the parent process."""
    return json.dumps(asdict(tally))
