"""Interventions are named by a string and made with a dict: each that is named exists, and takes what it is given.

A spelling mistake in either would show only in a run that comes to it, which for a cure is a user's failed training.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

import pytest_trainhealth
from pytest_trainhealth import interventions

PACKAGE = Path(pytest_trainhealth.__file__).parent
#: The records that name a kind, and where their options stand if they are not given by name.
OPTIONS_AT = {"Cure": 2, "Condition": 2, "Hook": 1}
KINDS = sorted(kind for kind in interventions._homes() if not kind.startswith("_"))


class Named(NamedTuple):
    where: str
    kind: str
    #: Those that can be read off the source.
    options: frozenset[str]
    #: Whether these are all of them.
    complete: bool


def named(source: str, where: str) -> Iterator[Named]:
    tree = ast.parse(source)
    scopes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OPTIONS_AT:
            kind = node.args[0] if node.args else None
            if not isinstance(kind, ast.Constant):
                continue
            at = OPTIONS_AT[node.func.id]
            by_name = [keyword.value for keyword in node.keywords if keyword.arg == "options"]
            given = by_name[0] if by_name else node.args[at] if len(node.args) > at else None
            scope = next(
                (each for each in reversed(scopes) if each.lineno <= node.lineno <= (each.end_lineno or 0)), tree
            )
            keys, complete = _keys(given, scope)
            yield Named(f"{where}:{node.lineno}", kind.value, frozenset(keys), complete)


def _keys(given: ast.expr | None, scope: ast.AST) -> tuple[set[str], bool]:
    """Of a dict that is written down where it is given, or assigned to a name in the same function."""
    if given is None:
        return set(), True
    if isinstance(given, ast.Dict):
        keys = {key.value for key in given.keys if isinstance(key, ast.Constant)}
        return keys, len(keys) == len(given.keys)
    if isinstance(given, ast.Name):
        for node in ast.walk(scope):
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AnnAssign)
                else []
            )
            if any(isinstance(target, ast.Name) and target.id == given.id for target in targets):
                value = node.value  # type: ignore[attr-defined]
                return (_keys(value, scope)[0] if isinstance(value, ast.Dict) else set()), False
    return set(), False


FOUND = [
    each
    for file in sorted(PACKAGE.rglob("*.py"))
    for each in named(file.read_text(encoding="utf-8"), file.relative_to(PACKAGE).as_posix())
]


def wrong(each: Named) -> str:
    """What keeps it from being made; '' where nothing does."""
    if each.kind not in KINDS:
        return f"there is no intervention {each.kind!r}"
    made = getattr(import_module(interventions._homes()[each.kind]), interventions.class_name(each.kind))
    _, _, *own = inspect.signature(made).parameters.values()  # the first two are the run and its stack
    unknown = each.options - {parameter.name for parameter in own}
    missing = {parameter.name for parameter in own if parameter.default is parameter.empty} - each.options
    if unknown:
        return f"{each.kind} takes no {', '.join(sorted(unknown))}"
    return f"{each.kind} needs {', '.join(sorted(missing))}" if missing and each.complete else ""


@pytest.mark.parametrize("each", FOUND, ids=lambda each: f"{each.where}-{each.kind}")
def test_what_is_named_exists_and_takes_its_options(each: Named) -> None:
    assert wrong(each) == ""


def test_every_kind_is_named_somewhere() -> None:
    assert sorted({each.kind for each in FOUND}) == KINDS


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('Cure("zero_gradient", "label")', "there is no intervention 'zero_gradient'"),
        ('Cure("learning_rate", "label", {"factors": 2.0})', "learning_rate takes no factors"),
        ('Cure("learning_rate", "label", options={"factors": 2.0})', "learning_rate takes no factors"),
        ('Condition("learning_rate", "label")', "learning_rate needs factor"),
        (
            'def look():\n    given = {"factors": 1}\n    Cure("learning_rate", "", given)',
            "learning_rate takes no factors",
        ),
        ('Hook("learning_rate", {**rest})', ""),
    ],
)
def test_mistakes_are_found(source: str, said: str) -> None:
    assert [wrong(each) for each in named(source, "here")] == [said]
