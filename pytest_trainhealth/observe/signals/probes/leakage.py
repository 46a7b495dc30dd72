"""Does a model of sequences see what it has to predict?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ....records.probes import LeakRecord
from ...run.run import Run
from .influence import forward_of
from .repeat_call import Leaf, NotRepeatable, Repeater
from .steps_of_a_call import Step, operations

#: Share of a target that has to equal the input one position later (or at the same position). By judgement: 1, except
#: for one value in a hundred that is masked or rounded.
_IS = 0.99
#: Share of a target that may at most equal the input at the other position. By judgement: in a series that stays
#: constant for nine steps of ten, next and same cannot be distinguished.
_IS_NOT = 0.9
#: Fewest positions that are compared. By judgement: fewer than 8 may agree by chance.
_FEWEST = 8
#: Fewest positions of a sequence. By judgement: with 3 there is hardly a past and a future.
_SHORTEST = 4
#: By how much earlier outputs change, as a share of the change of later ones. In causal models it is less than 1e-6, in
#: models without a mask 0.1 to 1.3.
_SEES = 1e-3


@dataclass
class _Predicted:
    """An input whose next element, or the same element, is the target."""

    leaf: Leaf
    time: int
    shift: int
    #: (samples, positions): which of them the loss uses.
    counts: Tensor


def leak(
    repeater: Repeater, base: dict[str, Tensor], targets: list[Tensor], run: Run, certain: bool = True
) -> tuple[LeakRecord | None, int]:
    """The leak, if any, and the number of inputs whose next element is the target.

    `certain`: a loss was given these targets. Other fields of a batch may be shifted before they are compared.
    """
    call = repeater.call
    predicted = [p for leaf in call.leaves for p in _predicted(leaf, targets)]
    worst: LeakRecord | None = None
    for each in predicted:
        if each.shift == 0 and not certain:
            continue
        seen = _seen_from_before(repeater, base, each)
        if seen is None:
            continue  # labels, on which no output depends
        share, cut = seen
        if each.shift == 1 and share <= _SEES:
            return None, len(predicted)  # in a translation, source and target are both inputs: this one counts
        length = each.leaf.tensor.shape[each.time]
        record = LeakRecord(
            call.kind,
            each.leaf.name,
            "future",
            cut,
            length,
            share,
            call.made_by,
            each.shift,
            place=forward_of(call.module),
        )
        if each.shift == 0 and share == 0 and _is_context_model(repeater, base, each):
            record.kind = "same"
            worst = worst or record
        elif share > _SEES and (each.shift == 1 or _has_companion(each, call.leaves)):
            where = _first_to_see(repeater, each, cut, run)
            if where is not None:
                record.operation, record.module, record.place = where.name, where.module, where.place or record.place
                worst = record
    return worst, len(predicted)


def _has_companion(each: _Predicted, leaves: list[Leaf]) -> bool:
    """Another input has values at the same positions: then the model predicts from these, and should not copy. A model
    that gets only the sequence itself may have to reconstruct it."""
    shape = each.leaf.tensor.shape
    return any(t.ndim == 3 and t.is_floating_point() and t.shape[:2] == shape for t in (x.tensor for x in leaves))


def _predicted(leaf: Leaf, targets: list[Tensor]) -> Iterator[_Predicted]:
    values = leaf.tensor
    whole = not values.is_floating_point()
    if values.dtype == torch.bool or values.is_complex() or values.ndim not in ((2,) if whole else (2, 3)):
        return
    for target in targets:
        if target.is_floating_point() == whole:
            continue
        for time in (1, 0) if whole or values.ndim == 3 else (1,):
            found = _shift(values, target, time)
            if found is not None and (found[0] == 1 or whole):
                yield _Predicted(leaf, time, *found)
                return


def element_shift(values: Tensor, target: Tensor, time: int) -> int | None:
    """1 if each target is the next element along `time`, 0 if it is the element itself, None if it is neither."""
    found = _shift(values, target, time)
    return None if found is None else found[0]


def _shift(values: Tensor, target: Tensor, time: int) -> tuple[int, Tensor] | None:
    x = values.movedim(time, 1)
    samples, length, rest = x.shape[0], x.shape[1], tuple(x.shape[2:])
    if length < _SHORTEST or x.numel() == 0:
        return None
    for positions in (length, length - 1):
        if target.numel() != samples * positions * (x[0, 0].numel()):
            continue
        shape = (samples, positions, *rest) if time == 1 else (positions, samples, *rest)
        y = target.reshape(shape).movedim(time, 1)
        counts = (
            (y >= 0)
            if not rest and not y.is_floating_point()
            else torch.ones(samples, positions, dtype=torch.bool, device=y.device)
        )
        ahead, here = _share(x, y, counts, 1), _share(x, y, counts, 0)
        if ahead >= _IS and here < _IS_NOT:
            return 1, counts
        if here >= _IS and ahead < _IS_NOT and positions == length:
            return 0, counts
    return None


def _share(x: Tensor, y: Tensor, counts: Tensor, shift: int) -> float:
    common = min(y.shape[1], x.shape[1] - shift)
    same = (x[:, shift : shift + common] == y[:, :common]).flatten(2).all(2) if x.ndim > 2 else (
        x[:, shift : shift + common] == y[:, :common]
    )  # fmt: skip
    valid = counts[:, :common]
    return float(same[valid].float().mean()) if int(valid.sum()) >= _FEWEST else 0.0


def _by_position(output: Tensor, each: _Predicted) -> Tensor | None:
    """The output as (samples, positions, ...), if it has something for each element."""
    values = each.leaf.tensor
    shape = tuple(values.shape[:2])
    if not output.is_floating_point() or output.ndim < 2:
        return None
    samples, length = (shape[0], shape[1]) if each.time == 1 else (shape[1], shape[0])
    if tuple(output.shape) == shape and values.is_floating_point() and values.ndim == 2:
        found = output[..., None]
    elif tuple(output.shape[:2]) == shape and output.ndim > 2:
        found = output.movedim(each.time, 1)
    elif output.shape[0] == shape[0] * shape[1]:
        found = output.reshape(*shape, *output.shape[1:]).movedim(each.time, 1)
    elif each.time == 1 and output.ndim == 3 and output.shape[0] == samples and output.shape[2] == length:
        found = output.movedim(2, 1)
    else:
        return None
    if not values.is_floating_point() and found[0, 0].numel() <= int(values.max()):
        return None  # hidden states, not scores for every token
    return found


def _other_elements(each: _Predicted, chosen: slice) -> Tensor:
    values = each.leaf.tensor.movedim(each.time, 1).clone()
    other = values.roll(1, 0) if values.shape[0] > 1 else values.roll(1, 1)
    values[:, chosen] = other[:, chosen]
    return values.movedim(1, each.time)


def _changes(repeater: Repeater, base: dict[str, Tensor], each: _Predicted, chosen: slice) -> Tensor | None:
    """(samples, positions): how much outputs change when the chosen positions of the input change."""
    after = repeater.run({each.leaf.name: _other_elements(each, chosen)})
    for name, before in base.items():
        one, other = _by_position(before, each), after.get(name)
        two = None if other is None or other.shape != before.shape else _by_position(other, each)
        if one is not None and two is not None:
            return (two.double() - one.double()).abs().flatten(2).amax(2)
    return None


def _seen_from_before(repeater: Repeater, base: dict[str, Tensor], each: _Predicted) -> tuple[float, int] | None:
    """How much outputs up to a position depend on what comes after it, and that position. None if none change."""
    length = each.leaf.tensor.shape[each.time]
    worst: tuple[float, int] | None = None
    for cut in dict.fromkeys((length // 3, length // 2, length - 2)):
        behind = slice(cut + 1, None)
        change = _changes(repeater, base, each, behind)
        if change is None:
            continue
        counts = torch.zeros(change.shape, dtype=torch.bool, device=change.device)
        counts[:, : each.counts.shape[1]] = each.counts
        later, before = float(change[:, behind].max()), change[:, : cut + 1][counts[:, : cut + 1]]
        if later > 0:
            share = float(before.max()) / later if before.numel() else 0.0
            worst = max(worst or (0.0, 0), (share, cut), key=lambda found: found[0])
    return worst


def _first_to_see(repeater: Repeater, each: _Predicted, cut: int, run: Run) -> Step | None:
    """The operation after which earlier positions depend on later ones. None if a summary of the sequence is given to
    every position, as in autoencoders and encoders of a whole sentence."""
    changes = {each.leaf.name: _other_elements(each, slice(cut + 1, None))}
    try:
        before, after = operations(repeater, {}, run), operations(repeater, changes, run)
    except NotRepeatable:
        return None
    if [s.name for s in before] != [s.name for s in after]:
        return None
    length = each.leaf.tensor.shape[each.time]
    samples = each.leaf.tensor.shape[1 - each.time]
    # with another input, both may be joined into one sequence, one after the other
    lengths = (length,) if each.shift == 1 else (length, 2 * length, 3 * length)
    first: Step | None = None
    for one, other in zip(before, after, strict=True):
        changed = [not torch.equal(a, b) for a, b in zip(one.given, other.given, strict=False)]
        summaries = [
            a
            for a, c in zip(one.given, changed, strict=False)
            if c and not _has_positions(a, lengths, samples) and not _is_wider(one, a, length)
        ]
        if summaries and any(_has_positions(t, (length,), samples) for t in one.results):
            return None
        for a, b in zip(one.results, other.results, strict=False):
            if first is not None or a.shape != b.shape:
                continue
            attends = one.name == "scaled_dot_product_attention"
            if any(_tells_earlier(a, b, n, samples, (cut + 1) * n // length, attends) for n in lengths):
                first = one
    return first


def _has_positions(tensor: Tensor, lengths: tuple[int, ...], samples: int) -> bool:
    """Besides its samples, of which there may be as many as there are positions."""
    shape = list(tensor.shape)
    if samples in shape:
        shape.remove(samples)
    return any(length in shape for length in lengths)


def _is_wider(step: Step, given: Tensor, length: int) -> bool:
    """The input of a convolution that was padded by hand: it is a little longer than the sequence."""
    return "conv" in step.name and "transpose" not in step.name and given.ndim == 3 and given.shape[2] > length


def _tells_earlier(before: Tensor, after: Tensor, length: int, samples: int, earlier: int, attends: bool) -> bool:
    """A result with one element per position (scores of all pairs have two such dimensions)."""
    shape = list(before.shape)
    if before.ndim < 3 or samples not in shape[:2]:
        return False
    dimensions = [n for n, size in enumerate(shape) if size == length]
    if attends and shape[-2] == length:
        dimensions = [before.ndim - 2]  # heads happen to be as wide as the sequence is long
    elif samples == length:
        # Which are the positions does not show. Along the samples, each of which was changed, all of a result changes,
        # so both have to. Scores of all pairs, of heads or of groups, do not begin with the samples.
        if len(dimensions) != 2 or dimensions[0] != 0:
            return False
    elif len(dimensions) != 1:
        return False
    change = (before.double() - after.double()).abs()
    return all(_before(change, n, earlier) > _SEES * float(change.max()) for n in dimensions)


def _before(change: Tensor, positions: int, earlier: int) -> float:
    return float(change.movedim(positions, 0)[:earlier].max())


def _is_context_model(repeater: Repeater, base: dict[str, Tensor], each: _Predicted) -> bool:
    """Outputs depend on the element at their own position and on those before it."""
    length = each.leaf.tensor.shape[each.time]
    change = _changes(repeater, base, each, slice(length // 2, length // 2 + 1))
    if change is None:
        return False
    own, later = change[:, length // 2], change[:, length // 2 + 1 :]
    return float(own.max()) > 0 and bool(later.numel()) and float(later.max()) > _SEES * float(own.max())
