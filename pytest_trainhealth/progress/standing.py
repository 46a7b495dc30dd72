"""What a check is doing right now, and the line that says so."""

from __future__ import annotations

import json
from typing import NamedTuple

from .. import wording

#: Seconds in a minute. By judgement: from two of them on, minutes say more than seconds.
_MINUTE = 60


class Standing(NamedTuple):
    check: str
    training: str
    #: Which of its runs this is: empty for the one that is judged first.
    phase: str = ""
    #: Steps taken in this run.
    step: int = 0
    #: The most that the run takes; None where the loop is not ours to end.
    steps: int | None = None
    loss: float | None = None
    #: Since the check began.
    seconds: float = 0.0
    #: Until this run has taken all its steps, as fast as it was so far. What comes after it is not known before.
    left: float | None = None

    def to_json(self) -> str:
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> Standing:
        """Raises `ValueError` or `TypeError` for what is none, or not whole."""
        return cls(**json.loads(text))


def line(standing: Standing, width: int | None = None) -> str:
    """'gradients_flow on test_it: step 12 of at most 200, loss 1.203, 14 s, up to 9 s left'.

    Where that does not fit, whole parts go: what is left says the same in less. Plain ASCII.
    """
    name = f"{standing.check} on {standing.training}"
    step = f"step {standing.step:,}" + (f" of at most {standing.steps:,}" if standing.steps else "")
    loss = f"loss {wording.loss(standing.loss)}" if standing.loss is not None else ""
    took = duration(standing.seconds)
    left = f"up to {duration(standing.left)} left" if standing.left is not None else ""
    for head, parts in (
        (name, (standing.phase, step, loss, took, left)),
        # which run it is stays as long as it can: with each, the count begins again
        (name, (standing.phase, step, loss, took)),
        (name, (standing.phase, step, took)),
        (standing.check, (standing.phase, step, loss, took)),
        (standing.check, (standing.phase, step, took)),
        (standing.check, (step, loss, took)),
        (standing.check, (step, took)),
    ):
        text = f"{head}: {', '.join(part for part in parts if part)}"
        if width is None or len(text) <= width:
            return text
    return text[:width]


def duration(seconds: float) -> str:
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min"
