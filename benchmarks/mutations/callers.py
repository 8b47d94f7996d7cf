"""Which lines of Python call a compiled function, in which coverage sees nothing."""

import ast
from pathlib import Path


def is_compiled(place: str) -> bool:
    """Return whether a module, below the package's folder, holds compiled functions."""
    return place.endswith(("kernels.py", "row_steps.py", "compiling.py"))


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
    trees = {
        path.relative_to(root).as_posix(): ast.parse(path.read_text())
        for path in root.rglob("*.py")
    }
    found: set[tuple[str, int]] = set()
    seen: set[tuple[str, str]] = set()
    new = {(place, name) for name in _around(trees[place], line)}
    while new:
        seen |= new
        lines = {
            (other, at)
            for home, name in new
            for other, tree in trees.items()
            for at in _mentions(tree, name, Path(home), Path(other))
        }
        found |= {(other, at) for other, at in lines if not is_compiled(other)}
        new = {
            (other, caller)
            for other, at in lines
            if is_compiled(other)
            for caller in _around(trees[other], at)
        } - seen
    return found


def _around(tree: ast.Module, line: int) -> set[str]:
    """Return the function that a line is in, or the names of all functions."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    inside = {
        one.name for one in functions if one.lineno <= line <= (one.end_lineno or line)
    }
    return inside or {one.name for one in functions}


def _mentions(tree: ast.Module, name: str, home: Path, place: Path) -> set[int]:
    """Return the lines of a module on which a function of another is named."""
    imports = place == home or any(
        home.stem in ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    near = place.parent == home.parent
    return {
        node.lineno
        for node in ast.walk(tree)
        if (near and isinstance(node, ast.Constant) and node.value == name)
        or (imports and isinstance(node, ast.Name) and node.id == name)
        or (imports and isinstance(node, ast.Attribute) and node.attr == name)
    }
