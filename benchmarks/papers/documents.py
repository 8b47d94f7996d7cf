"""Tables and numbers of the documentation that are taken from the benchmarks' pages.

``python -m benchmarks.papers.documents`` writes them anew. Such a piece stands between
``<!-- made: NAME ARGUMENTS -->`` and ``<!-- end -->``, with a name of `PIECES`. Nothing
is measured here, and no figure is written by hand.
"""

import argparse
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.data import MANIFEST
from benchmarks.papers.experiment import Case, Outcome, Results, mean_and_error
from benchmarks.papers.ranks import by_defaults, by_papers_rules, ranked_table
from benchmarks.papers.registry import EXPERIMENTS
from benchmarks.papers.runner import PAGES, WORK
from benchmarks.speed.timing import table

DOCS = PAGES.parent
MADE = re.compile(r"(<!-- made: (.+?) -->)(.*?)(<!-- end -->)", re.DOTALL)


@lru_cache
def state_of(page: str) -> dict[str, Any]:
    """Return what is stored of a page; "unfinished/" names what is not on it yet."""
    path = PAGES / f"{page}.json"
    path = path if path.exists() else PAGES / path.name  # finished meanwhile
    state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return state


def stored(page: str) -> Results:
    """Return the outcomes that a page was made from."""
    outcomes: dict[Case, Outcome] = {
        tuple(one["case"]): one["outcome"] for one in state_of(page)["runs"]
    }
    return Results(outcomes)


def repetitions(page: str, *head: str) -> str:
    """Return how often the cases of a page were repeated: "40", or "3–40".

    With a head, only cases that begin with it are counted.
    """
    cases = [tuple(one["case"]) for one in state_of(page)["runs"]]
    cases = [case for case in cases if case[: len(head)] == head]
    heads = Counter(case[:-1] for case in cases if isinstance(case[-1], int))
    few, many = (min(heads.values()), max(heads.values())) if heads else (1, 1)
    return f"{few}" if few == many else f"{few}–{many}"


def commits(page: str) -> list[str]:
    """Return the commits that a page was run at; none if they were not stored."""
    found = dict.fromkeys(one.get("commit") for one in state_of(page)["runs"])
    return [] if None in found else [str(commit) for commit in found]


def unfinished(page: str) -> str:
    """Return how much of a page's next run is done, if it was not run to its end."""
    try:
        text = (WORK / f"{page}.json").read_text(encoding="utf-8")
    except OSError:
        return ""
    state = json.loads(text)
    return f"run again: {len(state['runs'])} of {state['planned']} cells"


def source(page: str) -> str:
    """Return a link to a page, its repetitions, and its commits or its age."""
    return f"[{page}]({page}.md), n = {repetitions(page)}, {run_at(page)}"


def run_at(page: str) -> str:
    """Return the commits that a page was run at, or since when it was not."""
    known = ", ".join(f"`{one}`" for one in commits(page))
    return known or f"**not rerun since {state_of(page)['date']}**"


def pages_table() -> str:
    """Return how the pages were run."""
    rows = []
    for name in EXPERIMENTS:
        if not (PAGES / f"{name}.json").exists():
            rows.append([f"`{name}`", "", unfinished(name) or "no page yet", ""])
            continue
        state = state_of(name)
        minutes = sum(one["seconds"] for one in state["runs"]) / 60
        run = [state["date"] * bool(commits(name)), run_at(name), unfinished(name)]
        rows.append(
            [
                f"[{name}]({name}.md)",
                repetitions(name),
                ", ".join(filter(None, run)),
                f"{minutes:.0f} min" if minutes >= 1 else "< 1 min",
            ]
        )
    head = ["page", "n", "run at", "took"]
    return table(head, rows)


def percent(page: str, key: str, *head: str) -> str:
    """Return the mean of an outcome in percent, with its standard error."""
    return mean_and_error(_values(page, key, *head), factor=100)


def mean(page: str, key: str, *head: str) -> str:
    """Return the mean of an outcome, without error and with two digits."""
    return f"{_values(page, key, *head).mean():.2f}".replace("-", "−")


def number(page: str, key: str, *head: str) -> str:
    """Return the mean of an outcome with its standard error."""
    return mean_and_error(_values(page, key, *head))


def fraction(page: str, key: str, *head: str) -> str:
    """Return the mean of an outcome with its standard error and two digits."""
    return mean_and_error(_values(page, key, *head), 2)


def gain(page: str, key: str, other: str, *head: str) -> str:
    """Return by how many points one outcome is above another, paired by run."""
    values = _values(page, key, *head) - _values(page, other, *head)
    return mean_and_error(values, factor=100)


def mean_gain(page: str, key: str, other: str) -> str:
    """Return the mean gain in points over the rows of a page's table."""
    results = stored(page)
    depth = len(next(iter(results.outcomes))) - 1
    gains = [
        (_values(page, key, *head) - _values(page, other, *head)).mean()
        for head in results.heads(depth)
    ]
    return mean_and_error(gains, factor=100)


