"""Try a random sample of mutants; print the score and those that no test notices."""

import argparse
import json
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.mutations.forked import preload
from benchmarks.mutations.mutants import Mutant, mutants
from benchmarks.mutations.reach import Reach, record
from benchmarks.mutations.trial import HERE, Trials


def main() -> None:
    """Run the sample, or go on with it where a results file is there."""
    parser = argparse.ArgumentParser(prog="benchmarks.mutations", description=__doc__)
    parser.add_argument("--sample", type=int, default=200, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=Path("mutations.json"))
    parser.add_argument(
        "--map",
        type=Path,
        default=Path("mutations.map"),
        help="which tests reach which lines; recorded where it is not there",
    )
    parser.add_argument("--only", help="modules whose path contains this")
    parser.add_argument("--most", type=int, help="try no more than so many now")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    arguments = parser.parse_args()
    every = mutants(HERE / "src" / "vicinal")
    if arguments.only:
        every = [one for one in every if arguments.only in one.path]
    sample = random.Random(arguments.seed).sample(  # noqa: S311  nothing is secret
        every, min(arguments.sample, len(every))
    )
    results = _read(arguments.results)
    if arguments.again:
        results = {k: v for k, v in results.items() if v["verdict"] == "killed"}
    left = [one for one in sample if one.name not in results][: arguments.most]
    print(f"{len(every)} mutants; {len(sample)} drawn, {len(left)} to try")
    if not arguments.map.exists():
        record(arguments.map.resolve(), HERE, jobs=arguments.jobs)
    preload()
    with Trials(Reach(arguments.map, HERE), arguments.jobs) as trials:
        while left:
            for one, verdict in trials.verdicts(left):
                results[one.name] = asdict(verdict)
                arguments.results.write_text(json.dumps(results, indent=1))
                words = f"{verdict.verdict:9} {verdict.seconds:5.0f} s"
                print(f"{words}  {one.name}", flush=True)
            tried = [one for one in sample if one.name in results]
            by = {results[one.name]["by"] for one in tried}
            failing = trials.leave_out_failing(sorted(by))
            left = [one for one in tried if results[one.name]["by"] in failing]
            print(f"{len(left)} again: their tests fail without a mutant")
    _tell(sample, results)


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _tell(sample: list[Mutant], results: dict[str, Any]) -> None:
    """Print the score of what was tried, and who survived."""
    tried = [one for one in sample if one.name in results]
    alive = [one for one in tried if results[one.name]["verdict"] != "killed"]
    killed = len(tried) - len(alive)
    print(f"\n{len(tried)} of {len(sample)} tried, {killed} killed", end="")
    if tried:
        score = killed / len(tried)
        error = (score * (1 - score) / len(tried)) ** 0.5
        print(f" ({100 * score:.1f} ± {100 * error:.1f} %)")
    for one in alive:
        left = results[one.name].get("not_run")
        print(f"- {one.name}" + (f"  ({left} tests not run)" if left else ""))


if __name__ == "__main__":
    main()
