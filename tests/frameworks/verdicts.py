"""What was said of a program, short enough to be compared."""

from __future__ import annotations

from collections.abc import Callable

from pytest_trainhealth import diagnose
from pytest_trainhealth.training import Training


def alarms(program: Callable[[], object] | Training) -> list[str]:
    """Of the whole battery: the checks that did not pass, and why. Empty if it is healthy."""
    report = diagnose(program)
    return [
        f"{verdict.check}: {verdict.reason or verdict.symptom}" for verdict in report.verdicts if not verdict.passed
    ]


def said(program: Callable[[], object], check: str) -> str:
    """The first cause that one check names, and how certain it is."""
    verdict = diagnose(program, checks=[check]).verdicts[0]
    if not verdict.failed:
        return f"{verdict.outcome} {verdict.reason}".strip()
    return f"{verdict.findings[0].cause} {verdict.findings[0].certainty}" if verdict.findings else "no cause"
