"""invalid-labels: labels that the loss function does not allow

What happens
    Classes are counted from 0, so labels from 1 to 10 are too high by one for ten outputs, and a label of -1 for
    "unknown" is not a class. On a CPU the loss raises an error, on an accelerator the process dies or learns from
    memory that is not its own. Binary losses take targets from 0 to 1, margin losses 1 or -1: with others the loss
    falls without bound or stops half way. Where every label is the one to be ignored, a mean over nothing is NaN.
    Where the token that ends a sequence has the value that is ignored, as padding has, no label says that a sequence
    ends: a model that makes sequences never stops.

How severe it is
    Critical where the loss refuses them, high where it does not: then the model learns them.

How it is recognised
    At the first steps the targets of each loss function are compared with what it allows. `data_is_healthy` looks
    through the labels of later batches, too, and takes a step with the first that do not fit. The re-run leaves out the
    samples that do not fit. An end that is ignored shows where targets are the next tokens, rows are filled up with the
    value that `ignore_index` names, and your code calls that number the end (`EOS`, `eos_token_id`).

How to fix it
    Map the labels where the data is made, or give the model an output for each class. Labels that mean "unknown" get
    the value that the loss ignores (-100).

What not to do
    Clamp the labels: that teaches the wrong class.

How to prevent it
    Map labels in one place, assert their range there (`0 <= y < classes`), and keep `data_is_healthy` on the data.

When this is wrong
    Where a label outside the range means something to code of your own, take it out before the loss sees it.
"""

from __future__ import annotations

from .. import wording
from ..analysis import data_faults, loss_calls
from ..records.errors import BadIndex
from ..records.intervention import Cure
from ..records.losses import LossCall
from ..records.numbers import Crash
from ..records.probes import UntaughtEnd
from ..records.survey import SurveyRecord
from ..records.symptoms import CRASH, EXPLOSION, FAULTY_DATA, INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import LOSS

GROUP = LOSS
ORDER = 1
_ONE_HOT = "one_hot"
EXPLAINS = (CRASH, SILENT, EXPLOSION, NOT_LEARNING, PLATEAU, INSTABILITY, FAULTY_DATA)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == SILENT and trace.probe is not None and trace.probe.untaught_ends:
        return _never_ends(trace.probe.untaught_ends[0])
    if symptom.category == FAULTY_DATA:
        return None if trace.data.survey is None else _in_the_data(trace.data.survey)
    crash = trace.crash if symptom.category == CRASH else None
    found = None if crash is None else crash.seen.bad_index
    if crash is not None and found is not None and crash.seen.call is not None and crash.seen.call.function == _ONE_HOT:
        return _one_hot(crash, found)
    call = next((c for c in trace.loss.calls if c.invalid and c.classes != 1), None)
    if call is None:
        return _too_long(trace) or _all_ignored(trace)
    # on its own an error says nothing of calls that went through
    if symptom.category == CRASH and not call.error:
        return None
    low, high = wording.short(call.target.low), wording.short(call.target.high)
    allowed, fix = _allowed(call.function, call.classes, call.target.low, call.target.high)
    return Suspicion(
        statement=f"labels are {low} to {high}, but {call.function} takes {allowed}",
        evidence=(
            Evidence(
                f"{wording.count(call.invalid)} of {wording.plural(_size(call), 'label')} of {call.function} "
                f"{wording.is_or_are(call.invalid)} not allowed, at step {call.step}{_first(found)}",
                float(call.invalid),
                call.place,
            ),
            Evidence(f"they lie between {low} and {high}; it takes {allowed}"),
        ),
        why="each of them names a class that does not exist" if call.classes else "such a target has no best answer",
        places=loss_calls.places(call.place),
        fix=fix,
        not_this="clamping them: that teaches the wrong class",
        cures=(Cure("drop_bad_labels", "without these labels"),),
    )


def _never_ends(end: UntaughtEnd) -> Suspicion:
    return Suspicion(
        statement=f"{end.name} is {end.value}, which {end.function} ignores: no label says that a sequence ends",
        evidence=(
            Evidence(
                f"{end.rows} sequences of {end.tokens} are filled up with {end.value}, and {end.function} has "
                f"ignore_index={end.value}",
                float(end.rows),
                end.place,
            ),
            Evidence(f"the targets are the next tokens of {end.tokens}, and {end.model} has an output for {end.value}"),
        ),
        why="the end of a sequence and its padding are one token, and padding is left out of the loss",
        places=loss_calls.places(end.place),
        fix=Fix(
            "give padding a number of its own, or -100 in the labels, and let the end count:",
            ("labels[torch.arange(len(labels)), lengths] = EOS", "labels[positions > lengths[:, None]] = -100"),
        ),
        not_this="a limit to the length of what is made: it hides that the model never stops",
    )


