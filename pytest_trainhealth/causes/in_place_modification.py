"""in-place-modification: stored values change because something writes into them

What happens
    `x = self.images[i]` is a view, not a copy: `x -= self.mean` changes the stored image, and the next epoch subtracts
    the mean again. Or a module takes its buffer, `pe = self.pe`, and adds to it in place: the buffer grows with every
    forward pass. The training sees different values each time, and drifts. Where the backward pass still needs the old
    values, or a parameter is written to outside of `torch.no_grad()`, autograd raises an error.

How severe it is
    High where values change silently, critical where autograd refuses.

How it is recognised
    What the dataset has stored changes, and the same sample, read three times with the same random numbers, differs
    each time. Or, when a training fails, a tensor kept by one of your modules is further from its start each time it is
    examined. The re-run restores the stored values. Or a loader of your own returns views of the tensors it holds, the
    step computes in them before it calls a model, and does so again when the same batch comes back; the re-run returns
    copies. Or the data are a list of batches, a step writes into one of them before its loss is computed from it, and
    when it gets the batch as it was left, it changes it again: more tokens are masked, more noise is added, the mean is
    subtracted twice. Or a call of the model writes into a mask, the next call again, and there is less left of the mask
    each time. Or autograd raises: the step is run once more, every write in place is noted with its line, and the one
    that its complaint fits is named.

How to fix it
    Compute a new tensor, `x = self.images[i] - self.mean`, or take a copy first, `x = self.images[i].clone()`.

What not to do
    More workers, each with its own dataset: the copies drift, too.

How to prevent it
    Write out of place unless a profile asks for more; never write into a batch. Any of the markers runs a second epoch
    on the same batches.

When this is wrong
    A cache that is filled once, counters, running averages, and random augmentation of copies are not reported. Neither
    are writes that come out the same each time (clamping, padding, normalising to a fixed point), what a model has
    computed (a memory), and batches of a loader, which are already copies. A list that only stands for a loader is
    taken for the data, unless it was filled from a DataLoader where the training was made.
"""

from __future__ import annotations

import os
from itertools import pairwise

from .. import wording
from ..analysis import raised
from ..records.data import DriftingBatch, KeptTensor, SampleChange
from ..records.intervention import Cure
from ..records.numbers import Crash
from ..records.probes import MaskEdit
from ..records.symptoms import CRASH, EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 14
EXPLAINS = (SILENT, NOT_LEARNING, PLATEAU, INSTABILITY, EXPLOSION, CRASH)

#: Looks at which a kept tensor is further away each time. By judgement: by chance 4 in a row are one in 16.
_LOOKS = 4


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == CRASH:
        refused = trace.crash is not None and raised.about(trace.crash) == raised.WRITTEN_OVER
        return _refused(trace.crash) if trace.crash is not None and refused else None
    if trace.data.sample_change is not None:
        return (
            _visits(trace.data.sample_change)
            if trace.data.sample_change.by_step
            else _samples(trace.data.sample_change)
        )
    if trace.data.drifting_batch is not None:
        return _batch(trace.data.drifting_batch)
    edited = [r for r in (trace.probe.mask_edits if trace.probe is not None else []) if r.made_by == "user"]
    if edited:
        return _mask(edited[0])
    drifting = [record for record in trace.data.kept_tensors.values() if _drifts(record)]
    # what moves is the training's business as long as the training is well
    return _kept(drifting) if drifting and symptom.category != SILENT else None


def _refused(crash: Crash) -> Suspicion | None:
    """Autograd raises: at the write itself, or when the backward pass finds other values than it had kept."""
    if crash.seen.writes:
        return _needed(crash)
    call = crash.seen.call
    if call is None or not call.given or crash.seen.in_backward:
        return _somewhere(crash) if crash.seen.in_backward else None
    written = call.given[0]
    what = written.name or "a tensor"
    leaf = "leaf" in crash.first_message
    return Suspicion(
        statement=f"{call.function} writes into {what}, which {'needs a gradient' if leaf else 'is a view'}",
        evidence=(Evidence(f"{call.function} of {what}, shape {written.shape}, is recorded", place=crash.place),),
        why="autograd cannot go back through a value that is no longer there",
        places=() if crash.place is None else (crash.place,),
        fix=Fix("change a parameter without recording it:", ("with torch.no_grad():", "    weight.clamp_(-1, 1)"))
        if leaf
        else Fix("compute a new tensor, or take a copy first:", ("x = x.clone()",)),
        not_this="weight.data: it hides the change from autograd, also where that needs to know",
    )


def _needed(crash: Crash) -> Suspicion:
    writes = crash.seen.writes
    names = [write.name for write in writes if write.name]
    lines = [write.place for write in writes if write.place is not None]
    line = f" ({os.path.basename(lines[0].file)}:{lines[0].line})" if lines else ""
    if names:
        changed = f"{wording.names(names)} {wording.is_or_are(len(names))} changed"
        statement = f"{changed} before the backward pass, which needs the old values"
        fix = Fix("call backward() before the parameters are changed:", ("loss.backward()", "optimizer.step()"))
    else:
        statement = f"{writes[0].operation}{line} changes what the backward pass still needs"
        fix = Fix("compute a new tensor instead of changing the old one:", ("h = h + 1   # not h += 1",))
    return Suspicion(
        statement=statement,
        evidence=(
            *(Evidence(f"{write.operation} wrote into it", place=write.place) for write in writes),
            Evidence(crash.first_message.partition("; expected")[0]),
        ),
        why="the backward pass of an earlier operation computes with the values that it was given",
        places=tuple(dict.fromkeys(lines)),
        fix=fix,
        not_this="retain_graph=True, or .data: the gradient would be computed from the wrong values",
    )


