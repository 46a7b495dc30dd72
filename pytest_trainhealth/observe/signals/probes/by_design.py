"""Mixing that is meant: an excuse counts only if a probe has proven it.

Samples are linked by a graph if without its links nothing mixes, or if the rows themselves are the table of its links
and only what they link mixes; they are compared in pairs if a table of all pairs
changes in one row and one column; they are ranked if a sort ran over them; a statistic of the batch is a feature if it
is appended to features that do not mix. Whatever else looks meant is told, and not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ....records.probes import MixingRecord
from ....tensors.batches import tensors
from .repeat_call import NotRepeatable, Repeater, Values
from .sample_axis import ordered
from .sample_rows import Samples, row_changes
from .steps_of_a_call import RANKING, Step

#: Names which show that rows are nodes, not samples.
_GRAPH = ("edge", "adj", "lapl", "graph", "neighb", "senders", "receivers")
#: What is handed around by index: nodes, segments, experts.
_BY_INDEX = ("index_", "scatter", "segment", "gather")
_RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}
#: By judgement: a table of 8 x 8 features is symmetric by chance once in 2^28 times.
_FEWEST_NODES = 8
_JOINS = {"cat", "concat", "concatenate", "hstack", "column_stack"}
#: Relative to the largest change: what else changes is rounding. By judgement: the same as in sample_mixing.
_SHARE = 1e-3


@dataclass
class Mixed:
    """Samples that were seen to mix: the call, what was changed, and its operations up to the first that mixes."""

    repeater: Repeater
    changes: Values
    found: MixingRecord
    before: list[Step]
    after: list[Step]
    shuffled: bool

    @property
    def operation(self) -> Step | None:
        return self.before[-1] if self.before else None


def by_design(mixed: Mixed, samples: Samples) -> tuple[str, bool]:
    """Why the samples may be meant to mix ('' if nothing says so), and whether that is proven."""
    for reason in (_linked, _compared, _ranked, _batch_norm, _appended, _one_sequence):
        why, proven = reason(mixed, samples)
        if why:
            return why, proven
    return "", False


# -- links between rows ----------------------------------------------------------------------------


def _linked(mixed: Mixed, samples: Samples) -> tuple[str, bool]:
    """Without the links the rows do not mix."""
    named = ""
    for leaf in samples.rows:
        if leaf.name in mixed.changes and _links_nodes(leaf.tensor):
            why = f"the rows of {leaf.name} are nodes of a graph, with a column for each"
            return why, _only_neighbours_change(mixed, leaf.tensor)
    for name, tensor, is_leaf in _links(mixed.repeater, samples.number):
        if _is_sparse(tensor):
            return f"the rows are linked by {name}, which is sparse", False
        cut = _without_links(tensor, samples.number)
        if cut is None:
            continue
        named = named or (name if any(word in name.lower() for word in _GRAPH) else "")
        if _separate_with(mixed, name if is_leaf else tensor, cut):
            return f"the rows are linked by {name}: without it they do not mix", True
    return (f"the rows are nodes of a graph ({named})", False) if named else ("", False)


def _links(repeater: Repeater, number: int) -> Iterator[tuple[str, Tensor, bool]]:
    call = repeater.call
    yield from ((leaf.name, leaf.tensor, True) for leaf in call.leaves if leaf.tensor.ndim)
    yield from ((name, buffer, False) for name, buffer in call.module.named_buffers())
    for module in call.module.modules():
        held = {name: value for name, value in vars(module).items() if not name.startswith("_")}
        yield from ((name.lstrip("."), t, False) for key, value in held.items() if _may_hold(value)
                    for name, t in tensors(value, key))  # fmt: skip


def _links_nodes(table: Tensor) -> bool:
    """Rows of features are no table of links, though there may be as many of them: features are not symmetric."""
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < _FEWEST_NODES or table.is_complex():
        return False
    linked = (table != 0).fill_diagonal_(False)
    if not bool(linked.any()):
        return False  # one-hot rows link nothing
    some_are_not = int(linked.sum()) < len(table) * (len(table) - 1)
    return torch.equal(table, table.T) or (some_are_not and torch.equal(linked, linked.T))


def _only_neighbours_change(mixed: Mixed, table: Tensor) -> bool:
    """Outputs of nodes that are so many links away from the replaced one stay as they are, and those nearer change."""
    one, two = mixed.repeater.run({}), mixed.repeater.run(mixed.changes)
    changed = torch.zeros(len(table), dtype=torch.bool, device=table.device)
    for name, before in one.items():
        after = two.get(name)
        if after is not None and before.ndim and before.shape == after.shape and before.shape[0] == len(table):
            if before.ndim > 1 and before.shape[1] == len(table):
                continue  # all pairs: a node is in each row
            change = row_changes(before, after)
            changed |= change > _SHARE * change.max()
    links = ((table != 0) | (table != 0).T).fill_diagonal_(True)
    near = torch.zeros_like(changed)
    near[mixed.found.sample] = True
    while not bool(near.all()):
        near, before_that = links[near].any(0), near
        if bool(near.all()) or torch.equal(near, before_that):
            return False
        if bool((changed & ~near).any()):
            continue
        return bool(changed.any())
    return False


def _may_hold(value: Any) -> bool:
    return isinstance(value, (Tensor, list, tuple)) and not isinstance(value, nn.Parameter)


def _is_sparse(tensor: Tensor) -> bool:
    return tensor.layout != torch.strided


def _without_links(tensor: Tensor, number: int) -> Tensor | None:
    """Each row linked to itself only: for a table of all pairs, a list of pairs, or the group of each row."""
    if tensor.ndim >= 2 and tuple(tensor.shape[-2:]) == (number, number):
        return torch.eye(number, device=tensor.device).to(tensor.dtype).expand_as(tensor).clone()
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        return None
    if tensor.ndim == 2 and 2 in tensor.shape and tensor.numel() and int(tensor.max()) < number:
        ends = torch.arange(tensor.numel() // 2, device=tensor.device) % number
        return ends.expand(2, -1).to(tensor.dtype).clone() if tensor.shape[0] == 2 else torch.stack([ends, ends], 1)
    if tensor.ndim == 1 and tensor.shape[0] == number and int(tensor.max()) < number:
        return torch.arange(number, device=tensor.device, dtype=tensor.dtype)
    return None


def _separate_with(mixed: Mixed, where: str | Tensor, cut: Tensor) -> bool:
    sample = mixed.found.sample
    try:
        with _held_as(where, cut):
            given = {where: cut} if isinstance(where, str) else {}
            changes = {name: value for name, value in mixed.changes.items() if name not in given}
            one, two = mixed.repeater.run(given), mixed.repeater.run({**changes, **given})
    except (NotRepeatable, RuntimeError):
        return False
    seen = False
    for name, before in one.items():
        after = two.get(name)
        if after is None or not before.ndim or before.shape != after.shape or before.shape[0] != mixed.found.samples:
            continue
        change = row_changes(before, after)
        own, change[sample] = float(change[sample]), 0
        if float(change.max()) > _SHARE * own:
            return False
        seen = seen or own > 0
    return seen


@contextmanager
def _held_as(where: str | Tensor, other: Tensor) -> Iterator[None]:
    """A tensor that the module keeps has other values for a while."""
    if isinstance(where, str):
        yield
        return
    kept = where.detach().clone()
    try:
        where.detach().copy_(other)
        yield
    finally:
        where.detach().copy_(kept)


# -- other designs -----------------------------------------------------------------------------------


def _compared(mixed: Mixed, samples: Samples) -> tuple[str, bool]:
    """A table of all pairs: replacing one sample changes its row and its column, and nothing else."""
    positions = {leaf.tensor.shape[1] for leaf in samples.rows if leaf.tensor.ndim > 2}
    for one, other in zip(mixed.before, mixed.after, strict=True):
        if "attention" in one.name:
            continue
        for before, after in zip(one.results, other.results, strict=False):
            if before.shape != after.shape or set(before.shape[:-2]) & (positions - {samples.number}):
                continue  # one table for each position: samples are taken for positions
            if any(_is_table(before, after, axes, mixed.found.sample, samples.number) for axes in ((0, 1), (-2, -1))):
                return f"samples are compared in pairs ({one.name})", True
    return "", False


def _is_table(before: Tensor, after: Tensor, axes: tuple[int, int], sample: int, number: int) -> bool:
    if before.ndim < 2 or any(before.shape[axis] != number for axis in axes) or not before.is_floating_point():
        return False
    moved = (
        torch.nan_to_num(after.double() - before.double())
        .abs()
        .movedim(axes, (0, 1))
        .reshape(number, number, -1)
        .amax(2)
    )
    cross = torch.zeros(number, number, dtype=torch.bool, device=moved.device)
    cross[sample], cross[:, sample] = True, True
    apart = torch.arange(number, device=moved.device) != sample
    row, column = float(moved[sample][apart].max()), float(moved[:, sample][apart].max())
    return min(row, column) > 0 and (number == 2 or float(moved[~cross].max()) <= _SHARE * max(row, column))


def _ranked(mixed: Mixed, samples: Samples) -> tuple[str, bool]:
    """A sort or a choice by rank ran over the samples, and its result changes with one of them."""
    for one, other in zip(mixed.before, mixed.after, strict=True):
        if one.name not in RANKING or not one.given or not one.given[0].ndim:
            continue
        given = one.given[0]
        flat = given.ndim == 1 and given.numel() >= samples.number
        along = one.dim == 0 and given.shape[0] == samples.number
        same = all(a.shape == b.shape and torch.equal(a, b) for a, b in zip(one.results, other.results, strict=False))
        if (flat or along) and not same:
            return f"samples are ranked against each other ({one.name})", True
    return "", False


def _batch_norm(mixed: Mixed, samples: Samples) -> tuple[str, bool]:
    step = mixed.operation
    named = step is not None and step.name in ("batch_norm", "instance_norm")
    if not named:
        return "", False
    return "BatchNorm without running statistics normalises by the batch", True


def _appended(mixed: Mixed, samples: Samples) -> tuple[str, bool]:
    """A statistic of all samples becomes a feature beside features that do not mix (minibatch discrimination, the
    context of a set). One sample's values for all would not be a statistic."""
    step = mixed.operation
    if step is None or step.name not in _JOINS or mixed.found.for_all is not None or step.dim == 0:
        return "", False
    other, sample = mixed.after[-1], mixed.found.sample
    own = [
        float(change.max()) > 0 and float(change[[n for n in range(samples.number) if n != sample]].max()) == 0
        for a, b in zip(step.given, other.given, strict=False)
        if a.ndim and a.shape == b.shape and a.shape[0] == samples.number
        for change in [row_changes(a, b)]
    ]
    return ("what all samples have in common is appended to the features of each", True) if any(own) else ("", False)


def _one_sequence(mixed: Mixed, samples: Samples) -> tuple[str, bool]:
    """Rows of one table as one sequence: a series if the rows have an order, not if a loader has drawn them."""
    step = mixed.operation
    if step is None:
        return "", False
    shape = tuple(step.given[0].shape) if step.given else ()
    alone = shape[:1] == (1,) or (len(shape) > 2 and shape[1] == 1) or len(shape) == 2
    runs_along = step.name in _RECURRENT or "attention" in step.name or "conv" in step.name
    if step.name.startswith(_BY_INDEX):
        return f"rows are handed around by {step.name}()", False
    if mixed.shuffled or not (alone and runs_along):
        return "", False
    values = [leaf.tensor for leaf in samples.rows if leaf.tensor.is_floating_point()]
    return f"the batch is one sequence for {step.name}", any(ordered(t) for t in values)
