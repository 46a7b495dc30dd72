"""For `pytest --trainhealth` in a project where no test asks for a check: what to write, in five lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .first_test import FLAG, module_name
from .project_sources import look_through

#: Names of a kind. By judgement: a line that is read.
_MOST = 3


def what_to_write(root: Path) -> Iterator[str]:
    """From the models and loops that can be seen, so that it can be pasted."""
    found = look_through(root)
    loops = [loop for loop in found.loops if not loop.needs and not loop.is_script]
    seen = [str(each) for each in (*found.models, *found.loops)]
    yield "no test asks for a check: give one a marker" + (f". Seen here: {_listed(seen)}" if seen else "")
    if loops:
        loop, arguments = loops[0], f"{loops[0].how_long[0]}=1" if loops[0].how_long else ""
        yield "  @pytest.mark.trainhealth"
        yield f"  def test_{loop.name}():  # from {module_name(loop.file)} import {loop.name}"
        yield f"      {loop.name}({arguments})  # whatever it trains is watched"
    else:
        model = next((model for model in found.models if not model.lightning), None)
        made = "MyModel()" if model is None else f"{model.name}({', '.join(f'{n}=...' for n in model.needs)})"
        yield "  @pytest.mark.trainhealth"
        yield f"  def test_training(model={made}):  # from pytest_trainhealth import Training"
        yield "      return Training(model, optimizer=..., criterion=..., data=...)"
    yield f"or let pytest {FLAG} write a first test file"


def _listed(seen: list[str]) -> str:
    more = f" and {len(seen) - _MOST} more" if len(seen) > _MOST else ""
    return ", ".join(seen[:_MOST]) + more
