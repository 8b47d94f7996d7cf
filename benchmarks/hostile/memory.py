"""Too little memory: a command says so, or does its work; no file is half written."""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.random import Generator

from benchmarks.hostile.cases import CLOCK_SECONDS, Wrong
from benchmarks.hostile.data import choose
from benchmarks.hostile.files import PROGRAM, check_said


def case(rng: Generator) -> bool:
    """Run a command with a bound on its memory, as the dice have it."""
    # With less, Python itself does not start.
    limit = int(10 ** rng.uniform(8.4, 9.7))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n, d = int(choose(rng, 200, 20_000)), int(choose(rng, 3, 100))
        np.savez(folder / "a.npz", X=rng.normal(size=(n, d)), y=np.arange(n) % 3)
        output = folder / "m.safetensors"
        output.write_text("old")
        method = str(choose(rng, "nca", "pca", "ldg"))
        arguments = ["fit", "a.npz", "--target", "target", "--method", method]
        command = [sys.executable, "-c", PROGRAM, *arguments, "-o", output.name]

        def bounded() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        done = subprocess.run(  # noqa: S603  our own command
            [*command, "--max-iter", "3"] if method == "nca" else command,
            cwd=folder,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "2"},
            capture_output=True,
            text=True,
            timeout=CLOCK_SECONDS,
            check=False,
            preexec_fn=bounded,
        )
        said = f"{' '.join(arguments)} in {limit / 1e6:.0f} MB"
        left = sorted(path.name for path in folder.iterdir())
        if done.returncode == 0:
            if output.read_bytes() == b"old" or left != ["a.npz", "m.safetensors"]:
                raise Wrong(f"{said}: success without the file")
            return False
        if output.read_bytes() != b"old":
            raise Wrong(f"{said}: the old file is lost")
        if len(left) > 2 and done.returncode >= 0:
            raise Wrong(f"{said}: leaves {left}")
        # Before the first module is there, Python itself speaks; and native libraries
        # that cannot start their threads end the process.
        if done.returncode > 0 and "vicinal: " in done.stderr:
            check_said(done.returncode, done.stdout, done.stderr, said)
            # Numba's compiler does not pass on why it could not be loaded.
            if not any(word in done.stderr for word in ("memory", "libllvmlite")):
                raise Wrong(f"{said}: refused for another reason: {done.stderr[-300:]}")
        return True
