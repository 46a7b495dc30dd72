"""Which inputs influence a model's output: arguments, columns of a table, channels of an image."""

from __future__ import annotations

import inspect
import re

import torch
from torch import Tensor, nn

from ....records.probes import InputRecord
from ....records.verdict import Place
from ....tensors.batches import has_to_matter
from ...run.run import Run
from ...source.authorship import is_library_file
from ...source.places import place_of
from .autoregression import is_autoregressive
from .positions import are_read, candidates
from .repeat_call import Leaf, NotRepeatable, Repeater
from .sample_rows import ragged_members

_LABELS = ("y", "tgt", "idx")
#: Seeds of other weights with which an influence is searched for: the first flips signs, and 2 more are by judgement.
_SEEDS = (0, 1, 2)
#: Times the largest value: far outside of the data's range. By judgement: 100 is beyond any threshold set for the data.
_FAR = 100.0
#: Most channels of an image or a signal. By judgement: more than 16 are features, and one of them may be useless.
_MOST_CHANNELS = 16
#: Most columns that are tried one by one. By judgement: 64, as each takes a forward pass.
_MOST_PARTS = 64


def samples_in(repeater: Repeater, base: dict[str, Tensor]) -> int:
    """The size of the first dimension that inputs share with an output; 0 if no input does."""
    outputs = {t.shape[0] for t in base.values() if t.ndim}
    leaves = repeater.call.leaves
    members = ragged_members(leaves)
    if members > 1:  # a list of tensors of different lengths: each is a sample
        return members
    sizes = [leaf.tensor.shape[0] for leaf in leaves if leaf.tensor.ndim and not is_mask(leaf, leaves)]
    shared = [size for size in sizes if size in outputs and size > 1]
    return (shared or [size for size in sizes if size > 1] or sizes or [0])[0]


def influences(
    repeater: Repeater, base: dict[str, Tensor], samples: int, targets: set[int], run: Run
) -> list[tuple[Leaf, InputRecord]]:
    """One record for each input whose values vary in this batch. Empty if no output could show an influence.

    `targets`: memory addresses of what the losses were given.
    """
    if not any(_is_number(t) and bool(torch.isfinite(t).any()) for t in base.values()):
        return []
    call = repeater.call
    place = forward_of(call.module)
    found = []
    for leaf in call.leaves:
        aimed_at = not leaf.direct and leaf.origin[0] in targets
        if not leaf.tensor.ndim or aimed_at or call.takes_results(leaf) or not _is_input(leaf, call.leaves):
            continue
        judged = _is_judged(leaf) and leaf.tensor.shape[0] == samples
        record = InputRecord(leaf.name, call.kind, tuple(leaf.tensor.shape), call.made_by, direct=judged, place=place)
        record.ignored = has_none(repeater, base, leaf, _other_values(leaf.tensor))
        record.within_the_data = judged and not record.ignored and _blind_to_data(repeater, base, leaf)
        unit, dim = _parts(leaf)
        if not record.ignored and unit and judged:
            record.unit, record.parts = unit, leaf.tensor.shape[dim]
            record.ignored_parts = _ignored_parts(repeater, base, leaf, dim)
            record.in_order = bool(record.ignored_parts) and is_autoregressive(repeater, leaf)
            record.out_of_view = _lies_at_one_end(record) and _looks_through_a_window(call.module)
        elif not record.ignored and judged:
            record.ignored_parts = _all_but_one(repeater, base, leaf, run)
            record.unit, record.parts = "position", leaf.tensor.shape[1] if leaf.tensor.ndim > 1 else 1
        found.append((leaf, record))
    return found


def _lies_at_one_end(record: InputRecord) -> bool:
    found = record.ignored_parts
    together = bool(found) and found[-1] - found[0] + 1 == len(found)
    return record.unit == "column" and together and (found[0] == 0 or found[-1] == record.parts - 1)


def _looks_through_a_window(model: nn.Module) -> bool:
    """Convolutions see as far as their kernels and dilations add up to; a window may be longer than that."""
    return any(isinstance(module, nn.Conv1d) and max(module.kernel_size) > 1 for module in model.modules())


