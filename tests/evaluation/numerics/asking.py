"""One numerically faulty program, and what `trains_without_nan` says about it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine

from ..corpus.faults import Fault, faults
from ..scoreboard.diagnosing import quiet

GUILTY = "# guilty"


def numeric() -> dict[str, Fault]:
    """The faults in the files about numbers, and others for which one operation is to blame."""
    return {n: f for n, f in faults().items() if f.operation or f.make.__module__.endswith("__numbers")}


@dataclass(frozen=True)
class Answer:
    name: str
    cause: str
    operation: str
    found: bool
    named: str
    #: None if no single operation is to blame.
    right_operation: bool | None
    right_line: bool | None
    right_cause: bool
    seconds: float


def check_program(job: tuple[str, int]) -> Answer:
    name, seed = job
    fault = numeric()[name]
    began = time.perf_counter()
    with quiet():
        verdict = examine(fault.broken, Request("trains_without_nan", name, seed, {}))
    seconds = time.perf_counter() - began
    first = verdict.findings[0] if verdict.findings else None
    statements = [f.statement for f in verdict.findings[:1]]
    places = [] if first is None else first.places
    return Answer(
        name,
        fault.cause,
        fault.operation,
        verdict.failed,
        "" if first is None else f"{first.cause} ({first.certainty})",
        any(statement.startswith(fault.operation) for statement in statements) if fault.operation else None,
        any(GUILTY in place.code for place in places) if fault.operation else None,
        first is not None and first.cause in (fault.cause, *fault.also),
        round(seconds, 2),
    )
