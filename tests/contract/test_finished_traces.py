"""A trace is finished when `record()` returns: whoever reads it later makes a new one, or leaves it as it is.

Checked by reading the code: outside of what records a run, nothing is assigned to an attribute that a trace or one of
its parts has.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest

import pytest_trainhealth
from pytest_trainhealth.records import trace as trace_module
from pytest_trainhealth.records.trace import Trace

PACKAGE = Path(pytest_trainhealth.__file__).parent
#: The first two know no trace; the others record, or are at work while a run is recorded (the last takes one step again
#: and again).
RECORDING = [
    PACKAGE / name
    for name in ("tensors", "state", "observe", "interventions", "programs", "ranks", "stress/search/trial_step.py")
]
FILES = [file for file in sorted(PACKAGE.rglob("*.py")) if not any(map(file.is_relative_to, RECORDING))]


def parts_of_a_trace() -> set[str]:
    """The names of its fields, and of those of the records that it consists of."""
    names = {field.name for field in fields(Trace)}
    for kind in get_type_hints(Trace, vars(trace_module)).values():
        if is_dataclass(kind):
            names |= {field.name for field in fields(kind)}
    return names


def stores(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Attributes of anything but `self` that are assigned to, added to or deleted."""
    for node in ast.walk(tree):
        changed = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)
        if changed and not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            yield node


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_nobody_writes_to_a_trace_that_was_recorded(file: Path) -> None:
    found = [ast.unparse(node) for node in stores(ast.parse(file.read_text())) if node.attr in parts_of_a_trace()]
    assert found == []


def test_a_store_is_seen() -> None:
    source = "trace.losses = []\ncloser.speed.load += 1\nself.losses = []\nother = trace.losses"
    assert [ast.unparse(node) for node in stores(ast.parse(source))] == ["trace.losses", "closer.speed.load"]
