"""Signals at random moments of fits and writes: old files stay, or new ones stand."""

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.random import Generator

import vicinal
from benchmarks.hostile.cases import CLOCK_SECONDS, Wrong
from benchmarks.hostile.data import choose
from benchmarks.hostile.files import PROGRAM, check_said, command

_WARM = """
import sys, warnings; warnings.simplefilter("ignore")
import numpy as np
from vicinal import NCA
X = np.random.default_rng(0).normal(size=(400, 6)); y = np.arange(400) % 3
nca = NCA(warm_start=WARM, max_iter=10**6, tol=0)
NCA(max_iter=1).fit(X, y)
print("ready", flush=True)
try:
    while True:
        nca = NCA(warm_start=WARM, max_iter=300, tol=0)
        nca.fit(X, y)
except KeyboardInterrupt:
    fitted = [k for k in vars(nca) if k.endswith("_")]
    if not WARM and fitted and not hasattr(nca, "effective_neighbors_"): sys.exit(7)
    if fitted and not np.isfinite(nca.components_).all(): sys.exit(8)
    sys.exit(0)
"""


def case(rng: Generator) -> bool:
    """Interrupt a fit in Python, or a command that writes a model or a table."""
    if rng.random() < 0.3:
        return _fit(rng)
    number = choose(rng, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X = rng.normal(size=(3000, 8))
        np.savez(folder / "a.npz", X=X, y=np.arange(3000) % 3)
        output = folder / "m.safetensors"
        output.write_text("old")
        arguments = ["fit", "a.npz", "--target", "y", "-o", output.name]
        if rng.random() < 0.4:
            return _transform(arguments, folder, rng, number)
        # Until it is over, or nearly: most moments are in imports, many in the fit.
        said, code = _interrupted(arguments, folder, rng.uniform(0, 8), number)
        whole = output.read_bytes()
        if whole != b"old":
            vicinal.load(output)  # a whole model, or an error that is a finding
        left = sorted(path.name for path in folder.iterdir())
        if number != signal.SIGKILL and left != ["a.npz", "m.safetensors"]:
            raise Wrong(f"{signal.Signals(number).name} leaves {left}")
        if code == 0 and whole == b"old":
            raise Wrong("success without the file")
        if number != signal.SIGKILL and "Traceback" in said and "import" not in said:
            raise Wrong(f"{signal.Signals(number).name}: {said[-300:]}")
        return code != 0


def _transform(fit: list[str], folder: Path, rng: Generator, number: int) -> bool:
    """Interrupt the mapping of a table to an archive: it is whole, or not there."""
    check_said(*command([*fit, "--method", "pca"], folder), " ".join(fit))
    X = rng.normal(size=(500_000, 8))
    np.savez(folder / "b.npz", X=X)
    arguments = ["transform", "m.safetensors", "b.npz", "-o", "o.npz"]
    _, code = _interrupted(arguments, folder, rng.uniform(0.5, 5), number)
    left = {path.name for path in folder.iterdir()} - {"a.npz", "b.npz", fit[-1]}
    if number != signal.SIGKILL and not left <= {"o.npz"}:
        raise Wrong(f"{signal.Signals(number).name} of transform leaves {left}")
    if "o.npz" in left:
        with np.load(folder / "o.npz") as found:
            if len(found["X"]) != len(X):
                raise Wrong("an archive is cut short")
    return code != 0


def _interrupted(
    arguments: list[str], folder: Path, seconds: float, number: int
) -> tuple[str, int]:
    """Return what a command said and its exit code, given a signal after a while."""
    with subprocess.Popen(  # noqa: S603  our own command
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            said = process.communicate(timeout=CLOCK_SECONDS)
        if process.returncode > 0 and "vicinal: " in said[1]:
            check_said(
                process.returncode, *said, " ".join(arguments), (2, 130, 129, 143)
            )
    return "".join(said), process.returncode


def _fit(rng: Generator) -> bool:
    warm = str(bool(rng.random() < 0.5))
    with subprocess.Popen(  # noqa: S603  our own program
        [sys.executable, "-c", _WARM.replace("WARM", warm)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None  # noqa: S101  for mypy
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.5))
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=CLOCK_SECONDS)[1]
    if process.returncode:
        raise Wrong(f"Ctrl-C in a fit: {process.returncode} {errors[-300:]}")
    return False
