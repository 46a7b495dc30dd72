"""What stands out in a slow step: one call, loop or line of the user's own that takes most of the time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .. import wording
from ..records.speed import CallRecord, LineRecord
from ..records.trace import Trace
from ..records.verdict import Place

#: Of the time that the watched steps take, forward pass only: with its backward pass it is the larger part. By
#: judgement: a backward pass takes about twice the forward one.
_OF_A_STEP = 0.4
#: Of the forward pass; in a step that is mostly something else it does not matter. By judgement: clearly more than all
#: others together.
_OF_THE_FORWARD_PASS = 0.6
#: Fewer rounds than this are hardly worth joining. By judgement: 8 rounds of a Python loop.
_ROUNDS = 8
#: A line that calls modules may be a whole model; it is one operation where one function that is called once or twice
#: takes most of what its functions take. By judgement.
_ONE_FUNCTION, _ONCE_OR_TWICE = 0.6, 2
#: These run the whole backward pass; they are not a line of their own.
_WHOLE_PHASES = {"run_backward"}


@dataclass(frozen=True)
class Hotspot:
    """`text` goes before 'takes 45 % of a step'."""

    text: str
    share: float
    of: str
    place: Place
    evidence: str
    #: Its earlier result can be used again.
    can_be_remembered: bool = False
    is_loop: bool = False


def dominant_call(trace: Trace) -> CallRecord | None:
    """The one function of one line that takes most of a step, if there is one."""
    calls = [c for c in trace.speed.calls if c.place is not None and c.name not in _WHOLE_PHASES]
    return next((call for call in calls if call.share >= _OF_A_STEP), None)


def describe_operators(operators: Iterable[tuple[str, float]]) -> str:
    """'aten::mm 40 %, aten::add 12 %'."""
    return ", ".join(f"{name} {wording.share(part)}" for name, part in operators)


def hotspot(trace: Trace) -> Hotspot | None:
    call = dominant_call(trace)
    if call is not None and call.place is not None:
        named, often = f"{call.name}()", _often(call.calls)
        return Hotspot(named, call.share, "a step", call.place, f"{named} is called {often}", call.torch)
    line, loop = trace.speed.line, trace.speed.loop
    if loop is not None and loop.share >= _OF_THE_FORWARD_PASS and loop.rounds >= _ROUNDS:
        text = f"a loop of {loop.rounds:,} rounds"
        evidence = f"the lines of the loop, {loop.rounds:,} rounds in a step"
        return Hotspot(text, loop.share, "the forward pass", loop.place, evidence, is_loop=True)
    if line is not None and line.share >= _OF_THE_FORWARD_PASS and _is_one_operation(trace, line):
        evidence = f"the line is run {_often(line.rounds)} in a step"
        return Hotspot("one line", line.share, "the forward pass", line.place, evidence, can_be_remembered=True)
    return None


def _is_one_operation(trace: Trace, line: LineRecord) -> bool:
    if not line.modules:
        return True
    inside = sorted((c for c in trace.speed.calls if c.place == line.place), key=lambda call: -call.seconds)
    taken = sum(call.seconds for call in inside)
    return bool(inside) and inside[0].calls <= _ONCE_OR_TWICE and inside[0].seconds >= _ONE_FUNCTION * taken


def _often(count: int) -> str:
    return "once" if count <= 1 else f"{count:,} times"
