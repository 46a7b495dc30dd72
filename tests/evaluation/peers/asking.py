"""Runs one tool on one case, in a worker process."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ..scoreboard.cases import factory
from ..scoreboard.diagnosing import quiet
from ..scoreboard.results import in_short
from .subject import CannotTake

TOOLS = ("with_torchtest2", "with_pytest_torch", "with_torch_audit", "with_torchmortem")

#: Tool, case, seed.
Job = tuple[str, str, int]


def tool(name: str) -> ModuleType:
    return import_module(f".{name}", __package__)


def run_tool(job: Job) -> dict[str, object]:
    """The `alarms` as (what, sure), or why the tool cannot take the program, or what the tool or the program raised."""
    name, case, seed = job
    answer: dict[str, object] = {"tool": name, "case": case}
    try:
        with quiet():
            alarms = tool(name).ask(factory(case), seed)
        answer["alarms"] = [(alarm.what, alarm.sure) for alarm in alarms]
    except CannotTake as why:
        answer["cannot"] = str(why)
    except Exception as error:
        answer["error"] = in_short(error)
    return answer
