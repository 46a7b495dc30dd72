"""Names explain themselves: the ones that readers could not understand were replaced, and must not come back.

A new name that reads like a riddle is not found here; this only keeps the old ones from returning.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_trainhealth

PACKAGE = Path(pytest_trainhealth.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Names of modules. Many are good names for locals (`chosen`, `cores`, `lines`), but do not say what a module does.
_MODULES = """
against aiming asked batch_inputs batches_of breakdown calling casebook child chosen clock collecting
comparing complaints concluding cores curve deciding differing divergence draws errand facts failure figures folders
gathering given given_inputs graphs guessing handed_out hunting imitations in_pytest in_step judged judging keeping
leaking leftovers lines long_run loop loops measuring memory_in_use memory_of misgiven mixing named_training
objective odd_sample opponents orders origin outputs pace pairings precision rates recording remembered_result
repeating replay_run replaying rewards running scaling schedule searching sending serving side silent split spoilt
stale standing_out starting stored surroundings talking telling ties trials undisturbed unharmed unregistered visits
watching workers
"""
#: Names of anything else, with or without underscores around them. `SPEED` and `DATA` once were names of checks, too,
#: but are now a cost of signals and a group of causes.
_NAMES = """
Errand errand sent_on misgiven standing_out
Casebook casebook Known Doubtful Sick UNCURED Trials smallest_that_heals
verdict_on second_look RIVALS beside_rivals
Stressed stressed Asked Keeper
Gathered Examined Chosen send_along standing_in
Side Caller Answerer strangers
MadeAt noting_places BOUNDARIES Unharmed HandedOut
Given Imitation Alliance Draw Halves Starts Moves Visits SpoiltBatches
GuiltyOperation guilty norms_starve squeezed_to_one doubts guess StandsOut quiet_step is_about_gates
OVERFIT FLOW NAN INPUT
told said asked beside mended dearest
"""
RETIRED_MODULES, RETIRED_NAMES = frozenset(_MODULES.split()), frozenset(_NAMES.split())
#: Classes that share a name with good names of locals.
RETIRED_CLASSES = frozenset({"listener"})


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every identifier that a module defines or uses, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.arg) or (isinstance(node, ast.keyword) and node.arg is not None):
            yield node.lineno, str(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.alias) and node.asname is not None:
            yield node.lineno, node.asname


def retired(source: str) -> list[str]:
    tree = ast.parse(source)
    found = {f"{line}: {name}" for line, name in names(tree) if name.strip("_") in RETIRED_NAMES}
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    found |= {f"{node.lineno}: class {node.name}" for node in classes if node.name in RETIRED_CLASSES}
    return sorted(found)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_retired_name_comes_back(path: Path) -> None:
    assert retired(path.read_text(encoding="utf-8")) == []


def test_no_retired_module_comes_back() -> None:
    parts = {part for path in MODULES for part in path.relative_to(PACKAGE).with_suffix("").parts}
    assert sorted(part for part in parts if part.strip("_") in RETIRED_MODULES) == []


@pytest.mark.parametrize(
    "source",
    [
        "told = 1",
        "def _beside(): ...",
        "class Side: ...",
        "class listener: ...",
        "def run(asked): ...",
        "send(strangers=[])",
        "from .engine import reruns as Trials",
        "self._guilty = None",
    ],
)
def test_a_retired_name_is_found_wherever_it_stands(source: str) -> None:
    assert len(retired(source)) == 1


def test_ordinary_words_are_no_riddles() -> None:
    assert retired("listener = chosen[first].told_once; side_effect = known.given('told')") == []
