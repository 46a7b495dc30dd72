"""Where a call keeps its samples: rows of tensors, or members of a list of tensors of different lengths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from .repeat_call import Leaf, Repeater, Values

_MEMBER = re.compile(r"^(.*)\[(\d+)\]$")


@dataclass
class Samples:
    """The samples of one call, and how to replace one of them."""

    number: int
    #: Tensors with one row for each sample.
    rows: list[Leaf]
    #: Lists with one tensor for each sample, by the name of the list.
    members: dict[str, list[Leaf]]

    def with_other(self, sample: int) -> Values:
        """One sample's values replaced by those of another that differs; empty if all are the same."""
        for other in (*range(sample + 1, self.number), *range(sample)):
            changes = dict(self._changes(sample, other))
            if changes:
                return changes
        return {}

    def _changes(self, sample: int, other: int) -> Iterator[tuple[str, Tensor]]:
        for leaf in self.rows:
            if not torch.equal(leaf.tensor[other], leaf.tensor[sample]):
                changed = leaf.tensor.clone()
                changed[sample] = leaf.tensor[other]
                yield leaf.name, changed
        for each in self.members.values():
            one, two = each[sample].tensor, each[other].tensor
            if one.shape != two.shape or not torch.equal(one, two):
                yield each[sample].name, two


def samples_of(repeater: Repeater, number: int) -> Samples:
    """Members of a list are samples if there is one for each, and they are not all of one size."""
    lists = _lists(repeater.call.leaves)
    members = {name: each for name, each in lists.items() if len(each) == number and _is_ragged(each)}
    inside = {leaf.name for each in lists.values() if _is_ragged(each) for leaf in each}
    rows = [leaf for leaf in repeater.call.leaves if leaf.tensor.ndim and leaf.tensor.shape[0] == number]
    return Samples(number, [leaf for leaf in rows if leaf.name not in inside], members)


def ragged_members(leaves: list[Leaf]) -> int:
    """How many tensors the first ragged list has; 0 if there is none."""
    return next((len(each) for each in _lists(leaves).values() if _is_ragged(each)), 0)


def changes_by_sample(before: Values, after: Values, names: list[str], samples: Samples) -> Iterator[Tensor]:
    """For each output, by how much it changes for each sample. Those that cannot be compared are left out."""
    for name in names:
        one, two = before[name], after.get(name)
        if two is not None and two.shape == one.shape and bool(torch.isfinite(two).all()):
            yield row_changes(one, two)
    for ours in outputs_in_lists(before, samples):
        theirs = [after.get(name) for name in ours]
        if all(t is not None for t in theirs):
            pairs = [(before[name], t) for name, t in zip(ours, theirs, strict=True) if t is not None]
            yield torch.stack([_change(one, two) for one, two in pairs])


def row_changes(before: Tensor, after: Tensor) -> Tensor:
    return (after.detach().double() - before.detach().double()).abs().reshape(before.shape[0], -1).amax(1)


def _change(one: Tensor, two: Tensor) -> Tensor:
    """Another length is as large a change as the values themselves."""
    if one.shape != two.shape or not one.numel():
        return (one.detach() if one.numel() else one.new_zeros(1)).double().abs().max()
    return (two.detach().double() - one.detach().double()).abs().max()


def outputs_in_lists(outputs: Values, samples: Samples) -> list[list[str]]:
    """Lists of outputs with a member for each sample, where the inputs are such lists."""
    found: dict[str, list[str]] = {}
    for name, tensor in outputs.items():
        match = _MEMBER.match(name)
        if match is not None and tensor.is_floating_point():
            found.setdefault(match.group(1), []).append(name)
    return [each for each in found.values() if samples.members and len(each) == samples.number]


def _lists(leaves: list[Leaf]) -> dict[str, list[Leaf]]:
    found: dict[str, list[Leaf]] = {}
    for leaf in leaves:
        match = _MEMBER.match(leaf.name)
        if match is not None and leaf.tensor.ndim:
            found.setdefault(match.group(1), []).append(leaf)
    return {name: each for name, each in found.items() if len(each) > 1}


def _is_ragged(members: list[Leaf]) -> bool:
    first = members[0].tensor
    alike = all(m.tensor.ndim == first.ndim and m.tensor.dtype == first.dtype for m in members)
    return alike and len({m.tensor.shape[0] for m in members}) > 1