def mean_gain_at(page: str, key: str, other: str, *head: str) -> str:
    """Return the same over what follows the head: the data sets, say."""
    results = stored(page)
    gains = [
        (_values(page, key, *one) - _values(page, other, *one)).mean()
        for one in results.heads(len(head) + 1, *head)
    ]
    return mean_and_error(gains, factor=100)


def mean_gain_of(page: str, key: str, way: str, other: str) -> str:
    """Return the same of two ways whose names are the last entry before the seed."""
    results = stored(page)
    depth = len(next(iter(results.outcomes))) - 2
    gains = [
        _values(page, key, *one, way).mean() - _values(page, key, *one, other).mean()
        for one in results.heads(depth)
    ]
    return mean_and_error(gains, factor=100)


def less(page: str, key: str, other: str, *head: str) -> str:
    """Return the difference of two outcomes, paired by run."""
    return mean_and_error(_values(page, key, *head) - _values(page, other, *head))


def gain_of(page: str, key: str, way: str, other: str, *head: str) -> str:
    """Return the same of two ways whose names are the last entry before the seed."""
    values = _values(page, key, *head, way) - _values(page, key, *head, other)
    return mean_and_error(values, factor=100)


def _values(page: str, key: str, *head: str | int | float) -> Any:
    values = stored(page).values(key, *map(_entry, head))
    if not len(values):
        raise ValueError(f"{page} has no {key!r} at {head}.")
    return values


def _entry(word: str | int | float) -> Any:
    """Return an entry of a case: a number, or else the word."""
    try:
        return json.loads(word) if isinstance(word, str) else word
    except ValueError:
        return word


def table_of(page: str, which: str = "1") -> str:
    """Return one of the tables of a page, counted from 1."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return str(tables[int(which) - 1]).strip()


def cell(page: str, row: str, column: str) -> str:
    """Return a cell of a table of another page of the documentation.

    Parameters
    ----------
    page : str
        The page, from the folder of the documentation on.
    row : str
        How the row begins; cells are separated by " | ".
    column : str
        The head of the column.
    """
    head: list[str] = []
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        cells = [one.strip() for one in line.split("|")[1:-1]]
        head = (head or cells) if cells else []
        if line.startswith(f"| {row} |") and column in head:
            return cells[head.index(column)]
    raise ValueError(f"{page} has no {row!r} with {column!r}.")


def data_table() -> str:
    """Return the manifest of the benchmarks' data."""
    entries = json.loads(MANIFEST.read_text(encoding="utf-8"))
    rows = [
        [
            f"`{name}`",
            one["size"],
            one["source"],
            str(one.get("openml", "")),
            f"`{one['sha256'][:8]}`",
        ]
        for name, one in entries.items()
    ]
    return table(["file", "rows × columns", "source", "number", "checksum"], rows)


def ranks() -> str:
    """Return how all methods rank, by their defaults and by the LDG paper's rules."""
    defaults = by_defaults(stored("defaults-ranked"))
    rules = by_papers_rules(stored("ldg-table-1"))
    return (
        "Accuracy (%) and, in brackets, rank of every method with vicinal's defaults "
        f"on {len(defaults)} data sets, three splits\n"
        "([defaults-ranked](defaults-ranked.md)); ± a standard error over the data "
        "sets:\n\n"
        f"{ranked_table(defaults)}\n\n"
        "The same for reductions of the dimension by the LDG paper's rules "
        f"on {len(rules)} data sets\n([ldg-table-1](ldg-table-1.md)); a method that "
        "was not run on a data set (–)\nhas no rank there, and its mean is over the "
        f"others:\n\n{ranked_table(rules)}"
    )


PIECES: dict[str, Callable[..., str]] = {
    "cell": cell,
    "data": data_table,
    "gain": gain,
    "gain-of": gain_of,
    "less": less,
    "mean": mean,
    "mean-gain": mean_gain,
    "mean-gain-at": mean_gain_at,
    "mean-gain-of": mean_gain_of,
    "number": number,
    "fraction": fraction,
    "pages": pages_table,
    "percent": percent,
    "ranks": ranks,
    "repetitions": repetitions,
    "source": source,
    "table": table_of,
}


def made(text: str) -> str:
    """Return a text with its marked pieces made anew.

    A piece is a block of its own if a line ends after its mark, else part of a line.
    """

    def piece(match: re.Match[str]) -> str:
        begin, call, inside, end = match.groups()
        name, *arguments = shlex.split(call)
        new = PIECES[name](*arguments)
        return f"{begin}\n\n{new}\n\n{end}" if "\n" in inside else f"{begin}{new}{end}"

    return MADE.sub(piece, text)


def main(*, check: bool = False, docs: Path = DOCS) -> list[Path]:
    """Write all pieces, or with check only return the files that are not up to date."""
    stale = []
    for path in sorted([*docs.glob("*.md"), *docs.glob("*/*.md")]):
        text = path.read_text(encoding="utf-8")
        if (new := made(text)) != text:
            stale.append(path)
            if not check:
                path.write_text(new, encoding="utf-8")
    return stale


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    given = parser.parse_args()
    files = main(check=given.check)
    print("\n".join(map(str, files)) or "All pieces are up to date.")
    sys.exit(bool(given.check and files))
