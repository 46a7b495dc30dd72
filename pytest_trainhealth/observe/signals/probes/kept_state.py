"""What a call leaves behind for the next one: a state for each sample, or a mask that it has edited.

A state that follows one stream after the other is meant; between batches that were drawn at random it carries one
sample's past into another. A mask that has lost more each time it is used was meant to be a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from ....records.probes import MaskEdit, MixingRecord
from ....records.verdict import Place
from ....tensors.batches import tensors
from ....tensors.function_modes import FunctionMode
from ...source.places import user_place
from .influence import forward_of
from .repeat_call import NotRepeatable, Repeater, Values

#: Calls in which a mask has to change twice. By judgement: 8, as a random edit of a few values may miss what is left.
_CALLS = 8


def carried_state(repeater: Repeater, base: Values, number: int) -> MixingRecord | None:
    """A tensor with a row for each sample that calls pass on to the next, and that the outputs follow."""
    call = repeater.call
    for name, held in _kept(call.module):
        if not held.is_floating_point() or number not in held.shape or not _is_rewritten(repeater, held):
            continue
        try:
            with _as(held, torch.zeros_like(held)):
                after = repeater.run()
        except NotRepeatable:
            continue
        if _differ(base, after):
            record = MixingRecord(call.kind, 0, number, number, 1.0, call.made_by)
            record.carried, record.place = name, forward_of(call.module)
            return record
    return None


def mask_edits(repeater: Repeater, keeps: set[int]) -> list[MaskEdit]:
    """Masks that a call writes to, and the next one again: there is less left each time (or more).

    `keeps`: addresses of tensors that belong to the data, and come back in the next epoch.
    """
    call = repeater.call
    found = []
    masks = [(name, t, "") for name, t in (*call.module.named_buffers(), *_kept(call.module)) if _is_mask(t)]
    masks += [(leaf.name, leaf.tensor, leaf.name) for leaf in call.leaves
              if _is_mask(leaf.tensor) and leaf.origin[0] in keeps]  # fmt: skip
    for name, mask, argument in masks:
        left, place = _after_calls(repeater, mask, argument)
        if left is not None:
            share = [float((t != 0).float().mean()) for t in (mask, left)]
            found.append(MaskEdit(call.kind, name, bool(argument), share[0], share[1], place, call.made_by))
    return found


def _after_calls(repeater: Repeater, mask: Tensor, argument: str) -> tuple[Tensor | None, Place | None]:
    """What is left of a mask once two calls have changed it; an edit that is always the same changes it only once."""
    left, changes = mask, 0
    for draws in range(_CALLS):
        later, writes = _left_behind(repeater, mask, left, argument, draws)
        if not writes.seen:
            return None, None
        if later is not None:
            if not _only_one_way(left, later) or not _only_one_way(mask, later):
                return None, None
            left, changes = later, changes + 1
        if changes > 1:
            return left, writes.place
    return None, None


def _kept(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for path, each in module.named_modules():
        for key, value in vars(each).items():
            if not key.startswith("_") and isinstance(value, (Tensor, tuple, list)):
                yield from ((f"{path}.{name}".strip("."), t) for name, t in tensors(value, key))


def _is_mask(tensor: Tensor) -> bool:
    """Zeros and ones, both of them, in two dimensions or more."""
    if tensor.ndim < 2 or tensor.layout != torch.strided or tensor.is_complex():
        return False
    ones = tensor != 0
    return bool(ones.any()) and bool(((tensor == 1) | ~ones).all())


def _only_one_way(before: Tensor, after: Tensor) -> bool:
    """Still a mask, and it has only lost, or only gained: no mask that is drawn anew each time."""
    if after.shape != before.shape or not bool(((after == 0) | (after == 1)).all()):
        return False
    lost, gained = bool(((before != 0) & (after == 0)).any()), bool(((before == 0) & (after != 0)).any())
    return lost != gained


def _is_rewritten(repeater: Repeater, held: Tensor) -> bool:
    """Whether a call puts another tensor, or other values, in its place."""
    seen: list[bool] = []

    def hook(module: nn.Module, args: Any, output: Any) -> None:
        now = [t for _, t in _kept(module)]
        seen.append(not any(t is held and torch.equal(t, before) for t in now))

    before = held.detach().clone()
    with _hooked(repeater.call.module.register_forward_hook(hook)):
        repeater.run()
    return any(seen)


def _left_behind(
    repeater: Repeater, mask: Tensor, start: Tensor, argument: str, draws: int
) -> tuple[Tensor | None, _Writes]:
    """The mask's values after a call that begins with `start`, if it has changed them, and the writes to it."""
    before, left = start.detach().clone(), list[Tensor]()
    given = [] if argument else [mask]

    def enter(module: nn.Module, args: Any, kwargs: Any) -> None:
        alike = [t for _, t in tensors((args, kwargs)) if t.shape == before.shape and t.dtype == before.dtype]
        given.extend(t for t in alike if argument and torch.equal(t, before))
        writes.watching = True

    def leave(module: nn.Module, args: Any, output: Any) -> None:
        writes.watching = False
        left.extend(t.detach().clone() for t in given if not torch.equal(t, before))

    module, writes = repeater.call.module, _Writes(given)
    with ExitStack() as stack:
        stack.enter_context(_hooked(module.register_forward_pre_hook(enter, with_kwargs=True)))
        stack.enter_context(_hooked(module.register_forward_hook(leave)))
        stack.enter_context(writes)
        if argument:
            repeater.run({argument: before}, train=True, draws=draws)
        else:
            with _as(mask, before):
                repeater.run(train=True, draws=draws)
    return (left[0] if left else None), writes


class _Writes(FunctionMode):
    """Finds the line that writes into one of these tensors."""

    def __init__(self, watched: list[Tensor]) -> None:
        super().__init__()
        self._watched, self.watching = watched, False
        self.seen, self.place = False, cast("Place | None", None)

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        first = args[0] if args and isinstance(args[0], Tensor) else None
        before = first._version if first is not None and not first.is_inference() else 0
        result = func(*args, **(kwargs or {}))
        if (
            first is not None
            and self.watching
            and not self.seen
            and not first.is_inference()
            and first._version != before
        ):
            memory = {t.untyped_storage().data_ptr() for t in self._watched}
            if first.layout == torch.strided and first.untyped_storage().data_ptr() in memory:
                self.seen, self.place = True, user_place()
        return result


@contextmanager
def _as(held: Tensor, values: Tensor) -> Iterator[None]:
    kept = held.detach().clone()
    try:
        held.data.copy_(values)
        yield
    finally:
        held.data.copy_(kept)


@contextmanager
def _hooked(handle: Any) -> Iterator[None]:
    try:
        yield
    finally:
        handle.remove()


def _differ(one: Values, other: Values) -> bool:
    return any(name not in other or not torch.equal(t, other[name]) for name, t in one.items())
