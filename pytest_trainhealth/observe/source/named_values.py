"""Where the value of a name was written: a rate is handed to the optimizer as `LR`, `config.lr` or `args["lr"]`.

Nothing is run: a file's source says where a number gets that name, and the number has to be the one that was used. Of
several such places none is named.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Iterator
from functools import cache

from ...records.verdict import Place
from .places import place_of

#: Two ways of writing a number, 3e-4 and 0.0003, are equal within 1e-9.
_EQUAL = 1e-9
_OPTIONS = {"add_argument", "option"}


def rate_written_at(statement: str, rate: float, file: str) -> tuple[Place, str] | None:
    """The line that gives a rate its name, and that name. None: it stands in the statement itself, or nobody knows.

    `statement`: the one that made the optimizer, in this file.
    """
    used = _rate_in(statement)
    name = _last_name(used)
    if used is None or name is None:
        return None
    for path in (os.path.abspath(file), *_imported_from(os.path.abspath(file), used)):
        lines = {line for given, number, line in _named_numbers(path) if given == name and _same(number, rate)}
        if lines:
            return (place_of(path, lines.pop()), name) if len(lines) == 1 else None
    return None


def _rate_in(statement: str) -> ast.expr | None:
    """The keyword argument `lr`, or what follows the parameters."""
    calls = [node for node in ast.walk(_tree(statement)) if isinstance(node, ast.Call)]
    named = next((each.value for call in calls for each in call.keywords if each.arg == "lr"), None)
    after = (call.args[1] for call in calls if len(call.args) > 1 and "param" in ast.unparse(call.args[0]))
    return named or next(after, None)


@cache
def _tree(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module(body=[], type_ignores=[])


def _last_name(expression: ast.expr | None) -> str | None:
    """'lr' for `lr`, `config.optimizer.lr` and `config["lr"]`."""
    if isinstance(expression, ast.Name):
        return expression.id
    if isinstance(expression, ast.Attribute):
        return expression.attr
    if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Constant):
        return str(expression.slice.value)
    return None


def _same(number: float, value: float) -> bool:
    return abs(number - value) <= _EQUAL * abs(value)


def _source(path: str) -> str:
    return "".join(linecache.getlines(path))


def _named_numbers(path: str) -> tuple[tuple[str, float, int], ...]:
    return _numbers_in(_source(path))


@cache
def _numbers_in(source: str) -> tuple[tuple[str, float, int], ...]:
    return tuple(
        (name, number, expression.lineno)
        for node in ast.walk(_tree(source))
        for name, expression in _namings(node)
        if name is not None and (number := _number(expression)) is not None
    )


def _namings(node: ast.AST) -> Iterator[tuple[str | None, ast.expr]]:
    """Assignments, defaults of parameters and of options, keyword arguments, entries of dictionaries."""
    if isinstance(node, ast.Assign):
        yield from ((_last_name(target), node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield _last_name(node.target), node.value
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        yield from _defaults(node.args)
    elif isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        yield from ((str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant))
    elif isinstance(node, ast.Call):
        yield from _of_call(node)


def _defaults(parameters: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    positional = [*parameters.posonlyargs, *parameters.args]
    behind = positional[len(positional) - len(parameters.defaults) :]
    yield from ((each.arg, default) for each, default in zip(behind, parameters.defaults, strict=True))
    for each, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True):
        if default is not None:
            yield each.arg, default


def _of_call(call: ast.Call) -> Iterator[tuple[str | None, ast.expr]]:
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords)
    if _last_name(call.func) in _OPTIONS:
        flags = [str(each.value).lstrip("-").replace("-", "_") for each in call.args if isinstance(each, ast.Constant)]
        given = [keyword.value for keyword in call.keywords if keyword.arg == "default"]
        yield from ((flag, default) for flag in flags for default in given)


def _number(expression: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(expression)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _imported_from(path: str, used: ast.expr) -> list[str]:
    """The files of modules that the expression's first name was imported from."""
    first = used
    while isinstance(first, ast.Attribute | ast.Subscript):
        first = first.value
    if not isinstance(first, ast.Name):
        return []
    modules = [name for given, names in _imports_in(_source(path)) if given == first.id for name in names]
    files = (getattr(module, "__file__", None) for name, module in sys.modules.copy().items() if name in modules)
    return [os.path.abspath(file) for file in files if file]


@cache
def _imports_in(source: str) -> tuple[tuple[str, list[str]], ...]:
    """Each name that an import gives, with the modules that it may stand for."""
    return tuple(
        (alias.asname or alias.name.partition(".")[0], _module_names(node, alias))
        for node in ast.walk(_tree(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )


def _module_names(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name]
    return [node.module or "", f"{node.module}.{alias.name}"] if node.module else [alias.name]
