"""uses_its_input: outputs depend on the inputs, and samples do not leak into one another

What it does
    Takes a few steps, then repeats the models' calls of a step with changed inputs, in eval mode and with the same
    random numbers: another sample's values for one argument, one column, one channel or all positions but one; one
    sample replaced by another; more padding; other tokens after a position. The gradient of the loss shows what it
    counts. Model and random numbers are left as they were.

When it fails
    An argument, column or channel has no influence at all on any output, or only one position of a sequence has, or
    only its padding; a sample's output, or its gradient through a softmax over the batch, changes with other samples; a
    `view()` tears rows apart where a transpose was meant; padding that is marked by a mask or lengths changes outputs
    at real positions, is attended to, or is counted by the loss; a call edits its mask; a model that has to predict an
    element of a sequence sees it, or is trained to give the one after; a model returns its samples in another order
    than that of their targets; the token that ends a sequence is one that the loss ignores; a mask that a model needs
    is left out or given the wrong way round; dropout that nobody switches off drops parts of the input in eval mode,
    too.

What is not an alarm
    Arguments that are the same for every sample, labels and masks; parts of a batch object that a model does not
    pick; zero-initialised branches, closed gates and thresholds (other weights, later counters and values far out are
    tried as well); the last input of a masked autoregressive model; sequences with time first; losses that compare
    samples. Graphs, comparisons of all pairs, rankings, statistics appended to features and BatchNorm without running
    statistics are noted where a probe proves them. Mixing that may be meant and is not proven is not judged. What a
    model of an installed package does is noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis.run_failures import broke_down
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, Judgement, Passed
from ..records.probes import (
    InputRecord,
    LastingDropout,
    LeakRecord,
    MaskEdit,
    MixingRecord,
    PaddingRecord,
    ProbeRecord,
    ReturnedOrder,
    ScrambleRecord,
    ShiftedTwice,
    UntaughtEnd,
)
from ..records.symptoms import SILENT
from ..records.trace import Trace
from ..records.verdict import Symptom

SIGNALS = ("probes",)
ONE_BATCH = False
BLAMES_RATES = False
#: After the wiring, before anything that learns. By judgement: 1.
TURN = 1
#: The last look of the probes is at step 8 (observe/signals/probes/probes.py).
STEPS = 9


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    if trace.probe is None:
        return CouldNotJudge(trace.cut_short or "too few steps to see the model being called: 3 are needed")
    found = [s for s in _symptoms(trace.probe, "user") if s is not None]
    if found:
        return found[0]
    if trace.probe.unproven:
        return CouldNotJudge(f"samples change each other's outputs, which may be meant: {trace.probe.unproven[0]}")
    if not any(trace.probe.judged.values()):
        return CouldNotJudge(_why_not(trace.probe))
    return Passed(_notes(trace.probe), {name: float(number) for name, number in trace.probe.judged.items()})


def _symptoms(probe: ProbeRecord, maker: str) -> list[Symptom | None]:
    """Of models that the user wrote ("user"), or of all others."""

    def of(records: Any) -> Any:
        return next((r for r in records if (r.made_by == "user") == (maker == "user")), None)

    found = (
        (of(probe.mixing), _mixed),
        (of(probe.scrambles), _scrambled),
        (of(probe.mask_edits), _edited),
        (of(probe.leaks), _leaked),
        (of(probe.shifted_twice), _ahead),
        (of(probe.returned), _in_another_order),
        (of(probe.untaught_ends), _never_ends),
        (of(probe.dropouts), _drops),
        (of(probe.ignored), _ignored),
        (of(probe.ignored_in_part), _ignored_in_part),
        (of(probe.paddings), _padded),
    )
    return [say(record) for record, say in found if record is not None]


def _mixed(record: MixingRecord) -> Symptom:
    if record.carried:
        sentence = (
            f"with {record.carried} set to 0, which {record.model} keeps from the batch before, the outputs for this "
            "batch change, and batches are drawn at random (expected no change)"
        )
        return Symptom(sentence, SILENT, 1.0, 0.0, "high", "samples of the batch before change the outputs")
    if record.in_loss:
        sentence = (
            f"the gradients of {record.others} of {record.samples - 1} samples depend on the scores of sample "
            f"{record.sample}, by up to {wording.share(record.share)} of its own dependence (expected 0)"
        )
        return Symptom(sentence, SILENT, record.share, 0.0, "high", "samples change each other's loss")
    sentence = (
        f"replacing sample {record.sample} changes the outputs of {record.others} of {record.samples - 1} others, "
        f"by up to {wording.share(record.share)} of its own change (expected 0)"
    )
    return Symptom(sentence, SILENT, record.share, 0.0, "high", "samples change each other's outputs")


def _scrambled(record: ScrambleRecord) -> Symptom:
    sentence = (
        f"{record.operation}() reads {record.given} as {record.result} without moving a value: rows are torn apart "
        "(expected a transpose)"
    )
    return Symptom(sentence, SILENT, 1.0, 0.0, "high", f"{record.operation}() tears rows apart")


def _edited(record: MaskEdit) -> Symptom:
    sentence = (
        f"each call of {record.model} writes into {record.name}, which has {wording.share(record.before)} ones before "
        f"and {wording.share(record.after)} after two calls (expected the same)"
    )
    return Symptom(sentence, SILENT, record.after, record.before, "high", f"a call edits {record.name}")


def _drops(record: LastingDropout) -> Symptom:
    sentence = f"{record.written} in {record.model} drops values of the input's features in eval mode (expected none)"
    return Symptom(sentence, SILENT, 1.0, 0.0, "high", f"{record.written} drops values in eval mode")


def _leaked(record: LeakRecord) -> Symptom:
    if record.kind == "same":
        sentence = f"each target is the element of {record.name} at the same position, an input of {record.model}"
        return Symptom(sentence, SILENT, 1.0, 0.0, "high", "the target is given as input")
    sentence = (
        f"outputs up to position {record.position} of {record.length} change with later elements of {record.name}, "
        f"by {wording.share(record.share)} of the change in later outputs (expected 0)"
    )
    return Symptom(sentence, SILENT, record.share, 0.0, "high", "the model sees what it has to predict")


def _ahead(record: ShiftedTwice) -> Symptom:
    sentence = (
        f"{wording.share(record.share)} of {wording.count(record.positions)} targets are the element of "
        f"{record.tokens} after the next, and none is the next one (expected the next)"
    )
    return Symptom(sentence, SILENT, record.share, 0.0, "high", "the targets are one element too far ahead")


def _in_another_order(record: ReturnedOrder) -> Symptom:
    sentence = (
        f"{record.model} returns its samples in another order, and the loss compares {record.crossed} of "
        f"{record.samples} with the target of another sample (expected 0)"
    )
    return Symptom(sentence, SILENT, float(record.crossed), 0.0, "high", "outputs come in another order than targets")


def _never_ends(record: UntaughtEnd) -> Symptom:
    sentence = (
        f"{record.rows} sequences of {record.tokens} end with {record.name} = {record.value}, and {record.function}() "
        "ignores it: 0 labels that count say that a sequence ends (expected one for each)"
    )
    return Symptom(sentence, SILENT, 0.0, float(record.rows), "high", "the model is never taught to end a sequence")


def _ignored(record: InputRecord) -> Symptom:
    if record.hidden:
        sentence = f"other values of {record.name} where it is not padding change no output of {record.model}"
        headline = f"only the padding of {record.name} is read"
        return Symptom(f"{sentence} (expected some change)", SILENT, 0.0, 0.0, "high", headline)
    sentence = f"other samples' values for {record.name} change no output of {record.model} (expected some change)"
    return Symptom(sentence, SILENT, 0.0, 0.0, "high", f"{record.name} has no influence on the output")


def _ignored_in_part(record: InputRecord) -> Symptom:
    number = len(record.ignored_parts)
    sentence = (
        f"{number} of {wording.plural(record.parts, record.unit)} of {record.name} "
        f"{'has' if number == 1 else 'have'} no influence on any output of {record.model} (expected 0)"
    )
    headline = f"{wording.plural(number, record.unit)} of {record.name} without influence"
    return Symptom(sentence, SILENT, float(number), 0.0, "medium", headline)


def _listed(record: InputRecord) -> str:
    return f"{record.unit} {wording.names([str(part) for part in record.ignored_parts])}"


def _padded(record: PaddingRecord) -> Symptom:
    if record.in_loss:
        sentence = (
            f"{wording.count(record.counted)} of {wording.count(record.positions)} positions that the loss counts are "
            f"padding after {record.padded} (expected 0)"
        )
        return Symptom(sentence, SILENT, float(record.counted), 0.0, "high", "the loss counts padding")
    if record.misused:
        return _misused(record)
    other = f"more padding after {record.padded}" if record.longer else f"other padding after {record.padded}"
    text = "masked by" if record.known_from == "mask" else "marked by"
    sentence = (
        f"{other}, {text} {record.mask}, changes outputs at real positions by "
        f"{wording.share(record.share)} of what another sample would (expected 0)"
    )
    return Symptom(sentence, SILENT, record.share, 0.0, "high", "padding changes the output")


def _misused(record: PaddingRecord) -> Symptom:
    how = "without" if record.misused == "missing" else "with an inverted"
    if not record.share:
        sentence = f"{how} {record.mask}, no output of {record.model} follows {record.padded} at another position"
        headline = f"{record.mask} hides what is real"
        return Symptom(f"{sentence} (expected some change)", SILENT, 0.0, 0.0, "high", headline)
    sentence = (
        f"{how} {record.mask}, other padding of {record.padded} changes outputs at real positions by "
        f"{wording.share(record.share)} of what another sample would (expected 0)"
    )
    return Symptom(sentence, SILENT, record.share, 0.0, "high", "padding changes the output")


def _notes(probe: ProbeRecord) -> tuple[str, ...]:
    noted = [s.summary for s in _symptoms(probe, "package") if s is not None]
    meant = [f"samples change each other's outputs, as is meant: {why}" for why in dict.fromkeys(probe.designs)]
    last = [r for r in probe.inputs if r.ignored_parts and r.in_order]
    beyond = [r for r in probe.inputs if r.ignored_parts and r.out_of_view]
    meant += probe.states
    meant += [f"{_listed(r)} of {r.name} comes last in the order of {r.model}, and reaches no output" for r in last]
    meant += [f"{_listed(r)} of {r.name} lies beyond what the convolutions of {r.model} see" for r in beyond]
    why = f"whether samples mix was not judged: {probe.reasons[0]}" if probe.reasons else ""
    return (*noted, *meant, why) if why and not probe.judged.get("mixing") else (*noted, *meant)


def _why_not(probe: ProbeRecord) -> str:
    if not probe.seen:
        return "no call of the model was seen that could be repeated"
    reasons = "; ".join(dict.fromkeys(probe.reasons))
    return reasons or "no input has two or more different samples along its first dimension"


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    if not trace.finite:
        return "not finite"
    if trace.probe is None:
        return "not examined"
    found = [s.headline for s in _symptoms(trace.probe, "user") if s is not None]
    return found[0] if found else "outputs follow the inputs"