def _is_number(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _is_input(leaf: Leaf, leaves: list[Leaf]) -> bool:
    if is_mask(leaf, leaves) or is_constant(leaf.tensor):
        return False
    if not has_to_matter(leaf.name):
        return False
    return leaf.direct or not set(re.split(r"[^a-z0-9]+", leaf.name.lower())) & set(_LABELS)


def _is_judged(leaf: Leaf) -> bool:
    """A model may ignore what it gets as part of a larger batch, and anything that looks like a label."""
    return leaf.direct and not leaf.name.startswith("_") and leaf.name.lower() not in _LABELS


def is_mask(leaf: Leaf, leaves: list[Leaf]) -> bool:
    """Next to an input to be masked: booleans, integers that are all 0 or 1, or anything called a mask."""
    if len(leaves) == 1:
        return False
    tensor = leaf.tensor
    if tensor.dtype == torch.bool or "mask" in leaf.name.lower():
        return True
    return not tensor.is_floating_point() and bool(((tensor == 0) | (tensor == 1)).all())


def is_constant(tensor: Tensor) -> bool:
    return tensor.shape[0] > 1 and bool((tensor == tensor[:1]).all())


def _other_values(tensor: Tensor) -> list[Tensor]:
    """Two versions with one sample's values for all: an output that sums over samples ignores a mere reordering."""
    if tensor.shape[0] > 1:
        first = tensor[:1].expand_as(tensor)
        return [first, next(row[None].expand_as(tensor) for row in tensor if not torch.equal(row, tensor[0]))]
    flat = tensor.flatten().roll(1).reshape(tensor.shape)
    return [flat + torch.rand(tensor.shape, device="cpu").to(tensor.device) if tensor.is_floating_point() else flat]


def _parts(leaf: Leaf) -> tuple[str, int]:
    tensor = leaf.tensor
    if not leaf.direct or not tensor.is_floating_point() or tensor.shape[0] < 2 or tensor.ndim not in (2, 4):
        return "", 1
    if tensor.ndim == 2:
        return ("column", 1) if tensor.shape[1] > 1 else ("", 1)
    channels = tensor.shape[1]
    return ("channel", 1) if 1 < channels <= _MOST_CHANNELS and channels < min(tensor.shape[2:]) else ("", 1)


def has_none(repeater: Repeater, base: dict[str, Tensor], leaf: Leaf, others: list[Tensor]) -> bool:
    """No output changes in the slightest: with the weights as they are, in training mode, and with other weights."""
    try:
        return _changes_nothing(repeater, base, leaf, others)
    except NotRepeatable:  # raising is an answer, too: the model noticed the change
        return False


def _changes_nothing(repeater: Repeater, base: dict[str, Tensor], leaf: Leaf, others: list[Tensor]) -> bool:
    if not all(_same(base, repeater.run({leaf.name: other})) for other in others):
        return False
    try:
        training = repeater.run(train=True)
        if not all(_same(training, repeater.run({leaf.name: other}, train=True)) for other in others):
            return False
    except NotRepeatable:
        pass
    if _opens_gates(repeater, leaf, others):
        return False
    words = 0
    for seed in _SEEDS:
        with repeater.other_weights(seed):
            moved = repeater.run()
            if not all(bool(torch.isfinite(t).all()) for t in moved.values()):
                continue
            words += 1
            if not all(_same(moved, repeater.run({leaf.name: other})) for other in others):
                return False
    return bool(words)


def _blind_to_data(repeater: Repeater, base: dict[str, Tensor], leaf: Leaf) -> bool:
    """No value that another sample has changes any output, with the weights as they are and with others."""
    others = _other_values(leaf.tensor)
    try:
        if not _finite(base) or not all(_same(base, repeater.run({leaf.name: other})) for other in others):
            return False
        for seed in _SEEDS:
            with repeater.other_weights(seed):
                moved = repeater.run()
                if not _finite(moved) or not all(_same(moved, repeater.run({leaf.name: other})) for other in others):
                    return False
    except NotRepeatable:
        return False
    return True


def _opens_gates(repeater: Repeater, leaf: Leaf, others: list[Tensor]) -> bool:
    """An influence shows once numbers that the model keeps beside its weights are further on (a schedule that still
    keeps a branch closed), or with values far outside of the data's range (a threshold)."""
    with repeater.later():
        further = repeater.run()
        if not all(_same(further, repeater.run({leaf.name: other})) for other in others):
            return True
    if not leaf.tensor.is_floating_point():
        return False
    far = [torch.where(other == leaf.tensor, other, sign * _FAR * other.abs().max()) for other in others
           for sign in (1, -1)]  # fmt: skip
    base = repeater.run()
    return not all(_same(base, repeater.run({leaf.name: other})) for other in far)


def _ignored_parts(repeater: Repeater, base: dict[str, Tensor], leaf: Leaf, dim: int) -> tuple[int, ...]:
    """Parts without a gradient are suspects; a trial then shows whether any output depends on them."""
    suspects = [
        part for part in _without_gradient(repeater, leaf, dim) if not is_constant(leaf.tensor.select(dim, part))
    ]
    if not suspects or has_none(repeater, base, leaf, _with_parts(leaf.tensor, dim, suspects)):
        return tuple(suspects)
    if len(suspects) > _MOST_PARTS:
        return ()
    return tuple(part for part in suspects if has_none(repeater, base, leaf, _with_parts(leaf.tensor, dim, [part])))


def _all_but_one(repeater: Repeater, base: dict[str, Tensor], leaf: Leaf, run: Run) -> tuple[int, ...]:
    """All positions of a sequence except the only one that reaches the output; empty if others do."""
    for _, versions, changed in candidates(leaf):
        if has_none(repeater, base, leaf, versions) and are_read(repeater, leaf, versions[0], run):
            return tuple(changed)
    return ()


def _without_gradient(repeater: Repeater, leaf: Leaf, dim: int) -> list[int]:
    everything = list(range(leaf.tensor.shape[dim]))
    wanted = leaf.tensor.clone().requires_grad_()
    try:
        outputs = repeater.run({leaf.name: wanted}, gradients=True)
        floats = [t for t in outputs.values() if t.requires_grad and t.is_floating_point()]
        with torch.enable_grad():
            total = sum((t.float() * torch.rand_like(t, dtype=torch.float32)).sum() for t in floats)
        if not isinstance(total, Tensor):
            return everything
        (gradient,) = torch.autograd.grad(total, wanted, allow_unused=True)
    except (NotRepeatable, RuntimeError):
        return everything
    if gradient is None:
        return everything
    size = gradient.abs().transpose(0, dim).flatten(1).sum(1)
    return [part for part in everything if float(size[part]) == 0]


def _with_parts(tensor: Tensor, dim: int, parts: list[int]) -> list[Tensor]:
    changed, chosen = [], torch.tensor(parts, device=tensor.device)
    for other in _other_values(tensor):
        mixed = tensor.clone()
        mixed.index_copy_(dim, chosen, other.index_select(dim, chosen))
        changed.append(mixed)
    return changed


def _finite(outputs: dict[str, Tensor]) -> bool:
    """What is NaN or infinite hides every influence."""
    return all(bool(torch.isfinite(t).all()) for t in outputs.values())


def _same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(
        t.shape == other[name].shape and torch.equal(torch.nan_to_num(t), torch.nan_to_num(other[name]))
        for name, t in one.items()
    )


def forward_of(module: nn.Module) -> Place | None:
    """The line in the user's source where forward() begins."""
    code = getattr(getattr(type(module), "forward", None), "__code__", None)
    if code is None or is_library_file(code.co_filename):
        return None
    lines, first = inspect.getsourcelines(code)
    begins = next((n for n, text in enumerate(lines) if text.lstrip().startswith("def ")), 0)
    return place_of(code.co_filename, first + begins)
