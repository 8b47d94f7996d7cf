"""Run a campaign of hostile cases, each kind of attack in a process of its own.

``python -m benchmarks.hostile`` runs all of them for --minutes in all; names choose
some. Prints how many cases there were, how many were refused clearly, how many went
wrong, and each finding with the command that shows it again; exits with 1 where there
is one. ``python -m benchmarks.hostile soak`` is apart: see `benchmarks.hostile.soak`.
"""

import argparse
import importlib
import json
import subprocess
import sys

from benchmarks.hostile.cases import CLOCK_SECONDS, MOST_BYTES, Tally, run, to_json
from benchmarks.speed.timing import table as markdown

# How much of the time each attack gets.
SHARES = {
    "fits": 6,
    "sequences": 3,
    "naive_sums": 2,
    "invariances": 3,
    "threads": 2,
    "signals": 3,
    "memory": 2,
    "kernel_cache": 2,
    "files": 4,
    "bit_flips": 1,
    "browser": 1,
}
# A process that has not ended so long after its time has a case without an end.
_GRACE = CLOCK_SECONDS + 60


def main() -> int:
    """Run the campaign, one attack, or one case; return the exit code."""
    parser = argparse.ArgumentParser(prog="benchmarks.hostile", description=__doc__)
    parser.add_argument("attacks", nargs="*", help=f"{', '.join(SHARES)}, or soak")
    parser.add_argument("--minutes", type=float, default=60.0, help="in all")
    parser.add_argument("--cases", type=int, help="of each attack, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="one case alone, with its traceback")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="for soak")
    parser.add_argument("--fits", type=int, default=1000, help="for soak")
    parser.add_argument("--child", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = arguments.attacks or list(SHARES)
    if names == ["soak"]:
        from benchmarks.hostile.soak import soak

        return soak(arguments.fits, arguments.gigabytes)
    if unknown := set(names) - set(SHARES):
        parser.error(f"no attack is called {', '.join(sorted(unknown))}")
    if arguments.child is not None or arguments.case is not None:
        module = importlib.import_module(f"benchmarks.hostile.{names[0]}")
        seconds = arguments.child or 0.0
        bound = None if names[0] == "browser" else MOST_BYTES
        seed, only = arguments.seed, arguments.case
        tally = run(names[0], module.case, seed, seconds, only, bound, arguments.cases)
        tally.note = getattr(module, "NOTE", "")
        print(to_json(tally))
        return 0
    whole = sum(SHARES[name] for name in names)
    tallies = []
    for name in names:
        seconds = 60 * arguments.minutes * SHARES[name] / whole
        tally = _attacked(name, seconds, arguments.seed, arguments.cases)
        # At once: a campaign that is interrupted has told what it found so far.
        found = "\n".join([f"{tally.cases} cases", *tally.findings])
        print(f"{name}: {found}", file=sys.stderr, flush=True)
        tallies.append(tally)
    return _tell(tallies)


def _attacked(name: str, seconds: float, seed: int, cases: int | None) -> Tally:
    """Run an attack in a process of its own; its death is a finding."""
    command = [sys.executable, "-m", "benchmarks.hostile", name, "--seed", str(seed)]
    command += ["--child", str(seconds)]
    command += [] if cases is None else ["--cases", str(cases)]
    print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    try:
        done = subprocess.run(  # noqa: S603  this very program
            command,
            capture_output=True,
            text=True,
            timeout=seconds + _GRACE,
            check=False,
        )
        said, errors, code = done.stdout, done.stderr, str(done.returncode)
    except subprocess.TimeoutExpired as late:
        said, errors, code = "", (late.stderr or b"").decode(), "no end"
    last = said.splitlines()[-1] if said else ""
    if code == "0" and last.startswith("{"):
        return Tally(**json.loads(last))
    numbers = [
        int(line.split()[1]) for line in errors.splitlines() if line.startswith("case ")
    ]
    number = numbers[-1] if numbers else 0
    words = " | ".join(errors.splitlines()[-3:])[-300:]
    again = f"python -m benchmarks.hostile {name} --seed {seed} --case {number}"
    return Tally(
        name, number + 1, 0, [f"the process died ({code}): {words}\n    {again}"]
    )


def _tell(tallies: list[Tally]) -> int:
    """Print the table and the findings; return the exit code."""
    rows = [
        [one.attack, str(one.cases), str(one.refused), str(len(one.findings)), one.note]
        for one in tallies
    ]
    print(markdown(["attack", "cases", "refused clearly", "wrong", ""], rows))
    for one in tallies:
        for finding in one.findings:
            print(f"- {one.attack}: {finding}")
    return int(any(one.findings for one in tallies))


if __name__ == "__main__":
    sys.exit(main())
