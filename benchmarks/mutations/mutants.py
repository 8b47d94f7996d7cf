"""One-line changes of a module's source: where they are, and how they are applied."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
# Calls that name types, or speak: nothing is computed by them.
_WORDS = {"Annotated", "TypeVar", "Literal", "cast", "warn", "getLogger"}


@dataclass(frozen=True)
class Mutant:
    """One change of one module.

    Attributes
    ----------
    path : str
        The module, below the package's folder.
    number : int
        Which of the module's mutants it is.
    line : int
        Where it stands.
    before, after : str
        The expression or statement, unparsed.
    """

    path: str
    number: int
    line: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """A name that stays the same as long as the source does."""
        return (
            f"{self.path}:{self.line} #{self.number}  {self.before}  ->  {self.after}"
        )


def mutants(root: Path) -> list[Mutant]:
    """Return all mutants of the modules below a folder, in the order of their names."""
    found = []
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root).as_posix()
        tree = ast.parse(path.read_text())
        for number, (node, changed) in enumerate(_changes(tree)):
            before, after = ast.unparse(node), ast.unparse(changed)
            line = getattr(node, "lineno", 0)
            found.append(Mutant(place, number, line, _short(before), _short(after)))
    return found


def mutated(source: str, number: int) -> str:
    """Return a module's source with one of its mutants in the place of the original.

    The rest of the lines stay where they are.
    """
    tree = ast.parse(source)
    for k, (node, changed) in enumerate(_changes(tree)):
        if k == number:
            return _replaced(source, node, ast.unparse(changed))
    raise ValueError(f"There is no mutant {number}.")


def _replaced(source: str, node: ast.AST, text: str) -> str:
    """Replace a node's text; an expression that spans lines keeps their number."""
    lines = source.encode().splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
    start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
    head, tail = lines[first][:start], lines[last][end:]
    if isinstance(node, ast.expr):
        text = f"({text})"
    lines[first : last + 1] = [head + text.encode() + tail]
    return b"".join(lines).decode()


def _changes(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield nodes with what may stand in their place."""
    for node in _executed(tree):
        yield from ((node, changed) for changed in _of(node))


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Walk what runs and decides: no annotations, words, imports, constraints."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_words(child):
                continue
            yield child
            yield from _executed(child)


def _is_words(node: ast.AST) -> bool:
    """Return whether a node only speaks, names or declares."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Raise):
        return True
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        named = " ".join(ast.unparse(target) for target in targets)
        return any(word in named for word in ("__all__", "_parameter_constraints"))
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func).split(".")[-1]
        return called in _WORDS
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the changed forms of one node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = _COMPARISONS[type(node.ops[0])]
        yield _with(node, ops=[other()])
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield _with(node, op=_OPERATORS[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _with(node, op=other_op)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield _with(node, body=node.orelse, orelse=node.body)
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node)
    elif isinstance(node, ast.Call) and node.keywords:
        yield _with(node, keywords=node.keywords[:-1])
    elif isinstance(node, ast.AugAssign | ast.Continue | ast.Break):
        yield ast.Pass()


def _of_constant(node: ast.Constant) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, float):
        yield ast.Constant(2 * value if value else 1.0)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 70 else f"{text[:67]}..."
