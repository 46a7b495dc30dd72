"""Search instead of luck: gradients move the inputs towards each danger zone that a step passes.

This is the method of GRIST (Yan et al., ICSE 2021) applied to a training: one step is taken again and again from the
same state, each time with a slightly different batch, until it is not finite. That alone proves nothing, so the find is
replayed from the start, without gradients at the inputs, and only a find that breaks there is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ... import wording
from ...observe.calls.danger_zones import spoken
from ...observe.run.feed import Feed
from ...programs.plan import Look, RunPlan, never
from ...programs.program import Program
from ...programs.start import Start
from ...programs.training_program import recorded
from ...records.intervention import Condition
from ...records.numbers import Found
from ...records.trace import Trace
from ...tensors.batches import tensors
from .data_bounds import DataBounds
from .pursuit import Hunt
from .trial_step import Aim, AimedStep


@dataclass(frozen=True)
class Find:
    """What the report says, the condition that reproduces it, and the run in which it did."""

    found: Found
    condition: Condition
    trace: Trace


@dataclass
class Searched:
    """The result of a search, and how much was tried."""

    find: Find | None = None
    #: How many operations.
    aimed_at: int = 0
    attempts: int = 0
    #: The time budget was used up (the sentence for it).
    out_of_time: str = ""


def search(program: Program, start: Start, plan: RunPlan, steps: int, batches: int = 4) -> Searched:
    """Aims at the first step of the training and at the last of `steps`, all of which stay finite by themselves."""
    searched = Searched()
    plan = replace(plan.plain(), stop_when=never, catch_errors=True)
    feed = Feed(start.begin(plan.seed_offset), one_batch=plan.one_batch, device=plan.device)
    seen = [dict(tensors(feed.take())) for _ in range(min(batches, steps))]
    feed.close()
    for before in sorted({0, steps - 1}):
        hit = _hunt(start, plan, before, seen, searched)
        searched.find = None if hit is None else _replayed(program, plan, hit)
        if searched.find is None and plan.budget.over():
            searched.out_of_time = plan.budget.used_up(f"{wording.plural(searched.attempts, 'attempt')} made")
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
        hunt = Hunt(step, {name: each for name, each in bounds.items() if each.movable}, plan.budget)
        hits = ((aim, hunt.towards(aim)) for aim in step.aims)
        aim, hit = next(((aim, hit) for aim, hit in hits if hit is not None), (None, None))
    searched.aimed_at = max(searched.aimed_at, hunt.operations)
    searched.attempts += hunt.attempts
    if aim is None or hit is None:
        return None
    values, moves = hit
    return _Hit(aim, before, moves, step.whole(step.fields), step.whole(values))


def _replayed(program: Program, plan: RunPlan, hit: _Hit) -> Find | None:
    """The find if it also breaks in a run from the start, as the training itself would meet it."""
    moved = {name: value for name, value in hit.values.items() if not torch.equal(value, hit.before[name])}
    if not moved:  # the step broke with the original batch: it does not always end the same way
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
    values = moved[name][rows > 0]
    return Found(
        operation=spoken(hit.aim.operation),
        place=hit.aim.place,
        step=hit.step,
        moves=hit.moves,
        field=f"batch{name}",
        samples=int((rows > 0).sum()),
        low=float(values.min()),
        high=float(values.max()),
    )
