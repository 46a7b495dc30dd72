"""What a baseline keeps of a run: where each parameter starts, its first gradient and update, batches and draws."""

from __future__ import annotations

import math
import platform
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer
from torch.utils.data import DataLoader

from ....records.baseline import BatchSteps, FirstSteps, LayerSteps, Surroundings, added_up
from ....tensors.batches import batch_size, tensors
from ....tensors.fingerprint import NoFingerprint, fingerprint
from ....tensors.norms import norms
from ....tensors.readable import is_released
from ...run.run import Run
from ...run.signal import Cost, Signal

#: Digits of a fingerprint in a file that people read. By judgement: 10, so that two batches look alike once in a
#: trillion comparisons.
_DIGITS = 10
#: Samples of a batch that are told apart. By judgement: more take longer to read one by one than the step itself.
_MOST_SAMPLES = 1024


class FirstStepsSignal(Signal):
    NAME, COST = "first_steps", Cost.STATE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._found = run.trace.state.first_steps = FirstSteps()
        self._layers: dict[str, LayerSteps] = {}
        self._before: dict[str, Tensor] = {}
        self._calls: dict[str, int] = {}
        self._handles: list[Any] = []
        self._updated = False
        self._squares: float | None = None
        self._rate: float | None = None

    def step_begins(self, batch: object) -> None:
        if not self._layers:
            self._start()
        if not self._updated:
            self._before = {name: p.detach().clone() for name, p in self._readable().items()}
        self._squares = self._rate = None
        self._found.batches.append(_batch(batch))

    def _readable(self) -> dict[str, Tensor]:
        return {name: p for name, p in self._run.parameters.items() if not is_lazy(p) and not is_released(p)}

    def _start(self) -> None:
        run, found = self._run, self._found
        found.surroundings = _surroundings(run)
        found.order = _order(run)
        self._add_layers()
        for name, module in run.named_modules():
            hook = self._before_call(lambda module, given, name=name: self._called(name), module)
            self._handles.append(hook)

    def _add_layers(self) -> None:
        new = {name: p for name, p in self._readable().items() if name not in self._layers}
        for (name, parameter), size in zip(new.items(), norms(list(new.values())), strict=True):
            self._layers[name] = LayerSteps(name, tuple(parameter.shape), size)

    def _called(self, name: str) -> None:
        self._calls.setdefault(name, len(self._calls))

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if not has_closure:
            self._gradients(optimizer)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if has_closure:
            self._gradients(optimizer)

    def _gradients(self, optimizer: Optimizer) -> None:
        """As the optimizer gets them: clipped and unscaled."""
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        grads = {name: p.grad for name, p in self._run.parameters.items() if id(p) in held and p.grad is not None}
        found = dict(zip(grads, norms([grad for grad in grads.values() if grad is not None]), strict=True))
        self._squares = (self._squares or 0.0) + sum(norm * norm for norm in found.values())
        if self._rate is None:
            self._rate = max(float(group.get("lr", 0.0)) for group in optimizer.param_groups)
        if self._before:
            for name, norm in found.items():
                if name in self._layers and self._layers[name].gradient is None:
                    self._layers[name].gradient = norm

    def step_ends(self) -> None:
        self._found.gradients.append(None if self._squares is None else math.sqrt(self._squares))
        self._found.rates.append(self._rate)
        self._found.batches[-1].draws = fingerprint(torch.get_rng_state())[:_DIGITS]
        if self._handles:
            self._unhook()
            self._add_layers()  # of layers that were made in the first forward pass
        if self._before and self._squares is not None:
            moved = [self._run.parameters[name].detach() - before for name, before in self._before.items()]
            for name, norm in zip(self._before, norms(moved), strict=True):
                self._layers[name].update = norm
            self._before, self._updated = {}, True

    def run_ends(self) -> None:
        self._unhook()
        self._found.layers = sorted(self._layers.values(), key=self._turn)

    def _turn(self, layer: LayerSteps) -> int:
        """When its module was called for the first time; one whose module never was belongs to the one around it."""
        owner = layer.name
        while owner:
            owner = owner.rpartition(".")[0]
            if owner in self._calls:
                return self._calls[owner]
        return len(self._calls)

    def _unhook(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []


def _surroundings(run: Run) -> Surroundings:
    first = next(iter(run.parameters.values()))
    kinds = sorted({str(p.dtype).removeprefix("torch.") for p in run.parameters.values()})
    own = getattr(run.training, "precision", None)
    device = first.device.type
    hardware = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    if device == "cuda":
        hardware = torch.cuda.get_device_name(first.device)
    return Surroundings(
        torch=".".join(torch.__version__.split(".")[:2]),
        device=device,
        hardware=hardware,
        dtype=", ".join([*kinds, *([] if own is None else [f"autocast to {str(own).removeprefix('torch.')}"])]),
        threads=torch.get_num_threads(),
    )


def _order(run: Run) -> str:
    data = getattr(run.training, "data", None)
    return type(data.sampler).__name__ if isinstance(data, DataLoader) else ""


def _batch(batch: object) -> BatchSteps:
    found = [tensor.detach() for _, tensor in tensors(batch)]
    if not found:
        return BatchSteps()
    size = math.sqrt(sum(norm * norm for norm in norms(found)))
    try:
        return BatchSteps(fingerprint(found)[:_DIGITS], _samples(batch, found), size)
    except NoFingerprint:
        return BatchSteps(size=size)


def _samples(batch: object, found: list[Tensor]) -> str:
    """The same for the same samples, whatever their order: the prints of all of them, added up."""
    count = batch_size(batch) or 0
    rows = [tensor for tensor in found if tensor.ndim and tensor.shape[0] == count]
    if not rows or not 0 < count <= _MOST_SAMPLES:
        return ""
    return added_up([fingerprint([tensor[index] for tensor in rows]) for index in range(count)])