def _somewhere(crash: Crash) -> Suspicion:
    """The write was not seen: in compiled code, or in an earlier step."""
    return Suspicion(
        statement="a tensor that the backward pass needs was changed in place",
        evidence=(Evidence(crash.first_message.partition("; expected")[0], place=crash.place),),
        why="the backward pass of an earlier operation computes with the values that it was given",
        places=() if crash.place is None else (crash.place,),
        fix=Fix("compute a new tensor instead of changing the old one:", ("h = h + 1   # not h += 1",)),
        not_this="retain_graph=True, or .data: the gradient would be computed from the wrong values",
    )


def _drifts(record: KeptTensor) -> bool:
    """Further and further away, in the end by more than its own size."""
    away = list(record.changes.values())
    grows = all(later > earlier for earlier, later in pairwise(away))
    return len(away) >= _LOOKS and away[0] > 0 and grows and away[-1] > record.size


def _samples(change: SampleChange) -> Suspicion:
    store = f"{change.dataset}.{change.attribute}"
    means = " -> ".join(wording.short(mean) for mean in change.means)
    return Suspicion(
        statement=f"reading a sample of {change.dataset} writes into its {change.attribute}",
        evidence=(
            Evidence(
                f"sample {change.index}, read {len(change.means)} times the same way, has means {means}",
                change.means[-1],
                change.place,
            ),
            Evidence(f"{store} changes with each reading"),
        ),
        why=f"{change.attribute} returns a view, which is changed in place",
        places=() if change.place is None else (change.place,),
        fix=Fix("compute a new tensor, or take a copy first:", (f"x = self.{change.attribute}[index].clone()",)),
        not_this="more workers: their copies drift, too",
        cures=(Cure("stored_values", f"{store} restored after each reading"),),
    )


def _visits(change: SampleChange) -> Suspicion:
    store = f"{change.dataset}.{change.attribute}"
    means = " -> ".join(wording.short(mean) for mean in change.means)
    return Suspicion(
        statement=f"the step writes into {store}",
        evidence=(
            Evidence(f"{change.dataset} returns a view of its {change.attribute}"),
            Evidence(
                f"the step changes it before a model is called, and again when the same batch comes back: mean {means}",
                change.means[-1],
                change.place,
            ),
        ),
        why="a slice is a view: in-place changes are still there in the next epoch",
        places=() if change.place is None else (change.place,),
        fix=Fix("compute a new tensor instead of changing the batch:", ("x = x + noise   # not x += noise",)),
        not_this="fewer epochs: the data change from the first one on",
        cures=(Cure("stored_values", "batches returned as copies", {"copies": True}),),
    )


def _batch(batch: DriftingBatch) -> Suspicion:
    name = f"batch{batch.name}"
    means = " -> ".join(wording.short(mean) for mean in batch.means)
    return Suspicion(
        statement=f"the step writes into {name}, and the next epoch gets what it has left",
        evidence=(
            Evidence(
                f"{wording.share(batch.shares[0])} of the values of {name} were changed by a step, and "
                f"{wording.share(batch.shares[1])} again when the same batch came back: mean {means}",
                batch.shares[1],
                batch.place,
            ),
            Evidence("the batches are kept in a list: they are the data themselves, and not copies"),
        ),
        why="another name for a tensor is not a copy: in-place changes add up from epoch to epoch",
        places=() if batch.place is None else (batch.place,),
        fix=Fix("compute a new tensor, or take a copy first:", ("x = x.clone()",)),
        not_this="more epochs: each changes more of the data",
        cures=(Cure("stored_values", "batches returned as copies", {"copies": True}),),
    )


def _mask(edit: MaskEdit) -> Suspicion:
    whose = "belongs to the data" if edit.argument else f"is kept by {edit.model}"
    return Suspicion(
        statement=f"a call of {edit.model} edits {edit.name} in place",
        evidence=(
            Evidence(
                f"{edit.name}, which {whose}, has {wording.share(edit.before)} ones before a call, and "
                f"{wording.share(edit.after)} after two",
                edit.after,
                edit.place,
            ),
        ),
        why="the mask is changed for good, and not for this call only",
        places=() if edit.place is None else (edit.place,),
        fix=Fix("take a copy first:", ("mask = mask.clone()",)),
        not_this="another learning rate: the mask goes on changing",
    )


def _kept(drifting: list[KeptTensor]) -> Suspicion:
    names, first = [record.name for record in drifting], drifting[0]
    steps, away = list(first.changes), list(first.changes.values())
    return Suspicion(
        statement=f"{wording.names(names)} {'grows' if len(names) == 1 else 'grow'} with every forward pass",
        evidence=(
            Evidence(
                f"{first.name} is {wording.short(away[0])} away from its start after step {steps[0]}, and "
                f"{wording.short(away[-1])} after step {steps[-1]} (its own size was {wording.short(first.size)})",
                away[-1],
                first.place,
            ),
        ),
        why="a tensor kept by the module is changed in place instead of computing a new one",
        places=() if first.place is None else (first.place,),
        fix=Fix("compute a new tensor instead of changing the kept one:", ("x = x + self.kept",)),
        not_this="another learning rate: the drift does not depend on it",
        cures=(Cure("stored_values", f"{wording.names(names, most=1)} restored after each step", {"names": names}),),
    )
