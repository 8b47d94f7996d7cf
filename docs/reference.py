"""The pages of the reference: one for each family, one for each public name.

A name is public where a room lists it in `__all__`. `FAMILIES` says where it stands; a
room that no family names gets a page of its own, so that nothing can be forgotten.
"""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple

import vicinal

# Rooms that users do not import from; what nca, lca and ldg hold is at the root.
INTERNAL = {"base", "cli", "lca", "ldg", "methods", "nca", "neighborhood", "tables"}

# Rooms that cannot be imported without their extra.
EXTRAS = {"vicinal.dask", "vicinal.neural"}


class Family(NamedTuple):
    """A page of the reference."""

    slug: str
    title: str
    intro: str
    names: str
    """Modules, with a star for all of their names, or single names."""


FAMILIES = [
    Family(
        "nca",
        "Neighbourhood components analysis",
        "From labels, numbers, pairs or soft labels to a linear map. The guide is "
        ":doc:`/nca`, what happens with many rows :doc:`/scale`.",
        "vicinal.NCA vicinal.NCAClassifier vicinal.NCARegressor vicinal.PairNCA "
        "vicinal.nca.Annealing vicinal.nca.StochasticGradient",
    ),
    Family(
        "additive",
        "Additive metrics of tables",
        "One learned curve for each column of a table, and neighbors with reasons. The "
        "guide is :doc:`/additive`.",
        "vicinal.TableNCA vicinal.TableNCAClassifier vicinal.TableNCARegressor "
        "vicinal.additive.*",
    ),
    Family(
        "lca",
        "Local component analysis",
        "A metric and a density without labels; outliers and clusters under it. The "
        "guide is :doc:`/lca`.",
        "vicinal.LCA vicinal.LCAGauss vicinal.ModeClustering vicinal.lca.*",
    ),
    Family(
        "ldg",
        "Local discriminative Gaussians",
        "A map by one eigenproblem, for any number of features; the classifier behind "
        "it; transfer between domains. The guide is :doc:`/ldg`.",
        "vicinal.LDG vicinal.LocalQDA vicinal.TransferLDG",
    ),
    Family(
        "classic",
        "Classic methods",
        "What the papers compare themselves with, from labels, pairs, triplets, "
        "quadruplets and chunklets. The guide is :doc:`/classic`.",
        "vicinal.classic.*",
    ),
    Family(
        "adapters",
        "Adapters of embeddings",
        "Maps of queries and documents, learned from relevance; maps between models; "
        "files, and indexes for nearest neighbor search. The guide is "
        ":doc:`/adapters`.",
        "vicinal.adapters.* vicinal.neighbors.*",
    ),
    Family(
        "comparison",
        "Comparison and report",
        "Which metric helps on a table, and a page to show it. The guides are "
        ":doc:`/compare` and :doc:`/report`.",
        "vicinal.compare vicinal.app.comparison.* vicinal.app.report.*",
    ),
    Family(
        "plotting",
        "Pictures",
        "Maps of labeled rows with a held-out score: :doc:`/guides/pictures`. Displays "
        "in scikit-learn's manner need matplotlib: ``pip install 'vicinal[plot]'``.",
        "vicinal.SupervisedMap vicinal.pictures.* vicinal.plotting.*",
    ),
    Family(
        "models",
        "Models in files",
        "A metric with the preparation of its table, kept in a file and put to work. "
        "The guide is :doc:`/command`.",
        "vicinal.save vicinal.load vicinal.app.models.*",
    ),
    Family("datasets", "Data sets", "Data by name.", "vicinal.datasets.*"),
    Family(
        "objectives",
        "Objectives",
        "A number and its gradient at a map, for those who write a method or a solver "
        "of their own.",
        "vicinal.objectives.*",
    ),
    Family(
        "solvers",
        "Solvers",
        "How an objective is maximised. The guide is :doc:`/solvers`.",
        "vicinal.optimize.*",
    ),
    Family(
        "neural",
        "Neural maps",
        "NCA with networks in place of a linear map, and its loss for networks of your "
        "own; they need PyTorch: ``pip install 'vicinal[torch]'``. The guide is "
        ":doc:`/neural`.",
        "vicinal.neural.*",
    ),
    Family(
        "dask",
        "On a Dask cluster",
        "The estimators for rows that no machine holds alone; they need Dask: "
        "``pip install 'vicinal[dask]'``. The guide is :doc:`/dask`.",
        "vicinal.dask.*",
    ),
    Family(
        "metric-learn",
        "metric-learn's names",
        "The estimators for scripts that were written for metric-learn: "
        ":doc:`/migration-metric-learn`.",
        "vicinal.compat.metric_learn.*",
    ),
]


class Entry(NamedTuple):
    """A public name, and what it names."""

    name: str
    value: Any


