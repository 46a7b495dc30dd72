"""What ends any run, whatever a check looks for: a loss that reaches no parameter, and one that is not finite."""

from __future__ import annotations

from .. import wording
from ..records.numbers import Crash, NonFinite
from ..records.symptoms import CRASH, EXPLOSION, NOT_LEARNING
from ..records.trace import Trace
from ..records.verdict import Symptom


def broke_down(trace: Trace) -> Symptom | None:
    """None where the run came to its end."""
    if not trace.loss_connected:
        return _not_connected()
    return None if trace.finite else _exploded(trace)


def _not_connected() -> Symptom:
    return Symptom(
        "backward() finds nothing to do: the loss depends on no trainable parameter",
        NOT_LEARNING,
        0.0,
        1.0,
        "high",
        "the loss depends on no trainable parameter",
    )


def _exploded(trace: Trace) -> Symptom:
    found = trace.nonfinite or NonFinite(len(trace.losses) - 1, "the loss", "nan")
    course = f" (from {wording.loss(trace.losses[0])})" if found.step and trace.losses else ""
    return not_finite(found, course)


def not_finite(found: NonFinite, course: str = "") -> Symptom:
    summary = f"{found.where} is {found.value} at step {found.step}"
    return Symptom(f"{summary}{course}", EXPLOSION, float(found.value), 0.0, "critical", summary)


def crashed(crash: Crash) -> Symptom:
    raised = f"step {crash.step} raises {crash.kind}"
    return Symptom(f"{raised}: {crash.message}", CRASH, float(crash.step), 0.0, "critical", raised)
