"""The page of benchmarks and README's table, from stored results.

``python -m benchmarks.speed all --json docs/benchmarks/NAME.json`` measures and stores,
``python -m benchmarks.pages`` writes docs/benchmarks/index.md and what stands between
the marks in README.md. Nothing is measured here, and no figure is written by hand.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.ratios import ratio
from benchmarks.speed.timing import table

ROOT = Path(__file__).parents[1]
MARKS = ("<!-- benchmarks: python -m benchmarks.pages -->", "<!-- end -->")
# Tasks whose peer is scikit-learn's NCA; README shows these alone.
_OF_NCA = ("evaluation ", "fit ")

Results = dict[str, Any]

_ABOUT = """# Benchmarks

How many times as fast vicinal is as a peer, both measured in the same run. A ratio
above 1 means that vicinal is faster. Seconds depend on the machine; ratios mostly on
the code.

Both take turns for several rounds. A round counts the least time of several calls, and
a row shows the median over the rounds. The number after ± is the error of the ratio, by
how much the rounds differ.
"""
_PEER = """
## Beside scikit-learn's NCA

The peer is `NeighborhoodComponentsAnalysis`. An *evaluation* is one value and gradient
of the objective, a *fit* a whole fit with the defaults. `NCAClassifier` has no
counterpart: it chooses its start and penalty on held-out rows, and its row shows what
that costs beside one plain fit. More sizes and whole fits are in
[Time and memory](../internals/cost.md#beside-scikit-learns-nca).
"""
_OTHERS = """
## Beside something that costs about the same

Starts are compared with scikit-learn's PCA and LDA. Imports and the first fits of a
process are compared with `import sklearn.neighbors`, without any fit. For the other
tasks the part after "of" names the peer: the bare arithmetic that they cannot do
without, or a simpler method. So ratios below 1 are expected here. They are kept to see
whether one falls.
"""
_REFRESH = """
## Measure again

```sh
python -m benchmarks.speed all --json docs/benchmarks/NAME.json   # measure and store
python -m benchmarks.pages                                        # write this page
python -m benchmarks.speed compare OLD.json NEW.json              # slower than before?
```

README's table is made from the same files. How to get the data of all benchmarks:
[data](data.md).

```{toctree}
:hidden:

data
```
"""
_NOTHING = """
No results are stored yet: the first command below makes some. Figures that were
measured before are on the pages of the methods, each with its command:
[what things cost](../internals/cost.md), [many rows](../scale.md),
[adapters](../adapters.md#how-well), [classic methods](../classic.md).
"""


def stored(folder: Path) -> list[tuple[str, Results]]:
    """Return the stored results by their files' names, the newest first."""
    files = [
        (path.name, json.loads(path.read_text("utf-8")))
        for path in folder.glob("*.json")
    ]
    return sorted(files, key=lambda one: (one[1]["date"], one[0]), reverse=True)


def page(files: list[tuple[str, Results]]) -> str:
    """Return the page of benchmarks, in Markdown."""
    if not files:
        return _ABOUT + _NOTHING + _REFRESH
    name, newest = files[0]
    text = f"{_ABOUT}\n{_circumstances(newest)} All numbers: [{name}]({name}).\n"
    text += f"{_PEER}\n{_rows(newest, of_nca=True)}\n"
    text += f"{_OTHERS}\n{_rows(newest, of_nca=False)}\n"
    if files[1:]:
        text += f"\n## Before\n\nRatios of earlier files.\n\n{_history(files)}\n"
    return text + _REFRESH


def readme(text: str, files: list[tuple[str, Results]]) -> str:
    """Return README's text with the table of the newest results between the marks."""
    before, _, rest = text.partition(MARKS[0])
    inside, _, after = rest.partition(MARKS[1])
    if not inside:
        raise ValueError(f"README.md has no {MARKS[0]} … {MARKS[1]}.")
    shown = "\n"
    if files:
        newest = files[0][1]
        rows = _rows(newest, of_nca=True)
        shown = f"\n\n{rows}\n\n{_circumstances(newest)}\n\n"
    return f"{before}{MARKS[0]}{shown}{MARKS[1]}{after}"


def _rows(file: Results, *, of_nca: bool) -> str:
    rows = []
    for task, times in file["results"].items():
        if task.startswith(_OF_NCA) != of_nca:
            continue
        middle, error = ratio(times)
        seconds = [_seconds(np.median(times[of])) for of in ("peer", "ours")]
        rows.append([task, *seconds, _times(middle, middle * error)])
    return table(["task", "peer", "vicinal", "times as fast"], rows)


def _times(ratio: float, error: float | None = None) -> str:
    digits = 0 if ratio >= 10 else 1 if ratio >= 1 else 2
    end = "" if error is None else f" ± {error:.{digits}f}"
    return f"{ratio:.{digits}f}×{end}"


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"


def _circumstances(file: Results) -> str:
    versions = ", ".join(f"{name} {one}" for name, one in file["versions"].items())
    rounds = len(next(iter(file["results"].values()))["ours"])
    load = f"{file['load'][0]:.1f}"
    return (
        f"Measured on {file['date'][:10]}, {rounds} rounds, {file['machine']}, at a "
        f"load of {load}, with python {file['python']}, {versions}."
    )


def _history(files: list[tuple[str, Results]]) -> str:
    tasks = list(files[0][1]["results"])
    header = ["task", *(file["date"][:10] for _, file in files)]
    rows = [
        [task]
        + [
            _times(ratio(file["results"][task])[0]) if task in file["results"] else ""
            for _, file in files
        ]
        for task in tasks
    ]
    return table(header, rows)


def main(root: Path = ROOT, check: bool = False) -> bool:
    """Write both, or with check say whether they are what the results give."""
    files = stored(root / "docs" / "benchmarks")
    wanted = {
        root / "docs" / "benchmarks" / "index.md": page(files),
        root / "README.md": readme((root / "README.md").read_text("utf-8"), files),
    }
    stale = [
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text("utf-8") != text
    ]
    for path in stale:
        if check:
            print(f"{path} is not what the stored results give.")
        else:
            path.write_text(wanted[path], "utf-8")
    return not stale


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    unchanged = main(check=arguments.check)
    sys.exit(arguments.check and not unchanged)
