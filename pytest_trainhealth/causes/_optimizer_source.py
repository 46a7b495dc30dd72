"""How to write that an optimizer gets more parameters, in the words of the statement that made it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from ..records.verdict import Fix
from ..records.wiring import OptimizerRecord

#: A longer line of code is given as an addition instead. By judgement: as wide as the chart.
_WIDEST = 88


def adding(
    optimizer: OptimizerRecord, paths: Sequence[str], *, own_variable: bool = False, parts: Collection[str] = ()
) -> Fix:
    """`paths`: of the modules or parameters to add, in the model; or variables of their own. `parts`: of the model.

    A list of groups gets one more, a single `parameters()` becomes a list of two; otherwise a group is added.
    """
    call, name, text = _call(optimizer.statement, optimizer.kind)
    first = None if call is None else _params(call)
    root = _root(first, parts) or "model"
    split = [path.partition(".") for path in paths]
    added = [
        expression(own, inner) if own_variable else expression(root, own + dot + inner) for own, dot, inner in split
    ]
    groups = [f'{{"params": {each}.parameters()}}' for each in added]
    where = "" if optimizer.place is None else f" at {optimizer.place.file}:{optimizer.place.line}"
    if isinstance(first, (ast.List, ast.Tuple)) and first.elts and all(isinstance(e, ast.Dict) for e in first.elts):
        return Fix(f"add them as a parameter group of the optimizer{where}:", tuple(f"{group}," for group in groups))
    if isinstance(first, ast.Call) and ast.unparse(first).endswith(".parameters()"):
        old = ast.unparse(first)
        written = text.replace(old, f"[*{old}, {', '.join(f'*{each}.parameters()' for each in added)}]", 1)
        if len(written) <= _WIDEST:
            return Fix(f"hand them to the optimizer{where}:", (written,))
    return Fix("add them to the optimizer:", tuple(f"{name}.add_param_group({group})" for group in groups))


def _call(statement: str, kind: str) -> tuple[ast.Call | None, str, str]:
    """The call that made the optimizer, the variable that it went to, and the statement as Python writes it."""
    try:
        tree = ast.parse(statement)
    except SyntaxError:
        return None, "optimizer", statement
    node = tree.body[0] if tree.body else None
    name = "optimizer"
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Attribute)):
        name = ast.unparse(node.targets[0])
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    made = next((each for each in calls if ast.unparse(each.func).rpartition(".")[2] == kind), None)
    # a call inside another statement is shown by itself
    text = ast.unparse(tree) if made is None or made is getattr(node, "value", None) else ast.unparse(made)
    return made, name, text


def _params(call: ast.Call) -> ast.expr | None:
    named = next((each.value for each in call.keywords if each.arg == "params"), None)
    return named or (call.args[0] if call.args else None)


def _root(first: ast.expr | None, parts: Collection[str]) -> str:
    """The variable that the model is called by: what `parameters()` is taken of, without its parts.

    `self.model` in a class of its own, `self` in one that is the model and makes its optimizer itself; not the `m` of a
    comprehension, which only it knows.
    """
    nodes = [] if first is None else list(ast.walk(first))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    own = {ast.unparse(node.target) for node in nodes if isinstance(node, ast.comprehension)}
    for call in calls:
        node = call.func
        if not isinstance(node, ast.Attribute) or node.attr != "parameters":
            continue
        inner: ast.expr = node.value
        while isinstance(inner, (ast.Attribute, ast.Subscript)):
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id == "self":
                return "self" if inner.attr in parts else ast.unparse(inner)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id not in own:
            return inner.id
    return ""


def expression(root: str, path: str) -> str:
    """`model.blocks[2].norm` for the path `blocks.2.norm`."""
    return root + "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in path.split(".") if part)
