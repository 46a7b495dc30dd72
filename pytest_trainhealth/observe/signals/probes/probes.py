"""What do the outputs depend on? Repeats a step's calls of the models with other inputs.

In eval mode, without a graph, and with the same random numbers each time; state that a model keeps from a call is
restored. A probe that raises proves nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.nn.modules.module import _global_forward_hooks_with_kwargs, register_module_forward_hook
from torch.utils.data import DataLoader, default_collate
from torch.utils.hooks import RemovableHandle

from ....records.loss_functions import SAMPLE_BY_SAMPLE
from ....records.probes import InputRecord, ProbeRecord
from ....tensors.batches import tensors
from ...calls import torch_calls
from ...calls.torch_calls import CallSignal
from ...run.run import Run
from ...run.signal import Cost
from .influence import influences, samples_in
from .leakage import leak
from .padding import padding
from .repeat_call import Call, Leaf, NotRepeatable, Repeater, repeating
from .sample_mixing import mixing

#: Early, for the short training of a watched test; later, for branches that start at zero. By judgement: watched tests
#: train for as few as 3 steps.
_STEPS = (2, 8)
#: Most modules that are probed, at their first and last call. By judgement: a GAN has 2, a teacher and a student with
#: their heads 4.
_MOST_MODULES = 4


@dataclass
class _Made:
    """A call, as the step made it."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    with_graph: bool


class Probes(CallSignal):
    NAME, COST = "probes", Cost.CLOSE
    LAST = True  # it calls the models again, once all other signals have stopped listening

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._hooks: list[RemovableHandle] = []
        self._inner: dict[int, set[int]] = {}
        self._calls: list[_Made] = []
        self._targets: list[Tensor] = []
        self._batch: Any = None
        self._inputs: list[tuple[Leaf, InputRecord]] = []

    def wanted(self) -> bool:
        return self._run.step in _STEPS

    def step_begins(self, batch: object) -> None:
        self._calls, self._targets, self._batch = [], [], batch
        if self.wanted():
            self._hook()
        super().step_begins(batch)

    def _hook(self) -> None:
        self._inner = {
            id(module): {id(part) for part in module.modules() if part is not module}
            for model in self._run.models.values()
            for module in model.modules()
        }
        self._hooks.append(register_module_forward_hook(self._ran, with_kwargs=True))

    def _ran(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        inner = self._inner.get(id(module))
        if inner is None or not self._forward or torch.compiler.is_compiling():
            return
        # modules that ran inside this one were not called by the step itself
        self._calls = [each for each in self._calls if id(each.module) not in inner]
        self._calls.append(_Made(module, args, kwargs, torch.is_grad_enabled()))

    def called(self, call: torch_calls.Call) -> None:
        if call.name in SAMPLE_BY_SAMPLE and call.error is None:
            target = call.args[1] if len(call.args) > 1 else call.kwargs.get("target")
            if isinstance(target, Tensor) and not is_functorch_wrapped_tensor(target):
                self._targets.append(target.detach())

    def step_ends(self) -> None:
        wanted = bool(self._hooks)
        self.run_ends()
        if wanted:
            try:
                self._probe()
            finally:
                self._calls, self._targets, self._batch = [], [], None

    def run_ends(self) -> None:
        super().run_ends()
        for hook in self._hooks:
            hook.remove()
            _global_forward_hooks_with_kwargs.pop(hook.id, None)  # remove() leaves it, and the compiler warns of it
        self._hooks = []

    def _probe(self) -> None:
        record = ProbeRecord(self._run.step, seen=len(self._calls))
        with repeating() as repeat:
            for call in self._chosen():
                try:
                    self._look(repeat(call), record)
                except NotRepeatable as error:
                    record.reasons.append(f"{call.kind} cannot be called again: {error}")
                except Exception as error:  # user code that fails on a probe is not a fault of the training
                    record.reasons.append(f"{call.kind} cannot be probed: {type(error).__name__}: {error}")
        record.inputs, self._inputs = _merged(self._inputs), []
        self._run.trace.probe = record

    def _chosen(self) -> list[Call]:
        """The first and the last call of each module that can be repeated."""
        usable = [
            c for c in self._calls if not any(is_functorch_wrapped_tensor(t) for _, t in tensors((c.args, c.kwargs)))
        ]
        of_module: dict[int, list[_Made]] = {}
        for each in [c for c in usable if c.with_graph] or usable:  # calls without a graph are teachers and metrics
            of_module.setdefault(id(each.module), []).append(each)
        chosen = []
        for made in list(of_module.values())[:_MOST_MODULES]:
            for each in made if len(made) < 3 else (made[0], made[-1]):
                with suppress(TypeError, ValueError, RuntimeError):
                    chosen.append(Call(each.module, each.args, each.kwargs))
        return chosen

    def _look(self, repeater: Repeater, record: ProbeRecord) -> None:
        base = repeater.run()
        again = repeater.run()
        if not base or any(name not in again or not _equal(t, again[name]) for name, t in base.items()):
            raise NotRepeatable("its outputs differ the second time" if base else "it returns no tensor")
        record.calls += 1
        samples = samples_in(repeater, base)
        if samples:
            inputs = influences(repeater, base, samples, {t.data_ptr() for t in self._targets})
            self._inputs += inputs
            _count(record, "inputs", len(inputs))
            with suppress(NotRepeatable):
                found, judged, why = mixing(repeater, base, samples, self._run, self._is_stacked(samples))
                record.mixing += [found] if found is not None else []
                record.reasons += [why] if why else []
                _count(record, "mixing", int(judged))
        with suppress(NotRepeatable):
            leaking, number = leak(repeater, base, self._candidates(), self._run, bool(self._targets))
            record.leaks += [leaking] if leaking is not None else []
            _count(record, "leaks", number)
        with suppress(NotRepeatable):
            padded, number = padding(repeater, base, self._run)
            record.paddings += [padded] if padded is not None else []
            _count(record, "padding", number)

    def _candidates(self) -> list[Tensor]:
        """What the losses were given; if no loss was seen, everything in the batch."""
        return self._targets or [t for _, t in tensors(self._batch) if t.ndim]

    def _is_stacked(self, samples: int) -> bool:
        """Whether a DataLoader stacked single samples, so that the first dimension counts them."""
        data = getattr(self._run.feed, "source", None)
        if not isinstance(data, DataLoader) or data.collate_fn is not default_collate:
            return False
        return data.batch_size == samples


def _count(record: ProbeRecord, question: str, number: int) -> None:
    record.judged[question] = record.judged.get(question, 0) + number


def _equal(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))


def _merged(inputs: list[tuple[Leaf, InputRecord]]) -> list[InputRecord]:
    """An input that one call or model ignores may be used by another."""
    for leaf, record in inputs:
        alike = [r for other, r in inputs if (r.model, r.name) == (record.model, record.name)
                 or other.origin == leaf.origin]  # fmt: skip
        record.ignored = all(r.ignored for r in alike)
        using = [r for r in alike if not r.ignored]
        record.ignored_parts = tuple(p for p in record.ignored_parts if all(p in r.ignored_parts for r in using))
    return list({(r.model, r.name): r for _, r in inputs}.values())