def _first(found: BadIndex | None) -> str:
    """Where the error came from such a label: which it is, and where."""
    if found is None or found.sample is None:
        return ""
    return f": {found.value} in sample {found.sample}{f' of {found.name}' if found.name else ''} is the first"


def _one_hot(crash: Crash, found: BadIndex) -> Suspicion:
    """It takes the place of a loss: what it makes of the labels is compared with the outputs."""
    return Suspicion(
        statement=f"labels are {found.low} to {found.high}, but one_hot takes 0 to {found.rows - 1}",
        evidence=(
            Evidence(
                f"{wording.count(found.count)} of {wording.plural(found.total, 'label')} of one_hot "
                f"{wording.is_or_are(found.count)} not allowed, at step {crash.step}{_first(found)}",
                float(found.count),
                crash.place,
            ),
        ),
        why="each of them names a class that does not exist",
        places=loss_calls.places(crash.place),
        fix=Fix(f"make as many columns as there are classes ({found.high + 1}), or map labels")
        if found.low >= 0
        else Fix("leave out what has no class before the labels are spread out"),
        not_this="clamping them: that teaches the wrong class",
    )


def _size(call: LossCall) -> int:
    size = 1
    for n in call.target.shape:
        size *= n
    return size


def _in_the_data(survey: SurveyRecord) -> Suspicion | None:
    found = data_faults.harmful_labels(survey)
    if found is None:
        return None
    low, high = wording.short(found.low), wording.short(found.high)
    of_all = min([found.low, *(label for each in survey.classes if each.name == found.name for label in each.counts)])
    allowed, fix = _allowed(found.function, found.classes, of_all, found.high)
    which = f"label {low} is" if low == high else f"labels from {low} to {high} are"
    options = {"name": found.name, "function": found.function, "classes": found.classes}
    return Suspicion(
        statement=f"{which} in batch{found.name}, but {found.function} takes {allowed}",
        evidence=(
            Evidence(
                f"{wording.plural(found.count, 'label')} of batch{found.name} {wording.is_or_are(found.count)} not "
                f"allowed, first in {found.where}",
                float(found.count),
                found.place,
            ),
            Evidence(f"a step with that batch {found.outcome or 'goes through'}"),
        ),
        why="each of them names a class that does not exist" if found.classes else "such a target has no best answer",
        places=loss_calls.places(found.place),
        fix=fix,
        not_this="clamping them: that teaches the wrong class",
        cures=(Cure("drop_labelled_samples", "without these samples", options),),
    )


def _allowed(function: str, classes: int | None, low: float, high: float) -> tuple[str, Fix]:
    if classes is not None:
        if low == 1 and high == classes:
            fix = Fix("count the classes from 0:", ("labels = labels - 1",))
        elif high >= classes:
            fix = Fix(f"give the model an output for each class ({wording.short(high + 1)}), or map labels")
        else:
            fix = Fix("mark samples without a class with the ignored value:", ("labels[labels < 0] = -100",))
        return f"0 to {classes - 1}", fix
    if function.startswith("binary"):
        return "0 to 1", Fix("bring the targets to 0 and 1 where the data is made")
    return "1 or -1", Fix("bring the targets to 1 and -1:", ("target = 2 * target - 1",))


def _too_long(trace: Trace) -> Suspicion | None:
    """There is no way to align a transcript with fewer frames than it has symbols: its likelihood is 0."""
    culprit = trace.numbers.culprit
    if culprit is None or culprit.value != "inf" or "ctc_loss" not in culprit.operation:
        return None
    if any(given.infinite for given in culprit.inputs):
        return None  # a symbol that the model gives no chance at all
    sample = "" if culprit.sample is None else f", first for sample {culprit.sample} of the batch"
    return Suspicion(
        statement="a label is longer than its input, and ctc_loss is infinite for it",
        evidence=(Evidence(f"ctc_loss is inf at step {culprit.step}{sample}", place=culprit.place),),
        why="so few frames cannot be aligned with so many symbols: its likelihood is 0",
        places=loss_calls.places(culprit.place),
        fix=Fix("leave such samples out of the data; or, where they are few:", ("nn.CTCLoss(zero_infinity=True)",)),
        not_this="nan_to_num on the loss, or clipping: the gradient is not finite either",
    )


def _all_ignored(trace: Trace) -> Suspicion | None:
    call = next((c for c in trace.loss.calls if c.ignored == 1 and c.reduction == "mean"), None)
    if call is None:
        return None
    return Suspicion(
        statement=f"{call.function} ignores every label of step {call.step}",
        evidence=(
            Evidence(
                f"all {wording.count(_size(call))} labels are {wording.short(call.target.low)}, the ignored one",
                1.0,
                call.place,
            ),
        ),
        why="a mean over no label at all is 0 / 0",
        places=loss_calls.places(call.place),
        fix=Fix("leave such batches out, or sum and divide by max(1, number of labels)"),
        not_this="clipping or a smaller learning rate",
    )