def rooms() -> list[str]:
    """Return the modules that users import from."""
    found = [
        f"vicinal.{name}"
        for _, name, _ in iter_modules(vicinal.__path__)
        if not name.startswith("_") and name not in INTERNAL
    ]
    found.remove("vicinal.compat")
    compat = import_module("vicinal.compat")
    found += [f"vicinal.compat.{name}" for _, name, _ in iter_modules(compat.__path__)]
    return ["vicinal", *sorted(found)]


def public_entries(room: str) -> list[Entry]:
    """Return a room's public classes and functions; none where its extra is missing."""
    try:
        home = import_module(room)
    except ImportError:
        if room not in EXTRAS:
            raise
        return []
    entries = [
        Entry(f"{room}.{name}", getattr(home, name))
        for name in getattr(home, "__all__", ())
    ]
    return [
        one
        for one in entries
        if inspect.isclass(one.value) or inspect.isroutine(one.value)
    ]


def families() -> list[tuple[Family, list[Entry]]]:
    """Return all pages with their entries, each object once."""
    seen: set[int] = set()
    pages = []
    given = {
        one.removesuffix(".*")
        for family in FAMILIES
        for one in family.names.split()
        if one.endswith("*")
    }
    others = [
        Family(room.rpartition(".")[2], room, _first_line(import_module(room)), room)
        for room in rooms()
        if room not in given and room != "vicinal" and public_entries(room)
    ]
    for family in [*FAMILIES, *others]:
        entries = []
        for one in _named(family):
            if id(one.value) not in seen:
                seen.add(id(one.value))
                entries.append(one)
        pages.append((family, entries))
    return pages


def write(folder: Path) -> None:
    """Write the index, a page for each family, and a page for each name."""
    generated = folder / "generated"
    generated.mkdir(parents=True, exist_ok=True)
    pages = families()
    written = {_write(folder / "index.rst", _index(pages))}
    for family, entries in pages:
        written.add(_write(folder / f"{family.slug}.rst", _family(family, entries)))
        for one in entries:
            written.add(_write(generated / f"{one.name}.rst", _page(one, family)))
    for old in {*folder.glob("*.rst"), *generated.glob("*.rst")} - written:
        old.unlink()


def members(value: type) -> Iterator[str]:
    """Yield the public methods and properties of a class that are written here."""
    for name, member in inspect.getmembers(value):
        function = getattr(member, "fget", member)
        if (
            not name.startswith("_")
            and inspect.isroutine(function)
            and (getattr(function, "__module__", None) or "").startswith("vicinal")
            and inspect.getdoc(member)
        ):
            yield name


def _named(family: Family) -> Iterator[Entry]:
    for one in family.names.split():
        if one.endswith(".*") or family not in FAMILIES:
            yield from public_entries(one.removesuffix(".*"))
        else:
            room, _, name = one.rpartition(".")
            yield Entry(one, getattr(import_module(room), name))


def _first_line(value: Any) -> str:
    first = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
    return re.sub(r" ?\[\d\]_", "", first)  # the references stay on the name's page


def _write(path: Path, text: str) -> Path:
    # Sphinx reads again what has changed.
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
    return path


def _titled(title: str) -> str:
    return f"{title}\n{'=' * len(title)}\n\n"


def _index(pages: list[tuple[Family, list[Entry]]]) -> str:
    lines = "".join(f"   {family.slug}\n" for family, _ in pages)
    rows = "".join(
        f"   * - :doc:`{family.title} <{family.slug}>`\n     - "
        + (", ".join(f":obj:`~{one.name}`" for one in entries) or "left out")
        + "\n"
        for family, entries in pages
    )
    return (
        _titled("Reference")
        + "Every public class and function, by family. Each has an example that runs, "
        "what it is related to, and what it costs.\n\n"
        + ".. list-table::\n   :widths: 30 70\n\n"
        + rows
        + "\n.. toctree::\n   :hidden:\n\n"
        + lines
    )


def _family(family: Family, entries: list[Entry]) -> str:
    rows = "".join(
        f"   * - :obj:`~{one.name}`\n     - {_first_line(one.value)}\n"
        for one in entries
    )
    stubs = "".join(f"   generated/{one.name}\n" for one in entries)
    if not entries:
        missing = "This site was built without that library: its names are left out."
        return f"{_titled(family.title)}{family.intro}\n\n{missing}\n"
    return (
        f"{_titled(family.title)}{family.intro}\n\n"
        f".. list-table::\n   :widths: 30 70\n\n{rows}\n"
        f".. toctree::\n   :hidden:\n\n{stubs}"
    )


def _page(one: Entry, family: Family) -> str:
    room, _, name = one.name.rpartition(".")
    text = _titled(name) + f".. currentmodule:: {room}\n\n"
    if guides := re.findall(r":doc:`[^`]+`", family.intro):
        text += f"In plain words: {', '.join(guides)}.\n\n"
    if inspect.isclass(one.value):
        text += f".. autoclass:: {name}\n"
        listed = ", ".join(members(one.value))
        text += f"   :members: {listed}\n" if listed else ""
    else:
        text += f".. autofunction:: {name}\n"
    return f"{text}\n.. minigallery:: {one.name}\n   :add-heading: In the gallery\n"
