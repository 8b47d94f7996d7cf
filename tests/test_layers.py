"""Imports go down only: the rooms, who may use whom, and each heavy library's room."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import vicinal

ROOT = Path(vicinal.__file__).parent
ENGINE = {"neighborhood"}
OPTIMIZING = {"solvers", "objectives", "base"} | ENGINE
FAMILIES = {"nca", "lca", "ldg", "classic"}

# What each room may import; "" stands for the modules at the package's root.
MAY_IMPORT: dict[str, set[str]] = {
    "neighborhood": set(),
    "solvers": set(),
    "objectives": {"solvers"} | ENGINE,
    "base": {"objectives"} | ENGINE,
    "nca": OPTIMIZING,
    "lca": OPTIMIZING - {"solvers"},
    "ldg": OPTIMIZING,
    "classic": OPTIMIZING | {"nca"},
    "adapters": OPTIMIZING,
    "compat": FAMILIES | {"base"},
    "neural": {"base", "nca"} | ENGINE,  # a linear map votes beside networks
    "dask": FAMILIES - {"classic"} | OPTIMIZING,
    "methods": FAMILIES | {"base", "neural"},
    "datasets": set(),
    "tables": {"datasets"},
    "models": {"methods", "neural", "tables"},
    "comparison": {"methods", "tables"},
    "report": {"adapters", "comparison", "methods"},
    "plotting": {"comparison", "methods"},
    "cli": {"adapters", "comparison", "dask", "datasets", "methods", "models"}
    | {"report", "tables"},
    "": FAMILIES | {"cli", "comparison", "models"},
}
EVERYBODYS = {"_typing", "_files", "__version__"}
# `Comparison.plot` and `Comparison.to_html` look up, when they are called.
LOOKS_UP = {("comparison/result.py", "plotting"), ("comparison/result.py", "report")}
HEAVY = {
    # And, through them, the files of kernels.
    "numba": {"neighborhood/compiling.py", "neighborhood/row_steps.py"},
    "polars": {"tables", "models"},
    "typer": {"cli"},
    "rich": {"cli"},
    "jinja2": {"report"},
    "matplotlib": {"plotting"},
    "torch": {"neural"},
    "dask": {"dask"},
    "distributed": {"dask"},
}


def imports(source: str) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names that a module imports, lazily or not, as tuples."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield tuple(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom) and node.module:
            parts = tuple(node.module.split("."))
            # `from vicinal.room import module` names the module, too.
            for alias in node.names:
                yield (*parts, alias.name)


def breaches(place: str, source: str) -> list[str]:
    """Return what a module imports against the rules, in words.

    Parameters
    ----------
    place : str
        Where the module lies in the package, as in "nca/_fit.py".
    source : str
        Its text.
    """
    room = place.split("/", maxsplit=1)[0] if "/" in place else ""
    if place == "datasets.py":
        room = "datasets"
    found = []
    for name in imports(source):
        if name[0] in HEAVY and not {room, place} & HEAVY[name[0]]:
            found.append(f"{place} imports {name[0]}: only {HEAVY[name[0]]} may")
        if name[0] != "vicinal" or len(name) == 1:
            continue
        other = name[1]
        if other in EVERYBODYS or other == room:
            continue
        if other not in MAY_IMPORT:
            found.append(f"{place} imports {'.'.join(name)}, which is no room")
        elif other not in MAY_IMPORT[room] and (place, other) not in LOOKS_UP:
            found.append(f"{place} imports {'.'.join(name)}: {room or 'the root'} may")
            found[-1] += f" use {sorted(MAY_IMPORT[room])}"
        elif any(part.startswith("_") for part in name[2:]):
            found.append(f"{place} imports {'.'.join(name)}, private to {other}")
    return found


def modules() -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


@pytest.mark.parametrize("place", modules())
def test_imports_go_down_only(place: str) -> None:
    assert breaches(place, (ROOT / place).read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("nca/_nca.py", "from vicinal.lca import LCA"),
        ("solvers/adam.py", "from vicinal.objectives.base import PairObjective"),
        ("base/metric.py", "import vicinal.comparison"),
        ("base/metric.py", "def f():\n    from vicinal.methods import registry"),
        ("methods/registry.py", "from vicinal.nca._nca import NCA"),
        ("methods/registry.py", "from vicinal.nca import _nca"),
        ("neighborhood/engine.py", "import numba"),
        ("cli/compare.py", "from polars import DataFrame"),
        ("report/page.py", "from vicinal.attic import old"),
        ("tables/cells.py", "from vicinal.models import load"),
        ("nca/_fit.py", "import dask.array"),
        ("nca/_fit.py", "from vicinal.dask import NCA"),
        ("dask/_nca.py", "from vicinal.nca._data import ClassificationData"),
    ],
)
def test_a_breach_is_found(place: str, source: str) -> None:
    assert len(breaches(place, source)) == 1


def test_every_room_has_its_rules() -> None:
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert rooms == set(MAY_IMPORT) - {"", "datasets"}
    files = [path.name for path in ROOT.iterdir() if path.is_file()]
    assert len(files) <= 10, sorted(files)


def test_tests_do_not_import_tests() -> None:
    here = Path(__file__).parent
    for path in here.rglob("*.py"):
        for name in imports(path.read_text("utf-8")):
            shared = name[0] != "tests" or not any(
                part.startswith("test_") for part in name
            )
            assert shared, f"{path.relative_to(here)} imports {'.'.join(name)}"
