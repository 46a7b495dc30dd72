"""is_reproducible: two runs with the same seeds are the same, bit by bit

What it does
    Takes 10 steps, and the same once more from a fresh build with the same seeds, as on another day and in another
    process: the clock shows another time, Python's hash of text has another salt, and threads of a pool are done in
    another order. Batches, losses, random numbers
    drawn, and all parameters and buffers at the end are compared bit by bit, with your own number of threads.

When it fails
    The two runs part, and with one thing held still they do not: the clock, the system's random numbers, Python's
    hash, the batches, torch's kernels, the number of threads, or the order in which those of a pool are done.

What is not an alarm
    A generator that a module makes when it is imported (`rng = random.Random(3)`): from process to process it draws the
    same. That a second training in one process goes on where the first has ended is a note of a test that passes.
    Runs that part for a reason that no re-run shows are not judged: there may be state that cannot be put back inside
    of one process. A time that is only printed or logged changes nothing. The order of a set of texts, which differs
    from process to process, is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis.run_failures import broke_down
from ..analysis.same_runs import Difference, first_difference
from ..records.intervention import Cure
from ..records.judgement import (
    NO_CONTROLS,
    CouldNotJudge,
    FailedRun,
    FailIfConfirmed,
    Judgement,
    NeedsControl,
    Passed,
)
from ..records.symptoms import UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Symptom

SIGNALS = ("fingerprints",)
ONE_BATCH = False
BLAMES_RATES = False
COMPARES_RUNS = True
#: The run, and the same once more: 2.
RUNS = 2
#: By judgement: what no seed decides shows at the first step that uses it; 10 of them see several batches.
STEPS = 10

AGAIN = Cure("once_more", "once more")
SECOND = Cure("once_more", "once more in the same process", {"same_process": True})


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    if trace.cut_short or not trace.steps:
        return CouldNotJudge(trace.cut_short or "no step was taken")
    again = controls.get(AGAIN.label)
    if again is None:
        return NeedsControl(AGAIN)
    if again.cut_short:
        return CouldNotJudge(again.cut_short)
    if again.crash is not None:
        return CouldNotJudge(
            f"made once more, step {again.crash.step} raises {again.crash.kind}: {again.crash.message}"
        )
    found = first_difference(trace, again)
    if found is None:
        return _the_same(trace, again, controls)
    symptom = Symptom(_summary(found), UNEQUAL, found.measured, 0.0, "high", _headline(found))
    reason = f"{symptom.summary}, and no source of randomness that was held still explains it"
    return FailIfConfirmed(symptom, CouldNotJudge(reason))


def _the_same(trace: Trace, again: Trace, controls: Mapping[str, Trace]) -> Judgement:
    """A generator that a module makes when it is imported may have a seed: in a process of its own it is the same."""
    figures = {"same_steps": float(trace.steps)}
    if not again.state.drawn_from:
        return Passed(figures=figures)
    second = controls.get(SECOND.label)
    if second is None:
        return NeedsControl(SECOND)
    judged = not second.cut_short and second.crash is None
    apart = first_difference(trace, second) if judged else None
    if apart is None:
        return Passed(figures=figures)
    names, one = wording.names(again.state.drawn_from), len(again.state.drawn_from) == 1
    where = "begins elsewhere" if apart.what == "start" else f"parts from the first at step {apart.step}"
    return Passed(
        (
            f"{names} {'is' if one else 'are'} made when a module is imported, and not seeded when the training is "
            f"built: a second training in the same process {where}",
        ),
        figures,
    )


def _summary(found: Difference) -> str:
    if found.what == "start":
        return f"built twice with the same seeds, {found.words} (expected the same values)"
    if found.what == "length":
        return f"two runs with the same seeds take {found.words} (expected the same number)"
    if found.what == "values":
        return f"two runs with the same seeds end with other values of {found.words} (expected the same bits)"
    return f"two runs with the same seeds part at step {found.step}: {found.words} (expected the same bits)"


def _headline(found: Difference) -> str:
    if found.what == "start":
        return "a second build starts elsewhere"
    return f"two runs with the same seeds part at step {found.step}"


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    return f"{wording.plural(trace.steps, 'step')}, twice"
