"""matches_baseline: the first steps follow a healthy run that was recorded

What it does
    Takes 10 steps and compares them with a file that was recorded once and is reviewed like a snapshot: where each
    parameter starts, the batches, losses, gradients, learning rates and updates, and how many steps one batch takes to
    be memorised. `--trainhealth-update-baseline` writes the file, to `trainhealth_baselines/` beside the test. How far
    a figure may be from the recorded one was measured then: with 8 seeds, with two threads, and with starting values
    that are one rounding error away.

When it fails
    A figure leaves what was recorded, and does so twice. The first step and the first layer are named, in the order of
    the work: start, batch, loss, gradient, learning rate, update. So is what changed, as far as figures show it:
    another architecture, initialisation, order of the data, scale of the loss, rate, optimizer.

What is not an alarm
    Renamed modules, layers that are defined in another order, a Sequential that became a class: layers are matched in
    the order of the forward pass, and a start with other random numbers is compared with what other seeds have come to.
    Figures that differ with another version of torch, type of number, device, number of threads or hardware are not
    judged, and neither is a test without a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis.changed_recipe import Scale, changed_optimizers, optimizers_in_words, scale
from ..analysis.departures import Departure, Followed, followed
from ..analysis.run_failures import broke_down
from ..analysis.seed_spread import may_be_chance
from ..records.baseline import Baseline, FirstSteps, KeptBaseline
from ..records.intervention import Cure
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, Judgement, NeedsControl, Passed
from ..records.symptoms import OFF_RECORD
from ..records.trace import Trace
from ..records.verdict import Symptom

SIGNALS = ("first_steps",)
ONE_BATCH = False
BLAMES_RATES = False
KEEPS_BASELINE = True
#: The run, and the same once more: 2.
RUNS = 2
#: By judgement: whatever is changed about a training shows in its first update or two; 10 steps see several batches and
#: the beginning of a schedule, and fill a file that is read at a glance.
STEPS = 10
FOLLOW_UP = "memorising"

AGAIN = Cure("once_more", "once more")
#: Of the distance from what was recorded: how far two runs may be apart. By judgement: a tenth, so that nine parts of
#: the difference are not the training's own noise.
_AGAIN = 0.1
#: What no machine, version or type of number explains.
_WHATEVER_IT_RUNS_ON = ("architecture", "rate")


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    kept: KeptBaseline | None = settings.get("kept_baseline")
    if kept is None or kept.baseline is None:
        return CouldNotJudge("there is nothing to compare with" if kept is None else kept.why_not)
    now = trace.state.first_steps
    if trace.cut_short or now is None or not now.layers:
        return CouldNotJudge(trace.cut_short or "no step was taken")
    compared = followed(kept.baseline, now, _losses(trace, kept.baseline))
    found = compared.departure
    if found is None:
        return Passed(_notes_of_a_pass(compared), {"same_steps": float(len(kept.baseline.steps))})
    doubt = _doubt(found, kept, now)
    if doubt is not None:
        return doubt
    again = controls.get(AGAIN.label)
    if again is None:
        return NeedsControl(AGAIN)
    if not _shown_again(found, kept.baseline, again):
        return CouldNotJudge(
            "two runs with the same seeds differ, so that none can follow a third: see is_reproducible"
        )
    return _symptom(found, trace, kept.baseline, compared)


def _losses(trace: Trace, baseline: Baseline) -> list[float]:
    """A watched test goes on for as long as it likes."""
    return trace.losses[: len(baseline.steps)]


def _doubt(found: Departure, kept: KeptBaseline, now: FirstSteps) -> CouldNotJudge | None:
    assert kept.baseline is not None
    others = kept.baseline.surroundings.others(now.surroundings)
    if others and found.what not in _WHATEVER_IT_RUNS_ON:
        return CouldNotJudge(
            f"{_summary(found)}, and {wording.names(others, 5)}: the two cannot be compared. Where the training is as "
            f"it should be, record it here: {kept.command}"
        )
    if found.unknown:
        return CouldNotJudge(
            f"{_summary(found)}: whether only other random numbers were drawn cannot be told, because {kept.file} was "
            "recorded without other seeds. Hand in a function that builds the training"
        )
    return None


def _shown_again(found: Departure, baseline: Baseline, again: Trace) -> bool:
    """The same departure, once more; not bit by bit, as kernels of a graphics card may add in another order."""
    now = again.state.first_steps
    if now is None or again.cut_short or again.crash is not None or broke_down(again) is not None:
        return False
    other = followed(baseline, now, _losses(again, baseline)).departure
    if other is None or (other.what, other.step, other.layer) != (found.what, found.step, found.layer):
        return False
    return abs(other.measured - found.measured) <= _AGAIN * abs(found.measured - found.recorded)


def _symptom(found: Departure, trace: Trace, baseline: Baseline, compared: Followed) -> Symptom:
    scaled = _scaled(found, trace, baseline, compared)
    headline = _headline(found)
    if scaled is not None and scaled.of_both:
        headline = scaled.in_words(None).partition(",")[0]
    return Symptom(_summary(found), OFF_RECORD, found.measured, found.recorded, "high", headline)


def _scaled(found: Departure, trace: Trace, baseline: Baseline, compared: Followed) -> Scale | None:
    if found.what not in ("loss", "gradient") or found.step:
        return None
    return scale(baseline, trace.losses, compared)


def _summary(found: Departure) -> str:
    words = {
        "architecture": f"the architecture has changed: {found.words}",
        "start": f"initialisation: {found.layer} starts with norm {found.words}",
        "batch": f"the batch of step {found.step}: {found.words}",
        "loss": f"loss of step {found.step}: {found.words}",
        "gradient": f"gradient of {found.layer or 'all parameters'} at step {found.step}: norm {found.words}",
        "rate": f"{found.words}, at step {found.step}",
        "update": f"first update of {found.layer}: norm {found.words}",
        "length": f"the run has {found.words}",
    }
    if found.words.startswith(found.layer or " "):  # a gradient that is there or not has no norm to tell
        return f"{found.what} at step {found.step}: {found.words}"
    return words[found.what]


def _headline(found: Departure) -> str:
    return {
        "architecture": "the architecture is another one than recorded",
        "start": f"{found.layer} starts elsewhere than recorded",
        "batch": "the data come in another order than recorded"
        if "another order" in found.words
        else f"the batch of step {found.step} is not the recorded one",
        "loss": f"the loss leaves the recorded run at step {found.step}",
        "gradient": f"the gradient of {found.layer or 'all parameters'} leaves the recorded run at step {found.step}",
        "rate": found.words,
        "update": f"the first update of {found.layer} is not the recorded one",
        "length": "the run has another length than recorded",
    }[found.what]


#: What is compared before each of these, and was as recorded.
_BEFORE = {
    "batch": "every parameter starts as recorded",
    "loss": "start and batch are as recorded",
    "gradient": "start, batch and loss are as recorded",
    "rate": "start, batch, loss and gradients are as recorded",
    "update": "start, batch, loss, gradients and learning rate are as recorded",
}


def remarks(trace: Trace, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What a failure says besides: what was still the same, what changed about the recipe, and what to do."""
    kept: KeptBaseline | None = settings.get("kept_baseline")
    now = trace.state.first_steps
    if kept is None or kept.baseline is None or now is None or not now.layers:
        return ()
    baseline = kept.baseline
    compared = followed(baseline, now, _losses(trace, baseline))
    found = compared.departure
    notes: list[str] = []
    if found is not None:
        if found.what in _BEFORE and compared.same_start:
            until = f" until step {found.step}" if found.step else ""
            notes.append(f"{_BEFORE[found.what]}{until}")
        scaled = _scaled(found, trace, baseline, compared)
        notes += [] if scaled is None else filter(None, [scaled.in_words(trace.batch_size)])
        if found.what not in ("architecture", "start"):
            known = "lr " if found.what == "rate" else " "
            notes += changed_optimizers(baseline, optimizers_in_words(trace.wiring.optimizers), but=known)
        notes += _others_that_start_elsewhere(found, compared, baseline)
    notes += _renamed(compared)
    return (*notes, f"recorded in {kept.file}; if the change is meant: {kept.command}")


def _others_that_start_elsewhere(found: Departure, compared: Followed, baseline: Baseline) -> list[str]:
    if found.what != "start":
        return []
    others = [
        new.name
        for old, new in compared.pairing.pairs
        if old.start is not None and new.start is not None and new.name != found.layer
        and not may_be_chance(old.start, new.start, baseline.seeds, computed=False)
    ]  # fmt: skip
    return [f"so {'do' if len(others) > 1 else 'does'} {wording.names(others, 4)}"] if others else []


def _renamed(compared: Followed) -> list[str]:
    pairs = [f"{new} was {old}" for old, new in compared.pairing.renamed]
    return [f"matched in the order of the forward pass: {wording.names(pairs, 2)}"] if pairs else []


def _notes_of_a_pass(compared: Followed) -> tuple[str, ...]:
    notes = _renamed(compared)
    if compared.other_draws_from is not None:
        since = "starts with" if not compared.same_start else f"draws, from step {compared.other_draws_from} on,"
        notes.append(f"it {since} other random numbers than recorded, and stays within what other seeds came to")
    return tuple(notes)


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    return wording.plural(trace.steps, "step")
