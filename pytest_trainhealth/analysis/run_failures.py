"""What ends any run, whatever a check looks for: a loss that reaches no parameter, one that is not finite, an error."""

from __future__ import annotations

import math

from .. import wording
from ..records.numbers import Crash, NonFinite
from ..records.symptoms import CRASH, EXPLOSION, NOT_LEARNING
from ..records.trace import Trace
from ..records.verdict import Symptom

#: Letters of a message, after which the first sentence that ends is enough. By judgement: a line of a chart.
_AT_LEAST = 60
#: Where a loss would have to be judged that nobody saw.
UNSEEN_LOSS = "no loss was seen: neither backward() nor torch.autograd.grad() was called on one"

#: Where a loss would have to be judged on data that are the same each time.
NO_DATA = "there are no data (data=None): what the step learns from changes with what it does, and its loss with it"


def broke_down(trace: Trace, steps: int | None = None) -> Symptom | None:
    """None where the run came to its end. `steps`: how many it was meant to take, for a check that is about them."""
    if not trace.loss_connected:
        return _not_connected()
    return None if trace.finite else _exploded(trace, steps)


def _not_connected() -> Symptom:
    return Symptom(
        "backward() finds nothing to do: the loss depends on no trainable parameter",
        NOT_LEARNING,
        0.0,
        1.0,
        "high",
        "the loss depends on no trainable parameter",
    )


def _exploded(trace: Trace, steps: int | None) -> Symptom:
    found = trace.nonfinite or NonFinite(len(trace.losses) - 1, "the loss", "nan")
    planned = f" of {wording.count(steps)}" if steps is not None and found.step < steps else ""
    return not_finite(found, f"{planned}{_course(trace, found)}")


def _course(trace: Trace, found: NonFinite) -> str:
    """What the loss did until then: whether it fell, grew or stood still says much about the cause."""
    finite = [loss for loss in trace.losses if math.isfinite(loss)]
    if not found.step or not finite:
        return ""
    if len(finite) < 2:
        return f" (from {wording.loss(finite[0])})"
    return f" ({wording.change(finite[0], finite[-1])} until then)"


def not_finite(found: NonFinite, course: str = "") -> Symptom:
    summary = f"{found.where} is {found.value} at step {found.step}"
    return Symptom(f"{summary}{course}", EXPLOSION, float(found.value), 0.0, "critical", summary)


def crashed(crash: Crash) -> Symptom:
    raised = _raised(crash)
    return Symptom(
        f"{raised}{_words(crash)}", CRASH, float(crash.step), 0.0, "critical", raised, places=crash.seen.lines
    )


def noticed_by_an_error(found: NonFinite, crash: Crash) -> Symptom:
    """A value that is not finite, where the loss never got to be: a check of torch's or of the user's came first."""
    summary = f"{found.where} is {found.value} at step {found.step}"
    whole = f"{summary}; {_raised(crash)}{_words(crash)}"
    return Symptom(whole, EXPLOSION, float(found.value), 0.0, "critical", summary, places=crash.seen.lines)


def _raised(crash: Crash) -> str:
    where = f"reading a batch at step {crash.step}" if crash.seen.reading_data else f"step {crash.step}"
    return f"{where} raises {crash.kind}"


def _words(crash: Crash) -> str:
    message = f": {in_short(crash.message)}" if crash.message else ""
    if not crash.origin_kind:
        return message
    return f"{message} (from {crash.origin_kind}: {in_short(crash.origin_message)})"


def in_short(message: str) -> str:
    """What went wrong, without the advice that torch adds to it."""
    end = message.find(". ", _AT_LEAST)
    return message if end < 0 else message[:end]
