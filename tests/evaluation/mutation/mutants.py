"""The small changes: every one a tree that compiles, at the line where the change is.

Texts are left alone (other tests compare them word by word), and so are annotations, which nobody executes.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

_SHIFTED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_OPPOSITE = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file: ``number`` counts the file's changes in a fixed order, so that it can be made again."""

    path: str
    number: int
    line: int
    kind: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.kind}: {self.before}  ->  {self.after}"


def mutants_of(path: Path) -> list[Mutant]:
    tree = ast.parse(path.read_text())
    return [
        Mutant(str(path), number, node.lineno, kind, _short(node), _short(other))
        for number, (node, kind, other) in enumerate(_changes(tree))
    ]


def code_of(mutant: Mutant) -> CodeType:
    """The whole file with this one change, compiled."""
    tree = ast.parse(Path(mutant.path).read_text())
    node, _, other = list(_changes(tree))[mutant.number]
    changed = _Swap(node, other).visit(tree)
    return compile(ast.fix_missing_locations(changed), mutant.path, "exec")


def unchanged(path: Path) -> CodeType:
    return compile(ast.parse(path.read_text()), str(path), "exec")


class _Swap(ast.NodeTransformer):
    def __init__(self, node: ast.AST, other: ast.AST) -> None:
        self.node, self.other = node, other

    def visit(self, node: ast.AST) -> ast.AST:
        return self.other if node is self.node else super().generic_visit(node)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else text[:97] + "..."


def _changes(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str, ast.AST]]:
    for node in _executed(tree):
        for kind, other in _of_node(node):
            yield node, kind, ast.copy_location(other, node)


def _executed(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _only_for_types(child):
                continue
            if isinstance(child, ast.expr | ast.stmt):
                yield child
            yield from _executed(child)


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _of_node(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for kind, table in (("bound", _SHIFTED), ("comparison", _OPPOSITE)):
            if type(node.ops[0]) in table:
                yield kind, _with(node, ops=[table[type(node.ops[0])]()])
    elif isinstance(node, ast.BoolOp):
        yield "and/or", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for left_out in range(len(node.values)):
            rest = [value for place, value in enumerate(node.values) if place != left_out]
            yield "condition left out", rest[0] if len(rest) == 1 else _with(node, values=rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC and not _of_text(node):
        yield "arithmetic", _with(node, op=_ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "boolean", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "number", ast.Constant(node.value * 2 if node.value else 1)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "never", _with(node, test=ast.Constant(False))
        if not isinstance(node, ast.While):
            yield "always", _with(node, test=ast.Constant(True))
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield "nothing returned", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Continue | ast.Break):
        yield "goes on", ast.Pass()


def _of_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed
