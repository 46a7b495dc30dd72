"""Does a change of one sample affect the outputs of others? And with which operation does that begin?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ....records.probes import MixingRecord
from ...run.run import Run
from .by_design import Mixed, by_design
from .repeat_call import Leaf, NotRepeatable, Repeater, Values
from .sample_rows import Samples, changes_by_sample, outputs_in_lists, samples_of
from .steps_of_a_call import Step, class_of, operations

#: How much other samples change, as a share of the sample's own change. Rounding stays below 1e-6; an LSTM that
#: mistakes samples for time steps reaches 0.05 to 1, a mean over the batch about 1 / N.
_SHARE = 1e-3
#: Relative to the largest value: rows are the same except for rounding, 1e-7 in float32. By judgement 100 times that.
_SAME_ROW = 1e-5
#: Relative to the largest value: a sample's own change counts as at least this much, or rounding of 1e-7 would count as
#: a change of the others.
_ROUNDING = 1e-6


@dataclass
class Axis:
    """What is known of the first dimension."""

    #: It counts samples (True), the second one does (False), or nothing tells.
    first: bool | None = None
    #: A loader has drawn the rows at random.
    shuffled: bool = False
    #: Calls of one step have different numbers of rows: each is one object of many elements.
    varies: bool = False


@dataclass
class Answer:
    """What a probe for mixing showed."""

    found: MixingRecord | None = None
    judged: bool = False
    #: Why mixing that was seen is not reported, and whether a probe has proven that it is meant.
    why: str = ""
    proven: bool = False


def mixing(repeater: Repeater, base: dict[str, Tensor], number: int, run: Run, axis: Axis) -> Answer:
    call = repeater.call
    samples = samples_of(repeater, number)
    members = {name for each in outputs_in_lists(base, samples) for name in each}  # their rows are something else
    outputs = [name for name, t in base.items() if name not in members and _rows_are_samples(t, samples, axis)]
    if number < 2 or not (samples.rows or samples.members) or not (outputs or samples.members):
        return Answer()
    worst = MixingRecord(call.kind, 0, number, 0, 0.0, call.made_by)
    probed: Values = {}
    influence: dict[int, float] = {}
    for sample in dict.fromkeys((0, number // 2, number - 1)):
        changes = samples.with_other(sample)
        found = _changed_rows(base, repeater.run(changes), outputs, samples, sample) if changes else None
        influence[sample] = 0.0 if found is None else found[0]
        if found is not None and found[0] > max(_SHARE, worst.share):
            worst.share, worst.others = found
            worst.sample, probed = sample, changes
    if not probed:
        return Answer(judged=True)
    if repeater.stateful:
        return Answer(why=f"{call.kind} changes its own state when it is called, in eval mode too")
    if axis.varies:
        return Answer(
            why=f"the rows of {call.kind}'s calls differ in number within a step: each is one set", proven=True
        )
    silent = [sample for sample, share in influence.items() if share <= _ROUNDING]
    if len(silent) == len(influence) - 1 > 0:
        worst.for_all = worst.sample
    return _located(repeater, probed, worst, run, axis, samples)


def _rows_are_samples(output: Tensor, samples: Samples, axis: Axis) -> bool:
    """Data may have time first, and pairs of samples may be compared: only certain cases are examined."""
    number = samples.number
    if not output.is_floating_point() or not output.ndim or output.shape[0] != number:
        return False
    if axis.first is False or not bool(torch.isfinite(output).all()):
        return False
    if axis.first is True or samples.members:
        return True
    if number in output.shape[1:]:
        return False
    widest = max(samples.rows, key=lambda leaf: leaf.tensor.ndim, default=None)
    if widest is None or widest.tensor.ndim == 1:
        return False
    return _must_come_first(widest, output, number)


def _must_come_first(widest: Leaf, output: Tensor, number: int) -> bool:
    shape = widest.tensor.shape
    if len(shape) == 4 or (len(shape) == 2 and widest.tensor.is_floating_point()):
        return True
    # with (time, samples, ...) the output would still have the second dimension
    return shape[1] != number and (output.ndim == 1 or output.shape[1] != shape[1])


def _changed_rows(
    base: Values, new: Values, names: list[str], samples: Samples, sample: int
) -> tuple[float, int] | None:
    """The largest change of other rows relative to the sample's own, and how many changed. None if inconclusive."""
    worst: tuple[float, int] | None = None
    for change, before, after in _comparable(base, new, names, samples):
        own = float(change[sample])
        others = change.clone()
        others[sample] = 0
        most = float(others.max())
        # a sample that changes others and not itself: its own output comes from another one
        scale = own if own > 0 else most
        if scale <= _ROUNDING * float(before.abs().max()) or _are_permuted(before, after, others > _SHARE * scale):
            continue
        found = (most / scale, int((others > _SHARE * scale).sum()))
        worst = found if worst is None or found > worst else worst
    return worst


def _comparable(base: Values, new: Values, names: list[str], samples: Samples) -> list[tuple[Tensor, Tensor, Tensor]]:
    if not samples.members:
        kept = [n for n in names if n in new and new[n].shape == base[n].shape and bool(torch.isfinite(new[n]).all())]
        changes = [next(changes_by_sample(base, new, [name], samples)) for name in kept]
        return [(change, base[name], new[name]) for change, name in zip(changes, kept, strict=True)]
    one = torch.ones((), device="cpu")
    largest = max((t.abs().max() for t in base.values() if t.is_floating_point() and t.numel()), default=one)
    return [(c, largest, largest) for c in changes_by_sample(base, new, names, samples)]


def _table(tensor: Tensor) -> Tensor:
    return tensor.double().reshape(tensor.shape[0], -1)


def _are_permuted(before: Tensor, after: Tensor, rows: Tensor) -> bool:
    """The rows only come in another order, sorted by length for example: none was mixed with another."""
    if not bool(rows.any()) or not before.ndim:
        return False
    distance = torch.cdist(_table(after[rows]), _table(before))
    moved = bool((distance.amin(1) < _SAME_ROW * before.double().abs().max()).all())
    return moved and len(set(distance.argmin(1).tolist())) == int(rows.sum())


def _located(
    repeater: Repeater, changes: Values, found: MixingRecord, run: Run, axis: Axis, samples: Samples
) -> Answer:
    """Where samples begin to mix, unless the operation is meant to mix them."""
    try:
        before = operations(repeater, {}, run, picks=True)
        after = operations(repeater, changes, run, picks=True)
    except NotRepeatable:
        return Answer(found, judged=True)
    if [s.name for s in before] != [s.name for s in after]:
        return Answer(why="the call takes another path for other inputs")
    where = _first_to_mix(before, after, found) if samples.rows else None
    at = len(before) if where is None else where
    mixed = Mixed(repeater, changes, found, before[: at + 1], after[: at + 1], axis.shuffled)
    why, proven = by_design(mixed, samples)
    if why:
        return Answer(why=why, proven=proven)
    if where is not None:
        one = _origin(before, after, where, found.samples)
        found.operation, found.module, found.place = one.name, one.module, one.place
        found.given = tuple(one.given[0].shape) if one.given else ()
        found.module_class = class_of(one.module, run)
    return Answer(found, judged=True)


def _first_to_mix(before: list[Step], after: list[Step], found: MixingRecord) -> int | None:
    common = None
    for at, (one, other) in enumerate(zip(before, after, strict=True)):
        for a, b in zip(one.results, other.results, strict=False):
            if not a.is_floating_point() or not _mixes(a, b, found.sample, found.samples):
                continue
            if not _is_common(a, b, found.samples):
                return at
            common = at if common is None else common
    return common


def _mixes(before: Tensor, after: Tensor, sample: int, number: int) -> bool:
    """It has one part for each sample, and others than the replaced one change; wherever the samples are by now."""
    axes = [axis for axis, size in enumerate(before.shape) if size == number]
    if not axes or before.shape != after.shape or not bool(torch.isfinite(before).all()):
        return False
    moved = (after.double() - before.double()).abs()
    if float(moved.max()) <= _ROUNDING * float(before.abs().max()):
        return False
    return not any(_confined(moved.movedim(axis, 0).reshape(number, -1).amax(1), sample, before) for axis in axes)


def _is_common(before: Tensor, after: Tensor, number: int) -> bool:
    """The same for every sample: nothing of a sample's own has been mixed with it yet."""
    axes = [axis for axis, size in enumerate(before.shape) if size == number]
    return any(bool((t.movedim(axis, 0) == t.movedim(axis, 0)[:1]).all()) for axis in axes for t in (before, after))


def _confined(change: Tensor, sample: int, before: Tensor) -> bool:
    scale = max(float(change[sample]), _ROUNDING * float(before.abs().max()))
    others = change.clone()
    others[sample] = 0
    return float(others.max()) <= _SHARE * scale


def _origin(before: list[Step], after: list[Step], at: int, number: int) -> Step:
    """What is added to each sample may have been computed from all of them before: that is where mixing begins."""
    mixed = before[at]
    common = [
        a for a, b in zip(mixed.given, after[at].given, strict=False)
        if number not in a.shape and a.shape == b.shape and not torch.equal(a, b)
    ]  # fmt: skip
    if not common:
        return mixed
    for one, other in zip(reversed(before[:at]), reversed(after[:at]), strict=True):
        less = one.given and one.results and one.results[0].numel() < max(t.numel() for t in one.given)
        gathers = less and number in one.given[0].shape and number not in one.results[0].shape
        if gathers and not _equal(one.results, other.results):
            return one
    return mixed


def _equal(some: list[Tensor], others: list[Tensor]) -> bool:
    return all(a.shape == b.shape and torch.equal(a, b) for a, b in zip(some, others, strict=False))
