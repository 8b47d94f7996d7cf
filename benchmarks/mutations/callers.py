"""Which lines of Python call a compiled function, in which coverage sees nothing."""

import ast
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple


def is_compiled(place: str) -> bool:
    """Return whether the functions of a module, below the package's, are compiled."""
    return place.endswith(("kernels.py", "row_steps.py"))


class _Module(NamedTuple):
    """A module's syntax tree, what it imports, and the lines of names and strings."""

    tree: ast.Module
    imports: str
    names: dict[str, set[int]]
    strings: dict[str, set[int]]

    def mentions(self, name: str, home: Path, place: Path) -> set[int]:
        """Return the lines on which a function of another module is named.

        Parameters
        ----------
        name : str
            The function's.
        home, place : Path
            The function's module, and this one.
        """
        found = set[int]()
        if place == home or home.stem in self.imports:
            found |= self.names.get(name, set())
        if place.parent == home.parent:
            found |= self.strings.get(name, set())
        return found


@lru_cache(maxsize=8)
def _modules(root: Path) -> dict[str, _Module]:
    """Return the modules below a folder; they are read once."""
    found = {}
    for path in root.rglob("*.py"):
        tree = ast.parse(path.read_text())
        imports = []
        names: dict[str, set[int]] = defaultdict(set)
        strings: dict[str, set[int]] = defaultdict(set)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports.append(ast.unparse(node))
            elif isinstance(node, ast.Name):
                names[node.id].add(node.lineno)
            elif isinstance(node, ast.Attribute):
                names[node.attr].add(node.lineno)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings[node.value].add(node.lineno)
        place = path.relative_to(root).as_posix()
        found[place] = _Module(tree, "\n".join(imports), dict(names), dict(strings))
    return found


def callers(place: str, line: int, root: Path) -> set[tuple[str, int]]:
    """Return where a compiled function is called, or named, by modules that are not.

    Parameters
    ----------
    place : str
        The compiled module, below the package's folder.
    line : int
        In a function; one that is in none counts for all functions of the module.
    root : Path
        The package's folder.

    Returns
    -------
    set of (str, int)
        Modules below the folder, and lines in them: uses of the function, or of one
        that is compiled and calls it, and strings of its room that are its name.
    """
    modules = _modules(root)
    found: set[tuple[str, int]] = set()
    seen: set[tuple[str, str]] = set()
    new = {(place, name) for name in _around(modules[place].tree, line)}
    while new:
        seen |= new
        lines = {
            (other, at)
            for home, name in new
            for other, module in modules.items()
            for at in module.mentions(name, Path(home), Path(other))
        }
        found |= {(other, at) for other, at in lines if not is_compiled(other)}
        new = {
            (other, caller)
            for other, at in lines
            if is_compiled(other)
            for caller in _around(modules[other].tree, at)
        } - seen
    return found


def _around(tree: ast.Module, line: int) -> set[str]:
    """Return the function that a line is in, or the names of all functions."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    inside = {
        one.name for one in functions if one.lineno <= line <= (one.end_lineno or line)
    }
    return inside or {one.name for one in functions}
