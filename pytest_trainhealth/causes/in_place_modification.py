"""in-place-modification: stored values change because something writes into them

What happens
    `x = self.images[i]` is a view, not a copy: `x -= self.mean` changes the stored image, and the next epoch subtracts
    the mean again. Or a module takes its buffer, `pe = self.pe`, and adds to it in place: the buffer grows with every
    forward pass. The training sees different values each time, and drifts.

How it is recognised
    What the dataset has stored changes, and the same sample, read three times with the same random numbers, differs
    each time. Or, when a training fails, a tensor kept by one of your modules is further from its start each time it is
    examined. The re-run restores the stored values. Or a loader of your own returns views of the tensors it holds, the
    step computes in them before it calls a model, and does so again when the same batch comes back; the re-run returns
    copies. Or the data are a list of batches, a step writes into one of them before its loss is computed from it, and
    when it gets the batch as it was left, it changes it again: more tokens are masked, more noise is added, the mean is
    subtracted twice. Or a call of the model writes into a mask, the next call again, and there is less left of the mask
    each time.

How to fix it
    Compute a new tensor, `x = self.images[i] - self.mean`, or take a copy first, `x = self.images[i].clone()`.

What not to do
    More workers, each with its own dataset: the copies drift, too.

When this is wrong
    A cache that is filled once, counters, running averages, and random augmentation of copies are not reported. Neither
    are writes that come out the same each time (clamping, padding, normalising to a fixed point), what a model has
    computed (a memory), and batches of a loader, which are already copies. A list that only stands for a loader is
    taken for the data, unless it was filled from a DataLoader where the training was made.
"""

from __future__ import annotations

from itertools import pairwise

from .. import wording
from ..records.data import DriftingBatch, KeptTensor, SampleChange
from ..records.intervention import Cure
from ..records.probes import MaskEdit
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 14
EXPLAINS = (SILENT, NOT_LEARNING, PLATEAU, INSTABILITY, EXPLOSION)

#: Looks at which a kept tensor is further away each time. By judgement: by chance 4 in a row are one in 16.
_LOOKS = 4


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
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
