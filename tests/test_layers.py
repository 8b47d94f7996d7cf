"""Imports go down only, and each heavy library has one home."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import vicinal

ROOT = Path(vicinal.__file__).parent
# From the bottom up. A package imports packages of earlier lines, and none of its own
# line; modules at the root that are not named here may be used by all.
LAYERS = (
    ("neighborhood", "optimize", "datasets"),
    ("maps",),
    ("objectives",),
    ("base", "testing"),
    ("nca", "lca", "ldg", "additive"),
    ("neighbors",),
    ("persistence",),
    ("classic", "adapters", "neural", "dask"),
    ("compat", "plotting"),
    ("pictures",),
    ("app",),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
HOMES = {
    "numba": {"neighborhood"},
    "polars": {"app"},
    "typer": {"app"},
    "rich": {"app"},
    "jinja2": {"app"},
    "matplotlib": {"plotting"},
    "torch": {"neural", "adapters"},
    "dask": {"dask"},
    "distributed": {"dask"},
}
# Front doors and methods that open the application when they are called.
LOOKS_UP = {"__init__.py", "__main__.py"}


def imports(source: str) -> Iterator[str]:
    """Yield the dotted names that a module imports, lazily or not."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def breaches(place: str, source: str) -> list[str]:
    """Return the imports of a module that break the rules."""
    package = place.split("/", maxsplit=1)[0].removesuffix(".py")
    found = []
    for name in imports(source):
        top, *rest = name.split(".")
        if top in HOMES and package not in HOMES[top]:
            found.append(f"{place} imports {name}: only {HOMES[top]} may")
        if top != "vicinal" or not rest or place in LOOKS_UP:
            continue
        other = rest[0]
        if other != package and LEVEL.get(other, -1) >= LEVEL.get(package, 0):
            found.append(f"{place} imports {name}, which lies above or beside it")
        elif other != package and any(part.startswith("_") for part in rest[1:]):
            found.append(f"{place} imports {name}, which is private to {other}")
    return found


@pytest.mark.parametrize("package", sorted({p.parent for p in ROOT.rglob("*.py")}))
def test_imports_go_down_only(package: Path) -> None:
    found = [
        breach
        for path in sorted(package.glob("*.py"))
        for breach in breaches(path.relative_to(ROOT).as_posix(), path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("nca/nca.py", "from vicinal.lca import LCA"),
        ("base/metric.py", "def f():\n    from vicinal.app.methods import registry"),
        ("app/methods/registry.py", "from vicinal.nca._fit import Run"),
        ("nca/nca.py", "import numba"),
        ("classic/lmnn.py", "from polars import DataFrame"),
        ("nca/nca.py", "import dask.array"),
    ],
)
def test_a_breach_is_found(place: str, source: str) -> None:
    assert len(breaches(place, source)) == 1


def test_every_package_has_a_layer() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages <= set(LEVEL)
    modules = {path.stem for path in ROOT.glob("[a-z]*.py")}
    assert set(LEVEL) == packages | modules
