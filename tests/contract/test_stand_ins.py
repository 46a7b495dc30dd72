"""Whoever is called in place of one of torch's functions says so: an error that comes through it is not ours.

By convention such a function calls what it stands in for `original`. Function modes are known by the name of their
method, and those in the name of torch count as torch's own wherever frames are looked at.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pytest_trainhealth

OBSERVE = Path(pytest_trainhealth.__file__).parent / "observe"
FILES = sorted(OBSERVE.rglob("*.py"))
MARKS = {"stand_in", "_in_the_name_of_torch"}


def unmarked(source: str) -> list[str]:
    """Functions that call `original` themselves, without the decorator."""
    found = []
    for function in [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]:
        nested = {id(node) for inner in ast.walk(function) if inner is not function and _is_function(inner)
                  for node in ast.walk(inner)}  # fmt: skip
        calls = any(_calls_the_original(node) for node in ast.walk(function) if id(node) not in nested)
        if calls and not MARKS & {ast.unparse(each) for each in function.decorator_list}:
            found.append(function.name)
    return found


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.Lambda))


def _calls_the_original(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "original"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(OBSERVE)))
def test_every_stand_in_is_marked(file: Path) -> None:
    assert unmarked(file.read_text(encoding="utf-8")) == []


def test_one_without_a_mark_is_found() -> None:
    source = "def install(original):\n    def instead(*args):\n        return original(*args)\n    return instead"
    assert unmarked(source) == ["instead"]
    assert unmarked(source.replace("    def", "    @stand_in\n    def")) == []
