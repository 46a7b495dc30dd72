"""Search, not luck: inputs are moved by gradient towards each danger zone that a step comes by.

The way of GRIST (Yan et al., ICSE 2021), at a training: the step that is aimed at is taken again and again from the
same state with the batch a little different, until it is not finite. That alone accuses nobody: the find is replayed
from the start, without gradients at the inputs, and only what breaks there is told.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ...observe.run.feed import Feed
from ...programs.plan import Look, RunPlan, never
from ...programs.program import Program
from ...programs.start import Start
from ...programs.training_program import recorded
from ...records.intervention import Condition
from ...records.numbers import Found
from ...records.trace import Trace
from ...tensors.batches import tensors
from .danger_zones import spoken
from .data_bounds import DataBounds
from .pursuit import Hunt
from .trial_step import Aim, AimedStep


@dataclass(frozen=True)
class Find:
    """What is told, the condition that shows it again, and the run that did."""

    found: Found
    condition: Condition
    trace: Trace


@dataclass
class Searched:
    """What came of it, and what was done for it."""

    find: Find | None = None
    #: Operations.
    aimed_at: int = 0
    attempts: int = 0
    #: The time budget was used up.
    out_of_time: bool = False


def search(program: Program, start: Start, plan: RunPlan, steps: int, batches: int = 4) -> Searched:
    """Aims at the first step of the training and at the last of `steps`, all of which were finite."""
    searched = Searched()
    plan = replace(plan.plain(), stop_when=never, catch_errors=True)
    feed = Feed(start.begin(plan.seed_offset), one_batch=plan.one_batch, device=plan.device)
    seen = [dict(tensors(feed.take())) for _ in range(min(batches, steps))]
    feed.close()
    for before in sorted({0, steps - 1}):
        hit = _hunt(start, plan, before, seen, searched)
        searched.find = None if hit is None else _replayed(program, plan, hit)
        searched.out_of_time = searched.find is None and time.monotonic() > plan.deadline
        if searched.find is not None or searched.out_of_time:
            break
    return searched


@dataclass(frozen=True)
class _Hit:
    """A batch that made the aimed-at step not finite."""

    aim: Aim
    step: int
    moves: int
    before: Mapping[str, Tensor]
    values: Mapping[str, Tensor]


def _hunt(start: Start, plan: RunPlan, before: int, seen: list[dict[str, Tensor]], searched: Searched) -> _Hit | None:
    training = start.begin(plan.seed_offset)
    with recorded(training, plan, start.creation_sites) as run:
        step = AimedStep(run, training, before)
        bounds = {}
        for name, field in step.fields.items():
            others = [each[name].to(field.device) for each in seen if name in each]
            bounds[name] = DataBounds(field, others, by_sample=step.by_sample(field))
        hunt = Hunt(step, {name: each for name, each in bounds.items() if each.movable}, plan.deadline)
        hits = ((aim, hunt.towards(aim)) for aim in step.aims)
        aim, hit = next(((aim, hit) for aim, hit in hits if hit is not None), (None, None))
    searched.aimed_at = max(searched.aimed_at, hunt.operations)
    searched.attempts += hunt.attempts
    if aim is None or hit is None:
        return None
    values, moves = hit
    return _Hit(aim, before, moves, step.whole(step.fields), step.whole(values))


def _replayed(program: Program, plan: RunPlan, hit: _Hit) -> Find | None:
    """From the start, as the training itself would meet it."""
    moved = {name: value for name, value in hit.values.items() if not torch.equal(value, hit.before[name])}
    if not moved:  # such a step does not always end the same way
        return None
    condition = Condition("found_inputs", "", {"inputs": moved, "step": hit.step})
    trace = program.record(plan.until(hit.step + 1).under(condition).looking(Look(every_step=True)))
    if trace.crash is not None or trace.nonfinite is None or trace.nonfinite.step != hit.step:
        return None
    found = _describe(hit, moved)
    return Find(found, replace(condition, label=found.describe()), trace)


def _describe(hit: _Hit, moved: Mapping[str, Tensor]) -> Found:
    apart = {name: (value - hit.before[name]).abs() for name, value in moved.items()}
    name = max(apart, key=lambda each: float(apart[each].max()))
    rows = apart[name].flatten(1).amax(1) if apart[name].ndim > 1 else apart[name]
    there = moved[name][rows > 0]
    return Found(
        operation=spoken(hit.aim.operation),
        place=hit.aim.place,
        step=hit.step,
        moves=hit.moves,
        field=f"batch{name}",
        samples=int((rows > 0).sum()),
        low=float(there.min()),
        high=float(there.max()),
    )
