"""Looks at each update of one rank, and sends what it sees to the parent. Calls nothing that waits for other ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from ..observe.run.events import Listener
from ..tensors.batches import tensors
from ..tensors.fingerprint import fingerprint
from .link import Link
from .sketcher import Sketcher, is_shard

#: What wrappers put before the names of what they wrap.
_WRAPPERS = ("module.", "_orig_mod.", "_checkpoint_wrapped_module.")
#: Most calls of a model whose inputs are looked at for one update. By judgement: 8, as the first show what it is given.
_MOST_CALLS = 8

Sketched = dict[str, tuple[float, list[float]]]


def bare_name(name: str) -> str:
    """The same parameter has the same name in a process that wraps its model and in one that does not."""
    for wrapper in _WRAPPERS:
        name = name.removeprefix(wrapper).replace(f".{wrapper}", ".")
    return name


class RankObserver(Listener):
    def __init__(self, link: Link, updates: int) -> None:
        self._link, self._wanted = link, updates
        self._sketch = Sketcher()
        self._roots: list[nn.Module] = []
        self._inside: set[int] = set()
        self._names: dict[int, str] = {}
        self._parameters: dict[str, Tensor] = {}
        #: By parameter, the sum of what backward passes computed since gradients were cleared.
        self._local: Sketched = {}
        self._reached: set[str] = set()
        self._inputs: list[str] = []
        self._buffers: Sketched = {}
        self._before: Sketched = {}
        self._loss = math.nan
        self._depth = 0
        #: Updates so far.
        self.count = 0
        self._batch = ""

    # -- what is trained -----------------------------------------------------------------------------

    def find_models(self) -> None:
        """For a test that is watched: a model is what is called while gradients are on."""
        register_module_forward_pre_hook(self._called)

    def _called(self, module: nn.Module, inputs: Any) -> None:
        if id(module) in self._inside or not torch.is_grad_enabled() or not any(True for _ in module.parameters()):
            return
        self.add_models({"" if not self._roots else f"{type(module).__name__}{len(self._roots)}": module})
        if not isinstance(module, DistributedDataParallel):  # its own module is called next
            self._forward_begins(module, inputs, {})

    def add_models(self, models: Mapping[str, nn.Module]) -> None:
        for prefix, model in models.items():
            self._roots.append(model)
            self._inside.update(id(each) for each in model.modules())
            inner = model.module if isinstance(model, DistributedDataParallel) else model
            inner.register_forward_pre_hook(self._forward_begins, with_kwargs=True)
            for name, parameter in model.named_parameters():
                full = bare_name(f"{prefix}.{name}" if prefix else name)
                if id(parameter) not in self._names:
                    self._names[id(parameter)], self._parameters[full] = full, parameter
                    if parameter.requires_grad:
                        hook = partial(self._add_local, full)
                        parameter.register_hook(hook)  # type: ignore[no-untyped-call]
        self._link.send(model=self._described())

    def _described(self) -> dict[str, Any]:
        modules = [(bare_name(path), each) for root in self._roots for path, each in root.named_modules()]
        kinds = {type(each).__name__ for _, each in modules}
        return {
            "shapes": {name: f"{tuple(p.shape)}" for name, p in self._parameters.items()},
            "shards": [name for name, p in self._parameters.items() if is_shard(p)],
            "batch_norms": [
                path
                for path, each in modules
                if isinstance(each, _BatchNorm) and not isinstance(each, nn.SyncBatchNorm) and each.training
            ],
            "random_layers": [p for p, each in modules if isinstance(each, _DropoutNd) and each.p and each.training],
            "unfit": self._unfit(kinds),
        }

    def _unfit(self, kinds: set[str]) -> str:
        if "FullyShardedDataParallel" in kinds:
            return "FullyShardedDataParallel keeps its parameters in flat parts: use fully_shard, whose parts are known"
        meshes = [p.device_mesh.ndim for p in self._parameters.values() if is_shard(p)]  # type: ignore[attr-defined]
        sharded_data = any(kind.startswith("FSDP") for kind in kinds)
        if meshes and (max(meshes) > 1 or not sharded_data):
            return "parameters are split over the ranks by tensor parallelism, where ranks share their samples"
        return ""

    # -- what happens --------------------------------------------------------------------------------

    def _add_local(self, name: str, gradient: Tensor) -> None:
        self._reached.add(name)
        if self.count >= self._wanted:
            return
        found = self._sketch(name, gradient)
        if found is not None:
            before = self._local.get(name, (0.0, [0.0] * len(found[1])))
            values = [one + other for one, other in zip(before[1], found[1], strict=True)]
            self._local[name] = math.hypot(*values), values

    def _forward_begins(self, _: nn.Module, inputs: Any, keywords: Any) -> None:
        if self.count >= self._wanted or not torch.is_grad_enabled() or len(self._inputs) >= _MOST_CALLS:
            return
        try:
            self._inputs.append(fingerprint([each for _, each in tensors((inputs, dict(keywords)))]))
        except (TypeError, RuntimeError):  # tensors of a kind that has no bytes of its own
            self._inputs.append("")
        if not self._buffers:
            self._buffers = self._sketched_buffers()

    def batch_taken(self, batch: Any) -> None:
        try:
            self._batch = "" if self.count >= self._wanted else fingerprint([each for _, each in tensors(batch)])
        except (TypeError, RuntimeError):
            self._batch = ""

    def _sketched_buffers(self) -> Sketched:
        """Without statistics of normalisation, which ranks have of their own, and what a checkpoint does not hold."""
        found: Sketched = {}
        for root in self._roots:
            for path, module in root.named_modules():
                if "running_mean" in module._buffers:
                    continue
                for name, buffer in module._buffers.items():
                    if buffer is None or name in module._non_persistent_buffers_set or not buffer.is_floating_point():
                        continue
                    full = bare_name(f"{path}.{name}" if path else name)
                    sketch = self._sketch(full, buffer)
                    if sketch is not None:
                        found[full] = sketch
        return found

    def backward_begins(self, roots: list[Tensor]) -> None:
        self._reached.clear()
        if len(roots) == 1 and roots[0].numel() == 1:
            self._loss = float(roots[0].detach())

    def gradients_cleared(self, holder: Optimizer | nn.Module) -> None:
        cleared = (
            holder.parameters()
            if isinstance(holder, nn.Module)
            else (p for group in holder.param_groups for p in group["params"])
        )
        for parameter in cleared:
            self._local.pop(self._names.get(id(parameter), ""), None)

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._depth += 1
        if self._depth == 1 and self.count < self._wanted:
            self._before = self._sketched(self._held(optimizer))
            self._used = {} if has_closure else self._gradients(optimizer)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:  # noqa: ARG002 - as the event has it
        self._depth -= 1
        if self._depth:  # an optimizer that calls another one
            return
        if self.count >= self._wanted:
            self._link.send(at=self.count)
        else:
            held = self._held(optimizer)
            self._link.send(
                update=self.count,
                parameters=self._before,
                used=self._used or self._gradients(optimizer),
                local={name: self._local[name] for name in held if name in self._local},
                buffers=self._buffers,
                inputs=" ".join(self._inputs) if all(self._inputs) else "",
                batch=self._batch,
                loss=self._loss,
            )
        self.count += 1
        self._inputs, self._buffers = [], {}

    def _held(self, optimizer: Optimizer) -> dict[str, Tensor]:
        held = (p for group in optimizer.param_groups for p in group["params"])
        return {self._names[id(p)]: p for p in held if id(p) in self._names}

    def _gradients(self, optimizer: Optimizer) -> Sketched:
        return self._sketched({name: p.grad for name, p in self._held(optimizer).items() if p.grad is not None})

    def _sketched(self, named: Mapping[str, Tensor]) -> Sketched:
        found = {name: self._sketch(name, each) for name, each in named.items()}
        return {name: sketch for name, sketch in found.items() if sketch is not None}

    @property
    def knows_of_ranks(self) -> bool:
        """One of the models is wrapped by what exchanges gradients."""
        kinds = {type(each) for root in self._roots for each in root.modules()}
        parts = any(is_shard(parameter) for parameter in self._parameters.values())
        return parts or any(issubclass(kind, DistributedDataParallel) for kind in kinds)

    @property
    def without_gradient(self) -> list[str]:
        """Parameters that need gradients, and that the latest backward pass did not reach."""
        return [n for n, p in self._parameters.items() if p.requires_grad and n not in self._reached]
