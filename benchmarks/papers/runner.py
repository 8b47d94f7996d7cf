"""Runs an experiment case by case, keeps what is done, and writes its page.

Repetitions are run one after another, each with all its cases. An interrupted run goes
on where it stopped, also with another number of repetitions: outcomes are kept in a
folder of unfinished runs until all are there. They are dropped if versions have changed
since.
"""

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.papers.experiment import Case, Experiment, Outcome, Results, Scope

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "papers"
"""Where pages, figures and data go that are committed."""
WORK = PAGES / "unfinished"
"""Where unfinished runs are kept, and committed if others shall go on."""
_PACKAGES = ("vicinal", "scikit-learn", "numpy", "scipy", "numba")


def run(
    experiment: Experiment,
    scope: Scope,
    *,
    pages: Path = PAGES,
    work: Path = WORK,
    fresh: bool = False,
    minutes: float | None = None,
    only: str | None = None,
    say: Callable[[str], object] = print,
) -> Path | None:
    """Run what is still to be run, write the page, and return its path.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    scope : Scope
        How much of it.
    pages : Path
        The folder for page, figure and data.
    work : Path
        The folder for what is unfinished.
    fresh : bool, default=False
        Begin anew, even if part has been run.
    minutes : float, optional
        Begin no case after so many.
    only : str, optional
        Run only cases with this entry, such as a data set or a method.
    say : callable
        Takes a line of progress.

    Returns
    -------
    Path or None
        None if not all was run.
    """
    cases = experiment.cases(scope)
    # A quick look shall not cost what was run of the whole.
    kept = work / f"{experiment.name}{'-quick' * scope.quick}.json"
    state = _begin(experiment, scope)
    before = [kept, pages / f"{experiment.name}.json"]
    state["runs"] = [] if fresh else _known(before, state)
    done: dict[Case, dict[str, Any]] = {
        tuple(one["case"]): one for one in state["runs"] if tuple(one["case"]) in cases
    }
    if done:
        say(f"{experiment.name}: {len(done)} of {len(cases)} were run before")
    started, n_before, commit = time.monotonic(), len(done), current_commit()
    in_order = [case for group in repetitions(cases) for case in group]
    for case in (case for case in in_order if case not in done):
        begun = time.monotonic()
        if minutes is not None and begun - started > 60 * minutes:
            break
        if only is not None and only not in case:
            continue
        outcome = experiment.run(*case)
        spent = time.monotonic() - begun
        done[case] = {
            "case": case,
            "seconds": round(spent, 2),
            "commit": commit,
            "outcome": outcome,
        }
        state["runs"] = list(done.values())
        _write(kept, json.dumps(state | {"planned": len(cases)}) + "\n")
        left = _left(started, len(done) - n_before, len(cases) - len(done))
        words = " ".join(map(str, case))
        say(f"{len(done)}/{len(cases)}  {words}  {spent:.1f} s{left}")
    if len(done) < len(cases):
        say(f"{experiment.name}: {len(done)} of {len(cases)} were run; see {kept}")
        return None
    state["runs"] = [done[case] for case in cases]
    path = write_page(experiment, state, pages)
    kept.unlink(missing_ok=True)
    return path


def repetitions(cases: list[Case]) -> list[list[Case]]:
    """Return the cases by the seed at their end; without seeds, all are one group."""
    groups: dict[Any, list[Case]] = {}
    for case in cases:
        seed = case[-1] if isinstance(case[-1], int) else None
        groups.setdefault(seed, []).append(case)
    return list(groups.values())


def write_page(experiment: Experiment, state: dict[str, Any], pages: Path) -> Path:
    """Write page, figure and data of a finished run; return the page's path.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    state : dict
        What came of it, and when and with what it was run.
    pages : Path
        The folder.
    """
    outcomes: dict[Case, Outcome] = {
        tuple(one["case"]): one["outcome"] for one in state["runs"]
    }
    page = experiment.show(Results(outcomes))
    pages.mkdir(parents=True, exist_ok=True)
    parts = [f"# {experiment.title}"]
    if any("commit" not in one for one in state["runs"]):
        parts.append(
            f"**Not rerun since {state['date']}**: {len(outcomes)} runs of an older "
            f"version. The program now has {len(experiment.cases(Scope()))}, and may "
            "show rows that are not here."
        )
    parts.append(experiment.about.strip())
    if page.draw is not None:
        figure = page.draw()
        # The same numbers give the same file.
        figure.savefig(
            pages / f"{experiment.name}.svg",
            metadata={"Date": None, "Creator": None},
            bbox_inches="tight",
            dpi=150,
        )
        parts.append(f"![{experiment.title}]({experiment.name}.svg)")
    seconds = sum(one["seconds"] for one in state["runs"])
    versions = ", ".join(f"{name} {of}" for name, of in state["versions"].items())
    commits = dict.fromkeys(one.get("commit", "") for one in state["runs"])
    if named := ", ".join(commit for commit in commits if commit):
        versions += f", at commit {named}"
    parts += [
        page.text.strip(),
        f"`{state['command']}`: {len(outcomes)} runs in {_duration(seconds)} on "
        f"{state['machine']}, {state['date']}, with {versions}. "
        f"All numbers: [{experiment.name}.json]({experiment.name}.json).",
    ]
    _write(pages / f"{experiment.name}.json", json.dumps(state) + "\n")
    path = pages / f"{experiment.name}.md"
    _write(path, "\n\n".join(parts) + "\n")
    return path


def redraw(experiment: Experiment, pages: Path = PAGES) -> Path:
    """Write page and figure anew from the stored numbers; return the page's path.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    pages : Path
        The folder with its numbers.
    """
    text = (pages / f"{experiment.name}.json").read_text(encoding="utf-8")
    return write_page(experiment, json.loads(text), pages)


def current_commit() -> str:
    """Return the commit of this checkout, with "+" if the code has changed since."""

    def git(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    changed = git("diff", "--quiet", "HEAD", "--", "src", "benchmarks").returncode
    return git("rev-parse", "--short=10", "HEAD").stdout.strip() + "+" * bool(changed)


def _begin(experiment: Experiment, scope: Scope) -> dict[str, Any]:
    options = " --quick" * scope.quick
    options += f" --runs {scope.runs}" if scope.runs else ""
    return {
        "name": experiment.name,
        "command": f"python -m benchmarks.papers {experiment.name}{options}",
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in _PACKAGES}
        | {name: version(name) for name in experiment.packages if not scope.quick},
        "machine": f"{os.cpu_count()} cores",
        "runs": [],
    }


def _known(files: list[Path], new: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the runs of the first file that is unfinished or has few repetitions."""
    for path in files:
        try:
            state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        runs = state.get("runs")
        same = all(state.get(key) == new[key] for key in ("name", "versions"))
        partial = "planned" in state or "--runs" in state.get("command", "")
        if same and partial and isinstance(runs, list):
            return [one for one in runs if "commit" in one]
    return []


def _write(path: Path, text: str) -> None:
    """Write a file whole: what was there before stays until the new one is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(path.suffix + ".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def _left(started: float, n_done: int, n_left: int) -> str:
    if not n_left:
        return ""
    return f", {_duration((time.monotonic() - started) / n_done * n_left)} left"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"
