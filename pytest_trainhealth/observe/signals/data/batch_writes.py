"""Whether a step computes in place in the batches of a user-written loader that hands out views of its own tensors.

A list may stand in for a loader that creates new batches, and a DataLoader collates copies. But slices of tensors that
an object keeps are the data themselves: the effect of `x += noise` is still there in the next epoch.
"""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from ....records.data import SampleChange
from ....records.verdict import Place
from ....tensors.batches import tensors
from ....tensors.function_modes import FunctionMode
from ....tensors.norms import norms
from ....tensors.plain import is_given
from ....tensors.storage import memory_of
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.authorship import package_of
from ...source.places import user_place
from .stored_data import put_back_random_numbers

#: Two steps that do so, and one that gets the first batch again. By judgement: 2, as twice is not an accident.
_STEPS = 2
#: A change beyond rounding, relative to the batch. By judgement: rounding is 1e-7 in float32.
_CLEAR = 1e-3
#: Smallest assumed size of a batch, so that one of zeros has a limit, too: below any value that matters (1e-12).
_NO_ZERO = 1e-12
#: Within so many batches the first has to come again. By judgement: more than twice the steps of any check.
_MOST_BATCHES = 512
#: Functions that compute with the old values. Code that sets new ones (`copy_`, `x[i] = y`) may intend to keep them:
#: chains, averages.
_COMPUTES = {
    *("add_", "sub_", "mul_", "div_", "__iadd__", "__isub__", "__imul__", "__itruediv__", "addcmul_", "addcdiv_"),
    *("subtract_", "multiply_", "divide_", "true_divide_", "lerp_", "pow_"),
}


class BatchWrites(Signal):
    NAME, COST = "batch_writes", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        #: The loader's attributes by memory address.
        self._held: dict[int, str] = {}
        #: The tensors of the first batch as its step left them, by name.
        self._left: dict[str, tuple[Tensor, Tensor]] = {}
        self._open = ExitStack()
        self._sums: _Sums | None = None
        #: Name in the batch, the tensor, and its values before the step.
        self._given: dict[str, tuple[Tensor, Tensor]] = {}
        self._changed: dict[str, Tensor] = {}
        self._means: dict[str, list[float]] = {}
        self._wrote = 0

    def run_begins(self) -> None:
        feed = self._run.feed
        self._held = _held_by(feed.source) if feed is not None else {}
        if self._held:
            self._run.batch_changes.append(self._hand_out)

    def _hand_out(self, batch: Any) -> Any:
        if self._run.step != _STEPS or self._wrote != _STEPS:
            return batch
        again = self._read_again()
        self._wrote = 0 if again is None else self._wrote
        return batch if again is None else again

    def _read_again(self) -> Any:
        """The first batch read from the loader again, if it is as the step left it; a buffer would be refilled."""
        feed = self._run.feed
        assert feed is not None  # it held tensors when the run began
        try:
            with put_back_random_numbers():
                for batch in islice(iter(feed.source), _MOST_BATCHES):
                    given = dict(tensors(batch))
                    if all(name in given and _same(given[name], *left) for name, left in self._left.items()):
                        return batch
        except Exception:  # a loader that does not support two readers proves nothing
            return None
        return None

    def step_begins(self, batch: object) -> None:
        if not self._held or self._run.step > _STEPS or self._wrote < self._run.step:
            return
        views = {name: t for name, t in tensors(batch) if _has_rows(t) and memory_of(t) in self._held}
        self._given = {name: (tensor, tensor.detach().clone()) for name, tensor in views.items()}
        if self._given:
            self._sums = self._open.enter_context(_Sums(self, list(views.values())))
            self._open.callback(self._before_call(self._forward_begins).remove)

    def _forward_begins(self, module: nn.Module, inputs: Any) -> None:
        """Writes from now on may depend on a model's output: some kind of memory, which is intended."""
        self._look()

    def step_ends(self) -> None:
        self._look()
        if not self._run.step:
            self._left = {name: (tensor, tensor.detach().clone()) for name, tensor in self._changed.items()}
        self._changed = {}

    def run_ends(self) -> None:
        self._open.close()
        self._given, self._left, self._changed, self._sums = {}, {}, {}, None

    def _look(self) -> None:
        self._open.close()
        given, sums, self._given, self._sums = self._given, self._sums, {}, None
        if sums is None:
            return
        changed = {}
        for name, (tensor, before) in given.items():
            change, size = norms([tensor.detach() - before, before])
            if tensor.data_ptr() in sums.places and change > _CLEAR * max(size, _NO_ZERO):
                changed[name] = (tensor, before)
        if not changed or (self._run.step and not changed.keys() <= self._means.keys()):
            return
        self._wrote += 1
        self._changed = {name: tensor for name, (tensor, _) in changed.items()}
        if self._run.step == 1:
            return  # another batch
        for name, (tensor, before) in changed.items():
            means = self._means.setdefault(name, [float(before.double().mean())])
            means.append(float(tensor.detach().double().mean()))
        if self._run.step == _STEPS and self._run.feed is not None:
            name, (tensor, _) = next(iter(changed.items()))
            source = type(self._run.feed.source).__name__
            visits, place = tuple(self._means[name]), sums.places[tensor.data_ptr()]
            self._run.trace.data.sample_change = SampleChange(
                source, self._held[memory_of(tensor)], 0, visits, place, True
            )


class _Sums(FunctionMode):
    """Finds the lines that compute in place in these tensors."""

    def __init__(self, signal: BatchWrites, given: list[Tensor]) -> None:
        super().__init__()
        self._signal = signal
        self._pointers = {tensor.data_ptr() for tensor in given}
        self.places: dict[int, Place | None] = {}

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        written = args[0] if args else None
        if getattr(func, "__name__", "") in _COMPUTES and isinstance(written, Tensor):
            with self._signal._reading():
                if _has_rows(written) and written.data_ptr() in self._pointers:
                    self.places.setdefault(written.data_ptr(), user_place())
        return result


def _held_by(source: Any) -> dict[int, str]:
    """Float tensors of an iterable object whose class the user wrote."""
    if isinstance(source, (DataLoader, Dataset, Tensor, list, tuple, dict)) or not hasattr(source, "__dict__"):
        return {}
    if not hasattr(type(source), "__iter__") or hasattr(type(source), "__next__"):
        return {}
    if package_of(type(source)) != "user":
        return {}
    return {
        memory_of(held): name for name, held in vars(source).items() if isinstance(held, Tensor) and _has_rows(held)
    }


def _same(tensor: Tensor, first: Tensor, left: Tensor) -> bool:
    return tensor.data_ptr() == first.data_ptr() and tensor.shape == left.shape and torch.equal(tensor, left)


def _has_rows(tensor: Tensor) -> bool:
    """Rows of several values. A single value per sample may be a weight or a priority that is meant to change."""
    return is_given(tensor) and tensor.is_floating_point() and tensor.ndim > 1
