"""ignores-input: one of the model's inputs has no influence on its output

What happens
    An argument is never used, a slice leaves out a column or a channel, a result is overwritten before it is returned,
    or a recurrent net is asked for its state after the first token. The loss still falls, as far as the other inputs
    allow.

How severe it is
    High: the model answers the same whatever it sees, and may still lower its loss.

How it is recognised
    The model is called again with another sample's values in place of one argument, one column, one channel, or all
    positions of a sequence but one; or with other values everywhere but in the padding, as where a mask is the wrong
    way round. No output changes, not even with other weights, so the wiring is at fault and not what was learnt. Or the
    inputs themselves are the same for every sample of a batch: something before the model leaves nothing of them.

How to fix it
    Follow the name through `forward()`: where is it used last, and does that reach what is returned? Look at slices,
    at variables that are assigned twice, and at dimensions that are averaged away.

What not to do
    A larger model, more steps, better features: what does not get in cannot be learnt from.

How to prevent it
    Return what was computed, not what came in; `uses_its_input` changes each input and looks at the output.

When this is wrong
    An argument that exists only for a common interface, or columns chosen on purpose. Do not pass them to the model, or
    leave this check out for that test. The last input of a masked autoregressive model reaches no output by design:
    where each output belongs to an input and depends on those before it, that is noted only.
"""

from __future__ import annotations

from .. import wording
from ..analysis.half_precision import swallows_all
from ..records.data import ScaleRecord
from ..records.probes import InputRecord
from ..records.symptoms import NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 5
CURABLE = False
EXPLAINS = (SILENT, NOT_LEARNING, PLATEAU)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category != SILENT and _nothing_but_constants(trace):
        return _the_same_for_all(next(s for s in trace.data.scales if not s.target))
    if trace.probe is None:
        return None
    if any(a.dead.get(0) == 1.0 for a in trace.numbers.activations.values()):
        return None  # what is 0 for every sample lets nothing through: that is the fault
    if swallows_all(trace):
        return None  # so is what overflows for every sample
    whole = [r for r in trace.probe.ignored if r.made_by == "user"]
    if whole and whole[0].hidden:
        return _hidden(whole[0])
    if whole:
        return _suspicion(whole[0], wording.names([r.name for r in whole]), len(whole) > 1)
    parts = [r for r in trace.probe.ignored_in_part if r.made_by == "user"]
    if trace.probe.mixing:  # samples that are read as a sequence leave one position for the sequence itself
        parts = [r for r in parts if r.unit != "position"]
    if parts:
        return _suspicion(parts[0], _listed(parts[0]), len(parts[0].ignored_parts) > 1)
    beyond = [r for r in trace.probe.inputs if r.within_the_data and r.made_by == "user"]
    alone = beyond and symptom.category != SILENT and len(beyond) == len(trace.probe.inputs)
    return _beyond_the_data(beyond[0]) if alone else None


def _nothing_but_constants(trace: Trace) -> bool:
    """Every float that the model is called with is the same for all samples of a batch."""
    given = [s for s in trace.data.scales if not s.target]
    return bool(given) and (trace.batch_size or 0) > 1 and all(s.std == 0 for s in given)


def _the_same_for_all(record: ScaleRecord) -> Suspicion:
    values = wording.short(record.low)
    if record.high != record.low:
        values = f"from {values} to {wording.short(record.high)}"
    return Suspicion(
        statement=f"{record.name} is the same for every sample: there is nothing to tell them apart by",
        evidence=(Evidence(f"{record.name} {record.shape}: no value differs between samples (all are {values})", 0.0),),
        why="something before the model leaves nothing of the data",
        fix=Fix("look at two samples after each step of the preparation; whole numbers round a scaled image down to 0"),
        not_this="a larger model or more steps: what does not get in cannot be learnt from",
    )


def _beyond_the_data(record: InputRecord) -> Suspicion:
    """A threshold that no sample reaches may be meant; where nothing is learnt, and there is no other input, not."""
    return Suspicion(
        statement=f"no value of {record.name} in the data changes the output of {record.model}",
        evidence=(
            Evidence(
                f"{record.name} {record.shape}: with another sample's values every output stays exactly the same, with "
                "other weights too; values far outside of the data's range change it",
                0.0,
                record.place,
            ),
        ),
        why="all samples fall on the same side of a threshold, or into the same bucket",
        places=(record.place,) if record.place is not None else (),
        fix=Fix(
            f"scale {record.name} before it is rounded or compared, and look at the result for two samples:",
            ("index = (x * buckets).long()",),
        ),
        not_this="a larger model or more steps: what does not get in cannot be learnt from",
    )


def _hidden(record: InputRecord) -> Suspicion:
    return Suspicion(
        statement=f"{record.model} reads only the padding of {record.name}",
        evidence=(
            Evidence(
                f"{record.name} {record.shape}: with other values everywhere but in the padding, every output stays "
                "exactly the same, with other weights too",
                0.0,
                record.place,
            ),
        ),
        why="a mask hides what is real, and lets the padding through",
        places=(record.place,) if record.place is not None else (),
        fix=Fix("turn the mask round; torch's key_padding_mask is True where there is padding:", ("mask = ~mask",)),
        not_this="a larger model or more steps: what does not get in cannot be learnt from",
    )


def _suspicion(record: InputRecord, what: str, several: bool) -> Suspicion:
    have = "have" if several else "has"
    return Suspicion(
        statement=f"{what} {have} no influence on the output of {record.model}",
        evidence=(
            Evidence(
                f"{record.name} {record.shape}: with another sample's values for {what}, every output stays exactly "
                "the same, with other weights too",
                0.0,
                record.place,
            ),
        ),
        why=f"nothing that {record.model} returns depends on {what}",
        places=(record.place,) if record.place is not None else (),
        fix=_fix(record, what),
        not_this="a larger model or more steps: what does not get in cannot be learnt from",
    )


def _fix(record: InputRecord, what: str) -> Fix:
    if record.unit == "position" and not record.ignored:
        return Fix(
            "pool over the positions, or take the one that has seen all others; in a loop, keep each result",
            ("last = hidden[:, -1]",),
        )
    return Fix(f"use {what} in computing what forward() returns, or do not pass it to {record.model}")


def _listed(record: InputRecord) -> str:
    """'column 3 of x', 'columns 4 to 7 of x'."""
    parts = list(record.ignored_parts)
    if len(parts) == 1:
        return f"{record.unit} {parts[0]} of {record.name}"
    if len(parts) > 2 and parts == list(range(parts[0], parts[-1] + 1)):
        return f"{record.unit}s {parts[0]} to {parts[-1]} of {record.name}"
    return f"{record.unit}s {wording.names([str(p) for p in parts], most=6)} of {record.name}"
