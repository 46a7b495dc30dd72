"""Whether a step writes into the batches of a list in a way that adds up from epoch to epoch.

A batch from a loader is a copy, and a step may change it freely. A batch in a list is the data themselves: the next
epoch gets it as this one has left it. (A run itself gets every batch as it was, see `feed`.) Where steps have written
into their batches, three more steps are taken at the end of the run, when they harm nothing: with the first batch as it
was, with the same as it was left, and, with the random numbers of the second, as it was once more. A write adds up if
the second visit changes the batch again, and makes of it something other than the third makes of a fresh one. Setting
values, clamping, padding, filling a buffer anew: all of these come out the same.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from ....records.data import DriftingBatch
from ....tensors.batches import map_tensors, tensors
from ....tensors.plain import is_given
from ...run.run import Run
from ...run.signal import Cost, Signal
from .batch_use import BatchUse
from .stored_data import put_back_random_numbers

#: Steps that have to do so. By judgement: 2, as twice is not an accident.
_STEPS = 2
#: A change that matters, relative to the tensor. By judgement: noise of a fiftieth takes 2,500 epochs to become as
#: large as the data, and a factor of 0.98 takes 35 to halve them.
_CLEAR = 0.02
#: Smallest assumed size of a tensor, so that one of zeros has a limit, too: below any value that matters (1e-12).
_NO_ZERO = 1e-12
#: Where random numbers are drawn: how much of the second change may go back on the first. By judgement, between 1/2
#: for values that are drawn anew around the same centre, and 0 for those that are added.
_BACK = 0.25


class DriftingBatches(Signal):
    NAME, COST = "drifting_batches", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._first: Any = None
        self._given: list[tuple[str, Tensor]] = []
        self._names: set[str] = set()
        self._wrote = 0

    def step_begins(self, batch: object) -> None:
        feed, sites = self._run.feed, self._run.creation_sites
        if self._run.step >= _STEPS or feed is None or type(feed.source) is not list:
            return
        kept = [
            (name, tensor)
            for name, tensor in tensors(batch)
            if is_given(tensor) and not tensor.is_complex() and feed.keeps(tensor)
        ]
        self._given = [(name, tensor) for name, tensor in kept if sites is None or not sites.was_loaded(tensor)]
        self._first = batch if not self._run.step else self._first

    def step_ends(self) -> None:
        feed, given, self._given = self._run.feed, self._given, []
        written = {name for name, tensor in given if feed is not None and feed.left(tensor) is not None}
        if written:
            self._names = self._names & written if self._wrote else written
            self._wrote += 1

    def run_ends(self) -> None:
        first, self._first, self._given = self._first, None, []
        take = self._run.take_step
        if self._wrote == _STEPS and self._names and take is not None and self._run.trace.crash is None:
            with put_back_random_numbers():
                fresh = _copied(first)
                left, use = self._visit(fresh)
                with put_back_random_numbers() as again:  # others than those of the first visit
                    twice, _ = self._visit(left)
                    again()
                    anew, _ = self._visit(fresh)
            # the first visit tells what the step does with a batch: the second one may break off
            self._compare([dict(tensors(each)) for each in (fresh, left, twice, anew)], use)

    def _visit(self, batch: Any) -> tuple[Any, BatchUse]:
        """The batch as one more step leaves it. It may raise: a label that is shifted twice may be none any more."""
        given = _copied(batch)
        use = BatchUse({name: tensor for name, tensor in tensors(given) if name in self._names})
        assert self._run.take_step is not None
        handed = map_tensors(lambda _, tensor: tensor, given)  # the step may pop from its batch
        with suppress(Exception), use:
            self._run.take_step(handed)
        return given, use

    def _compare(self, visits: list[dict[str, Tensor]], use: BatchUse) -> None:
        for name in sorted(use.written.keys() & use.used - use.memories):
            fresh, left, twice, anew = (visit[name] for visit in visits)
            # a single value per sample may be a weight or a priority that is meant to change
            if (fresh.ndim > 1 or name in use.targets) and adds_up(fresh, left, twice, anew):
                shares = _share(fresh, left), _share(left, twice)
                means = float(fresh.double().mean()), float(left.double().mean()), float(twice.double().mean())
                self._run.trace.data.drifting_batch = DriftingBatch(name, shares, means, use.written[name])
                return


def adds_up(fresh: Tensor, left: Tensor, twice: Tensor, anew: Tensor) -> bool:
    """`left` and `anew` are what steps made of `fresh`, and `twice` is what the second of them would make of `left`."""
    finite = torch.isfinite(fresh) & torch.isfinite(left)
    fresh, left, twice, anew = (each[finite].double() for each in (fresh, left, twice, anew))
    if not _differ(left, fresh):
        return False
    if not bool(torch.isfinite(twice).all()):
        return True
    if not _differ(twice, left) or not _differ(twice, anew):
        return False
    first, second = left - fresh, twice - left
    is_drawn = _differ(anew, left)
    return not is_drawn or float(first @ second) > -_BACK * float(second @ second)


def _differ(one: Tensor, other: Tensor) -> bool:
    return float((one - other).norm()) > _CLEAR * max(float(other.norm()), _NO_ZERO)


def _share(before: Tensor, after: Tensor) -> float:
    return float((before != after).double().mean())


def _copied(batch: Any) -> Any:
    """A tensor that is in the batch twice is in the copy twice, too."""
    copies: dict[int, Tensor] = {}
    return map_tensors(lambda _, tensor: copies.setdefault(id(tensor), tensor.detach().clone()), batch)
